"""Archives: what is good comes out byte for byte, what is not is refused by name before anything is written."""

import io
import random
import stat
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path, PurePosixPath

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from reseed.base.errors import SourceError
from reseed.sources import unpack as module
from reseed.sources.folder import list_files
from reseed.sources.unpack import Limits, is_archive, safe_path, unpack

FILES = {"Reef 1/a.jpg": b"\xff\xd8\xff" + bytes(2000), "Reef 1/tow/b.csv": b"frame\n" * 50, "Récif/c.txt": b""}
REPOSITORY = Path(__file__).parents[3]


def write_zip(path: Path, files: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", method) as box:
        for name, content in files.items():
            box.writestr(name, content)
    return path


def write_tar(path: Path, files: dict[str, bytes], mode: str = "w") -> Path:
    with tarfile.open(path, mode) as box:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            box.addfile(info, io.BytesIO(content))
    return path


def tar_of(path: Path, *members: tuple[tarfile.TarInfo, bytes]) -> Path:
    with tarfile.open(path, "w") as box:
        for info, content in members:
            info.size = len(content)
            box.addfile(info, io.BytesIO(content))
    return path


def info(name: str, kind: bytes = tarfile.REGTYPE, link: str = "") -> tarfile.TarInfo:
    made = tarfile.TarInfo(name)
    made.type, made.linkname = kind, link
    return made


def zip_link(path: Path, name: str, link: str) -> Path:
    write_zip(path, FILES)
    with zipfile.ZipFile(path, "a") as box:
        entry = zipfile.ZipInfo(name)
        entry.create_system = 3
        entry.external_attr = (stat.S_IFLNK | 0o777) << 16
        box.writestr(entry, link)
    return path


def contents(folder: Path) -> dict[str, bytes]:
    return {path: file.read_bytes() for path, file in list_files(folder).items()}


WRITERS: dict[str, Callable[[Path], Path]] = {
    "reef.zip": lambda path: write_zip(path, FILES),
    "stored.zip": lambda path: write_zip(path, FILES, zipfile.ZIP_STORED),
    "reef.tar": lambda path: write_tar(path, FILES),
    "reef.tar.gz": lambda path: write_tar(path, FILES, "w:gz"),
    "reef.tgz.download": lambda path: write_tar(path, FILES, "w:gz"),
    "reef.tar.bz2": lambda path: write_tar(path, FILES, "w:bz2"),
    "reef.tar.xz": lambda path: write_tar(path, FILES, "w:xz"),
}


@pytest.mark.parametrize("name", WRITERS)
def test_what_is_good_comes_out_byte_for_byte(tmp_path: Path, name: str) -> None:
    archive = WRITERS[name](tmp_path / name)
    before = archive.stat()
    assert is_archive(archive)
    unpack(archive, tmp_path / "t")
    assert contents(tmp_path / "t") == FILES
    now = archive.stat()
    assert (now.st_mtime_ns, now.st_mode, now.st_size) == (before.st_mtime_ns, before.st_mode, before.st_size)


def test_folders_and_modes_of_the_archive_do_not_come_along(tmp_path: Path) -> None:
    locked, folder = info("Reef/a.jpg"), info("Reef", tarfile.DIRTYPE)
    locked.mode, folder.mode = 0o000, 0o000
    archive = tar_of(tmp_path / "a.tar", (info(".", tarfile.DIRTYPE), b""), (folder, b""), (locked, b"x"))
    unpack(archive, tmp_path / "t")
    assert contents(tmp_path / "t") == {"Reef/a.jpg": b"x"}
    assert stat.S_IMODE((tmp_path / "t/Reef/a.jpg").stat().st_mode) & 0o600 == 0o600


def test_names_as_macos_and_old_windows_write_them(tmp_path: Path) -> None:
    archive = tmp_path / "a.zip"
    with zipfile.ZipFile(archive, "w") as box:
        box.writestr("Rxcif/a.jpg", b"1")
        box.writestr("Reef#b.jpg", b"2")
        box.writestr("Rx_cif/a.jpg", b"3")
    raw = archive.read_bytes().replace(b"Rxcif/a.jpg", b"R\xc3\xa9if/a.jpg")  # UTF-8 without the flag
    raw = raw.replace(b"Reef#b.jpg", b"Reef\\b.jpg").replace(b"Rx_cif", b"R\x82_cif")  # backslash; code page 437
    archive.write_bytes(raw)
    unpack(archive, tmp_path / "t")
    assert contents(tmp_path / "t") == {"Réif/a.jpg": b"1", "Reef/b.jpg": b"2", "Ré_cif/a.jpg": b"3"}


@pytest.mark.parametrize("kind", ["symbolic", "hard", "zip"])
def test_a_link_to_a_file_inside_becomes_a_copy(tmp_path: Path, kind: str) -> None:
    if kind == "zip":
        archive = zip_link(tmp_path / "a.zip", "Reef 1/tow/link.jpg", "../a.jpg")
    else:
        made = {
            "symbolic": info("Reef 1/tow/link.jpg", tarfile.SYMTYPE, "../a.jpg"),
            "hard": info("Reef 1/tow/link.jpg", tarfile.LNKTYPE, "Reef 1/a.jpg"),
        }
        members = [(info(name), content) for name, content in FILES.items()]
        archive = tar_of(tmp_path / "a.tar", (made[kind], b""), *members)
    unpack(archive, tmp_path / "t")
    assert contents(tmp_path / "t") == FILES | {"Reef 1/tow/link.jpg": FILES["Reef 1/a.jpg"]}
    assert not (tmp_path / "t/Reef 1/tow/link.jpg").is_symlink()
    assert (tmp_path / "t/Reef 1/a.jpg").stat().st_nlink == 1


GOOD = (info("a.jpg"), b"x")
REFUSED: dict[str, tuple[Callable[[Path], Path], str]] = {
    "zip: leads out": (lambda p: write_zip(p, FILES | {"../evil.jpg": b"x"}), r"'\.\./evil\.jpg' leads out"),
    "zip: leads out inside": (lambda p: write_zip(p, {"a/../../evil": b"x"}), "leads out"),
    "zip: leads out by backslash": (lambda p: write_zip(p, {"..\\evil.jpg": b"x"}), "leads out"),
    "zip: absolute": (lambda p: write_zip(p, FILES | {"/etc/cron.d/evil": b"x"}), "'/etc/cron.d/evil' leads out"),
    "zip: drive": (lambda p: write_zip(p, {"C:/evil": b"x"}), "'C:/evil' leads out"),
    "zip: link out": (lambda p: zip_link(p, "link.jpg", "../../etc/passwd"), r"link\.jpg is a link that leads out"),
    "zip: link absolute": (lambda p: zip_link(p, "link.jpg", "/etc/passwd"), r"link\.jpg is a link that leads out"),
    "zip: link to folder": (lambda p: zip_link(p, "link", "Reef 1"), "link is a link to Reef 1, which is no file"),
    "zip: link to itself": (lambda p: zip_link(p, "link", "link"), "link is a link to link"),
    "tar: leads out": (lambda p: tar_of(p, GOOD, (info("../evil.jpg"), b"x")), r"'\.\./evil\.jpg' leads out"),
    "tar: folder leads out": (lambda p: tar_of(p, GOOD, (info("..", tarfile.DIRTYPE), b"")), "leads out"),
    "tar: absolute": (lambda p: tar_of(p, GOOD, (info("/evil.jpg"), b"x")), r"'/evil\.jpg' leads out"),
    "tar: symbolic link out": (
        lambda p: tar_of(p, GOOD, (info("l", tarfile.SYMTYPE, "../secret"), b"")),
        r"l is a link that leads out of the archive, to '\.\./secret'",
    ),
    "tar: hard link out": (lambda p: tar_of(p, GOOD, (info("l", tarfile.LNKTYPE, "/secret"), b"")), "leads out"),
    "tar: through a link": (
        lambda p: tar_of(p, GOOD, (info("d", tarfile.SYMTYPE, "."), b""), (info("d/x"), b"x")),
        "leads out|file and a folder",
    ),
    "tar: link to nothing": (lambda p: tar_of(p, GOOD, (info("l", tarfile.SYMTYPE, "b"), b"")), "is no file of the"),
    "tar: device": (lambda p: tar_of(p, GOOD, (info("dev", tarfile.CHRTYPE), b"")), "neither file nor folder"),
    "tar: pipe": (lambda p: tar_of(p, GOOD, (info("pipe", tarfile.FIFOTYPE), b"")), "neither file nor folder"),
    "tar: twice": (lambda p: tar_of(p, GOOD, (info("./a.jpg"), b"y")), r"holds a\.jpg twice"),
    "tar: file and folder": (lambda p: tar_of(p, GOOD, (info("a.jpg/b"), b"y")), r"a\.jpg is a file and a folder"),
    "tar: control character": (lambda p: tar_of(p, (info("a\nb.jpg"), b"y")), "no usable name"),
    "tar: not UTF-8": (lambda p: tar_of(p, (info("a\udce9.jpg"), b"y")), "not UTF-8"),
    "zip: empty": (lambda p: write_zip(p, {}), "the archive is empty"),
    "no archive": (lambda p: p.write_bytes(b"Rar!\x1a\x07 and more" * 100) and p, "not a whole zip or tar"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_by_name_before_anything_is_written(tmp_path: Path, name: str) -> None:
    make, message = REFUSED[name]
    archive = make(tmp_path / "archive")
    with pytest.raises(SourceError, match=message):
        unpack(archive, tmp_path / "t")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["archive"]


def test_encryption_is_refused_by_name(tmp_path: Path) -> None:
    archive = write_zip(tmp_path / "a.zip", FILES)
    raw = bytearray(archive.read_bytes())
    for magic, offset in ((b"PK\x01\x02", 8), (b"PK\x03\x04", 6)):  # the flag in both headers of the first member
        at = raw.index(magic) + offset
        raw[at] |= 1
    archive.write_bytes(raw)
    with pytest.raises(SourceError, match=r"Reef 1/a\.jpg is encrypted"):
        unpack(archive, tmp_path / "t")
    assert not (tmp_path / "t").exists()


def test_an_unread_method_is_refused_by_name(tmp_path: Path) -> None:
    archive = write_zip(tmp_path / "a.zip", FILES)
    raw = bytearray(archive.read_bytes())
    raw[raw.index(b"PK\x01\x02") + 10] = 9  # deflate64
    archive.write_bytes(raw)
    with pytest.raises(SourceError, match=r"Reef 1/a\.jpg is packed by method 9"):
        unpack(archive, tmp_path / "t")


@pytest.mark.parametrize("kind", ["zip", "tar.gz"])
def test_a_bomb_is_refused_by_name(tmp_path: Path, kind: str) -> None:
    # 3 x 400 kB of zeros in about 4 kB: 300 times the archive. Allowed here: the larger of 10 times and 1 MB.
    bomb = {f"{number}.bmp": bytes(400_000) for number in range(3)}
    path = tmp_path / f"a.{kind}"
    archive = write_zip(path, bomb) if kind == "zip" else write_tar(path, bomb, "w:gz")
    with pytest.raises(SourceError, match=r"2\.bmp brings what is unpacked to 1200000 bytes"):
        unpack(archive, tmp_path / "t", limits=Limits(files=10, ratio=10, always_bytes=1_000_000))
    assert not (tmp_path / "t").exists()
    unpack(archive, tmp_path / "t", limits=Limits(files=10, ratio=10, always_bytes=1_200_000))


def test_a_header_that_announces_terabytes_is_refused_at_once(tmp_path: Path) -> None:
    huge = info("huge.bmp")
    huge.size = 1 << 42
    (tmp_path / "a.tar").write_bytes(huge.tobuf(tarfile.GNU_FORMAT) + bytes(1024))
    with pytest.raises(SourceError, match=r"huge\.bmp brings what is unpacked to 4398046511104 bytes"):
        unpack(tmp_path / "a.tar", tmp_path / "t")


def test_a_forged_extended_header_does_not_fill_the_memory(tmp_path: Path) -> None:
    header = info("x", tarfile.XHDTYPE)
    header.size = 1 << 36
    (tmp_path / "a.tar").write_bytes(header.tobuf(tarfile.GNU_FORMAT) + bytes(1024))
    with pytest.raises(SourceError, match="damaged, or ends early: a header of"):
        unpack(tmp_path / "a.tar", tmp_path / "t")


def test_links_count_as_what_they_become(tmp_path: Path) -> None:
    links = [(info(f"l{number}", tarfile.SYMTYPE, "a.jpg"), b"") for number in range(50)]
    archive = tar_of(tmp_path / "a.tar", (info("a.jpg"), bytes(100_000)), *links)
    with pytest.raises(SourceError, match="unpacks to 5100000 bytes with its links"):
        unpack(archive, tmp_path / "t", limits=Limits(files=100, ratio=1, always_bytes=1_000_000))


def test_too_many_files(tmp_path: Path) -> None:
    archive = write_zip(tmp_path / "a.zip", {f"{number}.txt": b"" for number in range(5)})
    with pytest.raises(SourceError, match=r"4\.txt is file 5; at most 4"):
        unpack(archive, tmp_path / "t", limits=Limits(files=4, ratio=100, always_bytes=1000))


def test_more_content_than_announced_is_damage(tmp_path: Path) -> None:
    archive = write_zip(tmp_path / "a.zip", {"a.bmp": bytes(100_000)})
    raw = archive.read_bytes().replace((100_000).to_bytes(4, "little"), (10).to_bytes(4, "little"))
    archive.write_bytes(raw)
    with pytest.raises(SourceError, match="damaged"):
        unpack(archive, tmp_path / "t")


def test_no_room_is_said_before_anything_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = write_zip(tmp_path / "a.zip", FILES)
    usage = module.shutil.disk_usage(tmp_path)
    monkeypatch.setattr(module.shutil, "disk_usage", lambda _: usage._replace(free=1000))
    with pytest.raises(SourceError, match="unpacks to 2303 bytes, but only 1000 are free"):
        unpack(archive, tmp_path / "t")


@pytest.mark.parametrize("name", WRITERS)
def test_an_archive_that_ends_early_is_an_error_wherever_it_ends(tmp_path: Path, name: str) -> None:
    whole = WRITERS[name](tmp_path / name).read_bytes()
    last = len(whole) - (10_240 if name == "reef.tar" else 0)  # a tar is padded: only its end mark must be there
    for length in {*range(1, max(last, 2), max(1, last // 40)), len(whole.rstrip(b"\0")) - 1}:
        cut = tmp_path / "cut"
        cut.write_bytes(whole[:length])
        with pytest.raises(SourceError):
            unpack(cut, tmp_path / f"t{length}")


def test_a_tar_that_ends_right_after_a_member_is_an_error(tmp_path: Path) -> None:
    whole = write_tar(tmp_path / "a.tar", FILES).read_bytes()
    # Header and content in blocks of 512 bytes: 512 + 2048, then 512 + 512, then 1024 + 512 + 0, because a name that is
    # not ASCII takes a header of its own.
    for length in (2560, 3584, 5120):
        (tmp_path / "cut.tar").write_bytes(whole[:length])
        with pytest.raises(SourceError, match="ends without its end mark"):
            unpack(tmp_path / "cut.tar", tmp_path / "t")
    (tmp_path / "cut.tar").write_bytes(whole[:5632])
    unpack(tmp_path / "cut.tar", tmp_path / "t")


@pytest.mark.parametrize("name", ["reef.zip", "reef.tar", "reef.tar.gz"])
def test_damage_anywhere_is_an_error_or_harmless_and_never_a_crash(tmp_path: Path, name: str) -> None:
    whole = WRITERS[name](tmp_path / name).read_bytes()
    rng = random.Random(0)  # noqa: S311 - not for secrets
    outside = {path.name for path in tmp_path.iterdir()}
    for number in range(300):
        raw = bytearray(whole)
        for _ in range(rng.choice((1, 1, 4))):
            raw[rng.randrange(len(raw))] = rng.randrange(256)
        (tmp_path / "damaged").write_bytes(raw)
        try:
            unpack(tmp_path / "damaged", tmp_path / "t" / str(number))
        except SourceError as error:
            assert "\n" not in str(error)  # noqa: PT017 - either way is fine, another exception is not
    assert {path.name for path in tmp_path.iterdir()} <= outside | {"damaged", "t"}


@settings(deadline=None)  # a busy machine is no failure
@given(st.text(alphabet="ab./\\:C\x00\n ", max_size=12))
@example("a/./b//c")
@example("..")
def test_a_safe_path_stays_below_and_is_stable(name: str) -> None:
    path = safe_path(name)
    if path is not None:
        assert ".." not in PurePosixPath(path).parts
        assert not PurePosixPath(path).is_absolute()
        assert safe_path(path) == path
        assert PurePosixPath("/top", path).is_relative_to("/top")


# In a process of its own, as limits hold for a process: no file may grow beyond 100 kB, as on a disk that is full.
FULL = """
import resource, signal, sys
from pathlib import Path
from reseed.base.errors import SourceError
from reseed.sources.unpack import unpack
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
try:
    unpack(Path(sys.argv[1]), Path(sys.argv[2]))
except SourceError as error:
    print(error)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no such limit there")
def test_a_write_that_the_system_refuses_is_one_clear_line(tmp_path: Path) -> None:
    archive = write_zip(tmp_path / "a.zip", {"a.bmp": random.Random(0).randbytes(300_000)})  # noqa: S311
    said = subprocess.run(
        [sys.executable, "-c", FULL, str(archive), str(tmp_path / "t")],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert said == f"cannot write {tmp_path}/t/a.bmp: File too large\n"
