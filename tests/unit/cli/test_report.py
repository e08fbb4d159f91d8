"""`python -m reseed report`, on revisions written by hand."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt
from PIL import Image

from reseed.artifacts.raw import SYNTHETIC_NOTICE
from reseed.audit.trusted import FAIL, PASS
from reseed.cli.main import main
from reseed.pages.render import percent
from reseed.reports.page import code, points, words
from reseed.reports.report import report_page
from tests.unit.audit.history import History, Reef, every, reef
from tests.unit.audit.results import commit_result


@pytest.fixture
def history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> History:
    root = tmp_path / "repository"
    root.mkdir()
    monkeypatch.chdir(root)
    return History(root).start()


def page(capsys: pytest.CaptureFixture[str], *argv: str) -> str:
    assert main(["report", "--resamples", "2000", *argv]) == 0
    return capsys.readouterr().out


def rendered(text: str) -> str:
    return MarkdownIt("gfm-like", {"linkify": False}).render(text)


def browser_page(capsys: pytest.CaptureFixture[str], *argv: str) -> str:
    return page(capsys, "--html", *argv, "--out", "-")


def two_sides(history: History, before: Reef, after: Reef) -> None:
    commit_result(history, before)
    commit_result(history, after)


def test_the_interval_of_an_improvement_excludes_zero(history: History, capsys: pytest.CaptureFixture[str]) -> None:
    run = reef()
    two_sides(history, run.but(wrong=every(run.gold, 5), wrong_frames=every(run.frames, 12)), run)
    text = page(capsys, "--base", "HEAD~1", "--head", "HEAD")
    assert re.search(
        r"\*\*Patch macro F1 79\.\d % → 100\.0 %\*\*: it rises by 20\.\d points \(95 % interval \+\d+\.\d to "
        r"\+\d+\.\d, p 0\.\d{3}\)\. \*\*These two networks differ; whether the change does is not known\*\*",
        text,
    )
    assert "| frame accuracy | 91.7 % | 100.0 % | +8.3 |" in text
    assert text.count("rounded separately") == 1
    assert "2: 2 now right, 0 now wrong." in text
    assert "| `reef/g0/f0.jpg` | Deploy | No-Deploy | No-Deploy | ✅ now right |" in text
    assert "**Parameters**: none" in text
    back = page(capsys, "--base", "HEAD", "--head", "HEAD~1")
    assert "it falls by 20." in back
    assert "❌ now wrong" in back


def test_an_interval_that_includes_zero_says_so(history: History, capsys: pytest.CaptureFixture[str]) -> None:
    run = reef()
    two_sides(history, run.but(wrong=every(run.gold, 5)), run.but(wrong=every(run.gold, 5, 1) | {min(run.gold)}))
    text = page(capsys, "--base", "HEAD~1", "--head", "HEAD")
    assert "**The confidence interval includes zero**; it covers other groups, and not other trainings." in text
    assert "**Frame accuracy 100.0 % → 100.0 %**: every answer is the same." in text


def test_several_trainings_tell_whether_the_change_differs(
    history: History, capsys: pytest.CaptureFixture[str]
) -> None:
    run = reef()
    many = [every(run.gold, step) for step in (5, 7, 5)]
    two_sides(
        history,
        run.but(wrong=many[0], repeats=tuple(many[1:])),
        run.but(wrong=every(run.gold, 40), repeats=(every(run.gold, 50), every(run.gold, 45))),
    )
    text = page(capsys, "--base", "HEAD~1", "--head", "HEAD")
    assert re.search(
        r"\*\*Patch macro F1 8\d\.\d ± 3\.\d % \(3 trainings\) → 97\.\d ± 0\.\d % \(3 trainings\)\*\*: it rises", text
    )
    assert "**The confidence interval excludes zero**, over groups and trainings." in text


def test_too_few_groups_say_nothing_about_noise(history: History, capsys: pytest.CaptureFixture[str]) -> None:
    run = reef()
    frames = {name: (group if group in {"g3", "g4"} else "t", split) for name, (group, split) in run.frames.items()}
    kept = {name: (group, "test" if group != "t" else "train") for name, (group, _) in frames.items()}
    two_sides(history, run.but(frames=kept, wrong=every(run.gold, 5)), run.but(frames=kept))
    text = page(capsys, "--base", "HEAD~1", "--head", "HEAD")
    assert (
        "**Whether the networks differ by more than chance is not known**: 2 clusters; an interval needs at least 5."
        in text
    )


def test_other_test_sets_and_rendered_frames_are_warned_of(
    history: History, capsys: pytest.CaptureFixture[str]
) -> None:
    run = reef().but(synthetic=True)
    gold = dict(run.gold) | {"reef/g0/f0.jpg#r000c000": 1}
    two_sides(history, run, run.but(gold=gold))
    text = page(capsys, "--base", "HEAD~1", "--head", "HEAD")
    warned = text.split("\n\n")[1]
    marks = f"> [!WARNING]\n> - **{SYNTHETIC_NOTICE}.**\n> - **The test sets differ** in their patches alone"
    assert warned.startswith(marks)
    assert "**Patch macro F1 100.0 % → 100.0 %**: no difference is claimed." in text
    assert "- patches with another reference: 1" in text
    assert "**Frame accuracy 100.0 % → 100.0 %**: every answer is the same." in text
    history.commit(run.but(frame_gold=dict(run.frame_gold) | {"reef/g0/f0.jpg": "Deploy"}))
    commit_result(history, run.but(frame_gold=dict(run.frame_gold) | {"reef/g0/f0.jpg": "Deploy"}))
    assert "Not listed: the test sets differ." in page(capsys, "--base", "HEAD~3", "--head", "HEAD")


def test_a_first_result_is_reported_alone(history: History, capsys: pytest.CaptureFixture[str]) -> None:
    history.commit(reef())
    commit_result(history, reef())
    text = page(capsys, "--base", "HEAD~1")
    assert text.startswith("## Result of the workspace\n")
    assert "No comparison, head alone: HEAD\\~1" in text
    assert "base" not in text.split("### ")[1].splitlines()[2]
    assert "→" not in text
    assert "What changed" not in text
    assert main(["report", "--base", "HEAD", "--head", "HEAD~1"]) == 2
    assert "metrics/by_site.csv" in capsys.readouterr().err


def test_the_page_is_written_whole_or_not_at_all(history: History, capsys: pytest.CaptureFixture[str]) -> None:
    commit_result(history, reef())
    out = history.root / "new/report.md"
    assert main(["report", "--base", "HEAD", "--out", str(out), "--resamples", "100"]) == 0
    assert out.read_text().startswith("## What the workspace does to the result of `HEAD`")
    assert list(out.parent.iterdir()) == [out]
    assert main(["report", "--base", "nowhere", "--out", str(out)]) == 2
    assert "nowhere: neither a git revision" in capsys.readouterr().err
    for printed in ([], ["--out", "-"]):
        assert main(["report", "--base", "HEAD", "--figures", "pictures", *printed]) == 2
        assert "--figures needs --out" in capsys.readouterr().err
    assert page(capsys, "--base", "HEAD", "--out", "-").startswith("## What the workspace does")
    assert not Path("-").exists()


def test_pictures_lie_where_the_page_says(history: History, capsys: pytest.CaptureFixture[str]) -> None:
    run = reef()
    two_sides(history, run.but(wrong=every(run.gold, 5), wrong_frames=every(run.frames, 12)), run)
    out = history.root / "out/report.md"
    assert main(["report", "--base", "HEAD~1", "--out", str(out), "--figures", "out/my pictures"]) == 0
    text = out.read_text()
    assert "![Patch scores of base and head](my%20pictures/scores.png)" in text
    with Image.open(out.parent / "my pictures/scores.png") as picture:
        assert picture.size[0] > 700
    # The fixture stores no images.
    assert "flipped" not in text.split("### Frames")[0]
    assert "the flipped frames are not drawn" in capsys.readouterr().err


def test_words_of_others_stay_words() -> None:
    evil = "<script>x</script> **bold** @everyone [a](javascript:b) `tick` | pipe\n# Title ![i](u) #12 ~~s~~ &lt;"
    html = rendered(f"a {words(evil)} b\n\n- {code(evil)}\n\n| a | b |\n|---|---|\n| {code('x`|`y')[:0]}c | d |\n")
    assert "<script" not in html
    assert "<strong>" not in html
    assert "<a " not in html
    assert "<img" not in html
    assert "<h1>" not in html
    assert "@everyone" not in html.split("<code>")[0]
    assert "&amp;lt;" in html
    assert code("a`b") == "``a`b``"
    assert code("`a") == "`` `a ``"
    assert code("") == "`  `"
    assert code("x" * 500) == f"`…{'x' * 160}`"


def test_commands_of_this_project_stay_code() -> None:
    assert words("run `dvc push` there, *then* `make repro`") == "run `dvc push` there, \\*then\\* `make repro`"
    assert words("`dvc <b>` `rm -rf` `dvc") == r"\`dvc \<b\>\` \`rm -rf\` \`dvc"
    assert rendered(words("``dvc push`` \\`dvc push`")).count("<code>dvc push</code>") == 2


@pytest.mark.parametrize(("gone", "named"), [((0,), "of base"), ((1,), "of head"), ((0, 1), "of base and of head")])
def test_the_side_that_lacks_its_answers_is_named(
    history: History, capsys: pytest.CaptureFixture[str], gone: tuple[int, ...], named: str
) -> None:
    run, digests = reef(), []
    for wrong in (every(run.gold, 5), every(run.gold, 7)):
        commit_result(history, run.but(wrong=wrong))
        digests.append(history.digest("data/predictions/patches.csv"))
    for side in gone:
        history.object(digests[side]).unlink()
    text = page(capsys, "--base", "HEAD~1", "--head", "HEAD")
    assert f"Not known: the single answers {named} are not stored here." in text
    assert "run `dvc push`" in text
    assert "both sides" not in text


def test_numbers_are_rounded_and_never_to_a_false_zero() -> None:
    assert [points(value) for value in (1.26, -0.04, 0.0004, 0.0, -12.0, "n/a")] == [
        "+1.3",
        "-0.04",
        "0.0",
        "0.0",
        "-12.0",
        "n/a",
    ]
    assert [percent(value) for value in (83.8373, 100.0, "n/a", None)] == ["83.8 %", "100.0 %", "n/a", "n/a"]


def report_of(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What the page of HEAD against its parent is made of."""
    seen: dict[str, Any] = {}
    with monkeypatch.context() as patched:
        patched.setattr("reseed.cli.report.report_page", lambda report, *_: seen.update(report) or "")
        assert main(["report", "--base", "HEAD~1", "--head", "HEAD", "--resamples", "100"]) == 0
    return seen


def large(found: dict[str, Any]) -> dict[str, Any]:
    long = "é" * 400
    side = {"n_patches": 5.0, "n_frames": 1.0, "macro_f1": 1.0, "frame_accuracy": 2.0}
    rung = {"rung": "chain", "status": FAIL, "reason": long, "findings": (long,) * 500, "notes": (long,) * 500}
    return found | {
        "rungs": [rung] * 7,
        "base_rungs": [rung] * 2,
        "sites": [{"site": f"{long}{n}", "base": side, "head": side, "difference": 0.0} for n in range(900)],
        "flips": [{"frame_id": f"{long}{n}", "gold": "Deploy", "first": 0, "second": 1} for n in range(900)],
        "params": [{"key": long, "old": long, "new": long, "same_on_both": False}] * 900,
        "code": {"files": [{"path": long, "added": 1, "removed": 1}] * 900, "other_files": [long] * 900},
        "data": {"sources": [{"name": long, "old": long, "new": long}] * 900, "frames_added": [long] * 9000},
    }


def test_however_much_changed_the_page_fits_into_a_comment(history: History, monkeypatch: pytest.MonkeyPatch) -> None:
    two_sides(history, reef(), reef())
    text = report_page(large(report_of(monkeypatch)), {})
    assert len(text) < 60_000  # GitHub takes 65,536 characters, and the drift is still to come
    assert "… and 880 more" in text


def test_a_leak_is_warned_of_first(history: History, monkeypatch: pytest.MonkeyPatch) -> None:
    two_sides(history, reef(), reef())
    seen = report_of(monkeypatch)
    leak = {"check": "leakage", "status": FAIL, "reason": "equal files: a and b", "findings": ("equal",), "notes": ()}
    assert "> - **The split leaks**: equal files: a and b." in report_page(seen | {"checks": [leak]}, {})
    near = leak | {"status": PASS, "reason": "fine", "notes": ("4 pairs of neighbours of one sequence",)}
    assert "> - The split may leak: 4 pairs of neighbours of one sequence." in report_page(
        seen | {"checks": [near]}, {}
    )


def test_a_base_whose_result_is_of_other_code_is_warned_of(
    history: History, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    two_sides(history, reef(), reef())
    seen = report_of(monkeypatch)
    assert [check["check"] for check in seen["base_checks"]] == ["claim", "chain"]
    # The fixture has a lock file and no dvc.yaml, so its chain cannot hold.
    said = "> - **The result of base is not that of its code, parameters and data** (check chain): "
    assert said in page(capsys, "--base", "HEAD~1", "--head", "HEAD")
    sound = [check | {"status": PASS} for check in seen["base_checks"]]
    assert "The result of base" not in report_page(seen | {"base_checks": sound}, {})
    assert "The result of base" not in report_page(seen | {"alone": "HEAD~1 has no result"}, {})


def test_it_comes_out_fast_enough_to_wait_for() -> None:
    """Nothing that trains is loaded."""
    done = "import sys, reseed.cli.report; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", done], check=False).returncode == 0


def test_the_page_of_a_change_for_a_browser(history: History, capsys: pytest.CaptureFixture[str]) -> None:
    run = reef()
    two_sides(history, run.but(wrong=every(run.gold, 5), wrong_frames=every(run.frames, 12)), run)
    text = browser_page(capsys, "HEAD", "--base", "HEAD~1")
    assert re.search(r"<h1>Patch macro F1 79\.\d → 100\.0 %, frame accuracy 91\.7 → 100\.0 %</h1>", text)
    interval = r"\(95 % interval \+\d+\.\d to \+\d+\.\d, p 0\.\d{3}; of one training each"
    assert re.search(rf"It rises by 20\.\d points {interval}", text)
    assert "2 frames: 2 now right, 0 now wrong, 0 without a reference." in text
    assert "Parameters: none." in text
    # Both commits have a result, the older first.
    data = json.loads(text.split('id="data">')[1].split("</script>")[0])
    trend = [line.split(",") for line in data["csv"]["trend"].splitlines()]
    commits = [history.git("rev-parse", "--short=7", name).strip() for name in ("HEAD~1", "HEAD")]
    assert [line[0] for line in trend] == ["commit", *commits]
    assert [line[3] for line in trend[1:]] == ["79.8607", "100.0"]
    back = browser_page(capsys, "--head", "HEAD~1", "--base", "HEAD")
    assert "It falls by 20." in back


def test_the_page_of_a_change_claims_nothing_where_base_has_no_result(
    history: History, capsys: pytest.CaptureFixture[str]
) -> None:
    first = history.git("commit-tree", "-m", "Nothing", "4b825dc642cb6eb9a060e54bf8d69288fbee4904").strip()
    commit_result(history, reef())
    text = browser_page(capsys, "HEAD", "--base", first)
    assert "Base has no result" in text
    assert "rises" not in text
    assert "→" not in text.split("<main>")[0].split("<h1>")[1]


def test_html_is_asked_for_in_one_way(history: History, capsys: pytest.CaptureFixture[str]) -> None:
    commit_result(history, reef())
    assert main(["report"]) == 2
    assert "--base REV" in capsys.readouterr().err
    assert main(["report", "--html", "HEAD", "--head", "HEAD"]) == 2
    assert main(["report", "--html", "HEAD", "--figures", "x"]) == 2


def test_a_comment_gets_charts_of_what_is_known(history: History, capsys: pytest.CaptureFixture[str]) -> None:
    run = reef()
    two_sides(history, run.but(wrong=every(run.gold, 5)), run)
    text = page(capsys, "--base", "HEAD~1", "--head", "HEAD")
    scores, trend = re.findall(r"```mermaid\n(.*?)```", text, re.DOTALL)
    assert re.search(r"bar \[100\.0, 100\.0, 100\.0, 100\.0\]\n  line \[79\.\d, ", scores)
    assert re.search(r'x-axis \["\w{7}", "\w{7}"\]\n.*\n  bar \[79\.\d, 100\.0\]', trend)
