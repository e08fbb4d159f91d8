"""Section `train`: the network, its loss, its sampling, how long it learns and how often."""

from pathlib import Path
from typing import Literal, TypeVar

from pydantic import Field, ValidationInfo, field_validator

from reseed.base.errors import ParamsError
from reseed.params.load import Section, join_problems, read_yaml, section_problems

SECTION = "train"


class PretrainedParams(Section):
    """The two keys of section `train` that decide which weights training starts from."""

    backbone: Literal["mobilenet_v3_small", "mobilenet_v3_large", "mobilenet_v2", "resnet18", "efficientnet_b0"] = (
        Field(description="torchvision network below the head")
    )
    weights: str = Field(min_length=1, description="none, imagenet, or the path of a state_dict file for this backbone")


class TrainParams(PretrainedParams):
    """What one training reads: section `train` without `repeats`, so that another number of trainings changes none."""

    checkpoint: str = Field(
        min_length=1, description="none, or the path of a trained network that is taken over instead of training one"
    )
    loss: Literal["focal", "cross_entropy"] = Field(description="focal gives easy patches less weight")
    gamma: float = Field(ge=0, le=10, description="focusing strength of the focal loss, 0 to 10; 0 is cross-entropy")
    label_smoothing: float = Field(ge=0, lt=1, description="share of each label spread over all classes, 0 to below 1")
    class_weights: Literal["inverse", "none"] = Field(description="inverse: rare classes weigh more in the loss")
    sampler: Literal["balanced", "none"] = Field(description="balanced: every class is drawn equally often")
    allow_double_correction: bool = Field(
        description="true or false: whether sampler and class_weights may both correct"
    )
    optimiser: Literal["adam", "adamw"] = Field(description="adam, or adamw, whose weight decay is not scaled")
    lr: float = Field(gt=0, le=1, description="highest learning rate, above 0 to 1")
    head_lr: float = Field(gt=0, le=1000, description="learning rate of the head in multiples of lr, above 0 to 1000")
    weight_decay: float = Field(ge=0, le=1, description="L2 penalty of adam, decay of adamw, 0 to 1")
    schedule: Literal["plateau", "cosine"] = Field(
        description="plateau: validation lowers lr and picks the epoch; cosine: all epochs, the last is kept"
    )
    warmup: float = Field(ge=0, lt=1, description="share of the steps in which lr rises, 0 to below 1; cosine only")
    lr_factor: float = Field(gt=0, lt=1, description="above 0 and below 1: lr is multiplied by it on a plateau")
    lr_patience: int = Field(
        ge=0, le=10_000, description="epochs without a better score that lr outlasts; one more and it falls, 0 to 10000"
    )
    batch_size: int = Field(ge=2, le=4096, description="patches per step, 2 to 4096")
    epochs: int = Field(ge=1, le=10_000, description="passes over the training patches (plateau: at most), 1 to 10000")
    patience: int = Field(ge=1, le=10_000, description="epochs without a better score before training ends, 1 to 10000")
    ema: float = Field(ge=0, lt=1, description="decay of the averaged weights that are kept, 0 (no average) to below 1")
    flip: float = Field(ge=0, le=1, description="chance of each of the two mirrorings, 0 to 1")
    red_shift: float = Field(ge=0, le=1, description="largest shift of the red channel, share of full scale, 0 to 1")
    contrast: float = Field(ge=0, le=1, description="largest relative change of contrast, 0 to 1")
    brightness: float = Field(ge=0, le=1, description="largest relative change of brightness, 0 to 1")
    blur: float = Field(ge=0, le=1, description="chance of a blur, 0 to 1")
    bn_momentum: float = Field(gt=0, le=1, description="share of each batch in the running statistics, above 0 to 1")
    freeze: Literal["none", "norm", "backbone"] = Field(
        description="norm: batch-norm statistics stay those of the weights; backbone: only the head learns"
    )
    heads: int = Field(
        ge=1,
        le=64,
        description="heads whose logits are averaged, 1 to 64; above 1 only with freeze backbone",
    )
    refit: bool = Field(description="true or false: train once more on train and val together; cosine only")
    numerics: Literal["portable", "native"] = Field(
        description="portable: the same bytes on any x86 processor; native: every instruction this processor has"
    )
    threads: int = Field(ge=1, le=256, description="CPU threads, 1 to 256; the model's bytes depend on it")
    precision: Literal["auto", "float32", "bfloat16"] = Field(
        description="auto: bfloat16 on a GPU that computes in it, else float32"
    )
    device: Literal["auto", "cpu", "cuda", "mps"] = Field(description="auto: cuda, else mps, else cpu")
    seed: int = Field(ge=0, lt=2**32, description="0 to 2**32 - 1")

    @field_validator("allow_double_correction")
    @classmethod
    def _correct_once(cls, allowed: bool, info: ValidationInfo) -> bool:  # noqa: FBT001  # pydantic gives it by position
        # Balanced sampling shows each class equally often; inverse weights on top make the rarest class count
        # squared (1 : 5 : 16 in the published code, where it went unnoticed).
        if not allowed and info.data.get("sampler") == "balanced" and info.data.get("class_weights") == "inverse":
            raise ValueError(
                "true where train.sampler is balanced and train.class_weights is inverse, "
                "which correct the class balance twice; or set one of these to none"
            )
        return allowed

    @field_validator("label_smoothing")
    @classmethod
    def _smooth_cross_entropy(cls, smoothing: float, info: ValidationInfo) -> float:
        if smoothing and info.data.get("loss") == "focal":
            raise ValueError("0 where train.loss is focal; or set train.loss to cross_entropy")
        return smoothing

    @field_validator("heads")
    @classmethod
    def _heads_on_one_backbone(cls, heads: int, info: ValidationInfo) -> int:
        if heads > 1 and (info.data.get("freeze"), info.data.get("schedule")) != ("backbone", "cosine"):
            raise ValueError(
                "1 unless train.freeze is backbone and train.schedule is cosine: heads learn on the same features"
            )
        return heads

    @field_validator("refit")
    @classmethod
    def _refit_for_a_known_time(cls, refit: bool, info: ValidationInfo) -> bool:  # noqa: FBT001  # as above
        if refit and info.data.get("schedule") == "plateau":
            raise ValueError("false where train.schedule is plateau, which needs val to choose the epoch")
        return refit


class RepeatedTrainParams(TrainParams):
    """The whole section `train`."""

    repeats: int = Field(ge=1, le=100, description="trainings of this recipe, each with a seed of its own, 1 to 100")


P = TypeVar("P", bound=PretrainedParams)


def load_train_params(path: Path, model: type[P]) -> P:
    """Read the keys of section `train` that `model` has; other keys of the section cannot matter.

    Raises:
        ParamsError: If one of its keys is missing or out of range, or the section has a key that does not exist.
    """
    values = read_yaml(path)
    section = values.get(SECTION)
    if isinstance(section, dict):
        elsewhere = set(RepeatedTrainParams.model_fields) - set(model.model_fields)
        values = {SECTION: {key: value for key, value in section.items() if key not in elsewhere}}
    problems = section_problems(values, SECTION, model)
    if problems:
        raise ParamsError(join_problems(path, problems))
    return model.model_validate(values[SECTION])
