"""Downloads from a real server on loopback, each misbehaviour ending in success or in one clear line."""

import hashlib
import re
import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import pytest
from fsspec.implementations.memory import MemoryFileSystem

from reseed.base.errors import SourceError
from reseed.sources import pull as module
from reseed.sources.pull import Patience, fetch
from reseed.sources.remote import _PublicAdapter, _PublicConnection, require_public_address, require_usable
from tests.unit.survey.server import Behaviour, serve

CONTENT = bytes(range(256)) * 4000  # about a megabyte
SHA256 = hashlib.sha256(CONTENT).hexdigest()
QUICK = Patience(attempts=3, answer_s=5.0, pause_s=0.001, longest_pause_s=0.01)


def ranges(behaviour: Behaviour) -> list[str]:
    return [request.get("range", "") for request in behaviour.requests]


def test_a_plain_download(tmp_path: Path) -> None:
    behaviour = Behaviour(CONTENT)
    with serve(behaviour) as url:
        done = fetch(f"{url}/reef.zip", tmp_path, SHA256, patience=QUICK)
    assert (done.sha256, done.length_bytes) == (SHA256, len(CONTENT))
    assert done.path.read_bytes() == CONTENT
    assert ranges(behaviour) == [""]
    assert behaviour.requests[0]["accept-encoding"] == "identity"


def test_a_variable_in_the_url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    behaviour = Behaviour(CONTENT)
    with serve(behaviour) as url:
        monkeypatch.setenv("PORTAL", url)
        monkeypatch.setenv("TOKEN", "s3cret")
        fetch("$PORTAL/reef.zip?token=${TOKEN}", tmp_path, None, patience=QUICK)
        behaviour.refusals = [404]
        with pytest.raises(SourceError, match="404") as caught:
            fetch("$PORTAL/other.zip?token=${TOKEN}", tmp_path, None, patience=QUICK)
    assert behaviour.requests[0]["path"] == "/reef.zip?token=s3cret"
    assert "s3cret" not in str(caught.value)


def test_no_proxy_on_the_way_to_this_very_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    with serve(Behaviour(CONTENT)) as url:
        assert fetch(f"{url}/reef.zip", tmp_path, SHA256, patience=QUICK).sha256 == SHA256


@pytest.mark.parametrize("pinned", [SHA256, None])
def test_a_connection_that_breaks_off_goes_on_where_it_was(tmp_path: Path, pinned: str | None) -> None:
    behaviour = Behaviour(CONTENT, break_after=[300_000, 200_000])
    with serve(behaviour) as url:
        assert fetch(f"{url}/reef.zip", tmp_path, pinned, patience=QUICK).sha256 == SHA256
    assert ranges(behaviour) == ["", "bytes=300000-", "bytes=500000-"]
    assert behaviour.requests[1]["if-range"] == '"v1"'


def test_progress_counts_as_success(tmp_path: Path) -> None:
    # Ten breaks, far more than the three attempts, but each brings new bytes.
    behaviour = Behaviour(CONTENT, break_after=[50_000] * 10)
    with serve(behaviour) as url:
        assert fetch(f"{url}/reef.zip", tmp_path, None, patience=QUICK).sha256 == SHA256
    assert len(behaviour.requests) == 11


def test_a_killed_download_goes_on_in_the_next_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    behaviour = Behaviour(CONTENT, break_after=[400_000])

    def killed(_: float) -> None:
        raise KeyboardInterrupt

    with serve(behaviour) as url:
        with monkeypatch.context() as patched:
            patched.setattr(module.time, "sleep", killed)
            with pytest.raises(KeyboardInterrupt):
                fetch(f"{url}/reef.zip", tmp_path, None, patience=QUICK)
        assert fetch(f"{url}/reef.zip", tmp_path, None, patience=QUICK).sha256 == SHA256
        assert fetch(f"{url}/reef.zip", tmp_path, None, patience=QUICK).sha256 == SHA256
        asked = ranges(behaviour)
        assert fetch(f"{url}/reef.zip", tmp_path, SHA256, patience=QUICK).sha256 == SHA256
    # The third finds all there, and the server says that nothing changed; the pinned fourth does not even ask.
    assert asked == ["", "bytes=400000-", f"bytes={len(CONTENT)}-"] == ranges(behaviour)


def test_a_file_that_changed_between_two_runs_is_downloaded_afresh(tmp_path: Path) -> None:
    behaviour = Behaviour(CONTENT, break_after=[400_000], refusals=[])
    changed = CONTENT[::-1] + b"more"
    with serve(behaviour) as url:
        with pytest.raises(SourceError):
            fetch(f"{url}/reef.zip", tmp_path, None, patience=Patience(1, 5.0, 0.001, 0.01))
        behaviour.content, behaviour.etag = changed, '"v2"'
        assert fetch(f"{url}/reef.zip", tmp_path, None, patience=QUICK).path.read_bytes() == changed


def test_a_stale_part_without_validator_is_no_reason_to_fail(tmp_path: Path) -> None:
    behaviour = Behaviour(CONTENT[::-1], break_after=[400_000], etag="")
    with serve(behaviour) as url:
        with pytest.raises(SourceError):
            fetch(f"{url}/reef.zip", tmp_path, SHA256, patience=Patience(1, 5.0, 0.001, 0.01))
        behaviour.content = CONTENT
        assert fetch(f"{url}/reef.zip", tmp_path, SHA256, patience=QUICK).sha256 == SHA256


def test_without_validator_and_pin_nothing_is_pieced_together(tmp_path: Path) -> None:
    behaviour = Behaviour(CONTENT, break_after=[400_000], etag="")
    with serve(behaviour) as url:
        assert fetch(f"{url}/reef.zip", tmp_path, None, patience=QUICK).sha256 == SHA256
    assert ranges(behaviour) == ["", ""]


def test_a_busy_server_is_asked_again(tmp_path: Path) -> None:
    behaviour = Behaviour(CONTENT, refusals=[503, 503])
    with serve(behaviour) as url:
        assert fetch(f"{url}/reef.zip", tmp_path, SHA256, patience=QUICK).sha256 == SHA256
    assert len(behaviour.requests) == 3


def test_a_server_that_stays_busy_is_one_clear_line(tmp_path: Path) -> None:
    with (
        serve(Behaviour(CONTENT, refusals=[503] * 9)) as url,
        pytest.raises(SourceError, match=r"answered 503 .*given up after 3 attempts"),
    ):
        fetch(f"{url}/reef.zip", tmp_path, SHA256, patience=QUICK)


def test_pauses_grow_and_heed_the_server_within_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    monkeypatch.setattr(module.time, "sleep", pauses.append)
    with serve(Behaviour(CONTENT, refusals=[503] * 9)) as url, pytest.raises(SourceError):
        fetch(f"{url}/reef.zip", tmp_path, None, patience=Patience(6, 5.0, 1.0, 5.0))
    assert pauses == [1.0, 2.0, 4.0, 5.0, 5.0]


@pytest.mark.parametrize(("status", "words"), [(404, "404 Not Found"), (403, "403 Forbidden"), (401, "401")])
def test_a_refusal_is_not_tried_again(tmp_path: Path, status: int, words: str) -> None:
    behaviour = Behaviour(CONTENT, refusals=[status] * 9)
    with serve(behaviour) as url, pytest.raises(SourceError, match=words):
        fetch(f"{url}/reef.zip", tmp_path, SHA256, patience=QUICK)
    assert len(behaviour.requests) == 1
    assert not list(tmp_path.iterdir())


def test_a_server_that_ignores_the_range_starts_over(tmp_path: Path) -> None:
    behaviour = Behaviour(CONTENT, ranges=False, break_after=[600_000])
    with serve(behaviour) as url:
        assert fetch(f"{url}/reef.zip", tmp_path, SHA256, patience=QUICK).sha256 == SHA256
    assert ranges(behaviour) == ["", "bytes=600000-"]


@pytest.mark.parametrize("can_resume", [True, False])
def test_fewer_bytes_than_announced(tmp_path: Path, can_resume: bool) -> None:
    behaviour = Behaviour(CONTENT, fewer=10, ranges=can_resume, etag="")
    with serve(behaviour) as url, pytest.raises(SourceError, match="given up after 3 attempts") as caught:
        fetch(f"{url}/reef.zip", tmp_path, None, patience=QUICK)
    assert "\n" not in str(caught.value)


def test_a_file_changed_since_the_pin_names_both_digests_and_leaves_nothing(tmp_path: Path) -> None:
    other = CONTENT[:-1] + b"!"
    with serve(Behaviour(other)) as url, pytest.raises(SourceError, match="not what was pinned") as caught:
        fetch(f"{url}/reef.zip", tmp_path, SHA256, patience=QUICK)
    assert SHA256 in str(caught.value)
    assert hashlib.sha256(other).hexdigest() in str(caught.value)
    assert not list(tmp_path.iterdir())


def test_a_server_that_never_answers(tmp_path: Path) -> None:
    began = time.monotonic()
    with (
        serve(Behaviour(CONTENT, silent_s=5.0)) as url,
        pytest.raises(SourceError, match=r"no answer within 0\.2 s; given up after 2 attempts"),
    ):
        fetch(f"{url}/reef.zip", tmp_path, None, patience=Patience(2, 0.2, 0.001, 0.01))
    assert time.monotonic() - began < 4


def test_nobody_there(tmp_path: Path) -> None:
    with serve(Behaviour(b"")) as url:
        pass
    with pytest.raises(SourceError, match=r"^\S+/reef\.zip: Connection refused; given up") as caught:
        fetch(f"{url}/reef.zip", tmp_path, None, patience=QUICK)
    assert "0x" not in str(caught.value)


def test_a_file_without_announced_length(tmp_path: Path) -> None:
    with serve(Behaviour(CONTENT, length=False)) as url:
        assert fetch(f"{url}/reef.zip", tmp_path, SHA256, patience=QUICK).sha256 == SHA256


def test_redirects_are_followed_but_not_to_where_nobody_may_go(tmp_path: Path) -> None:
    behaviour = Behaviour(CONTENT, redirect="/moved.zip")
    with serve(behaviour) as url:
        assert fetch(f"{url}/reef.zip", tmp_path, SHA256, patience=QUICK).sha256 == SHA256
        behaviour.redirect = "http://example.org/reef.zip"
        with pytest.raises(SourceError, match="plain http"):
            fetch(f"{url}/other.zip", tmp_path, SHA256, patience=QUICK)
        behaviour.redirect = "/again.zip"
        with pytest.raises(SourceError, match="more than 10 redirects"):
            fetch(f"{url}/third.zip", tmp_path, SHA256, patience=QUICK)


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("http://example.org/a.zip", "use https"),
        ("https://me:secret@example.org/a.zip", "netrc"),
        ("file:///data/a.zip", "kind folder or archive"),
        ("https:///a.zip", "is no url"),
        ("reef.zip", "is no url"),
    ],
)
def test_urls_that_are_not_used(url: str, words: str) -> None:
    with pytest.raises(SourceError, match=words) as caught:
        require_usable(url)
    assert "secret" not in str(caught.value)


def test_a_full_disk_is_said_before_anything_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = module.shutil.disk_usage(tmp_path)
    monkeypatch.setattr(module.shutil, "disk_usage", lambda _: usage._replace(free=1000))
    with serve(Behaviour(CONTENT)) as url, pytest.raises(SourceError, match="only 1000 are free"):
        fetch(f"{url}/reef.zip", tmp_path, None, patience=QUICK)
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="/dev/full is Linux's own full disk")
def test_a_disk_that_fills_up_is_one_clear_line(tmp_path: Path) -> None:
    uri = "$PORTAL/reef.zip"
    part = tmp_path / f"{hashlib.sha256(uri.encode()).hexdigest()[:16]}.part"
    part.symlink_to("/dev/full")
    with serve(Behaviour(CONTENT)) as url, pytest.MonkeyPatch.context() as patched:
        patched.setenv("PORTAL", url)
        with pytest.raises(SourceError, match=r"cannot write .*: No space left on device"):
            fetch(uri, tmp_path, None, patience=QUICK)
    assert not list(tmp_path.iterdir())


def test_a_note_that_was_cut_short_counts_as_none(tmp_path: Path) -> None:
    behaviour = Behaviour(CONTENT, break_after=[400_000])
    with serve(behaviour) as url:
        with pytest.raises(SourceError):
            fetch(f"{url}/reef.zip", tmp_path, None, patience=Patience(1, 5.0, 0.001, 0.01))
        next(tmp_path.glob("*.json")).write_text('{"total_')
        assert fetch(f"{url}/reef.zip", tmp_path, None, patience=QUICK).sha256 == SHA256
    assert ranges(behaviour) == ["", ""]


class Bucket(MemoryFileSystem):
    """What lies in memory, by the scheme of a store that is far away."""

    protocol = "s3"

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        return str(MemoryFileSystem._strip_protocol(path.replace("s3://", "memory://")))


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setitem(sys.modules["fsspec.registry"]._registry, "s3", Bucket)
    memory = fsspec.filesystem("memory")
    memory.pipe("/reseed/reef.zip", CONTENT)
    yield
    memory.rm("/reseed", recursive=True)


@pytest.mark.usefixtures("bucket")
def test_a_store_that_fsspec_reads(tmp_path: Path) -> None:
    assert fetch("s3://reseed/reef.zip", tmp_path, SHA256, patience=QUICK).sha256 == SHA256
    with pytest.raises(SourceError, match=r"s3://reseed/gone\.zip"):
        fetch("s3://reseed/gone.zip", tmp_path, None, patience=QUICK)


@pytest.mark.usefixtures("bucket")
def test_a_file_of_a_store_that_is_shorter_than_announced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = Bucket.info
    monkeypatch.setattr(Bucket, "info", lambda *a, **k: real(*a, **k) | {"size": len(CONTENT) + 5})
    with pytest.raises(SourceError, match=f"{len(CONTENT)} of {len(CONTENT) + 5} announced bytes came"):
        fetch("s3://reseed/reef.zip", tmp_path, None, patience=QUICK)


@pytest.mark.usefixtures("bucket")
def test_a_download_from_a_store_goes_on_too(tmp_path: Path) -> None:
    part = tmp_path / f"{hashlib.sha256(b's3://reseed/reef.zip').hexdigest()[:16]}.part"
    part.write_bytes(CONTENT[:1000])
    assert fetch("s3://reseed/reef.zip", tmp_path, SHA256, patience=QUICK).path.read_bytes() == CONTENT


def test_a_scheme_whose_package_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gcsfs", None)
    with pytest.raises(SourceError, match=r"scheme gs needs a package that is missing: .*gcsfs"):
        fetch("gs://bucket/reef.zip", tmp_path, None, patience=QUICK)


@pytest.mark.parametrize(
    "url",
    [
        *(
            f"{scheme}::file:///etc/hostname"
            for scheme in ("simplecache", "filecache", "blockcache", "zip", "dir", "tar")
        ),
        *("FILE:///etc/hostname", "local:///etc/hostname", "memory://x/a.zip", "data:text/plain;base64,QUJD"),
        *("zip://a.jpg::file:///etc/a.zip", "simplecache::s3://b/a.zip", "s3://b/a.zip::file:///etc/hostname"),
        *("reference://::file:///etc/x.json", "git:///home/me/repo", "github://main/x", "webhdfs://10.0.0.1/x"),
        *(
            "cached:///etc/hostname",
            "generic:///etc/hostname",
            "nonsense://bucket/reef.zip",
            "https::file:///etc/hostname",
        ),
    ],
)
def test_nothing_is_read_but_from_another_machine(tmp_path: Path, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WHOLE", url)
    for uri in (url, "$WHOLE"):
        with pytest.raises(SourceError) as caught:
            fetch(uri, tmp_path, None, patience=QUICK)
        assert "\n" not in str(caught.value)
        assert re.search("is not read; allowed: https|kind folder or archive|is no url", str(caught.value))
    assert not list(tmp_path.iterdir())


PRIVATE = [
    *("127.0.0.1", "127.1", "2130706433", "0x7f000001", "0x7f.1", "0177.0.0.1", "localhost", "0", "10.1.2.3"),
    *("172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "224.0.0.1", "255.255.255.255", "198.18.0.1"),
    *(
        "[::1]",
        "[::]",
        "[fe80::1]",
        "[fe80::1%25lo]",
        "[fc00::1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[::127.0.0.1]",
    ),
    *("[64:ff9b::7f00:1]", "[2002:7f00:1::]", "[ff02::1]", "[2001:db8::1]"),
]


@pytest.mark.parametrize("host", PRIVATE)
@pytest.mark.parametrize("scheme", ["https", "http"])
def test_no_server_leads_to_this_machine_or_its_network(tmp_path: Path, host: str, scheme: str) -> None:
    behaviour = Behaviour(CONTENT, redirect=f"{scheme}://{host}:9/internal.zip")
    with serve(behaviour) as url, pytest.raises(SourceError) as caught:
        fetch(f"{url}/reef.zip", tmp_path, None, patience=QUICK)
    words = "an address of this machine or of its network|only https is followed|plain http|is no url"
    assert re.search(words, str(caught.value)), str(caught.value)
    assert len(behaviour.requests) == 1  # and it was not tried again


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("https://example.org@127.0.0.1/x", "user name"),
        ("https://me:pw@example.org/x", "user name"),
        ("https://example.org\\@127.0.0.1/x", "backslash"),
        ("//localhost:9/x", "only https|this machine"),
        ("file:///etc/hostname", "kind folder"),
        ("simplecache::file:///etc/hostname", "is not read"),
        ("ftp://example.org/x", "only https"),
        ("http://[bad/x", "is no url"),
        ("https://example.org:99999/x", "is no url"),
    ],
)
def test_what_else_a_server_names(tmp_path: Path, target: str, words: str) -> None:
    behaviour = Behaviour(CONTENT, redirect=target)
    with serve(behaviour) as url, pytest.raises(SourceError, match=words) as caught:
        fetch(f"{url}/reef.zip", tmp_path, None, patience=QUICK)
    assert "pw" not in str(caught.value)
    assert len(behaviour.requests) == 1


def test_a_name_that_leads_to_a_private_address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = socket.getaddrinfo

    def looked_up(host: str, *rest: Any, **more: Any) -> Any:
        if host != "rebound.example":
            return real(host, *rest, **more)
        # One public address does not help: whichever is connected to counts.
        return [*real("93.184.216.34", *rest, **more), *real("192.168.0.9", *rest, **more)]

    monkeypatch.setattr(socket, "getaddrinfo", looked_up)
    with (
        serve(Behaviour(CONTENT, redirect="https://rebound.example/x.zip")) as url,
        pytest.raises(SourceError, match=r"redirects to rebound\.example, an address of this machine"),
    ):
        fetch(f"{url}/reef.zip", tmp_path, None, patience=QUICK)


def test_the_address_counts_that_is_connected_to() -> None:
    with serve(Behaviour(CONTENT)) as url:
        connection = _PublicConnection("127.0.0.1", int(url.rpartition(":")[2]))
        with pytest.raises(SourceError, match="an address of this machine"):
            connection.connect()
    pool = _PublicAdapter().poolmanager.connection_from_url("https://example.org/x")
    assert pool.ConnectionCls is _PublicConnection


@pytest.mark.parametrize("address", ["93.184.216.34", "2606:2800:220:1::1", "64:ff9b::5db8:d822", "::ffff:8.8.8.8"])
def test_public_addresses_are_followed_to(address: str) -> None:
    require_public_address(address, "example.org")
