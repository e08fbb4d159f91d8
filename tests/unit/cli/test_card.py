"""`python -m reseed card`, on revisions written by hand."""

from pathlib import Path

import pytest

from reseed.artifacts.raw import SYNTHETIC_NOTICE
from reseed.base.files import write_text
from reseed.cli.main import main
from reseed.history.repository import HERE, Repository
from reseed.history.run import Run
from reseed.reports.card import Card, card_page
from tests.unit.audit.history import History, every, reef
from tests.unit.audit.results import commit_result

# Task, items and macro F1 of the second annotator.
_SECOND = [("patch", 428, 97.5557), ("frame", 16, 91.2)]
# Of Mitchell et al. 2019, in their order.
HEADINGS = [
    "Model details",
    "Intended use",
    "Factors",
    "Metrics",
    "Evaluation data",
    "Training data",
    "Quantitative analyses",
    "Ethical considerations",
    "Caveats and recommendations",
]


@pytest.fixture
def history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> History:
    monkeypatch.chdir(tmp_path)
    return History(tmp_path).start()


def test_the_card_has_the_scores_their_doubt_and_the_usual_headings(history: History) -> None:
    run = reef()
    commit_result(history, run.but(wrong=every(run.gold, 5), wrong_frames=every(run.frames, 12)))
    assert main(["card", "HEAD"]) == 0
    text = Path("MODEL_CARD.md").read_text()
    assert [line.removeprefix("## ") for line in text.splitlines() if line.startswith("## ")] == HEADINGS
    assert "WARNING" not in text
    assert text.split("\n\n")[0] == "# Model card: may a coral device be dropped here?"
    assert text.split("\n\n")[1].startswith("Revision: HEAD (")
    row = next(line for line in text.splitlines() if line.startswith("| patch macro F1 |"))
    _, _, score, interval, n, _ = (cell.strip() for cell in row.split("|"))
    low, _, high = interval.split()
    assert float(low) < float(score.removesuffix(" %")) < float(high)
    assert n == "288"
    assert "| frame accuracy | 91.7 % |" in text
    assert "| `Mer` | 144 |" in text
    assert history.git("rev-parse", "HEAD") in text
    before = Path("MODEL_CARD.md").read_bytes()
    assert main(["card", "HEAD"]) == 0
    assert Path("MODEL_CARD.md").read_bytes() == before


def test_rendered_frames_are_said_first_and_missing_objects_where_they_miss(
    history: History, capsys: pytest.CaptureFixture[str]
) -> None:
    commit_result(history, reef().but(synthetic=True))
    assert main(["card", "--out", "-"]) == 0
    text = capsys.readouterr().out
    assert text.split("\n\n")[1] == "Of the workspace, not committed"
    assert text.split("\n\n")[2].startswith(f"> [!WARNING]\n> - **{SYNTHETIC_NOTICE}**")
    assert "Rendered frames: no score here applies to a real reef." in text
    assert "No data statement: workspace has no" in text
    assert not Path("MODEL_CARD.md").exists()


def test_it_says_what_a_patch_was_and_how_people_score(history: History, capsys: pytest.CaptureFixture[str]) -> None:
    commit_result(history, reef())
    assert main(["card"]) == 0
    assert capsys.readouterr().err == "MODEL_CARD.md: the card of the workspace\n"
    record = Run(Repository(Path()), HERE).with_result()
    people = {task: [{"annotator": "B", "n": n, "human": {"macro_f1": score}}] for task, n, score in _SECOND}
    spread = {"patch": {"macro_f1": {"mean": 85.01, "sd": 0.42}}, "frame": "n/a", "n": 3}
    record.details = record.details | {"human_ceiling": people, "trainings": spread}
    cut = {"patch_size_px": 800, "input_size_px": 256, "resize": "bicubic", "decode": "RGB"}
    text = card_page(
        Card(
            record,
            {"geometry": cut},
            {
                "notes": ["alpha is old"],
                "sources": [],
                "annotator": "A",
                "quarantined": {},
                "patches": [],
                "frames": [],
            },
            "",
        )
    )
    row = "800 stored px to an edge (target), shown to the network as 256 px; resize: bicubic; decode: RGB"
    assert f"| patch | {row} |" in [" ".join(line.split()) for line in text.splitlines()]
    assert "- Annotator `B`, scored like the network on 428 of these patches: macro F1 97.6 %." in text
    assert "- Annotator `B`, scored like the network on 16 of these frames: macro F1 91.2 %." in text
    assert "- Patch macro F1 over trainings: 85.0 ± 0.4 (3 trainings)." in text
    assert "Frame macro F1 over trainings" not in text
    assert "- Alpha is old." in text


def test_without_a_result_there_is_no_card(history: History, capsys: pytest.CaptureFixture[str]) -> None:
    history.commit(reef())
    write_text(Path("MODEL_CARD.md"), "an older card\n")
    assert main(["card"]) == 2
    assert "metrics/by_site.csv" in capsys.readouterr().err
    assert Path("MODEL_CARD.md").read_text() == "an older card\n"
