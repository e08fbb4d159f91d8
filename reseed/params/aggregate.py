"""Section `aggregate`: from patches to the decision of a frame."""

from typing import Literal

from pydantic import Field, field_validator

from reseed.params.load import Section

ALPHA_DECIMALS = 6


class AggregateParams(Section):
    """Section `aggregate`."""

    rule: Literal["ratio", "logistic"] = Field(
        description="ratio: share of Deploy patches against alpha; logistic: fitted on validation frames"
    )
    alpha: float | Literal["auto"] = Field(description="share of Deploy patches above which a frame is Deploy")

    # One check for both forms: a union of types reports one problem for each of its members.
    @field_validator("alpha", mode="plain")
    @classmethod
    def _number_or_auto(cls, value: object) -> float | Literal["auto"]:
        if value == "auto":
            return "auto"
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
            raise ValueError("a number from 0 to 1, or auto: chosen on validation frames")
        if round(value, ALPHA_DECIMALS) != value:
            raise ValueError(f"at most {ALPHA_DECIMALS} decimals, as many as frames.csv records")
        return float(value)
