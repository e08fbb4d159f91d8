"""One file that cannot be read, whatever the reason, is one line of bad_frames.csv; all others are decided."""

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image

from reseed.infer import run_folder, tables
from reseed.infer.run_folder import RUN_FILE
from tests.unit.infer.boat import Infer, decided, frame_jpeg, rows, write_tow

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="kinds of files that POSIX has")
ALL = {"0000": "Deploy", "0001": "No-Deploy"}


def sparse(path: Path) -> None:
    path.write_bytes(b"\xff\xd8\xff")
    os.truncate(path, 200 << 30)


def a_socket(path: Path) -> None:
    here = Path.cwd()
    os.chdir(path.parent)  # the name of a socket may not be long
    try:
        with socket.socket(socket.AF_UNIX) as opened:
            opened.bind(path.name)
    finally:
        os.chdir(here)


def long_strip(path: Path) -> None:
    Image.new("1", (1, 90_000_000)).save(path, "PNG")


BAD: dict[str, tuple[Callable[[Path], object], str]] = {
    "sparse": (sparse, "unreadable"),
    "link to itself": (lambda path: path.symlink_to(path.name), "unreadable"),
    "link to nothing": (lambda path: path.symlink_to("gone.jpg"), "unreadable"),
    "links in a ring": (
        lambda path: (path.symlink_to("ring.xyz"), (path.parent / "ring.xyz").symlink_to(path.name)),
        "unreadable",
    ),
    "pipe": (os.mkfifo, "unreadable"),
    "socket": (a_socket, "unreadable"),
    "device": (lambda path: path.symlink_to("/dev/zero"), "unreadable"),
    "terminal": (lambda path: path.symlink_to("/dev/tty"), "unreadable"),
    "memory": (lambda path: path.symlink_to("/proc/self/mem"), "empty_file"),
    "strip of one pixel": (long_strip, "too_many_pixels"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_file_that_cannot_be_read_stops_nothing(tmp_path: Path, boat: Infer, case: str) -> None:
    write_tow(tmp_path / "frames", ["dddddddd", "nnnnnnnn"])
    make, reason = BAD[case]
    make(tmp_path / "frames/20230315_020600_500_bad.jpg")
    for _ in range(2):  # and at the next start
        assert boat() == 3
        assert decided(tmp_path / "out") == ALL
        bad = rows(tmp_path / "out", tables.BAD_FILE)
        assert [(row["frame"], row["reason"]) for row in bad] == [("20230315_020600_500_bad.jpg", reason)]


@pytest.mark.parametrize("case", ["link to itself", "pipe", "sparse"])
def test_nor_where_it_stands_in_a_list(tmp_path: Path, boat: Infer, case: str) -> None:
    write_tow(tmp_path / "frames", ["dddddddd", "nnnnnnnn"])
    BAD[case][0](tmp_path / "frames/bad.jpg")
    names = sorted(path.name for path in (tmp_path / "frames").iterdir())
    (tmp_path / "frames/all.txt").write_text("\n".join(names))
    assert boat(frames=tmp_path / "frames/all.txt") == 3
    assert decided(tmp_path / "out") == ALL


def test_a_folder_that_is_called_like_a_picture_is_searched(tmp_path: Path, boat: Infer) -> None:
    write_tow(tmp_path / "frames/x.jpg", ["dddddddd", "nnnnnnnn"])
    assert boat() == 0
    assert decided(tmp_path / "out") == ALL


def test_a_file_that_vanishes_or_grows_meanwhile(tmp_path: Path, boat: Infer, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = write_tow(tmp_path / "frames", ["dddddddd", "nnnnnnnn", "cccccccc", "dddddddd"])
    real = run_folder.FrameList.__init__

    def later(self: run_folder.FrameList, *rest: object, **more: object) -> None:
        real(self, *rest, **more)  # type: ignore[arg-type]  # as they come
        paths[2].unlink()
        with paths[3].open("ab") as writer:
            writer.write(frame_jpeg("nnnnnnnn"))

    monkeypatch.setattr(run_folder.FrameList, "__init__", later)
    assert boat() == 3
    assert set(decided(tmp_path / "out")) >= {"0000", "0001"}
    assert rows(tmp_path / "out", tables.BAD_FILE)[0]["reason"] == "unreadable"


def test_a_folder_that_cannot_be_read_is_named(
    tmp_path: Path, boat: Infer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_tow(tmp_path / "frames", ["dddddddd", "nnnnnnnn"])
    write_tow(tmp_path / "frames/closed", ["dddddddd"])
    real = os.scandir

    def scandir(path: object = ".") -> object:
        if str(path).endswith("closed"):
            raise PermissionError(13, "Permission denied", str(path))
        return real(path)  # type: ignore[call-overload]  # as it comes

    monkeypatch.setattr(os, "scandir", scandir)
    assert boat() == 3
    assert decided(tmp_path / "out") == ALL
    assert "folder left out: " in (said := capsys.readouterr().out)
    assert "closed: Permission denied" in said


@pytest.mark.parametrize("name", [".lock", RUN_FILE, tables.DECISIONS_FILE, tables.BAD_FILE, tables.MAP_FILE])
def test_what_a_link_leads_to_stays_as_it_is(
    tmp_path: Path, boat: Infer, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    write_tow(tmp_path / "frames", ["dddddddd"])
    assert boat() == 0
    (tmp_path / "thesis.tex").write_text("precious")
    (tmp_path / "out" / name).unlink(missing_ok=True)
    (tmp_path / "out" / name).symlink_to(tmp_path / "thesis.tex")
    assert boat() == 2
    assert f"{name}: is a link, or no regular file; remove it" in capsys.readouterr().err
    assert (tmp_path / "thesis.tex").read_text() == "precious"


def test_names_that_a_spreadsheet_would_run(tmp_path: Path, boat: Infer) -> None:
    names = ["=1+1.jpg", "+1.jpg", "-2+3.jpg", "@SUM(1).jpg", "'=x.jpg", "a;=1.jpg", "=HYPERLINK(1)/x.jpg"]
    for name in names:
        (tmp_path / "frames" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "frames" / name).write_bytes(frame_jpeg("dddddddd"))
    (tmp_path / "gold.csv").write_text("frame,label\n'=1+1.jpg,Deploy\n=HYPERLINK(1)/x.jpg,Deploy\n")
    for _ in range(2):  # the second start finds all of them decided
        assert boat("--gold", str(tmp_path / "gold.csv")) == 0
        cells = [row["frame"] for row in rows(tmp_path / "out")]
        assert len(cells) == len(names)
        assert not [cell for cell in cells if cell[0] in "=+-@" or ";=" in cell]
    assert {row.frame for row in tables.read_decisions(tmp_path / "out")} == set(names)
