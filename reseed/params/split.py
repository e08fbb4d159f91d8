"""Section `split`: how frames are divided."""

from typing import Literal

from pydantic import Field, model_validator

from reseed.params.load import Section


class SplitParams(Section):
    """Section `split`."""

    group_by: Literal["site", "sequence", "block", "frame"] = Field(description="what is never divided")
    val_fraction: float = Field(gt=0, lt=1, description="share of validation, above 0 and below 1")
    test_fraction: float = Field(gt=0, lt=1, description="share of test, above 0 and below 1")
    block_frames: int = Field(
        ge=3, description="group_by block: frames of a stretch that gives one block to each split"
    )
    guard_frames: int = Field(ge=0, description="group_by block: frames left out between neighbouring blocks")
    seed: int = Field(ge=0, lt=2**32, description="0 to 2**32 - 1")

    @model_validator(mode="after")
    def _something_left_to_train_on(self) -> "SplitParams":
        if self.val_fraction + self.test_fraction >= 1:
            raise ValueError("val_fraction + test_fraction below 1, so that frames are left to train on")
        return self
