from pathlib import Path

import pytest
from pydantic import ValidationError

from reseed.base.errors import ParamsError
from reseed.params.load import load_section
from reseed.params.predict import PredictParams
from reseed.params.train import PretrainedParams, RepeatedTrainParams, TrainParams, load_train_params

GOOD = """train:
  backbone: resnet18
  weights: none
  checkpoint: none
  loss: focal
  gamma: 2
  label_smoothing: 0
  class_weights: none
  sampler: balanced
  allow_double_correction: false
  optimiser: adam
  lr: 1e-3
  head_lr: 1
  weight_decay: 1e-4
  schedule: plateau
  warmup: 0
  lr_factor: 0.5
  lr_patience: 2
  batch_size: 64
  epochs: 10
  patience: 5
  ema: 0
  flip: 0.5
  red_shift: 0.1
  contrast: 0.2
  brightness: 0.2
  blur: 0.1
  bn_momentum: 0.1
  freeze: none
  heads: 1
  refit: false
  numerics: portable
  threads: 2
  precision: float32
  device: auto
  seed: 0
  repeats: 3
predict:
  batch_size: 128
  engine: auto
  threads: 2
  device: cpu
  flips: 1
  numerics: portable
  calibrate: none
"""


def write(folder: Path, *changes: tuple[str, str]) -> Path:
    text = GOOD
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    path = folder / "params.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_both_sections_are_read(tmp_path: Path) -> None:
    path = write(tmp_path)
    params = load_train_params(path, TrainParams)
    assert (params.lr, params.weights, params.gamma) == (0.001, "none", 2.0)
    assert load_section(path, "predict", PredictParams).batch_size == 128


def test_no_key_has_a_default_and_every_key_says_what_it_is() -> None:
    for model in (RepeatedTrainParams, PretrainedParams, PredictParams):
        for name, field in model.model_fields.items():
            assert field.is_required(), name
            assert field.description, name


@pytest.mark.parametrize(
    ("key", "bad"),
    [
        ("backbone: resnet18", "vgg16"),
        ("weights: none", '""'),
        ("weights: none", "null"),
        ("loss: focal", "hinge"),
        ("gamma: 2", "-1"),
        ("class_weights: none", "sqrt"),
        ("sampler: balanced", "yes"),
        ("lr: 1e-3", "0"),
        ("lr: 1e-3", ".nan"),
        ("lr: 1e-3", "fast"),
        ("weight_decay: 1e-4", "-0.1"),
        ("lr_factor: 0.5", "1.0"),
        ("lr_patience: 2", "-1"),
        ("batch_size: 64", "1"),
        ("batch_size: 64", "64.5"),
        ("epochs: 10", "0"),
        ("  patience: 5", "0"),
        ("flip: 0.5", "1.5"),
        ("red_shift: 0.1", "-0.1"),
        ("contrast: 0.2", "2"),
        ("brightness: 0.2", "2"),
        ("blur: 0.1", "2"),
        ("bn_momentum: 0.1", "0"),
        ("threads: 2\n  precision: float32", "0\n  precision: float32"),
        ("precision: float32", "float16"),
        ("device: auto", "tpu"),
        ("seed: 0", "4294967296"),
        ("label_smoothing: 0", "1"),
        ("optimiser: adam", "sgd"),
        ("head_lr: 1", "0"),
        ("schedule: plateau", "linear"),
        ("warmup: 0", "1"),
        ("ema: 0", "1"),
        ("freeze: none", "all"),
        ("heads: 1", "0"),
        ("heads: 1", "8"),
        ("refit: false", "maybe"),
        ("numerics: portable\n  threads: 2", "fast\n  threads: 2"),
    ],
)
def test_out_of_range_values_are_named_with_what_is_allowed(tmp_path: Path, key: str, bad: str) -> None:
    name = key.partition(":")[0].strip()
    path = write(tmp_path, (f"{key}\n", f"{key.partition(':')[0]}: {bad}\n"))
    with pytest.raises(ParamsError, match=rf"train\.{name}: got .*; allowed: "):
        load_train_params(path, TrainParams)


def test_the_number_of_repeats_is_no_part_of_a_training_but_of_the_section(tmp_path: Path) -> None:
    for bad in ("0", "101", "many", "2.5"):
        path = write(tmp_path, ("repeats: 3", f"repeats: {bad}"))
        assert not hasattr(load_train_params(path, TrainParams), "repeats")
        with pytest.raises(ParamsError, match=r"train\.repeats: got .*; allowed: "):
            load_train_params(path, RepeatedTrainParams)
    with pytest.raises(ParamsError, match=r"train\.repeat: unknown key"):
        load_train_params(write(tmp_path, ("repeats: 3", "repeat: 3")), TrainParams)


def test_a_refit_needs_a_number_of_epochs_that_validation_does_not_choose(tmp_path: Path) -> None:
    refit = ("refit: false", "refit: true")
    with pytest.raises(ParamsError, match=r"train\.refit: got True; allowed: false where train\.schedule is plateau"):
        load_train_params(write(tmp_path, refit), TrainParams)
    assert load_train_params(write(tmp_path, refit, ("schedule: plateau", "schedule: cosine")), TrainParams).refit


def test_smoothed_labels_are_for_cross_entropy(tmp_path: Path) -> None:
    smooth = ("label_smoothing: 0", "label_smoothing: 0.1")
    with pytest.raises(ParamsError, match=r"train\.label_smoothing: got 0\.1; allowed: 0 where train\.loss is focal"):
        load_train_params(write(tmp_path, smooth), TrainParams)
    params = load_train_params(write(tmp_path, smooth, ("loss: focal", "loss: cross_entropy")), TrainParams)
    assert params.label_smoothing == 0.1


def test_correcting_the_class_balance_twice_needs_to_be_meant(tmp_path: Path) -> None:
    twice = ("class_weights: none", "class_weights: inverse")
    with pytest.raises(
        ParamsError, match=r"train\.allow_double_correction: got False; .*correct the class balance twice"
    ):
        load_train_params(write(tmp_path, twice), TrainParams)
    meant = write(tmp_path, twice, ("allow_double_correction: false", "allow_double_correction: true"))
    assert load_train_params(meant, TrainParams).class_weights == "inverse"
    once = write(tmp_path, twice, ("sampler: balanced", "sampler: none"))
    assert load_train_params(once, TrainParams).sampler == "none"


def test_pretrained_reads_its_two_keys_whatever_the_others_are(tmp_path: Path) -> None:
    path = write(tmp_path, ("lr: 1e-3", "lr: nonsense"), ("weights: none", "weights: ~/w.pth"), ("  seed: 0\n", ""))
    assert load_train_params(path, PretrainedParams) == PretrainedParams(backbone="resnet18", weights="~/w.pth")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("  backbone: resnet18\n", ""), r"train\.backbone: missing"),
        (("backbone: resnet18", "backbone: vgg16"), r"train\.backbone: got 'vgg16'"),
        (("weights: none", "weights: 3"), r"train\.weights: got 3"),
        (("train:", "trian:"), "train: missing section"),
    ],
)
def test_pretrained_names_what_is_wrong_with_its_two_keys(
    tmp_path: Path, change: tuple[str, str], message: str
) -> None:
    with pytest.raises(ParamsError, match=message):
        load_train_params(write(tmp_path, change), PretrainedParams)


def test_pretrained_params_are_strict() -> None:
    with pytest.raises(ValidationError):
        PretrainedParams.model_validate({"backbone": "resnet18", "weights": "none", "lr": 1})
