"""Reading one section of a parameter file into its frozen, strict model.

Values are read by YAML 1.2 rules, as DVC writes them: with YAML 1.1 `1e-5` is a string and an unquoted `Off` a bool.
"""

from pathlib import Path
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from reseed.base.errors import ParamsError
from reseed.base.urls import shown

S = TypeVar("S", bound="Section")


class Section(BaseModel):
    """Base of every section: frozen, no unknown keys, no silent conversion, no defaults."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


def read_yaml(path: Path) -> dict[str, Any]:
    """Read a YAML 1.2 mapping.

    Raises:
        ParamsError: If the file is missing, is no YAML or no mapping.
    """
    try:
        value = YAML(typ="safe", pure=True).load(path)
    except FileNotFoundError as error:
        raise ParamsError(
            f"{path}: no such parameter file; `git checkout params.yaml` brings the demo's back, params/ holds others"
        ) from error
    except OSError as error:
        raise ParamsError(f"{path}: not readable as a parameter file: {error.strerror}") from error
    except (YAMLError, UnicodeDecodeError) as error:
        raise ParamsError(f"{path}: not readable as YAML: {' '.join(str(error).split())}") from error
    if value is None:
        raise ParamsError(f"{path}: is empty, expected a mapping of sections")
    if not isinstance(value, dict):
        raise ParamsError(f"{path}: holds {type(value).__name__}, expected a mapping of sections")
    return value


def load_section(path: Path, name: str, model: type[S]) -> S:
    """Read section `name` of the parameter file at `path`.

    Raises:
        ParamsError: Names every unknown, missing or out-of-range key of the section and what is allowed.
    """
    values = read_yaml(path)
    problems = section_problems(values, name, model)
    if problems:
        raise ParamsError(join_problems(path, problems))
    return model.model_validate(values[name])


def section_problems(values: dict[str, Any], name: str, model: type[Section]) -> list[str]:
    """Return one line for each problem in section `name`, an empty list if there is none."""
    if name not in values:
        return [f"{name}: missing section; needs {', '.join(model.model_fields)}"]
    try:
        model.model_validate(values[name])
    except ValidationError as error:
        return [_line(name, detail, model) for detail in error.errors(include_url=False)]
    return []


def join_problems(path: Path, problems: list[str]) -> str:
    """Return one message for all problems found in the file at `path`."""
    count = f"{len(problems)} problem{'s' if len(problems) > 1 else ''}"
    return f"{path}: {count}\n" + "\n".join(f"  {line}" for line in problems)


def _line(section: str, detail: ErrorDetails, model: type[Section]) -> str:
    key = ".".join([section, *(str(part) for part in detail["loc"])])
    innermost, field = _place(detail, model)
    meaning = f" ({field.description})" if field is not None and field.description else ""
    if detail["type"] == "missing":
        return f"{key}: missing{meaning}"
    if detail["type"] == "extra_forbidden":
        return f"{key}: unknown key; allowed here: {', '.join(innermost.model_fields)}"
    message = detail["msg"].removeprefix("Value error, ").removeprefix("Input should be ")
    if detail["type"] == "model_type":
        message = f"a mapping of {', '.join(innermost.model_fields)}"
    return f"{key}: got {shown(repr(detail['input']))}; allowed: {message}{meaning}"


def _place(detail: ErrorDetails, model: type[Section]) -> tuple[type[Section], FieldInfo | None]:
    """Return the innermost model of the problem, such as that of a list's entries, and its field if there is one."""
    field: FieldInfo | None = None
    for part in detail["loc"]:
        if isinstance(part, str) and part in model.model_fields:
            field = model.model_fields[part]
            entry = next((kind for kind in get_args(field.annotation) if isinstance(kind, type)), None)
            if entry is not None and issubclass(entry, Section):
                model = entry
        elif isinstance(part, str):
            field = None
    return model, field
