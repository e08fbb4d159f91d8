"""Whose label it is: a person's, or a machine's that nobody confirmed.

Scores against predictions measure nothing, so that machine labels are left out and counted; with
`catalog.machine_labels: keep` they are kept, and every score made with them says so.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

from reseed.base.csv import Row
from reseed.base.errors import TableError


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# A name that is one of these, perhaps with a version behind it (`robot 2`, `AI_v3`), or that holds one of the second
# set as a word of its own (`efficientnet classifier`, `reef-model`). Imported (CoralNet) is not among them: such labels
# were uploaded, mostly by people.
_NAMES: Final = _words("ai ml dl sam computer unverified unconfirmed")
_WORDS: Final = _words(
    "robot alleviate machine algorithm classifier model predicted prediction predictions predictor detector automatic "
    "automatically automated autoannotator autolabel network inference pretrained maia labelbot nn cnn bot auto gpt "
    "learning machinelearning deeplearning yolo yolov resnet resnext efficientnet mobilenet vgg inception xception "
    "densenet alexnet squeezenet shufflenet convnext regnet swin vit dino dinov"
)
_ANNOTATORS: Final = ("annotator", "annotated by", "labelled by", "labeled by", "user", "username", "created by")
# Columns that say whether a person looked at the label, and what their cells say. `needs review` asks the other way.
_STATUS: Final = _words(
    "verified isverified confirmed isconfirmed reviewed isreviewed status reviewstatus annotationstatus labelstatus "
    "validated isvalidated approved isapproved verificationstatus confirmationstatus humanverified humanreviewed "
    "manual ismanual qc qcstatus qcpassed qcpass qced qualitycontrol"
)
_OPPOSITE: Final = _words(
    "needsreview unverified unconfirmed unreviewed ismachine automatic isautomatic isprediction ispredicted "
    "machinegenerated"
)
_YES: Final = _words(
    "true t yes y 1 1.0 x confirmed verified reviewed validated approved accepted human manual done complete completed "
    "checked final pass passed ok wahr vrai verdadero ja oui si sí"
)
_NO: Final = {""} | _words(
    "false f no n 0 0.0 unconfirmed unverified unreviewed notverified notreviewed notconfirmed pending machine robot "
    "auto automatic automated predicted prediction suggested suggestion draft needsreview unclassified rejected todo "
    "none null falsch faux falso nein non inprogress imported unchecked notchecked open new fail failed"
)


@dataclass(frozen=True)
class Witness:
    """Which columns of a table tell whose label a row is.

    Args:
        annotators: Columns that together name the annotator; empty if none does.
        status: Columns that say whether a person confirmed the label.
        opposite: Columns that say whether nobody did.
    """

    annotators: tuple[str, ...]
    status: tuple[str, ...]
    opposite: tuple[str, ...]

    @property
    def says_nothing(self) -> bool:
        """Whether the table tells neither who labelled nor whether somebody confirmed."""
        return not (self.annotators or self.status or self.opposite)

    def annotator(self, row: Row) -> str:
        """Return the name of the annotator, empty if the row has none."""
        return " ".join(filter(None, (row.cells[column] for column in self.annotators)))

    def objection(self, row: Row) -> str:
        """Return why no person stands behind a label, empty if one does as far as the row tells.

        Raises:
            TableError: If a column of confirmation says something else than yes or no.
        """
        name = self.annotator(row)
        if is_machine(name):
            return f"annotator {name}"
        for columns, wanted in ((self.status, True), (self.opposite, False)):
            for column in columns:
                if (_answer(row, column) is wanted) is False:
                    return f"{column} {row.cells[column] or 'empty'}"
        return ""


def find_witness(columns: Sequence[str], annotators: Sequence[str] | None = None) -> Witness:
    """Return which columns of a table tell whose label a row is.

    Args:
        columns: Columns of the table.
        annotators: Its columns of annotators where they are known; else they are looked for by name.
    """
    if annotators is None:
        annotators = [column for name in _ANNOTATORS for column in columns if _folded(column) == _folded(name)][:1]
    left = [column for column in columns if column not in annotators]
    return Witness(
        tuple(annotators),
        tuple(column for column in left if _folded(column) in _STATUS),
        tuple(column for column in left if _folded(column) in _OPPOSITE),
    )


@cache
def is_machine(name: str) -> bool:
    """Whether the name of an annotator is that of a machine.

    >>> [is_machine(name) for name in ("robot", "Alleviate", "AI_v3", "reef-model", "VGG16_v3", "Ai Tanaka", "anna")]
    [True, True, True, True, True, False, False]
    """
    words = re.findall(r"[^\W\d_]+", name)
    parts = [part for word in words for part in re.split(r"(?<=[a-z])(?=[A-Z])", word)]
    folded = {word.casefold() for word in (*words, *parts)}
    alone = [word.casefold() for word in words if word.casefold() != "v"]
    return bool(_WORDS & folded) or "AI" in words or (len(alone) == 1 and alone[0] in _NAMES)


def machine_remark(objections: Counter[str], *, kept: bool) -> Iterable[str]:
    """Yield what a reader should know of labels that no person stands behind; nothing if there are none."""
    if objections:
        shown = ", ".join(f"{why} ({number})" for why, number in objections.most_common(10))
        done = "kept, and every score says so" if kept else "left out; catalog.machine_labels: keep takes them"
        yield f"{objections.total()} labels of a machine that no person confirmed: {shown}: {done}"


def nothing_left(where: str, objections: Counter[str]) -> TableError:
    """Return the error that all labels are of a machine."""
    remark = next(iter(machine_remark(objections, kept=False)))
    return TableError(f"{where}: no label is left; {remark}, layout: survey takes the images without labels")


def unknown_remark(where: str, rows: int) -> str:
    """Return the remark that a table does not tell whose its labels are."""
    return (
        f"{where}: no column names the annotator or says what a person confirmed: machine labels may be among its "
        f"{rows} labels"
    )


def _answer(row: Row, column: str) -> bool:
    text = _folded(row.cells[column])
    if text in _YES:
        return True
    if text in _NO:
        return False
    raise TableError(
        f"{row.where}: {column} is {row.cells[column][:40]!r}; whether a person confirmed the label must be clear: "
        "true or false, yes or no, confirmed or unconfirmed; correct the cells, or rename a column that means "
        "something else"
    )


def _folded(text: str) -> str:
    return re.sub(r"[\s_\-.]+", "", text.casefold()) if text not in ("1.0", "0.0") else text
