"""From a survey through labels to an alpha with a promise, and everything that a calibration is refused for."""

import csv
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from reseed.cli import calibrate
from reseed.cli.main import main
from reseed.engines.engine import open_engine
from reseed.patches.resize import RESIZE_RULE
from reseed.survey.imagery import DECODE_RULE
from tests.browser import browser_page, find_browser
from tests.unit.infer.boat import ColourEngine, Infer, decided, write_tow
from tests.unit.network.conftest import GEOMETRY
from tests.unit.network.lively import lively, save

BROWSER = find_browser()
Run = Callable[..., int]


@pytest.fixture
def survey(tmp_path: Path) -> Path:
    # 40 frames of 8 patches, from 0 to 4 of them Deploy; by the person's word, those with 3 are no good.
    write_tow(tmp_path / "frames/tow", ["d" * (n % 5) + "n" * (8 - n % 5) for n in range(40)])
    return tmp_path


@pytest.fixture
def step(survey: Path, monkeypatch: pytest.MonkeyPatch, boat: Infer) -> Run:
    engine = ColourEngine()
    monkeypatch.setattr(calibrate, "open_engine", lambda *_, **__: engine)

    def run(*arguments: str) -> int:
        return main(["calibrate", *arguments])

    return run


def drawn(tmp_path: Path, step: Run, n: int = 30) -> Path:
    out = tmp_path / "cal"
    assert step("sample", str(tmp_path / "frames"), "-n", str(n), "--out", str(out)) == 0
    return out


def label(out: Path, decide: Callable[[int, str], str]) -> None:
    """Fill in the table; `decide` gets the number and the frame of a row."""
    with (out / "to_label.csv").open(newline="") as reader:
        rows = list(csv.DictReader(reader))
    with (out / "to_label.csv").open("w", newline="") as writer:
        table = csv.DictWriter(writer, ["number", "frame", "label"])
        table.writeheader()
        table.writerows({**row, "label": decide(int(row["number"]), row["frame"])} for row in rows)


def by_person(_: int, frame: str) -> str:
    return "Deploy" if int(Path(frame).stem[-4:]) % 5 == 4 else "No-Deploy"


def labelled(tmp_path: Path, step: Run, *more: str) -> Path:
    out = drawn(tmp_path, step)
    label(out, by_person)
    assert step("alpha", str(out), "--model", "colours", *more) == 0
    return out / "calibration.json"


def test_from_a_survey_to_decisions_that_keep_the_promise(
    survey: Path, step: Run, boat: Infer, capsys: pytest.CaptureFixture[str]
) -> None:
    # 30 labelled frames, target 0.05: 0.05 x 31 - 1 = 0.55, so no wrong drop is allowed. The worst
    # No-Deploy frames have 3 Deploy patches of 8, so alpha is 0.375: dropped on are the frames with 4 of 8.
    path = labelled(survey, step)
    found = json.loads(path.read_text())
    assert (found["alpha"], found["n"], found["promise"], found["delta"]) == ("0.375", 30, "frame", None)
    capsys.readouterr()
    assert boat("--calibration", str(path)) == 0
    promise = (
        "Promise at alpha 0.375: the chance that a frame of this survey is dropped on wrongly is at most 5 %. It "
        "rests on 30 frames drawn at random from its 40 and labelled, and holds for no other survey."
    )
    assert promise in capsys.readouterr().out
    assert promise in (survey / "out/map.html").read_text()
    assert json.loads((survey / "out/track.geojson").read_text())["promise"] == promise
    deploys = {name for name, decision in decided(survey / "out").items() if decision == "Deploy"}
    assert deploys == {f"{n:04d}" for n in range(40) if n % 5 == 4}


def test_drops_takes_the_frames_that_nobody_labelled(survey: Path, step: Run) -> None:
    # 30 labelled, none of the No-Deploy frames with 4 patches of 8: p = 1/31 for the 2 of 10 other frames that have 4.
    # 1/31 > 0.1 x 2/10, but 1/31 <= 0.2 x 2/10. The highest share below is 3 of 8, of a labelled frame.
    assert json.loads(labelled(survey, step, "--promise", "drops", "--target", "0.1").read_text())["alpha"] == "1.0"
    assert step("alpha", str(survey / "cal"), "--model", "c", "--promise", "drops", "--target", "0.2") == 0
    assert json.loads((survey / "cal/calibration.json").read_text())["alpha"] == "0.375"


def test_without_the_library_of_pages_it_says_so(
    survey: Path, step: Run, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)
    assert step("sample", str(survey / "frames"), "-n", "3", "--out", str(survey / "cal")) == 2
    assert "needs Jinja2 for its page; run `pip install jinja2`" in capsys.readouterr().err
    monkeypatch.undo()
    assert not (survey / "cal").exists() or not any((survey / "cal").iterdir()), "nothing half-written"


def test_the_same_seed_draws_the_same_frames(survey: Path, step: Run) -> None:
    first = json.loads((drawn(survey, step) / "sample.json").read_text())
    frames = str(survey / "frames")
    for seed, same in (("0", True), ("1", False)):
        assert step("sample", frames, "-n", "30", "--seed", seed, "--out", str(survey / seed)) == 0
        assert (json.loads((survey / seed / "sample.json").read_text())["frames"] == first["frames"]) is same


def test_a_frame_that_cannot_be_read_is_passed_over(
    survey: Path, step: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    (survey / "frames/tow/broken.jpg").write_bytes(b"")
    out = drawn(survey, step, n=40)
    assert "passed over, cannot be read: tow/broken.jpg: empty_file" in capsys.readouterr().out
    assert "tow/broken.jpg" not in (out / "to_label.csv").read_text()
    assert step("sample", str(survey / "frames"), "-n", "41", "--out", str(survey / "b")) == 2
    assert "40 frames can be read, -n asks for 41" in capsys.readouterr().err


def test_whoever_stops_early_has_a_smaller_sample(survey: Path, step: Run) -> None:
    out = drawn(survey, step)
    label(out, lambda number, frame: by_person(0, frame) if number <= 20 else "")
    assert step("alpha", str(out), "--model", "colours") == 0
    assert json.loads((out / "calibration.json").read_text())["n"] == 20


@pytest.mark.parametrize(
    ("decide", "message"),
    [
        (lambda number, _: "" if number == 3 else "Deploy", "no label for .*, but for frames drawn after it"),
        (lambda number, _: "Deploy" if number < 19 else "", "needs 19 frames with a reference decision, there are 18"),
        (lambda *_: "Coral", "'Coral' is neither decision"),
    ],
)
def test_labels_that_promise_nothing(
    survey: Path, step: Run, capsys: pytest.CaptureFixture[str], decide: Callable[[int, str], str], message: str
) -> None:
    out = drawn(survey, step)
    label(out, decide)
    assert step("alpha", str(out), "--model", "colours") == 2
    assert re.search(message, capsys.readouterr().err)
    assert not (out / "calibration.json").exists()


def refused(boat: Infer, capsys: pytest.CaptureFixture[str], path: Path, *more: str) -> str:
    capsys.readouterr()
    assert boat("--calibration", str(path), *more) == 2
    return capsys.readouterr().err


def test_a_calibration_of_something_else_is_refused(
    survey: Path, step: Run, boat: Infer, capsys: pytest.CaptureFixture[str]
) -> None:
    path = labelled(survey, step)
    assert "is for a patch size of px 40, but here it is 20" in refused(boat, capsys, path, "--patch-size", "20")
    write_tow(survey / "frames/more", ["d" * 8])
    assert "is for another survey, of 40 frames, and promises nothing for these 41" in refused(boat, capsys, path)
    found = json.loads(path.read_text())
    path.write_text(json.dumps({**found, "model_sha256": "b" * 64}))
    assert f"is for a model with sha256 {'b' * 12}, but here it is {'a' * 12}" in refused(boat, capsys, path)
    path.write_text(json.dumps({**found, "promise": "always"}))
    assert "(calibration.json.promise: got 'always'; allowed: 'frame', 'confident'" in refused(boat, capsys, path)
    path.write_text(json.dumps({name: value for name, value in found.items() if name != "labelled"}))
    assert "(calibration.json.labelled: missing); `python -m reseed cali" in refused(boat, capsys, path)
    path.write_text("{")
    damaged = refused(boat, capsys, path)
    assert "not readable as JSON" in damaged
    assert damaged.endswith("; `python -m reseed calibrate alpha` makes one\n")
    assert step("alpha", str(survey / "cal"), "--model", "colours") == 2
    assert "draw a sample of the survey as it is now" in capsys.readouterr().err
    assert not (survey / "out").exists()


def test_drops_needs_a_finished_survey(
    survey: Path, step: Run, boat: Infer, capsys: pytest.CaptureFixture[str]
) -> None:
    path = labelled(survey, step, "--promise", "drops", "--target", "0.2")
    assert "promise drops is for a finished survey, not for --watch" in refused(
        boat, capsys, path, "--watch", "--idle-end", "0.5"
    )
    assert step("alpha", str(survey / "cal"), "--model", "colours") == 0
    assert boat("--calibration", str(path), "--watch", "--idle-end", "0.5") == 0
    assert "Frames that were not there when the sample was drawn are not covered." in capsys.readouterr().out
    # Other folders that are watched lack the labelled frames.
    write_tow(survey / "elsewhere/tow_9", ["d" * 8])
    capsys.readouterr()
    command = ("--calibration", str(path), "--watch", "--idle-end", "0.5", "--out", str(survey / "out2"))
    assert boat(*command, frames="elsewhere") == 2
    assert "is for another survey: 30 of its 30 frames are not in" in capsys.readouterr().err
    assert not (survey / "out2").exists()


def test_frames_that_were_exchanged_for_others_are_noticed(
    survey: Path, step: Run, boat: Infer, capsys: pytest.CaptureFixture[str]
) -> None:
    # The same names and lengths, in the same place: only the content of a labelled frame tells.
    path = labelled(survey, step)
    frame = survey / "frames" / json.loads((survey / "cal/sample.json").read_text())["frames"][7]
    data = frame.read_bytes()
    frame.write_bytes(data[:-3] + bytes([data[-3] ^ 1]) + data[-2:])
    message = f"1 of its 30 frames are not in {survey / 'frames'} as they were, such as tow/{frame.name}"
    assert message in refused(boat, capsys, path)
    assert message in refused(boat, capsys, path, "--watch", "--idle-end", "0.5")
    assert step("alpha", str(survey / "cal"), "--model", "colours") == 2
    assert f"{frame.name}: is no longer the frame that was drawn and labelled" in capsys.readouterr().err


def by_sequence(tmp_path: Path, step: Run, tows: int, n: int, unit: str = "sequence") -> Path:
    """A survey of two sites; in each tow a frame of 3, one of 4 and one of 0 Deploy patches of 8."""
    for tow in range(tows):
        write_tow(tmp_path / f"many/reef_{tow % 2}/tow_{tow:02d}", ["dddnnnnn", "ddddnnnn", "n" * 8])
    out = tmp_path / "cal"
    assert step("sample", str(tmp_path / "many"), "-n", str(n), "--unit", unit, "--out", str(out)) == 0
    return out


def good(_: int, frame: str) -> str:
    return "Deploy" if frame.endswith("0001.jpg") else "No-Deploy"


def test_a_sample_by_sequence_takes_a_frame_of_each_in_turn(survey: Path, step: Run, boat: Infer) -> None:
    out = by_sequence(survey, step, tows=20, n=30)
    frames = json.loads((out / "sample.json").read_text())["frames"]
    tows = [str(Path(frame).parent) for frame in frames]
    assert (len(set(tows[:20])), tows[20:], len(set(frames))) == (20, tows[:10], 30)
    label(out, good)
    assert step("alpha", str(out), "--model", "colours", "--target", "0.05") == 0
    # 0.05 x 21 - 1 = 0.05: with 20 sequences, not even half of one may be dropped on wrongly: alpha is 3/8.
    found = json.loads((out / "calibration.json").read_text())
    assert (found["unit"], found["n"], found["n_units"], found["alpha"]) == ("sequence", 30, 20, "0.375")
    assert boat("--calibration", str(out / "calibration.json"), frames="many") == 0
    promise = json.loads((survey / "out/track.geojson").read_text())["promise"]
    assert "a frame of a sequence of this survey, averaged over its sequences, is dropped on wrongly" in promise
    assert "rests on 30 frames of 20 sequences drawn at random from its 60 and labelled" in promise


@pytest.mark.parametrize(
    ("unit", "more", "message"),
    [
        ("sequence", (), "needs 19 groups with a reference decision, there are 6"),
        ("site", (), "needs 19 groups with a reference decision, there are 2"),
        ("sequence", ("--promise", "confident"), "needs 65 groups with a reference decision, there are 6"),
        ("sequence", ("--promise", "drops"), "this sample is drawn by sequence; draw one without --unit sequence"),
    ],
)
def test_too_few_sequences_or_sites_promise_nothing(
    survey: Path, step: Run, capsys: pytest.CaptureFixture[str], unit: str, more: tuple[str, ...], message: str
) -> None:
    out = by_sequence(survey, step, tows=6, n=18, unit=unit)
    label(out, good)
    assert step("alpha", str(out), "--model", "colours", *more) == 2
    assert message in capsys.readouterr().err
    assert not (out / "calibration.json").exists()


@pytest.mark.parametrize("form", ["semicolon", "tab", "crlf", "bom", "utf-16", "upper", "reordered", "no number"])
def test_a_table_that_went_through_a_spreadsheet(survey: Path, step: Run, form: str) -> None:
    path = labelled(survey, step)
    expected, table = json.loads(path.read_text()), survey / "cal/to_label.csv"
    lines = [line.split(",") for line in table.read_text().splitlines()]
    if form == "upper":
        lines = [[*line[:2], line[2].upper().replace("-", " ")] for line in lines]
    if form == "reordered":
        lines = [line[::-1] for line in [lines[0], *sorted(lines[1:], key=lambda line: line[1])]]
    if form == "no number":
        lines = [line[1:] for line in lines]
    mark = {"semicolon": ";", "tab": "\t"}.get(form, ",")
    text = ("\r\n" if form == "crlf" else "\n").join(mark.join(line) for line in lines) + "\n"
    table.write_bytes(text.encode({"bom": "utf-8-sig", "utf-16": "utf-16"}.get(form, "utf-8")))
    assert step("alpha", str(survey / "cal"), "--model", "colours") == 0
    assert json.loads(path.read_text()) == expected


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda lines: lines[:5] + lines[6:], "no row of tow/"),
        (lambda lines: [*lines, lines[3]], "line 32: frame 'tow/.*' is there twice"),
        (lambda lines: [lines[0], lines[1].replace("tow/", "tow\\"), *lines[2:]], r"line 2: frame .* is not in sample"),
        (lambda lines: [lines[0], lines[1].replace(".jpg", ".JPG"), *lines[2:]], r"line 2: frame .* is not in sample"),
        (
            lambda lines: [lines[0], lines[1].rpartition(",")[0] + ",", *lines[2:]],
            "no label for tow/.*, but for frames",
        ),
        (lambda lines: [lines[0], lines[1] + ",why", *lines[2:]], "line 2: 4 cells, the header has 3"),
        (lambda lines: ["number,frame,decision", *lines[1:]], "no column label; found: number, frame, decision"),
        (lambda lines: lines[:1], "no row of tow/"),
        (lambda _: [], "the table is empty"),
    ],
)
def test_a_table_that_was_damaged(
    survey: Path,
    step: Run,
    capsys: pytest.CaptureFixture[str],
    change: Callable[[list[str]], list[str]],
    message: str,
) -> None:
    out = drawn(survey, step)
    label(out, by_person)
    table = out / "to_label.csv"
    table.write_text("".join(f"{line}\n" for line in change(table.read_text().splitlines())))
    capsys.readouterr()
    assert step("alpha", str(out), "--model", "colours") == 2
    said = capsys.readouterr().err
    assert re.search(message, said), said
    assert said.count("\n") == 1
    assert not (out / "calibration.json").exists()


def test_a_sample_of_one_frame(survey: Path, step: Run, capsys: pytest.CaptureFixture[str]) -> None:
    out = drawn(survey, step, n=1)
    label(out, lambda *_: "No-Deploy")
    assert step("alpha", str(out), "--model", "colours") == 2
    assert "needs 19 frames with a reference decision, there are 1" in capsys.readouterr().err
    assert step("alpha", str(out), "--model", "colours", "--target", "0.5") == 0
    label(out, lambda *_: "")
    assert step("alpha", str(out), "--model", "colours", "--target", "0.5") == 2
    assert "needs 1 frame with a reference decision, there are 0" in capsys.readouterr().err


@pytest.mark.parametrize("size", ["0", "-5"])
def test_a_patch_size_that_is_none(survey: Path, step: Run, capsys: pytest.CaptureFixture[str], size: str) -> None:
    out = drawn(survey, step)
    label(out, by_person)
    assert step("alpha", str(out), "--model", "colours", "--patch-size", size) == 2
    assert f"--patch-size is {size}; allowed: stored pixels, at least 1" in capsys.readouterr().err


def test_labels_in_a_folder_that_is_none(survey: Path, step: Run, capsys: pytest.CaptureFixture[str]) -> None:
    out = drawn(survey, step)
    for labels in (survey, survey / "none.csv"):
        assert step("alpha", str(out), "--model", "c", "--labels", str(labels)) == 2
        assert f"{labels}: cannot be read" in capsys.readouterr().err
    found = json.loads((out / "sample.json").read_text())
    (out / "sample.json").write_text(json.dumps({**found, "sha256": found["sha256"][1:]}))
    assert step("alpha", str(out), "--model", "c") == 2
    assert "allowed: a digest a frame, not 29 of 30" in capsys.readouterr().err
    assert step("alpha", str(survey / "frames"), "--model", "c") == 2
    assert "`python -m reseed calibrate sample` makes one" in capsys.readouterr().err


@pytest.mark.parametrize("target", ["0", "1", "five", "nan", "-0.1", "5", "5%", "0,05", "inf", ""])
def test_a_target_that_is_none(survey: Path, step: Run, capsys: pytest.CaptureFixture[str], target: str) -> None:
    out = drawn(survey, step)
    assert step("alpha", str(out), "--model", "colours", "--target", target) == 2
    assert f"--target: got '{target}'; allowed: a number above 0 and below 1" in capsys.readouterr().err


def test_an_exported_file_carries_it_for_the_same_survey_only(
    survey: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for key, value in {"patch_size_px": 40, "resize": RESIZE_RULE, "decode": DECODE_RULE}.items():
        monkeypatch.setitem(GEOMETRY, key, value)
    model = save(lively("mobilenet_v3_small"), "mobilenet_v3_small", survey / "run", alpha="0.39")
    out, frames, onnx = survey / "cal", str(survey / "frames"), survey / "reef.onnx"
    assert main(["calibrate", "sample", frames, "-n", "30", "--out", str(out)]) == 0
    label(out, by_person)
    assert main(["calibrate", "alpha", str(out), "--model", str(model)]) == 0
    given = str(out / "calibration.json")
    assert main(["export", "--model", str(model), "--calibration", given, "--out", str(onnx)]) == 0
    found = json.loads(Path(given).read_text())
    facts = open_engine(onnx, "auto", 1).facts
    assert (facts.alpha, json.loads(facts.calibration)) == (found["alpha"], found)
    capsys.readouterr()
    assert main(["infer", frames, "--model", str(onnx), "--out", str(survey / "o")]) == 0
    assert f"Promise at alpha {found['alpha']}" in capsys.readouterr().out
    write_tow(survey / "frames/more", ["d" * 8])
    assert main(["infer", frames, "--model", str(onnx), "--out", str(survey / "p")]) == 2
    assert "is for another survey" in capsys.readouterr().err


@pytest.mark.skipif(BROWSER is None, reason="no Chromium or Chrome on this machine (RESEED_BROWSER names one)")
@pytest.mark.xdist_group("browser")
def test_the_page_is_filled_in_with_two_keys(survey: Path, step: Run) -> None:
    assert BROWSER is not None
    out = drawn(survey, step, n=20)
    frames = json.loads((out / "sample.json").read_text())["frames"]
    with browser_page(BROWSER) as page:
        page.ask("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(survey / "downloads"))
        page.open(out / "label.html")
        page.until(lambda: page.run("document.getElementById('picture').naturalWidth") == 160)
        for frame in frames:
            page.run(
                "document.dispatchEvent(new KeyboardEvent('keydown', "
                f"{{key: '{'d' if by_person(0, frame) == 'Deploy' else 'N'}'}}))"
            )
        assert page.run("document.getElementById('said').textContent") == "all decided: save"
        page.shot(survey / "page.png")
        page.run("document.dispatchEvent(new KeyboardEvent('keydown', {key: 's'}))")
        saved = survey / "downloads/to_label.csv"
        page.until(lambda: saved.is_file() and saved.stat().st_size > 0)

        def opened_again() -> bool:
            page.open(out / "label.html")
            page.settle()
            return bool(page.run("document.getElementById('done').value") == 20)

        # Nothing is lost. The browser hands what is stored to a new page in its own time, not always at once.
        page.until(opened_again)
        assert (page.console, page.requests) == ([], [])
    assert step("alpha", str(out), "--model", "colours", "--labels", str(saved)) == 0
    assert json.loads((out / "calibration.json").read_text())["n"] == 20
