"""Documents that others wrote: what they hold, and what no document may do to who reads it."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reseed.base.documents import JSON_BYTES, MOST_DEEP, YAML_BYTES, parse_json, parse_yaml
from reseed.base.errors import ReseedError, TableError

BOMB = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]\n" for i in range(1, 9)
)
MERGED = "a0: &a0 {k0: 1}\n" + "".join(f"a{i}: &a{i}\n  <<: [{', '.join([f'*a{i - 1}'] * 10)}]\n" for i in range(1, 9))


def test_yaml_by_the_rules_of_its_version_1_2() -> None:
    assert parse_yaml(b"lr: 1e-5\nname: Off\n", "x") == {"lr": 1e-5, "name": "Off"}
    assert parse_yaml(b"a: &a [1, 2]\nb: *a\n", "x") == {"a": [1, 2], "b": [1, 2]}
    assert parse_yaml(b"", "x") is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (BOMB, "aliases stand for more than 1,000,000 values"),
        (MERGED, "aliases stand for more than"),
        ("loop: &l\n  - *l\n", "an alias holds itself"),
        ("loop: &l\n  again: *l\n", "an alias holds itself"),
        ("[" * 5000, "nested too deep|not readable"),
        ("{a: " * 5000, "nested too deep|not readable"),
        ("[" * (MOST_DEEP + 1) + "]" * (MOST_DEEP + 1), "nested more than 64 deep"),
        ("a: 1\na: 2\n", "not readable as YAML"),
        ("a: !!python/object/apply:os.system ['true']\n", "not readable as YAML"),
        ("a: *nowhere\n", "not readable as YAML"),
        ("x" * (YAML_BYTES + 1), "bytes of YAML; at most"),
        ("a: \x00\n", "not readable as YAML"),
    ],
)
def test_yaml_that_would_hurt_its_reader_is_one_clear_line(text: str, message: str) -> None:
    with pytest.raises(TableError, match=rf"^params.yaml of x: .*({message})") as found:
        parse_yaml(text.encode(), "params.yaml of x", TableError)
    assert "\n" not in str(found.value)
    assert len(str(found.value)) < 500


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"[" * 100_000, "nested too deep"),
        (b'{"a":' * 100_000, "nested too deep"),
        (b"[" * (MOST_DEEP + 1) + b"]" * (MOST_DEEP + 1), "nested more than 64 deep"),
        (b"{", "not readable as JSON"),
        (b"\xff\xfe{", "not readable as JSON"),
        (b"1" * 10_000, "not readable as JSON"),
        (b'{"a": {"f1": 99.0, "f1": 84.0}}', "the key 'f1' stands there twice"),
        (b'{"f1": NaN}', "NaN is no number of JSON"),
        (b'{"f1": -Infinity}', "-Infinity is no number of JSON"),
        (b'{"f1": 1e999}', "1e999 is no number of JSON, or too large"),
    ],
)
def test_json_that_would_hurt_its_reader_is_one_clear_line(content: bytes, message: str) -> None:
    with pytest.raises(ReseedError, match=rf"^m.json: .*{message}"):
        parse_json(content, "m.json")


def test_json_is_bounded_in_length(monkeypatch: pytest.MonkeyPatch) -> None:
    assert JSON_BYTES > 1 << 20
    monkeypatch.setattr("reseed.base.documents.JSON_BYTES", 5)
    with pytest.raises(ReseedError, match="6 bytes of JSON; at most 5 are read"):
        parse_json(b"[1, 2]", "m.json")


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=9), inner, max_size=4),
    max_leaves=20,
)


@given(_VALUES)
def test_json_comes_back_as_it_was_written(value: object) -> None:
    assert parse_json(json.dumps(value).encode(), "x") == value
