"""`python -m reseed card`, on revisions written by hand."""

from pathlib import Path

import pytest

from reseed.artifacts.raw import SYNTHETIC_NOTICE
from reseed.base.files import write_text
from reseed.cli.main import main
from reseed.history import run as run_module
from reseed.history.repository import HERE, Repository
from reseed.history.run import Run
from reseed.reports.card import Card, card_page
from reseed.reports.reforms import checklist, read_people
from tests.unit.audit.history import History, every, reef
from tests.unit.audit.results import commit_result

ROOT = Path(__file__).parents[3]
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
    "REFORMS checklist",
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
            (),
            read_people(record),
            (),
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


def written(history: History, **changes: str) -> None:
    lines = (ROOT / "card.yaml").read_text().splitlines()
    for name, text in changes.items():
        lines = [f"{name}: {text}" if line.startswith(f"{name}:") else line for line in lines]
    write_text(Path("card.yaml"), "\n".join(lines) + "\n")
    history.git("add", "card.yaml")


def test_the_checklist_has_32_items_and_the_record_answers_most(
    history: History, capsys: pytest.CaptureFixture[str]
) -> None:
    commit_result(history, reef())
    assert main(["card", "--reforms"]) == 0
    *rows, _, counted = capsys.readouterr().out.splitlines()
    cells = [[cell.strip() for cell in row.split(" | ")] for row in rows]
    assert [len(row) for row in cells] == [5] * 32
    assert len({row[0] for row in cells}) == 32
    assert counted == "23 answered from the record, 0 by people (card.yaml), 9 open"
    states = {row[0]: row[1] for row in cells}
    # Every item that no record can know is open, and names the line to write.
    assert [key for key, state in states.items() if state == "open"] == [
        "1a",
        "1b",
        "1c",
        "3b",
        "3c",
        "3g",
        "5b",
        "6c",
        "8b",
    ]
    assert all("in card.yaml" in row[4] for row in cells if row[1] == "open")
    assert "288 patches" in next(row[4] for row in cells if row[0] == "3e")


def test_what_people_write_is_shown_as_theirs(history: History, capsys: pytest.CaptureFixture[str]) -> None:
    commit_result(history, reef())
    written(history, owner="Reef Lab", limits="Nothing deeper than 12 m.", labelling="Two ecologists.")
    assert main(["card", "--reforms"]) == 0
    rows = {line.split(" | ")[0]: line.split(" | ") for line in capsys.readouterr().out.splitlines()}
    assert rows["8b"][1:] == ["people", "Generalisation", "Where do they not hold?", "Nothing deeper than 12 m."]
    assert rows["3a"][1] == "record"
    assert rows["3a"][4].endswith("Two ecologists.")
    assert main(["card", "--out", "-"]) == 0
    page = capsys.readouterr().out
    assert "| owner, contact | Reef Lab, not stated |" in page
    assert "Known limits: Nothing deeper than 12 m.." not in page


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("owner: Lab\n", "contact: field required"),
        ("more: x\n", "allowed: each of owner, contact"),
        ("owner: 3\n", "owner: input should be a valid string"),
        ("- a\n", "expected a mapping"),
    ],
)
def test_a_card_yaml_of_another_form_is_one_line(
    history: History, capsys: pytest.CaptureFixture[str], text: str, message: str
) -> None:
    commit_result(history, reef())
    write_text(Path("card.yaml"), text)
    history.git("add", "card.yaml")
    assert main(["card", "--reforms"]) == 2
    assert message in capsys.readouterr().err


def test_results_on_the_same_test_set_are_counted(history: History, monkeypatch: pytest.MonkeyPatch) -> None:
    tables = ("data/catalog/frames.csv", "data/catalog/splits.csv", "data/catalog/frame_labels.csv")
    monkeypatch.setattr(run_module, "_TEST_SET", tables)  # runs written by hand record no patches
    run = reef()
    for wrong in (5, 7, 9):
        commit_result(history, run.but(wrong=every(run.gold, wrong)))
    history.git("branch", "other", "HEAD~1")
    record = Run(Repository(Path()), HERE).with_result()
    answer = next(item.answer for item in checklist(record, read_people(record), {}) if item.key == "5e")
    assert "3 different results in the commits and experiments of this clone" in answer
    frame, label = next(iter(run.frame_gold.items()))
    flipped = {**run.frame_gold, frame: "Deploy" if label == "No-Deploy" else "No-Deploy"}
    commit_result(history, run.but(frame_gold=flipped))
    other = Run(Repository(Path()), HERE).with_result()
    answer = next(item.answer for item in checklist(other, read_people(other), {}) if item.key == "5e")
    assert "1 result in the commits" in answer
