"""`python -m reseed infer` end to end, with a network that looks at colours only."""

import csv
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from numpy.typing import NDArray

from reseed.cli import infer
from reseed.cli.main import main
from reseed.errors import ModelError
from reseed.field.imagery import DECODE_RULE
from reseed.infer import tables
from reseed.infer.run_folder import locked
from reseed.learn.checkpoint import describe_model, save_model
from reseed.learn.models import Network
from reseed.patches.resize import RESIZE_RULE
from tests.unit.field.surveys import LOG_HEADER, encoded, picture
from tests.unit.infer.boat import PATCH, ColourEngine, frame_image, frame_jpeg, write_tow

REPOSITORY = Path(__file__).parents[3]

Infer = Callable[..., int]


@pytest.fixture
def boat(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Infer:
    """Run the command on `tmp_path/frames` into `tmp_path/out`."""
    engine = ColourEngine()
    monkeypatch.setattr(infer, "open_engine", lambda *_, **__: engine)

    def run(*more: str, frames: str = "frames") -> int:
        return main(["infer", str(tmp_path / frames), "--model", "colours", "--out", str(tmp_path / "out"), *more])

    return run


def rows(out: Path, name: str = tables.DECISIONS_FILE) -> list[dict[str, str]]:
    with (out / name).open(encoding="utf-8", newline="") as reader:
        return list(csv.DictReader(reader))


def decided(out: Path) -> dict[str, str]:
    return {Path(row["frame"]).stem[-4:]: row["decision"] for row in rows(out)}


def test_counts_ratios_and_decisions(tmp_path: Path, boat: Infer, capsys: pytest.CaptureFixture[str]) -> None:
    # 5 of 8 is above 0.5; 4 of 8 is not above 0.5; 3 Coral of 8 is 0.375.
    write_tow(tmp_path / "frames/tow_1", ["dddddccc", "ddddnnnn", "nnnnnnnn"])
    assert boat() == 0
    found = rows(tmp_path / "out")
    assert [row["decision"] for row in found] == ["Deploy", "No-Deploy", "No-Deploy"]
    first = found[0]
    assert float(first.pop("latency_ms")) > 0
    assert first == {
        "frame": "tow_1/20230315_020600_000_0000.jpg",
        "captured_at": "2023-03-15T02:06:00Z",
        "latitude_deg": "-9.5000000",
        "longitude_deg": "143.7500000",
        "water_depth_m": "1.86",
        "altitude_m": "1.09",
        "rows": "2",
        "cols": "4",
        "n_patches": "8",
        "deploy_count": "5",
        "coral_count": "3",
        "deploy_ratio": "0.625000",
        "coral_cover": "0.375000",
        "alpha": "0.5",
        "decision": "Deploy",
        "synthetic": "0",
    }
    patches = rows(tmp_path / "out", tables.PATCHES_FILE)
    assert len(patches) == 24
    assert [row["predicted"] for row in patches[:8]] == ["Deploy"] * 5 + ["Coral"] * 3
    assert [patches[5][edge] for edge in ("row", "col", "x0", "y0", "x1", "y1")] == ["1", "1", "40", "40", "80", "80"]
    features = json.loads((tmp_path / "out" / tables.TRACK_FILE).read_text())["features"]
    assert [feature["geometry"]["type"] for feature in features] == ["Point"] * 3 + ["LineString"]
    assert "1 of 3: Deploy at alpha 0.5" in capsys.readouterr().out


def test_alpha_of_the_command_line_goes_first(tmp_path: Path, boat: Infer) -> None:
    write_tow(tmp_path / "frames", ["dddddccc", "ddddnnnn", "nnnnnnnn"])
    assert boat("--alpha", "0.49") == 0
    assert decided(tmp_path / "out") == {"0000": "Deploy", "0001": "Deploy", "0002": "No-Deploy"}


def test_alpha_is_recorded_by_its_value(tmp_path: Path, boat: Infer) -> None:
    write_tow(tmp_path / "frames", ["dddddccc"])
    assert boat("--alpha", "0.50") == 0
    assert rows(tmp_path / "out")[0]["alpha"] == "0.5"
    assert boat("--alpha", "5e-1") == 0  # the same run, which goes on


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_pipe_is_no_frame_and_nobody_waits_for_it(tmp_path: Path, boat: Infer) -> None:
    write_tow(tmp_path / "frames", ["dddddddd"])
    os.mkfifo(tmp_path / "frames/pipe.jpg")
    assert boat() == 3
    bad = rows(tmp_path / "out", tables.BAD_FILE)
    assert [(row["frame"], row["reason"], row["detail"]) for row in bad] == [
        ("pipe.jpg", "unreadable", "not a regular file")
    ]


def test_two_names_that_are_written_alike_are_refused(
    tmp_path: Path, boat: Infer, capsys: pytest.CaptureFixture[str]
) -> None:
    write_tow(tmp_path / "frames", ["dddddddd"])
    for name in ("q\n.jpg", "q\\n.jpg"):  # a line feed, and a backslash with an n
        (tmp_path / "frames" / name).write_bytes(frame_jpeg("nnnnnnnn"))
    assert boat() == 2
    assert "would both be called q\\n.jpg in the tables; rename one of them" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_folder_that_cannot_be_made_is_one_line(
    tmp_path: Path, boat: Infer, capsys: pytest.CaptureFixture[str]
) -> None:
    write_tow(tmp_path / "frames", ["dddddddd"])
    (tmp_path / "file").write_text("")
    assert boat("--out", str(tmp_path / "file/below")) == 2
    said = capsys.readouterr().err
    assert "cannot be made (Not a directory); give --out a folder that can be written" in said
    assert "goes on" not in said


@pytest.mark.parametrize(
    ("name", "data", "reason"),
    [
        ("half.jpg", frame_jpeg("dddddddd")[:-300], "truncated"),
        ("empty.jpg", b"", "empty_file"),
        ("nul.jpg", bytes(4000), "all_nul"),
        ("text.jpg", b"see the other disk", "not_an_image"),
        ("small.jpg", encoded(picture(1, 4 * PATCH, PATCH - 1), "JPEG"), "smaller_than_patch"),
    ],
)
def test_a_frame_that_cannot_be_used_is_listed_and_the_run_goes_on(
    tmp_path: Path, boat: Infer, name: str, data: bytes, reason: str
) -> None:
    write_tow(tmp_path / "frames", ["dddddddd", "nnnnnnnn"])
    (tmp_path / "frames" / name).write_bytes(data)
    assert boat() == 3
    assert decided(tmp_path / "out") == {"0000": "Deploy", "0001": "No-Deploy"}
    bad = rows(tmp_path / "out", tables.BAD_FILE)
    assert [(row["frame"], row["reason"]) for row in bad] == [(name, reason)]
    assert f"{reason} 1" in (tmp_path / "out" / tables.MAP_FILE).read_text()


def test_where_no_frame_can_be_used_nothing_is_counted(
    tmp_path: Path, boat: Infer, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "frames").mkdir()
    (tmp_path / "frames/1.jpg").write_bytes(b"")
    assert boat() == 3
    said = capsys.readouterr().out
    assert "no frame was decided\n1 frame unusable (empty_file 1)" in said
    assert "0 of 0" not in said


def test_every_kind_of_folder(tmp_path: Path, boat: Infer, capsys: pytest.CaptureFixture[str]) -> None:
    """The same name twice, a PNG, a text, a frame without a position, a log that has it."""
    write_tow(tmp_path / "frames/a", ["dddddddd"], latitude=None)
    write_tow(tmp_path / "frames/b", ["nnnnnnnn"], latitude=None)
    (tmp_path / "frames/b/photo_log.csv").write_text(
        f"{LOG_HEADER}\n20230315_020600_000_0000.jpg,-9.5,143.75,1095,0.77,1678845995\n"
    )
    (tmp_path / "frames/a/notes.txt").write_text("calm sea")
    (tmp_path / "frames/x.png").write_bytes(encoded(frame_image("dddddddd"), "PNG"))
    assert boat() == 0
    found = {row["frame"]: row for row in rows(tmp_path / "out")}
    names = ["a/20230315_020600_000_0000.jpg", "b/20230315_020600_000_0000.jpg", "x.png"]
    assert list(found) == names
    assert [row["decision"] for row in found.values()] == ["Deploy", "No-Deploy", "Deploy"]
    assert [row["latitude_deg"] for row in found.values()] == ["", "-9.5000000", ""]
    assert found[names[1]]["water_depth_m"] == "1.86"  # 1.095 m + 0.77 m, to the centimetre
    said = capsys.readouterr().out
    assert "2 frames without a position" in said
    assert "beside the frames: 1 file of other kinds, not needed here\n" in said  # the notes; the log was read


def test_a_second_start_decides_what_is_new_and_nothing_twice(tmp_path: Path, boat: Infer) -> None:
    write_tow(tmp_path / "frames", ["dddddddd", "nnnnnnnn"])
    assert boat() == 0
    before = (tmp_path / "out" / tables.DECISIONS_FILE).read_text()
    write_tow(tmp_path / "frames", ["dddddddd", "nnnnnnnn", "cccccccc"])
    assert boat() == 0
    after = (tmp_path / "out" / tables.DECISIONS_FILE).read_text()
    assert after.startswith(before)
    assert len(rows(tmp_path / "out")) == 3
    assert len(rows(tmp_path / "out", tables.PATCHES_FILE)) == 24


def test_a_frame_that_was_repaired_is_decided_by_the_next_start(tmp_path: Path, boat: Infer) -> None:
    (path,) = write_tow(tmp_path / "frames", ["dddddddd"])
    whole = path.read_bytes()
    path.write_bytes(whole[:-300])
    assert boat() == 3
    path.write_bytes(whole)
    assert boat() == 0
    assert rows(tmp_path / "out", tables.BAD_FILE) == []
    assert decided(tmp_path / "out") == {"0000": "Deploy"}


@pytest.mark.parametrize(
    ("more", "engine", "message"),
    [
        (["--alpha", "0.3"], ColourEngine(), "alpha 0.5, now 0.3"),
        (["--patch-size", "80"], ColourEngine(), "patch_size_px 40, now 80"),
        ([], ColourEngine(sha256="b" * 64), "model_sha256 aaaa.*, now bbbb"),
    ],
)
def test_another_run_into_the_same_folder_is_refused(
    tmp_path: Path,
    boat: Infer,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    more: list[str],
    engine: ColourEngine,
    message: str,
) -> None:
    write_tow(tmp_path / "frames", ["dddddddd"])
    assert boat() == 0
    monkeypatch.setattr(infer, "open_engine", lambda *_, **__: engine)
    assert boat(*more) == 2
    assert re.search(message, capsys.readouterr().err)
    assert len(rows(tmp_path / "out")) == 1


def test_a_folder_with_something_else_in_it_is_refused(
    tmp_path: Path, boat: Infer, capsys: pytest.CaptureFixture[str]
) -> None:
    write_tow(tmp_path / "frames", ["dddddddd"])
    (tmp_path / "out").mkdir()
    (tmp_path / "out/thesis.docx").write_bytes(b"years of work")
    assert boat() == 2
    assert "holds thesis.docx, but no run of infer to go on with" in capsys.readouterr().err
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["thesis.docx"]


def test_two_at_once_into_one_folder(tmp_path: Path, boat: Infer, capsys: pytest.CaptureFixture[str]) -> None:
    write_tow(tmp_path / "frames", ["dddddddd"])
    assert boat() == 0
    with locked(tmp_path / "out"):
        assert boat() == 2
    assert "another infer writes there now" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--alpha", "1.5"], "--alpha: got '1.5'; allowed: a number from 0 to 1"),
        (["--alpha", "half"], "--alpha: got 'half'"),
        (["--alpha", "0_0.5"], "--alpha: got '0_0.5'"),
        (["--alpha", " 0.5"], "--alpha: got ' 0.5'"),
        (["--alpha", "nan"], "--alpha: got 'nan'"),
        (["--patch-size", "0"], "--patch-size is 0"),
        (["--threads", "0"], "--threads is 0; allowed: 1 to"),
        (["--threads", "100000"], "--threads is 100000"),
        (["--drop-late"], "--drop-late is for a folder that is still being written: add --watch"),
        (["--watch", "--idle-end", "-1"], "--idle-end is -1.0"),
        (["--gold", "gone.csv"], "gone.csv: cannot be read"),
    ],
)
def test_bad_arguments_are_one_line_and_leave_nothing(
    tmp_path: Path, boat: Infer, capsys: pytest.CaptureFixture[str], more: list[str], message: str
) -> None:
    write_tow(tmp_path / "frames", ["dddddddd"])
    assert boat(*more) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_a_model_without_alpha_needs_one(
    tmp_path: Path, boat: Infer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_tow(tmp_path / "frames", ["dddddddd"])
    monkeypatch.setattr(infer, "open_engine", lambda *_, **__: ColourEngine(alpha=None))
    assert boat() == 2
    assert "no alpha is recorded with this model; give --alpha" in capsys.readouterr().err
    assert boat("--alpha", "0.5") == 0


def test_a_model_of_another_frame_path_is_refused(
    tmp_path: Path, boat: Infer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_tow(tmp_path / "frames", ["dddddddd"])
    monkeypatch.setattr(infer, "RESIZE_RULE", "nearest")
    assert boat() == 2
    assert "was trained on frames by the resize rule" in capsys.readouterr().err


def test_a_network_trained_on_rendered_frames_is_said_on_real_ones(
    tmp_path: Path, boat: Infer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """On the terminal, on the map and in run.json; a run whose model no longer knows it goes on and keeps it."""
    said = "network trained on rendered frames: its answers mean nothing in the field"
    out = tmp_path / "out"
    write_tow(tmp_path / "frames", ["dddddddd"])
    assert boat() == 0
    assert said not in capsys.readouterr().err + (out / tables.MAP_FILE).read_text()
    assert json.loads((out / "run.json").read_text())["trained_on_rendered"] is False
    for rendered, number in ((True, 2), (False, 3)):
        monkeypatch.setattr(infer, "open_engine", lambda *_, known=rendered, **__: ColourEngine(rendered=known))
        write_tow(tmp_path / "frames", ["dddddddd"] * number)
        assert boat() == 0
        assert capsys.readouterr().err.splitlines().count(f"note: {said}") == 1
        assert f'"notice":"{said}"' in (out / tables.MAP_FILE).read_text()
        assert json.loads((out / "run.json").read_text())["trained_on_rendered"] is True
        assert len(rows(out)) == number


def test_a_run_folder_of_before_goes_on(tmp_path: Path, boat: Infer) -> None:
    write_tow(tmp_path / "frames", ["dddddddd"])
    assert boat() == 0
    path = tmp_path / "out/run.json"
    path.write_text(json.dumps({k: v for k, v in json.loads(path.read_text()).items() if k != "trained_on_rendered"}))
    assert boat() == 0


def test_another_patch_size_is_said(tmp_path: Path, boat: Infer, capsys: pytest.CaptureFixture[str]) -> None:
    write_tow(tmp_path / "frames", ["dddddddd"])
    assert boat("--patch-size", "80") == 0
    assert "patches of 80 px, but the model was trained on 40 px" in capsys.readouterr().err
    assert rows(tmp_path / "out")[0]["n_patches"] == "2"
    assert '"model":"Network none from colours, sha256 aaaaaaaaaaaa, by' in (tmp_path / "out/map.html").read_text()
    assert "trained on 40 px" in (tmp_path / "out" / tables.MAP_FILE).read_text()


def test_a_network_that_breaks_ends_the_run_and_keeps_what_was_decided(
    tmp_path: Path, boat: Infer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Breaking(ColourEngine):
        def classify(self, images: NDArray) -> NDArray:
            if images[..., 0].mean() > 200:  # the frame of Coral
                raise ModelError("the network gives no finite number")
            return super().classify(images)

    write_tow(tmp_path / "frames", ["nnnnnnnn", "cccccccc", "nnnnnnnn"])
    monkeypatch.setattr(infer, "open_engine", lambda *_, **__: Breaking())
    assert boat("--threads", "1") == 2
    assert "no finite number" in capsys.readouterr().err
    assert decided(tmp_path / "out") == {"0000": "No-Deploy"}


def test_a_broken_log_stops_before_anything_is_made(
    tmp_path: Path, boat: Infer, capsys: pytest.CaptureFixture[str]
) -> None:
    write_tow(tmp_path / "frames", ["dddddddd"])
    (tmp_path / "frames/photo_log.csv").write_text(f"{LOG_HEADER}\nx.jpg,1\n")
    assert boat() == 2
    assert "photo_log.csv line 2: 2 cells, the header has 6" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_watch_takes_what_comes_and_waits_for_the_rest_of_it(tmp_path: Path, boat: Infer) -> None:
    (tmp_path / "frames").mkdir()
    first = write_tow(tmp_path / "frames", ["dddddddd"])[0]
    whole = first.read_bytes()
    first.write_bytes(whole[: len(whole) // 2])

    def record() -> None:
        time.sleep(0.6)
        with first.open("ab") as writer:
            writer.write(whole[len(whole) // 2 :])
        later = tmp_path / "frames" / "20230315_020601_000_0001.jpg"
        for share in (1, 2, 4):
            later.write_bytes(frame_jpeg("nnnnnnnn", second=1)[: 400 * share])
            time.sleep(0.3)
        later.write_bytes(frame_jpeg("nnnnnnnn", second=1))
        (tmp_path / "frames" / "broken.jpg").write_bytes(whole[:300])

    recorder = threading.Thread(target=record)
    recorder.start()
    assert boat("--watch", "--idle-end", "1.5") == 3
    recorder.join()
    assert decided(tmp_path / "out") == {"0000": "Deploy", "0001": "No-Deploy"}
    assert [row["frame"] for row in rows(tmp_path / "out", tables.BAD_FILE)] == ["broken.jpg"]


def test_drop_late_decides_the_newest_and_records_the_others(tmp_path: Path, boat: Infer) -> None:
    for number, path in enumerate(write_tow(tmp_path / "frames", ["nnnnnnnn"] * 4 + ["dddddddd"])):
        os.utime(path, (1000 + number, 1000 + number))
    assert boat("--watch", "--drop-late", "--idle-end", "1") == 0
    assert decided(tmp_path / "out") == {"0004": "Deploy"}
    skipped = rows(tmp_path / "out", tables.SKIPPED_FILE)
    assert [row["frame"][-8:-4] for row in skipped] == ["0000", "0001", "0002", "0003"]
    assert {row["newer_frame"][-8:-4] for row in skipped} == {"0004"}
    assert "4 frames passed over" in (tmp_path / "out" / tables.MAP_FILE).read_text()
    # Back on shore, without --drop-late, the same folder of results is completed.
    assert boat() == 0
    assert len(rows(tmp_path / "out")) == 5
    assert rows(tmp_path / "out", tables.SKIPPED_FILE) == []


SLOW = """
import sys, time
import reseed.cli.infer as command
from reseed.cli.main import main
from tests.unit.infer.boat import ColourEngine

class Slow(ColourEngine):
    def classify(self, images):
        time.sleep(0.2)
        return super().classify(images)

command.open_engine = lambda *_, **__: Slow()
sys.exit(main(sys.argv[1:]))
"""


def start(tmp_path: Path, *more: str) -> "subprocess.Popen[str]":
    arguments = ["infer", str(tmp_path / "frames"), "--model", "m", "--out", str(tmp_path / "out"), *more]
    return subprocess.Popen([sys.executable, "-c", SLOW, *arguments], cwd=REPOSITORY, stdout=subprocess.PIPE, text=True)


def wait_for_rows(tmp_path: Path, number: int) -> None:
    path, end = tmp_path / "out" / tables.DECISIONS_FILE, time.monotonic() + 60
    while not path.is_file() or path.read_bytes().count(b"\n") <= number:
        assert time.monotonic() < end
        time.sleep(0.02)


def test_ctrl_c_while_watching_ends_well_and_writes_the_map(tmp_path: Path) -> None:
    write_tow(tmp_path / "frames", ["dddddddd"] * 8)
    process = start(tmp_path, "--watch", "--threads", "1")
    wait_for_rows(tmp_path, 2)
    process.send_signal(signal.SIGINT)
    said, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    found = len(rows(tmp_path / "out"))
    assert 2 <= found < 8
    assert f"{found} of {found}: Deploy" in said
    assert (tmp_path / "out" / tables.MAP_FILE).is_file()


def test_a_killed_run_goes_on_and_decides_none_twice(tmp_path: Path, boat: Infer) -> None:
    write_tow(tmp_path / "frames", ["dddddddd", "nnnnnnnn"] * 5)
    process = start(tmp_path, "--threads", "1")
    wait_for_rows(tmp_path, 3)
    process.kill()
    process.communicate(timeout=60)
    killed_at = len(rows(tmp_path / "out"))
    assert 3 <= killed_at < 10
    assert boat() == 0
    found = rows(tmp_path / "out")
    assert [row["decision"] for row in found] == ["Deploy", "No-Deploy"] * 5
    assert len({row["frame"] for row in found}) == 10
    assert len(rows(tmp_path / "out", tables.PATCHES_FILE)) == 80
    assert len(rows(tmp_path / "out", tables.THUMBNAILS_FILE)) == 10


def test_a_list_that_is_interrupted_says_so(tmp_path: Path) -> None:
    write_tow(tmp_path / "frames", ["dddddddd"] * 20)
    process = start(tmp_path, "--threads", "1")
    wait_for_rows(tmp_path, 1)
    process.send_signal(signal.SIGTERM)
    said, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "the same command goes on" in said
    assert (tmp_path / "out" / tables.MAP_FILE).is_file()


BLOCKED = """
import sys
for name in ("torch", "torchvision", "pandas", "scipy", "sklearn", "matplotlib", "dvc"):
    sys.modules[name] = None  # importing it fails
from reseed.cli.main import main
sys.exit(main(sys.argv[1:]))
"""


def test_how_often_gold_says_the_same(tmp_path: Path, boat: Infer, capsys: pytest.CaptureFixture[str]) -> None:
    """Three frames, of which two have a row and one of these agrees; one row is of another survey."""
    paths = write_tow(tmp_path / "frames", ["dddddddd", "nnnnnnnn", "cccccccc"])
    gold = tmp_path / "gold.csv"
    gold.write_text(f"frame,label\n{paths[0].name},Deploy\n{paths[1].name},Deploy\nelsewhere.jpg,Deploy\n")
    assert boat("--gold", str(gold)) == 0
    said = capsys.readouterr()
    assert "gold: 2 of 3 frames with a row; 1 row matches no decided frame\n" in said.out
    assert "gold: the same decision on 1 of 2 (no score: training frames may be among them)\n" in said.out
    assert said.err == ""
    page = (tmp_path / "out" / tables.MAP_FILE).read_text()
    assert '"gold":{"known":2,"same":1}' in page
    assert "Gold: 2 of 3 frames with a row; 1 row matches no decided frame." in page


def test_gold_of_other_frames_is_said_before_and_after(
    tmp_path: Path, boat: Infer, capsys: pytest.CaptureFixture[str]
) -> None:
    write_tow(tmp_path / "frames", ["dddddddd"])
    gold = tmp_path / "gold.csv"
    gold.write_text("frame,label\na/1.jpg,Deploy\na/2.jpg,Deploy\n")
    assert boat("--gold", str(gold)) == 0
    said = capsys.readouterr()
    assert f"note: {gold}: none of its 2 rows is of the 1 frame given" in said.err
    assert "gold: 0 of 1 frame with a row; 2 rows match no decided frame\n" in said.out
    assert "the same decision" not in said.out
    page = (tmp_path / "out" / tables.MAP_FILE).read_text()
    assert "Gold: 0 of 1 frame with a row; 2 rows match no decided frame." in page


@pytest.mark.slow  # torch is imported and the network exported
def test_with_an_exported_file_neither_torch_nor_pandas_is_needed(tmp_path: Path) -> None:
    """The whole way, with a network itself: export, decide."""
    card = describe_model(
        "mobilenet_v3_small",
        best_epoch=1,
        seed=0,
        threads=1,
        device="cpu",
        input_px=(32, 32),
        geometry={"patch_size_px": PATCH, "input_size_px": 32, "resize": RESIZE_RULE, "decode": DECODE_RULE},
        pretrained={},
    )
    folder = tmp_path / "model"
    save_model(Network("mobilenet_v3_small"), card, folder / "model.pt", folder / "model.json")
    file = tmp_path / "reef.onnx"
    assert main(["export", "--model", str(folder), "--alpha", "0.3", "--out", str(file)]) == 0
    write_tow(tmp_path / "frames", ["dddddddd", "nnnnnnnn"])
    arguments = ["infer", str(tmp_path / "frames"), "--model", str(file), "--out", str(tmp_path / "out")]
    done = subprocess.run(
        [sys.executable, "-c", BLOCKED, *arguments],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "by onnx" in (tmp_path / "out" / tables.MAP_FILE).read_text()


@pytest.mark.field
def test_real_frames_all_have_time_place_and_depth(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """34 frames of three recorder versions; the network looks at colours, only the rest is tested here."""
    data = os.environ.get("RESEED_FIELD_DATA")
    if not data:
        pytest.skip("RESEED_FIELD_DATA is not set: no real imagery here")
    monkeypatch.setattr(infer, "open_engine", lambda *_, **__: ColourEngine())
    frames, out = Path(data) / "reefscan", tmp_path / "out"
    gold = ["--gold", str(frames / "frame_labels_A.csv")]
    assert main(["infer", str(frames), "--model", "m", "--out", str(out), "--patch-size", "800", *gold]) == 0
    found = rows(out)
    assert len(found) == 34
    assert {row["n_patches"] for row in found} == {"28"}
    assert {row["synthetic"] for row in found} == {"0"}
    # Torres Strait, shallower than 10 m, March 2023.
    assert all(-9.7 < float(row["latitude_deg"]) < -9.5 for row in found)
    assert all(143.5 < float(row["longitude_deg"]) < 143.8 for row in found)
    assert all(0.5 < float(row["water_depth_m"]) < 10 for row in found)
    assert all(row["captured_at"].startswith("2023-03-") for row in found)
    features = json.loads((out / tables.TRACK_FILE).read_text())["features"]
    assert sum(feature["properties"].get("gold") is not None for feature in features) == 34
    assert {feature["properties"]["sequence"] for feature in features[34:]} == {
        "erub_drop_5",
        "erub_manta_81",
        "ugar_manta_3",
    }
