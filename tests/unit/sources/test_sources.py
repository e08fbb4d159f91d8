import hashlib
import os
import stat
from pathlib import Path

import pytest

from reseed.base.errors import SourceError
from reseed.sources import folder as sources
from reseed.sources.folder import copy_folder, digest_folder, folder_sha256, list_files, resolve_uri


def _source(folder: Path) -> Path:
    (folder / "b" / "deep").mkdir(parents=True)
    (folder / "b" / "deep" / "x.txt").write_bytes(b"deep")
    (folder / "b.txt").write_bytes(b"plain")
    (folder / "é ü.txt").write_bytes(b"")
    return folder


def test_resolve_expands_variables_and_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("REEF", str(tmp_path / "reef"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert resolve_uri("$REEF/a") == tmp_path / "reef" / "a"
    assert resolve_uri("${REEF}_2/a/../b") == tmp_path / "reef_2" / "b"
    assert resolve_uri("~/a") == tmp_path / "home" / "a"


def test_resolve_names_the_variable_that_is_not_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_SUCH_REEF", raising=False)
    with pytest.raises(SourceError, match="NO_SUCH_REEF is not set"):
        resolve_uri("$NO_SUCH_REEF/a")


def test_relative_uris_start_at_dvc_root_else_here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("DVC_ROOT", raising=False)
    monkeypatch.chdir(tmp_path)
    assert resolve_uri("../a") == tmp_path.parent / "a"
    monkeypatch.setenv("DVC_ROOT", str(tmp_path / "repo"))
    assert resolve_uri("../a") == tmp_path / "a"


def test_digest_by_hand(tmp_path: Path) -> None:
    # Two files: the lines are "<sha256 of content>  <path>\n" in byte order of the paths: "b.txt" (0x2e after b) comes
    # before "b/deep/x.txt" (0x2f after b), and "é ü.txt" (0xc3) last.
    lines = "".join(
        f"{hashlib.sha256(content).hexdigest()}  {path}\n"
        for path, content in (("b.txt", b"plain"), ("b/deep/x.txt", b"deep"), ("é ü.txt", b""))
    )
    digest = digest_folder(_source(tmp_path / "s"))
    assert digest.sha256 == hashlib.sha256(lines.encode()).hexdigest()
    assert (digest.total_bytes, len(digest.files)) == (9, 3)


def test_digest_does_not_depend_on_the_listing_order(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    folder = _source(tmp_path / "s")
    expected = digest_folder(folder)
    real_walk = os.walk

    def shuffled(top, **options):
        for parent, folders, names in real_walk(top, **options):
            names.sort(reverse=True)
            folders.reverse()
            yield parent, folders, names

    monkeypatch.setattr(sources.os, "walk", shuffled)
    assert digest_folder(folder) == expected


def test_folder_digest_sorts_for_itself(tmp_path: Path) -> None:
    digest = digest_folder(_source(tmp_path / "s"))
    assert folder_sha256(tuple(reversed(digest.files))) == digest.sha256


def test_digest_sees_content_name_and_number(tmp_path: Path) -> None:
    folder = _source(tmp_path / "s")
    seen = {digest_folder(folder).sha256}
    (folder / "b.txt").write_bytes(b"plaim")
    seen.add(digest_folder(folder).sha256)
    (folder / "b.txt").rename(folder / "c.txt")
    seen.add(digest_folder(folder).sha256)
    (folder / "c.txt").unlink()
    seen.add(digest_folder(folder).sha256)
    assert len(seen) == 4


def test_copy_has_the_same_bytes_and_leaves_the_source_alone(tmp_path: Path) -> None:
    folder = _source(tmp_path / "s")
    (folder / "b.txt").chmod(0o400)
    os.utime(folder / "b.txt", ns=(1_000_000_000, 1_500_000_000_123_456_789))
    (folder / "link.txt").symlink_to("b.txt")
    before = {path: path.lstat() for path in sorted(folder.rglob("*"))}
    copy_folder(folder, tmp_path / "t")
    for path, was in before.items():
        now = path.lstat()
        same = ("st_mode", "st_mtime_ns", "st_ino", "st_nlink", "st_size")
        assert [getattr(now, name) for name in same] == [getattr(was, name) for name in same]
    assert {path: p.read_bytes() for path, p in list_files(folder).items()} == {
        path: p.read_bytes() for path, p in list_files(tmp_path / "t").items()
    }
    umask = os.umask(0)
    os.umask(umask)
    for path in list_files(tmp_path / "t").values():
        assert not path.is_symlink()
        assert path.stat().st_nlink == 1
        assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~umask
        assert path.stat().st_ino not in {was.st_ino for was in before.values()}


def test_copy_works_with_and_without_reflinks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    folder = _source(tmp_path / "s")
    monkeypatch.setattr(sources, "_reflink", lambda *_: False)
    copy_folder(folder, tmp_path / "t")
    assert digest_folder(tmp_path / "t") == digest_folder(folder)


def test_a_link_that_leads_out_is_refused(tmp_path: Path) -> None:
    folder = _source(tmp_path / "s")
    (tmp_path / "secret").write_text("x")
    (folder / "link").symlink_to(tmp_path / "secret")
    with pytest.raises(SourceError, match="a link that leads out of the source"):
        digest_folder(folder)


@pytest.mark.parametrize(
    ("target", "message"), [("b", "a link to a folder"), ("gone", "which does not exist"), (".", "a link to a folder")]
)
def test_other_links_are_refused(tmp_path: Path, target: str, message: str) -> None:
    folder = _source(tmp_path / "s")
    (folder / "link").symlink_to(target)
    with pytest.raises(SourceError, match=message):
        list_files(folder)


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    folder = _source(tmp_path / "s")
    os.mkfifo(folder / "pipe")
    with pytest.raises(SourceError, match="neither file nor folder"):
        list_files(folder)


def test_odd_names_are_refused(tmp_path: Path) -> None:
    for name, message in ((b"new\nline", "control character"), (b"latin\xe9", "not UTF-8")):
        folder = _source(tmp_path / f"s{len(name)}")
        Path(os.fsdecode(os.fsencode(folder) + b"/" + name)).write_bytes(b"")
        with pytest.raises(SourceError, match=message):
            list_files(folder)


def test_missing_empty_and_overlapping_sources(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="no such file or folder"):
        digest_folder(tmp_path / "gone")
    (tmp_path / "file").write_text("")
    with pytest.raises(SourceError, match="is a file"):
        digest_folder(tmp_path / "file")
    (tmp_path / "empty" / "inner").mkdir(parents=True)
    with pytest.raises(SourceError, match="empty"):
        copy_folder(tmp_path / "empty", tmp_path / "t")
    folder = _source(tmp_path / "s")
    for target in (folder / "t", folder, tmp_path):
        with pytest.raises(SourceError, match="inside each other"):
            copy_folder(folder, target)


def test_an_unreadable_file_is_one_clear_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    folder = _source(tmp_path / "s")

    def refuse(path: Path) -> tuple[str, int]:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(sources, "hash_file", refuse)
    with pytest.raises(SourceError, match=r"cannot read .*b\.txt: Permission denied"):
        digest_folder(folder)


def test_a_full_disk_is_one_clear_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    folder = _source(tmp_path / "s")

    def full(source: Path, target: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(sources, "copy_file", full)
    with pytest.raises(SourceError, match=r"cannot copy .*: No space left on device"):
        copy_folder(folder, tmp_path / "t")
