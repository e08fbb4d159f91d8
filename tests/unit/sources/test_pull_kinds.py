"""Stage pull with every kind of source, run from an empty folder."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from reseed.artifacts.catalog import FRAMES
from reseed.artifacts.patches import SPLITS_TABLE
from reseed.base.errors import ParamsError, SourceError
from reseed.cli.main import main as reseed
from reseed.sources import folder as sources
from reseed.sources import pull as bringing
from reseed.sources.folder import digest_folder, hash_file, list_files
from reseed.sources.pull import Patience
from stages import catalog, pull, split
from tests.unit.survey.server import Behaviour, serve
from tests.unit.survey.surveys import write_survey
from tests.unit.survey.test_stages import TINY_DEMO

REPOSITORY = Path(__file__).parents[3]
DOWNLOADS = Path(".dvc/tmp/reseed")


def entry(kind: str, uri: str, sha256: str | None = None, name: str = "reef", split: str | None = None) -> str:
    values = {"name": name, "kind": kind, "uri": uri, "layout": "survey", "sha256": sha256, "licence": "CC-BY-4.0"}
    return json.dumps(values | {"citation": "doi:10.0000/reef", "split": split})  # JSON is YAML


def params(*entries: str) -> None:
    lines = "".join(f"    - {text}\n" for text in entries)
    Path("params.yaml").write_text(f"pull:\n  sources:\n{lines}{TINY_DEMO}")


@pytest.fixture
def survey(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("DVC_ROOT", raising=False)
    (tmp_path / "repo").mkdir()
    monkeypatch.chdir(tmp_path / "repo")
    write_survey(tmp_path / "survey")
    labels = tmp_path / "survey/annotations_A.csv"
    labels.write_text(labels.read_text().replace(",Coral,", ",Deploy,", 1))  # `check` wants every class
    return tmp_path / "survey"


@pytest.fixture
def archive(survey: Path) -> Path:
    path = survey.with_name("reef.zip")
    with zipfile.ZipFile(path, "w") as box:
        for name, file in list_files(survey).items():
            box.write(file, name)
    return path


def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    def bring(source: object, folder: Path, final: Path) -> str | None:
        return bringing.bring(source, folder, final, patience=Patience(2, 0.5, 0.001, 0.01))  # type: ignore[arg-type]

    monkeypatch.setattr(pull, "bring", bring)


def nothing_came() -> bool:
    return not Path("data/raw").exists() and not Path("data/raw.part").exists() and not Path("data/raw.json").exists()


def test_an_archive_gives_the_tables_that_its_folder_gives(survey: Path, archive: Path) -> None:
    tables = []
    for kind, uri in (("folder", survey), ("archive", archive)):
        params(entry(kind, str(uri)))
        pull.main([])
        catalog.main([])
        tables.append({path.name: path.read_bytes() for path in Path("data/catalog").iterdir()})
    assert tables[0] == tables[1]
    record = json.loads(Path("data/raw.json").read_text())[0]
    assert record["sha256"] == hash_file(archive)[0]
    assert record["content_sha256"] == digest_folder(survey).sha256
    assert (record["citation"], record["split"], record["files"]) == ("doi:10.0000/reef", None, 11)


def test_the_pin_of_an_archive_is_the_digest_of_the_file(
    survey: Path, archive: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert reseed(["pin", str(archive)]) == 0
    pinned = capsys.readouterr().out.strip()
    assert pinned == hash_file(archive)[0]
    params(entry("archive", str(archive), pinned))
    pull.main([])
    with zipfile.ZipFile(archive, "a") as box:
        box.writestr("more.txt", "x")
    with pytest.raises(SourceError, match=f"pinned  {pinned}\n  found   {hash_file(archive)[0]}"):
        pull.main([])
    assert digest_folder(Path("data/raw/reef")) == digest_folder(survey)  # what was there stays


def test_a_url_of_an_archive(survey: Path, archive: Path) -> None:
    behaviour = Behaviour(archive.read_bytes(), break_after=[1000])
    with serve(behaviour) as url:
        params(entry("url", f"{url}/portal/reef.zip?download=1", hash_file(archive)[0]))
        pull.main([])
    assert digest_folder(Path("data/raw/reef")) == digest_folder(survey)
    assert json.loads(Path("data/raw.json").read_text())[0]["pinned"] is True
    assert not DOWNLOADS.exists()
    assert len(behaviour.requests) == 2


def test_a_url_of_a_single_file(survey: Path) -> None:
    image = next(survey.rglob("*.jpg"))
    with serve(Behaviour(image.read_bytes())) as url:
        params(entry("url", f"{url}/portal/Reef%201.jpg?version=a/b"))
        pull.main([])
    assert Path("data/raw/reef/Reef 1.jpg").read_bytes() == image.read_bytes()


@pytest.mark.parametrize(
    ("path", "name"), [("/dl/$TOKEN", "file.jpg"), ("/$TOKEN.jpg", "file.jpg"), ("/$TOKEN/a.jpg", "a.jpg")]
)
def test_what_a_variable_holds_is_in_no_name_and_no_record(
    survey: Path, monkeypatch: pytest.MonkeyPatch, path: str, name: str
) -> None:
    monkeypatch.setenv("TOKEN", "s3cr3t")
    image = next(survey.rglob("*.jpg"))
    with serve(Behaviour(image.read_bytes())) as url:
        params(entry("url", f"{url}{path}"))
        pull.main([])
    assert [file.name for file in Path("data/raw/reef").iterdir()] == [name]
    assert "s3cr3t" not in Path("data/raw.json").read_text()


def test_a_secret_in_params_is_refused_before_anything_is_recorded(survey: Path) -> None:
    for uri in ("https://me:s3cr3t@127.0.0.1:9/a.zip", "https://127.0.0.1:9/a.zip?sig=s3cr3t"):
        params(entry("url", uri))
        with pytest.raises(SourceError) as caught:
            pull.main([])
        assert "s3cr3t" not in str(caught.value)
        params(entry("folder", uri))  # the kind does not fit: that message shows the entry
        with pytest.raises(ParamsError) as refused:
            pull.main([])
        assert "s3cr3t" not in str(refused.value)
    assert nothing_came()


def test_a_login_page_is_not_taken_for_data(survey: Path) -> None:
    with serve(Behaviour(b"\n<!DOCTYPE html><title>Log in</title>")) as url:
        params(entry("url", f"{url}/reef.zip"))
        with pytest.raises(SourceError, match=r"pull.sources reef: .*a web page came"):
            pull.main([])
    assert nothing_came()


def test_several_sources_and_a_split_of_their_own(survey: Path, archive: Path) -> None:
    with serve(Behaviour(archive.read_bytes())) as url:
        params(
            entry("folder", str(survey), name="a", split="train"),
            entry("archive", str(archive), name="b", split="val"),
            entry("url", f"{url}/reef.zip", name="c", split="test"),
            entry("archive", str(archive), name="d"),
        )
        pull.main([])
    assert len({digest_folder(Path("data/raw", name)).sha256 for name in "abcd"}) == 1
    catalog.main([])
    frames = FRAMES.read(Path("data/catalog/frames.csv"))
    given = frames.groupby("source")["given_split"].agg(["unique", "size"])
    assert {name: (list(row["unique"]), row["size"]) for name, row in given.iterrows()} == {
        "a": (["train"], 4), "b": (["val"], 4), "c": (["test"], 4), "d": ([""], 4),
    }  # fmt: skip


def test_one_source_to_train_on_and_one_to_test_on(survey: Path, tmp_path: Path) -> None:
    write_survey(tmp_path / "other", sequences=("tow_7",))
    params(
        entry("folder", str(survey), name="ours", split="train"),
        entry("folder", str(tmp_path / "other"), name="theirs", split="test"),
    )
    section = "{group_by: sequence, val_fraction: 0.5, test_fraction: 0.2, block_frames: 9, guard_frames: 1, seed: 0}"
    with Path("params.yaml").open("a") as file:
        file.write(f"split: {section}\n")
    for stage in (pull, catalog, split):
        stage.main([])
    table = SPLITS_TABLE.read(Path("data/catalog/splits.csv"))
    by_source = table.groupby(table["frame_id"].str.split("/").str[0])["split"].agg(set)
    assert by_source.to_dict() == {"ours": {"train", "val"}, "theirs": {"test"}}


def test_when_one_source_fails_none_appears_and_the_other_is_not_downloaded_again(survey: Path, archive: Path) -> None:
    behaviour = Behaviour(archive.read_bytes())
    with serve(behaviour) as url:
        first = entry("url", f"{url}/reef.zip", hash_file(archive)[0], name="first")
        params(first, entry("archive", "../gone.zip", name="second"))
        with pytest.raises(SourceError, match=r"pull.sources second: .*gone\.zip: no such file"):
            pull.main([])
        assert nothing_came()
        params(first)
        pull.main([])
    assert len(behaviour.requests) == 1


@pytest.mark.parametrize(
    ("behaviour", "message"),
    [
        (Behaviour(b"", refusals=[503] * 9), "answered 503"),
        (Behaviour(b"x" * 5000, fewer=100), "the connection broke off|announced bytes came"),
        (Behaviour(b"x" * 5000, silent_s=1.5), r"no answer within 0\.5 s"),
        (Behaviour(b"x" * 5000), "not what was pinned"),
    ],
    ids=["stays busy", "fewer bytes", "silent", "changed"],
)
def test_a_download_that_fails_leaves_what_was_there(
    survey: Path, behaviour: Behaviour, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    params(entry("folder", str(survey)))
    pull.main([])
    before = digest_folder(Path("data"))
    impatient(monkeypatch)
    with serve(behaviour) as url:
        params(entry("url", f"{url}/reef.zip", "0" * 64))
        with pytest.raises(SourceError, match=f"pull.sources reef: .*({message})"):
            pull.main([])
    assert digest_folder(Path("data")) == before


@pytest.mark.parametrize(
    ("break_it", "message"),
    [
        (lambda p: p.write_bytes(p.read_bytes()[:-30]), "not a whole zip or tar"),
        (lambda p: p.write_text("name,label\n" * 100), "not a whole zip or tar"),
        (lambda p: (p.unlink(), p.mkdir()), "use kind folder"),
    ],
    ids=["cut short", "a table", "a folder"],
)
def test_an_archive_that_is_none(archive: Path, break_it: Callable[[Path], object], message: str) -> None:
    break_it(archive)
    params(entry("archive", str(archive)))
    with pytest.raises(SourceError, match=message):
        pull.main([])
    assert nothing_came()


def test_a_pinned_archive_is_not_even_opened_if_it_is_another(archive: Path) -> None:
    archive.write_bytes(b"nothing that could be unpacked")
    params(entry("archive", str(archive), "0" * 64))
    with pytest.raises(SourceError, match="is not what was pinned"):
        pull.main([])


def test_an_archive_inside_the_folder_that_is_made_anew(archive: Path) -> None:
    Path("data/raw").mkdir(parents=True)
    inside = archive.rename(Path("data/raw/reef.zip"))
    params(entry("archive", "data/raw/reef.zip"))
    with pytest.raises(SourceError, match="is inside data/raw"):
        pull.main([])
    assert inside.exists()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (entry("url", "reef.zip"), "uri with its scheme for kind url"),
        (entry("folder", "https://example.org/reef.zip"), "kind url for a uri with a scheme"),
        (entry("archive", ""), "a path or url for every other kind"),
        (entry("ftp", "x"), "'demo', 'folder', 'archive' or 'url'"),
        (entry("folder", "x", split="holdout"), "'train', 'val' or 'test'"),
        (entry("folder", "x").replace(', "split": null', ""), "split: missing"),
        (entry("folder", "x").replace(', "citation": "doi:10.0000/reef"', ""), "citation: missing"),
    ],
)
def test_parameters_that_do_not_fit_together(survey: Path, text: str, message: str) -> None:
    params(text)
    with pytest.raises(ParamsError, match=message):
        pull.main([])


def fitting_parameters() -> str:
    """Return our parameters as they suit four frames of 70 x 40 px at two sites: `check` looks into the data."""
    text = (REPOSITORY / "params.yaml").read_text().replace("group_by: site", "group_by: frame")
    return text.replace("patch_size: 200", "patch_size: 20")


def test_check_and_pin_of_a_url(survey: Path, archive: Path, capsys: pytest.CaptureFixture[str]) -> None:
    behaviour = Behaviour(archive.read_bytes())
    values = fitting_parameters()
    head, _, tail = values.partition("    - name: demo\n")
    with serve(behaviour) as url:

        def write(sha256: str | None) -> None:
            rest = tail[tail.index("\ndemo:") :]
            Path("params.yaml").write_text(f"{head}    - {entry('url', f'{url}/reef.zip', sha256)}\n{rest}")

        write(None)
        assert reseed(["check"]) == 0
        assert "reef: unpinned, not pulled yet" in capsys.readouterr().out
        assert reseed(["pin", f"{url}/reef.zip"]) == 0
        pinned = capsys.readouterr().out.strip()
        assert pinned == hash_file(archive)[0]
        write(pinned)
        pull.main([])
        assert len(behaviour.requests) == 1  # what pin downloaded is there already
        capsys.readouterr()
        assert reseed(["check"]) == 0
        assert f"reef: pinned, ok, as pulled before, sha256 {pinned}" in capsys.readouterr().out
        write("0" * 64)
        assert reseed(["check"]) == 2
        assert "not what was pinned" in capsys.readouterr().err


def test_check_of_an_archive(archive: Path, capsys: pytest.CaptureFixture[str]) -> None:
    values = fitting_parameters()
    head, _, tail = values.partition("    - name: demo\n")
    Path("params.yaml").write_text(
        f"{head}    - {entry('archive', str(archive))}\n{tail[tail.index(chr(10) + 'demo:') :]}"
    )
    pull.main([])
    capsys.readouterr()
    assert reseed(["check"]) == 0
    assert f"unchanged since it was pulled, sha256 {hash_file(archive)[0]}" in capsys.readouterr().out
    with zipfile.ZipFile(archive, "a") as box:
        box.writestr("more.txt", "x")
    assert reseed(["check"]) == 0
    assert "CHANGED since it was pulled" in capsys.readouterr().out


def test_changed_names_the_source_that_changed_and_brings_nothing(
    survey: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def exit_code() -> object:
        with pytest.raises(SystemExit) as ended:
            pull.main(["--changed"])
        return ended.value.code

    params(entry("folder", str(survey)))
    assert exit_code() == 1, "nothing was pulled yet"
    pull.main([])
    assert exit_code() == 1
    before = digest_folder(Path("data/raw/reef"))
    capsys.readouterr()
    (survey / "more.txt").write_text("x")
    assert exit_code() == 0
    assert "pull: reef has changed since it was pulled" in capsys.readouterr().err
    assert digest_folder(Path("data/raw/reef")) == before
    pull.main([])
    assert exit_code() == 1


def test_a_killed_pull_goes_on_where_it_was(survey: Path, archive: Path) -> None:
    content = archive.read_bytes()
    behaviour = Behaviour(content, break_after=[2000], refusals=[])
    for name in ("reseed", "stages"):
        Path(name).symlink_to(REPOSITORY / name)
    with serve(behaviour) as url:
        params(entry("url", f"{url}/reef.zip"))
        code = "from stages import pull; pull.main([])"
        behaviour.refusals = []
        running = subprocess.Popen([sys.executable, "-c", code], env=os.environ | {"PYTHONPATH": str(REPOSITORY)})
        deadline = time.monotonic() + 30
        while not list(DOWNLOADS.glob("*.part")) or next(DOWNLOADS.glob("*.part")).stat().st_size < 2000:
            assert running.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.005)
        running.send_signal(signal.SIGKILL)
        running.wait()
        assert not Path("data/raw").exists()
        before = len(behaviour.requests)
        pull.main([])
    assert digest_folder(Path("data/raw/reef")) == digest_folder(survey)
    assert not Path("data/raw.part").exists()
    if before == 1:  # killed during the pause after the break, and not after it had gone on
        assert behaviour.requests[1]["range"] == "bytes=2000-"


def facts(folder: Path) -> dict[str, tuple[int, ...]]:
    return {
        str(path): (info.st_mode, info.st_mtime_ns, info.st_ino, info.st_nlink, info.st_size)
        for path in [folder, *folder.rglob("*")]
        for info in [os.lstat(path)]
    }


@pytest.mark.parametrize("kind", ["folder", "archive"])
def test_a_full_disk_leaves_nothing_and_the_source_untouched(
    survey: Path, archive: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, copied = facts(survey.parent), []
    real = sources.shutil.copyfileobj

    def fills_up(reader: object, writer: object, length: int) -> None:
        copied.append(1)
        if len(copied) == 4:
            raise OSError(28, "No space left on device")
        real(reader, writer, length)

    monkeypatch.setattr(sources, "_reflink", lambda *_: False)
    monkeypatch.setattr(sources.shutil, "copyfileobj", fills_up)
    if kind == "archive":
        usage = sources.shutil.disk_usage(survey)
        monkeypatch.setattr(sources.shutil, "disk_usage", lambda _: usage._replace(free=5000))
    params(entry(kind, str(survey if kind == "folder" else archive)))
    del before[str(survey.parent)], before[str(Path.cwd())]
    with pytest.raises(SourceError, match=r"No space left on device|only 5000 are free") as caught:
        pull.main([])
    assert "\n" not in str(caught.value)
    assert nothing_came()
    now = facts(survey.parent)
    assert {path: now[path] for path in before} == before


# In a process of its own, which gives up root's rights, to whom nothing is denied, once all is imported.
DENIED = """
import os, sys
sys.path.insert(0, sys.argv[1])
from reseed.base.errors import ParamsError, SourceError
from stages import pull
if os.geteuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
try:
    pull.main([])
except SourceError as error:
    print(error)
"""


@pytest.mark.skipif(os.name != "posix", reason="POSIX permissions")
@pytest.mark.parametrize("locked", ["folder", "file", "archive", "target"])
def test_permission_denied_is_one_clear_line(survey: Path, archive: Path, locked: str) -> None:
    here = Path.cwd()
    for path in [*survey.parents, *here.parents]:  # pytest closes its temporary folders to other users
        if path.is_relative_to(Path(tempfile.gettempdir()).resolve()) and path.stat().st_uid == os.getuid():
            path.chmod(path.stat().st_mode | 0o055)
    here.chmod(0o777)
    what = {"folder": survey / "drop_1", "file": next(survey.rglob("*.jpg")), "archive": archive, "target": here}
    params(entry("archive", str(archive)) if locked == "archive" else entry("folder", str(survey)))
    what[locked].chmod(0o555 if locked == "target" else 0)
    try:
        # `make coverage` could not write what it measures either.
        env = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")}
        done = subprocess.run(
            [sys.executable, "-c", DENIED, str(REPOSITORY)], env=env, capture_output=True, text=True, check=False
        )
    finally:
        what[locked].chmod(0o755)
    assert done.stderr == ""
    assert done.stdout.startswith("cannot write data/raw" if locked == "target" else "pull.sources reef: cannot ")
    assert done.stdout.endswith(": Permission denied\n")
    assert done.stdout.count("\n") == 1
    assert nothing_came()
