"""Section `aggregate`: from patches to the decision of a frame."""

import re
from fractions import Fraction
from typing import Final, Literal

from pydantic import Field, field_validator

from reseed.params.load import Section

ALPHA_DECIMALS = 6
_SHARE: Final = r"(0?\.\d{1,6})"
_GUARANTEED: Final = re.compile(rf"guaranteed {_SHARE} by (group|frame)(?: with confidence {_SHARE})?")


class AggregateParams(Section):
    """Section `aggregate`."""

    rule: Literal["ratio", "logistic"] = Field(
        description="ratio: share of Deploy patches against alpha; logistic: fitted on validation frames"
    )
    alpha: float | str = Field(description="share of Deploy patches above which a frame is Deploy")

    ask: float | Literal["none"] = Field(
        description="share of familiar frames that a person may be asked about; none: nobody is asked"
    )

    @field_validator("ask", mode="plain")
    @classmethod
    def _share_or_none(cls, value: object) -> float | str:
        if value == "none":
            return "none"
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1:
            raise ValueError("a number above 0 and below 1, or none")
        return float(value)

    # One check for both forms: a union of types reports one problem for each of its members.
    @field_validator("alpha", mode="plain")
    @classmethod
    def _number_or_words(cls, value: object) -> float | str:
        if isinstance(value, str) and (value == "auto" or _promised(value) is not None):
            return value
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
            raise ValueError(
                "a number from 0 to 1, or auto: chosen on validation frames, or guaranteed 0.05 by group (or by frame; "
                "with confidence 0.9)"
            )
        if round(value, ALPHA_DECIMALS) != value:
            raise ValueError(f"at most {ALPHA_DECIMALS} decimals, as many as frames.csv records")
        return float(value)

    @property
    def guaranteed(self) -> tuple[Fraction, bool] | None:
        """The bound on wrong drops that alpha is to keep, and whether groups are its units; None for no bound."""
        return _promised(self.alpha) if isinstance(self.alpha, str) else None

    @property
    def may_fail(self) -> Fraction | None:
        """The chance that the bound may be missed; None where it is kept on average."""
        found = _GUARANTEED.fullmatch(str(self.alpha))
        return 1 - Fraction(found[3]) if found and found[3] else None

    @property
    def asked_share(self) -> Fraction | None:
        """The share of familiar frames that a person may be asked about; None where nobody is asked."""
        return None if self.ask == "none" else Fraction(repr(float(self.ask)))


def _promised(text: str) -> tuple[Fraction, bool] | None:
    found = _GUARANTEED.fullmatch(text)
    if not found or not Fraction(found[1]) or (found[3] and not Fraction(found[3])):
        return None
    return Fraction(found[1]), found[2] == "group"
