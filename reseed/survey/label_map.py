"""The map from the codes of a label set to the three classes: what is not in it is never guessed."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from reseed.base.classes import CLASSES, parse_class
from reseed.base.errors import TableError


@dataclass(frozen=True)
class LabelMap:
    """What each code stands for.

    Args:
        classes: Class of each code; None: points with this code are left out.
        where: Where the map stands, for messages; empty if there is none and the labels must be the classes.
    """

    classes: dict[str, str | None]
    where: str

    def find(self, code: str) -> str | None:
        """Return the code as the map spells it, or None if the map lacks it.

        The spelling of the map comes first; else another case counts, if it leaves no doubt.
        """
        if code in self.classes:
            return code
        folded = [known for known in self.classes if known.casefold() == code.casefold()]
        return folded[0] if len(folded) == 1 else None


def read_label_map(path: Path, where: str) -> LabelMap:
    """Read a YAML file of lines `code: class`, null for codes that are left out.

    Values are read by YAML 1.2 rules: an unquoted `Off` or `No` is a word.

    Raises:
        TableError: If it is no such file, a code appears twice or is no text, or a class is none of the three.
    """
    try:
        value = YAML(typ="safe", pure=True).load(path.read_text(encoding="utf-8-sig"))
    except (YAMLError, UnicodeDecodeError) as error:
        raise TableError(f"{where}: not readable as YAML: {' '.join(str(error).split())}") from error
    if not isinstance(value, dict) or not value:
        raise TableError(f"{where}: a mapping of codes to classes is needed, such as `CCA: Deploy`")
    wrong = [code for code, name in value.items() if not isinstance(code, str) or not isinstance(name, str | None)]
    if wrong:
        raise TableError(f"{where}: code {wrong[0]!r} or its class is no text; put it in quotes")
    return label_map(value, where)


def label_map(codes: Mapping[str, str | None], where: str) -> LabelMap:
    """Return the map with every class as we spell it.

    Raises:
        TableError: If a class is none of the three; offers the nearest one.
    """
    return LabelMap(
        {
            code.strip(): None if name is None else parse_class(name, f"{where}, code {code!r}")
            for code, name in codes.items()
        },
        where,
    )


def no_label_map() -> LabelMap:
    """Return the map of labels that are mapped already: the classes themselves."""
    return LabelMap({name: name for name in CLASSES}, "")
