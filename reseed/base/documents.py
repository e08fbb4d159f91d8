"""YAML and JSON that may come from others, read with limits on length, depth and number of values.

A few lines of YAML can stand for a billion values, hold themselves, or be nested deeper than a program can follow.
"""

import json
import math
from typing import Any, Final

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError
from ruamel.yaml.nodes import MappingNode, Node, SequenceNode

from reseed.base.errors import ReseedError

# The longest here is dvc.lock, about 40 kB; the reader takes seconds for this length.
YAML_BYTES: Final = 1 << 20
# The longest here is the list of the files of a raw folder, about 100 bytes a file.
JSON_BYTES: Final = 256 << 20
MOST_DEEP: Final = 64
MOST_VALUES: Final = 1_000_000  # of YAML, each alias counted as what it repeats


def parse_yaml(content: bytes, where: str, error: type[ReseedError] = ReseedError) -> Any:
    """Return the value of a YAML 1.2 document; None if it is empty.

    Args:
        content: The file, UTF-8.
        where: What it is, for messages.
        error: What to raise.

    Raises:
        ReseedError: Of the type `error`: if it is no YAML, or beyond a limit.
    """
    if len(content) > YAML_BYTES:
        raise error(f"{where}: {len(content):,} bytes of YAML; at most {YAML_BYTES:,} are read")
    try:
        text = content.decode("utf-8-sig")
        if "&" in text:  # only anchors let a document be more than its text
            _require_bounded(YAML(typ="safe", pure=True).compose(text))
        value = YAML(typ="safe", pure=True).load(text)
    except _TooMuchError as cause:
        raise error(f"{where}: {cause}") from cause
    except RecursionError as cause:
        raise error(f"{where}: nested too deep to be read") from cause
    except (YAMLError, ValueError, TypeError, AttributeError) as cause:  # ruamel lets the last three through
        raise error(f"{where}: not readable as YAML: {' '.join(str(cause).split())}") from cause
    _require_shallow(value, where, error)
    return value


def parse_json(content: bytes, where: str, error: type[ReseedError] = ReseedError) -> Any:
    """Return the value of a JSON document.

    Args:
        content: The file, UTF-8.
        where: What it is, for messages.
        error: What to raise.

    Raises:
        ReseedError: Of the type `error`: if it is no JSON, or beyond a limit.
    """
    if len(content) > JSON_BYTES:
        raise error(f"{where}: {len(content):,} bytes of JSON; at most {JSON_BYTES:,} are read")
    try:
        value = json.loads(content, object_pairs_hook=_once, parse_constant=_number, parse_float=_number)
    except RecursionError as cause:
        raise error(f"{where}: nested too deep to be read") from cause
    except ValueError as cause:
        raise error(f"{where}: not readable as JSON: {cause}") from cause
    _require_shallow(value, where, error)
    return value


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object, each of whose keys stands there once: of two values each reader could take another."""
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"the key {next(key for key in keys if keys.count(key) > 1)!r} stands there twice")
    return found


def _number(text: str) -> float:
    if not math.isfinite(value := float(text)):
        raise ValueError(f"{text} is no number of JSON, or too large for one")
    return value


class _TooMuchError(Exception):
    """A document goes beyond a limit."""


def _require_bounded(root: Node | None) -> None:
    """Walk a document as its aliases spell it out; the limits end the walk."""
    waiting: list[tuple[Any, int]] = [(root, 1)]
    seen = 0
    while waiting:
        node, depth = waiting.pop()
        seen += 1
        if depth > MOST_DEEP:
            raise _TooMuchError(f"nested more than {MOST_DEEP} deep, or an alias holds itself")
        if seen > MOST_VALUES:
            raise _TooMuchError(f"its aliases stand for more than {MOST_VALUES:,} values")
        if isinstance(node, SequenceNode):
            waiting += [(child, depth + 1) for child in node.value]
        elif isinstance(node, MappingNode):
            waiting += [(child, depth + 1) for pair in node.value for child in pair]


def _require_shallow(root: Any, where: str, error: type[ReseedError]) -> None:
    level, depth = [root], 0
    while level:
        depth += 1
        if depth > MOST_DEEP:
            raise error(f"{where}: nested more than {MOST_DEEP} deep")
        level = [
            child
            for value in level
            if isinstance(value, (dict, list))
            for child in (value.values() if isinstance(value, dict) else value)
            if isinstance(child, (dict, list))
        ]
