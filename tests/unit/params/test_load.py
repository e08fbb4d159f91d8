from pathlib import Path

import pytest

from reseed.base.errors import ParamsError
from reseed.params.aggregate import AggregateParams
from reseed.params.extract import ExtractParams
from reseed.params.load import load_section, read_yaml
from reseed.params.pull import PullParams


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "params.yaml"
    path.write_text(text)
    return path


def test_every_problem_comes_in_one_message_with_its_dotted_key_and_what_is_allowed(tmp_path: Path) -> None:
    path = write(tmp_path, "extract: {patch_size: 7, input_size: '96', patch_sise: 200}\n")
    with pytest.raises(ParamsError) as caught:
        load_section(path, "extract", ExtractParams)
    message = str(caught.value)
    assert "4 problems" in message
    assert "extract.patch_size: got 7; allowed: greater than or equal to 8" in message
    assert "extract.input_size: got '96'; allowed: a valid integer" in message
    assert "extract.min_purity: missing (0 to 1" in message
    assert "extract.patch_sise: unknown key; allowed here: patch_size, input_size, min_purity" in message


def test_a_missing_section_lists_its_keys(tmp_path: Path) -> None:
    with pytest.raises(ParamsError, match="aggregate: missing section; needs rule, alpha, ask"):
        load_section(write(tmp_path, "extract: {}\n"), "aggregate", AggregateParams)


@pytest.mark.parametrize(("text", "value"), [("1e-1", 0.1), ("0.3", 0.3), ("1", 1.0), ("auto", "auto")])
def test_numbers_are_read_as_dvc_writes_them(tmp_path: Path, text: str, value: object) -> None:
    assert (
        load_section(
            write(tmp_path, f"aggregate: {{rule: ratio, alpha: {text}, ask: none}}\n"), "aggregate", AggregateParams
        ).alpha
        == value
    )


@pytest.mark.parametrize("text", ["1.01", "-0.1", ".nan", "optimal", "null", "true"])
def test_alpha_outside_its_range(tmp_path: Path, text: str) -> None:
    with pytest.raises(ParamsError, match=r"aggregate\.alpha"):
        load_section(write(tmp_path, f"aggregate: {{rule: ratio, alpha: {text}}}\n"), "aggregate", AggregateParams)


@pytest.mark.parametrize(
    ("text", "message"), [("[1, 2]", "expected a mapping"), ("a: [", "not readable as YAML"), ("", "is empty")]
)
def test_what_is_no_parameter_file(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ParamsError, match=message):
        read_yaml(write(tmp_path, text))
    with pytest.raises(ParamsError, match="no such parameter file"):
        read_yaml(tmp_path / "none.yaml")
    with pytest.raises(ParamsError, match="not readable as a parameter file"):
        read_yaml(tmp_path)


def test_a_problem_inside_a_source_names_what_is_allowed_there(tmp_path: Path) -> None:
    path = write(
        tmp_path, "pull: {sources: [{name: Reef 1, kind: folder, uri: x, layout: survey, licence: y, sha: 1}]}\n"
    )
    with pytest.raises(ParamsError) as caught:
        load_section(path, "pull", PullParams)
    message = str(caught.value)
    assert "pull.sources.0.name: got 'Reef 1'" in message
    assert "(folder name below data/raw" in message
    assert "pull.sources.0.sha: unknown key; allowed here: name, kind, uri" in message
