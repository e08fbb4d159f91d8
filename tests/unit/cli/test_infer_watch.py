"""`python -m reseed infer` on a folder that is still being written, stopped in the middle, and started again."""

import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from reseed.cli import infer
from reseed.infer import running, tables
from reseed.infer.run_folder import locked
from tests.unit.infer.boat import ColourEngine, Infer, decided, frame_jpeg, rows, write_tow

REPOSITORY = Path(__file__).parents[3]


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


def test_the_map_follows_while_frames_come_and_waiting_is_no_work(
    tmp_path: Path, boat: Infer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(running, "_REFRESH_LEAST_S", 0.0)
    write_tow(tmp_path / "frames", ["dddddddd"])
    seen: list[tuple[bool, int]] = []

    def record() -> None:
        map_file = tmp_path / "out" / tables.MAP_FILE
        until = time.monotonic() + 20
        while not map_file.exists() and time.monotonic() < until:
            time.sleep(0.05)
        text = map_file.read_text("utf-8")
        seen.append(('http-equiv="refresh" content="30"' in text, text.count('"name":"20230315')))
        (tmp_path / "frames" / "20230315_020601_000_0001.jpg").write_bytes(frame_jpeg("nnnnnnnn", second=1))

    recorder = threading.Thread(target=record)
    recorder.start()
    assert boat("--watch", "--idle-end", "1.5") == 0
    recorder.join()
    assert seen == [(True, 1)]  # written while the second frame was still to come
    text = (tmp_path / "out" / tables.MAP_FILE).read_text("utf-8")
    assert 'http-equiv="refresh"' not in text
    assert text.count('"name":"20230315') == 2
    said = re.search(r"2 frames decided in ([\d.]+) s \(([\d.]+) frames/s\)", capsys.readouterr().out)
    assert said
    assert float(said[1]) > 1.5  # at least the wait for the end
    assert float(said[2]) > 3 * 2 / float(said[1])


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
