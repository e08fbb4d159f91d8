"""Opening a file on another machine at a given byte: over https, or by any fsspec scheme whose package is installed.

Messages do not name the url: with its variables expanded it may hold a token. `fetch` names it as the user wrote it.
"""

import ipaddress
import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, Any, Final
from urllib.parse import SplitResult, urljoin, urlsplit

import requests
import urllib3
from requests.adapters import HTTPAdapter
from requests.utils import get_environ_proxies, select_proxy

from reseed.base.errors import SourceError

_CHUNK_BYTES: Final = 1 << 18
_REDIRECTS: Final = 10
# What a server may answer differently a moment later.
_PASSING: Final = (408, 425, 429, 500, 502, 503, 504)
_LOOPBACK: Final = ("localhost", "127.0.0.1", "::1")
# What lies on another machine. fsspec has more, most of which read files of this one, or others through them.
_SCHEMES: Final = (
    *(
        "https",
        "s3",
        "s3a",
        "gs",
        "gcs",
        "az",
        "abfs",
        "abfss",
        "adl",
        "oss",
        "hf",
        "sftp",
        "ssh",
        "ftp",
        "smb",
        "hdfs",
    ),
    "http",
)
_UNPRINTABLE: Final = re.compile(r"[\x00-\x20\x7f\\]")
_UNICAST: Final = ipaddress.ip_network("2000::/3")
_NAT64: Final = ipaddress.ip_network("64:ff9b::/96")


@dataclass(frozen=True)
class Stream:
    """A file being read.

    Args:
        start: Byte of the file at which `chunks` begins.
        total_bytes: Length of the whole file, None if the other side does not say.
        validator: What changes whenever the file does, such as its ETag; empty if the other side gives nothing.
        chunks: The content from `start` on; raises `TransferError` where it breaks off.
    """

    start: int
    total_bytes: int | None
    validator: str
    chunks: Iterator[bytes]


class TransferError(Exception):
    """What may well succeed at another try: a broken connection, no answer, a busy server.

    Args:
        reason: In words.
        after_s: Seconds after which the server asked to be tried again, 0 if it said nothing.
    """

    def __init__(self, reason: str, after_s: float = 0.0) -> None:
        super().__init__(reason)
        self.after_s = after_s


@contextmanager
def open_remote(url: str, start: int, validator: str, answer_s: float) -> Iterator[Stream]:
    """Open the file at `url` from byte `start` on; what comes may start at 0 all the same, see `Stream.start`.

    Args:
        url: With its scheme, variables expanded.
        start: Bytes that are here already.
        validator: That of the file they belong to, or empty: they then count whatever the file is now.
        answer_s: Seconds to wait for an answer, and for more bytes.

    Raises:
        SourceError: If the url cannot be used, or the other side says no for good.
        TransferError: If another try may succeed.
    """
    scheme = urlsplit(url).scheme.lower()
    opened = _open_http if scheme in ("http", "https") else _open_fsspec
    with opened(url, start, validator, answer_s) as stream:
        yield stream


def require_usable(url: str) -> None:
    """Check a url before anything is asked of anybody.

    Raises:
        SourceError: If it has no scheme or host, holds credentials, is plain http to another machine, or does not
            lead to another machine at all.
    """
    parts = _split(url)
    if parts.scheme in ("file", "local"):
        raise SourceError("is on this machine; use kind folder or archive with its path")
    if not parts.scheme or (parts.scheme in ("http", "https") and not parts.hostname):
        raise SourceError("that is no url; kind url takes one such as https://example.org/reef.zip")
    if parts.scheme not in _SCHEMES or (parts.scheme not in ("http", "https") and "::" in url):
        raise SourceError(f"scheme {url.partition('//')[0][:40]} is not read; allowed: {', '.join(_SCHEMES[:-1])}")
    if parts.password is not None or (parts.username is not None and parts.scheme in ("http", "https")):
        raise SourceError(
            "the url holds a user name or password; put it into ~/.netrc instead, where it is looked up by host"
        )
    if parts.scheme == "http" and parts.hostname not in _LOOPBACK:
        raise SourceError(f"plain http ({parts.hostname}) can be changed on the way; use https")


def _split(url: str) -> SplitResult:
    if _UNPRINTABLE.search(url):
        raise SourceError("the url holds a blank, a backslash or a control character, perhaps in a variable")
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError as error:
        raise SourceError("that is no url: its host or port cannot be read") from error
    return parts


def _require_public(parts: SplitResult) -> None:
    """Check that a server leads to a machine of the public network, as it could send anything else of this one's.

    Raises:
        SourceError: If it leads to plain http, this machine or a private network.
        TransferError: If the name has no address.
    """
    host, url = parts.hostname or "", parts.geturl()
    if parts.scheme != "https":
        raise SourceError(f"the server redirects to {parts.scheme} ({host}); only https is followed")
    proxied = select_proxy(url, get_environ_proxies(url)) is not None  # which then looks up the name
    try:
        flags = socket.AI_NUMERICHOST if proxied else 0
        # An address with a zone (%eth0) is of a network of this machine; the library may not take it.
        found = socket.getaddrinfo(host.partition("%")[0], parts.port or 443, type=socket.SOCK_STREAM, flags=flags)
    except (OSError, UnicodeError) as error:
        if proxied and not host.endswith((".local", ".localhost", ".internal")) and "." in host:
            return
        raise TransferError(f"the server redirects to {host}, which has no address") from error
    for *_, address in found:
        require_public_address(str(address[0]), host)


def require_public_address(address: str, host: str) -> None:
    """Check an address that a server led to.

    Raises:
        SourceError: If it is of this machine, a private network or no single machine.
    """
    if not _is_public(ipaddress.ip_address(address.partition("%")[0])):
        raise SourceError(
            f"the server redirects to {host}, an address of this machine or of its network; what lies there is only "
            "read from a url that you name yourself"
        )


def _is_public(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    if isinstance(address, ipaddress.IPv4Address):
        return address.is_global and not address.is_multicast and not address.is_reserved
    inner = address.ipv4_mapped or address.sixtofour
    if address in _NAT64:
        inner = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    if inner is not None:
        return _is_public(inner)
    return address in _UNICAST and address.is_global


class _PublicConnection(urllib3.connection.HTTPSConnection):
    """Looks at the address once more where it is connected to: a name may have another one a moment later."""

    def _new_conn(self) -> socket.socket:
        opened = super()._new_conn()
        try:
            require_public_address(str(opened.getpeername()[0]), self.host)
        except BaseException:
            opened.close()
            raise
        return opened


class _PublicPool(urllib3.HTTPSConnectionPool):
    ConnectionCls = _PublicConnection


class _PublicAdapter(HTTPAdapter):
    """Connects to machines of the public network only; a proxy, which the user named, may be anywhere."""

    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        super().init_poolmanager(*args, **kwargs)
        self.poolmanager.pool_classes_by_scheme = {"https": _PublicPool}


@contextmanager
def _open_http(url: str, start: int, validator: str, answer_s: float) -> Iterator[Stream]:
    # identity: lengths and ranges then count bytes of the file itself, not of a compressed form of it.
    headers = {"Accept-Encoding": "identity", "User-Agent": "reseed"}
    if start:
        headers["Range"] = f"bytes={start}-"
        if validator:
            headers["If-Range"] = validator
    with requests.Session() as session:
        try:
            response = _follow(session, url, headers, answer_s)
        except requests.RequestException as error:
            raise _explained(error, answer_s) from error
        except ValueError as error:  # the library looks at where a redirect leads, too
            raise SourceError("the server redirects to what is no url: its host or port cannot be read") from error
        with response:
            yield _http_stream(response, start, answer_s)


def _follow(session: requests.Session, url: str, headers: dict[str, str], answer_s: float) -> requests.Response:
    """Follow redirects one by one: what a person names is one thing, what a server names another."""
    named = _origin(_split(url))
    for _ in range(_REDIRECTS):
        require_usable(url)
        parts = _split(url)
        if _origin(parts) != named:
            _require_public(parts)
            session.mount("https://", _PublicAdapter())
        direct = {"no_proxy": parts.hostname} if parts.hostname in _LOOPBACK else None  # this very machine
        response = session.get(
            url, headers=headers, timeout=answer_s, stream=True, allow_redirects=False, proxies=direct
        )
        if not response.is_redirect:
            return response
        url = urljoin(url, response.headers["location"])
        response.close()
    raise SourceError(f"more than {_REDIRECTS} redirects")


def _origin(parts: SplitResult) -> tuple[str, str | None, int]:
    return parts.scheme, parts.hostname, parts.port or (443 if parts.scheme == "https" else 80)


def _http_stream(response: requests.Response, start: int, answer_s: float) -> Stream:
    status, headers = response.status_code, response.headers
    etag = headers.get("etag", "")
    # A weak ETag does not promise the same bytes, and If-Range may not name one.
    validator = etag if etag and not etag.startswith("W/") else headers.get("last-modified", "")
    if status == requests.codes.ok:
        return Stream(0, _length(headers.get("content-length")), validator, _http_chunks(response, answer_s))
    first, total = _content_range(headers.get("content-range", ""))
    if status == requests.codes.partial_content and first == start:
        return Stream(start, total, validator, _http_chunks(response, answer_s))
    if start and status == requests.codes.requested_range_not_satisfiable and total == start:
        return Stream(start, total, validator, iter(()))  # all of it is here already
    if status in (requests.codes.partial_content, requests.codes.requested_range_not_satisfiable):
        raise TransferError("the server sent another part of the file than was asked for")
    said = f"the server answered {status} {response.reason or ''}".rstrip()
    if status in _PASSING:
        raise TransferError(said, float(_length(headers.get("retry-after")) or 0))
    raise SourceError(said)


def _http_chunks(response: requests.Response, answer_s: float) -> Iterator[bytes]:
    try:
        yield from response.raw.stream(_CHUNK_BYTES, decode_content=False)
    except (requests.RequestException, urllib3.exceptions.HTTPError, OSError) as error:
        raise TransferError(_reason(error, answer_s)) from error


def _length(text: str | None) -> int | None:
    return int(text) if text is not None and text.isascii() and text.isdigit() else None


def _content_range(text: str) -> tuple[int | None, int | None]:
    """Return first byte and total length of `bytes 5-9/10` or `bytes */10`; None for what is not said."""
    span, _, total = text.removeprefix("bytes").strip().partition("/")
    return _length(span.partition("-")[0]), _length(total)


def _explained(error: requests.RequestException, answer_s: float) -> Exception:
    if isinstance(error, requests.exceptions.SSLError):
        return SourceError(f"no trusted connection: {_reason(error, answer_s)}")
    if isinstance(error, requests.Timeout | requests.ConnectionError):
        return TransferError(_reason(error, answer_s))
    return SourceError(_reason(error, answer_s))


def _reason(error: BaseException, answer_s: float) -> str:
    """Return the innermost cause in words; requests wraps it several times, each with an address in memory."""
    inner = error.__cause__ or error.__context__
    if inner is not None:
        return _reason(inner, answer_s)
    if isinstance(error, requests.Timeout | urllib3.exceptions.TimeoutError | TimeoutError):
        return f"no answer within {answer_s:g} s"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return "the connection broke off" if isinstance(error, urllib3.exceptions.HTTPError) else str(error)


@contextmanager
def _open_fsspec(url: str, start: int, validator: str, answer_s: float) -> Iterator[Stream]:
    del answer_s  # each package has its own
    import fsspec  # noqa: PLC0415 - a second to load, and few need it

    try:
        system, path = fsspec.core.url_to_fs(url)
    except ImportError as error:
        raise SourceError(f"scheme {urlsplit(url).scheme} needs a package that is missing: {error}") from error
    except ValueError as error:
        raise SourceError(f"{' '.join(str(error).split())}; https works without any further package") from error
    try:
        facts: dict[str, Any] = system.info(path)
        found = next((str(facts[key]) for key in ("ETag", "etag", "LastModified", "mtime") if facts.get(key)), "")
        first = start if validator in ("", found) else 0
        with system.open(path, "rb") as file:
            file.seek(first)
            yield Stream(first, facts.get("size"), found, _file_chunks(file))
    except (FileNotFoundError, PermissionError, IsADirectoryError) as error:
        raise SourceError(error.strerror or type(error).__name__) from error
    except (SourceError, TransferError):
        raise
    except Exception as error:  # every package behind fsspec has its own kinds
        raise TransferError(f"{type(error).__name__}: {' '.join(str(error).split())}") from error


def _file_chunks(file: IO[bytes]) -> Iterator[bytes]:
    try:
        while chunk := file.read(_CHUNK_BYTES):
            yield chunk
    except Exception as error:  # as above; told apart from an error of the one who writes the chunks down
        raise TransferError(f"{type(error).__name__}: {error}") from error
