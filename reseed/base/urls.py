"""Urls that are shown and recorded: none of them may hold a secret.

The url of a source stands in params.yaml, dvc.lock, raw.json, reports and crates, as the user wrote it: with `$VAR`
where a secret belongs. What is written out is looked at here, and what variables hold never gets into a message.
"""

import os
import re
from collections.abc import Iterator
from typing import Final
from urllib.parse import quote, quote_plus, unquote

from reseed.base.errors import SourceError

VARIABLE: Final = re.compile(r"\$(?:\{(\w+)\}|(\w+))")
HIDDEN: Final = "***"
_URL: Final = re.compile(r"([A-Za-z][\w+.-]*:(?::\w+:)*//)([^\s'\"<>]*)")
_SECRET_KEY: Final = re.compile(
    r"sig|token|secret|passw|pwd|key|credential|auth|private|session|jwt|bearer|access|policy|code|hmac|hash|ticket",
    re.IGNORECASE,
)
# What a query says openly: a switch, a number, a persistent identifier, the name of a file.
_OPEN_VALUE: Final = re.compile(
    r"[\w.,:/+-]{0,8}|\d{1,12}|(doi|hdl):\S+|[\w. +-]+\.(zip|tar|tgz|gz|bz2|xz|zst|jpe?g|png|bmp|tiff?|csv)",
    re.IGNORECASE,
)
_HTTP: Final = ("http", "https")
_SHORTEST_VALUE: Final = 3  # a shorter one would hide every third letter of a message
_SHORTEST_PIECE: Final = 6


def expand(uri: str) -> str:
    """Return `uri` with the value of each `$VAR` and `${VAR}` in its place.

    Raises:
        SourceError: If a variable in it is not set.
    """

    def value(match: re.Match[str]) -> str:
        name = match[1] or match[2]
        found = os.environ.get(name)
        if not found:
            raise SourceError(
                f"source {shown(uri)!r}: environment variable {name} is not set; set it or write the path out"
            )
        return found

    return VARIABLE.sub(value, uri)


def shown(text: str) -> str:
    """Return text with the user names, query values and fragments of all urls in it hidden; variables stay."""
    return _URL.sub(lambda found: found[1] + _shown_rest(found[2]), text)


def _shown_rest(rest: str) -> str:
    rest, _, fragment = rest.partition("#")
    rest, _, query = rest.partition("?")
    host, slash, path = rest.partition("/")
    user, at, host = host.rpartition("@")
    pairs = [
        key + equals + (value if _is_open(_decoded(key), _decoded(value)) else HIDDEN)
        for key, equals, value in map(_pair, filter(None, query.split("&")))
    ]
    return (
        ((user if user and not VARIABLE.sub("", user) else HIDDEN * bool(user)) + at + host + slash + path)
        + (f"?{'&'.join(pairs)}" if pairs else "")
        + (f"#{HIDDEN}" if fragment else "")
    )


def _pair(part: str) -> tuple[str, str, str]:
    key, equals, value = part.partition("=")
    return (key, equals, value) if equals else ("", "", key)


def require_no_secret(uri: str) -> None:
    """Check that a url, as the user wrote it, holds nothing that should not be recorded.

    Raises:
        SourceError: If it holds a user name, password, fragment or query value that may be a secret; none is repeated.
    """
    scheme, _, rest = uri.partition("://")
    rest, _, fragment = rest.partition("#")
    rest, _, query = rest.partition("?")
    host, _, path = rest.partition("/")
    user, at, _ = host.rpartition("@")
    if at and (":" in unquote(user) or scheme.casefold() in _HTTP):
        # The url is recorded with every score; so would the password be.
        raise SourceError(
            "the url holds a user name or password; put it into ~/.netrc instead, where it is looked up by host"
        )
    if fragment:
        raise SourceError("the url holds a fragment (#...), which no server ever sees; leave it out")
    for key, value in _values(query, path):
        if not _is_open(key, value):
            raise SourceError(
                f"a value of the url is written out{f' (of {key})' if key.isalnum() else ''}, and params.yaml, "
                "dvc.lock and every record hold the url; put it into an environment variable: ?name=$VALUE"
            )


def _values(query: str, path: str) -> Iterator[tuple[str, str]]:
    """Yield keys and values of a query, and those that some servers take after a semicolon in the path."""
    parts = re.split("[&;]", query) + [part for step in path.split("/") for part in step.split(";")[1:]]
    for part in filter(None, parts):
        key, _, value = _pair(part)
        yield _decoded(key), _decoded(value)


def _decoded(text: str) -> str:
    return unquote(unquote(text))  # a second time, as some servers do


def _is_open(key: str, value: str) -> bool:
    rest = VARIABLE.sub("", value)
    if rest != value:
        return len(rest) <= _SHORTEST_PIECE
    return not rest or (not _SECRET_KEY.search(key) and _OPEN_VALUE.fullmatch(rest) is not None)


def without_values(text: str, uri: str) -> str:
    """Return a message about `uri` with `$VAR` wherever it holds what the variable does, in any encoding."""
    for match in VARIABLE.finditer(uri):
        name = match[1] or match[2]
        value = os.environ.get(name, "")
        pieces = {value, *(piece for piece in re.split(r"[/?&=@:#;\s]", value) if len(piece) >= _SHORTEST_PIECE)}
        forms = {form for piece in pieces for form in _forms(piece) if len(form) >= _SHORTEST_VALUE}
        for form in sorted(forms, key=len, reverse=True):
            text = re.sub(re.escape(form), f"${name}", text, flags=re.IGNORECASE)
    return text


def _forms(text: str) -> set[str]:
    decoded = unquote(text)
    return {
        text,
        decoded,
        repr(text)[1:-1],
        *(change(form) for form in (text, decoded) for change in (quote, quote_plus, lambda s: quote(s, safe=""))),
    }
