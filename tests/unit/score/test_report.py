"""What the report says beyond the scores, on a run small enough to count by hand (tests/unit/score/runs.py)."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import cohen_kappa_score, f1_score

from reseed.artifacts.patches import SPLITS_TABLE
from reseed.artifacts.predictions import BASELINE_PREDICTIONS, PATCH_PREDICTIONS
from reseed.base.errors import TableError
from reseed.base.files import read_json
from stages import aggregate, evaluate
from tests.unit.score import runs
from tests.unit.score.runs import write_run

# Six test sites, so that there is an interval.
MANY = runs.SITES | {
    f"Reef {name}": ("test", [("Deploy", f"DD D{wrong} NN CC"), ("No-Deploy", f"NN CN CC N{wrong}")])
    for name, wrong in zip("PQRS", "CDCN", strict=True)
}


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_run(tmp_path)
    return tmp_path


def report() -> dict[str, Any]:
    aggregate.main([])
    evaluate.main(["--no-figures"])
    content: dict[str, Any] = read_json(Path("metrics/details.json"))
    return content


def many(folder: Path, monkeypatch: pytest.MonkeyPatch, **how: Any) -> dict[str, Any]:
    monkeypatch.setattr(runs, "SITES", MANY)
    write_run(folder, **how)
    return report()


def test_baselines_by_hand(run: Path) -> None:
    baselines = report()["baselines"]
    # 15 labelled test patches: 6 No-Deploy, 5 Coral, 4 Deploy. All No-Deploy: F1 12/21, 0, 0.
    for key in ("largest_class", "no_deploy"):
        assert baselines[key]["patch"]["macro_f1"] == round(100 * (12 / 21) / 3, 4)
        assert baselines[key]["patch"]["accuracy"] == 40.0
        # test frames: Deploy, No-Deploy, No-Deploy: F1 of No-Deploy 4/5
        assert baselines[key]["frame"]["macro_f1"] == 40.0
    # Mean colour gives 1 of 4 patches of each frame to Deploy: all alphas are equal on validation, the middle is taken.
    assert baselines["mean_colour"]["alpha"] == 0.5
    assert baselines["mean_colour"]["frame"]["macro_f1"] == 40.0
    assert baselines["whole_image"]["scores"] == "not run"
    assert baselines["whole_image"]["reason"] == "baselines.image is false"
    gain = baselines["mean_colour"]["patch"]["network_minus_this"]
    network = 100 * (6 / 9 + 8 / 10 + 10 / 11) / 3
    assert gain["macro_f1"] == pytest.approx(network - 100 * (4 / 8 + 2 / 9 + 6 / 13) / 3, abs=1e-3)
    assert (gain["low"], gain["p"]) == ("n/a", "n/a")
    assert (
        "39.7 points above the best baseline (mean colour, 39.5 %), with no interval: 2 clusters;"
        in (baselines["verdict"]["patch"])
    )
    assert (
        (baselines["verdict"]["frame"])
        == "Frame macro F1 25.0 % does NOT beat the best baseline (largest class, 40.0 %): it is 15.0 points below."
    )


def test_a_baseline_of_other_patches_is_refused(run: Path) -> None:
    path = run / "data/predictions/baselines.csv"
    table = BASELINE_PREDICTIONS.read(path)
    BASELINE_PREDICTIONS.write(table[table["item"] != "demo/Dory/Dory_0001.jpg#r001c001"], path)
    with pytest.raises(TableError, match=r"'largest class' has no answer for 1 of 15 items, first: demo/Dory"):
        report()


def test_no_baseline_at_all_says_so(run: Path) -> None:
    path = run / "data/predictions/baselines.csv"
    BASELINE_PREDICTIONS.write(BASELINE_PREDICTIONS.read(path).head(0), path)
    baselines = report()["baselines"]
    assert baselines["best"] == {"patch": "n/a", "frame": "n/a"}
    assert baselines["verdict"]["patch"] == "Patch macro F1 79.2 %; no baseline was run to compare it with."


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        ("DCNN", "beats the best baseline (mean colour"),
        ("gold", "does NOT beat the best baseline (mean colour, 100.0 %)"),
        ("network", "does NOT beat the best baseline (mean colour, 71.9 %): the two are equal."),
        ("one better", "does NOT clearly beat the best baseline"),
    ],
)
def test_the_verdict_says_in_words_who_wins(
    run: Path, monkeypatch: pytest.MonkeyPatch, answers: str, said: str
) -> None:
    monkeypatch.setattr(runs, "SITES", MANY)
    write_run(run)
    path = run / "data/predictions/baselines.csv"
    table, patches = BASELINE_PREDICTIONS.read(path), PATCH_PREDICTIONS.read(run / "data/predictions/patches.csv")
    mine = (table["baseline"] == "mean_colour") & (table["kind"] == "patch")
    of_patch = patches.set_index("patch_id")
    items = list(table.loc[mine, "item"])
    if answers == "gold":
        table.loc[mine, "predicted"] = [of_patch.loc[item, "gold"] or "Coral" for item in items]
    elif answers in {"network", "one better"}:
        table.loc[mine, "predicted"] = [of_patch.loc[item, "predicted"] for item in items]
    if answers == "one better":  # than the baseline, by one patch
        table.loc[mine & (table["item"] == "demo/Coil/Coil_0000.jpg#r000c000"), "predicted"] = "No-Deploy"
    BASELINE_PREDICTIONS.write(table, path)
    assert said in report()["baselines"]["verdict"]["patch"]


def test_intervals_hold_the_score_and_reach_the_headline(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    details = many(run, monkeypatch)
    metrics = read_json(Path("metrics/metrics.json"))
    assert metrics["patch"]["macro_f1_low"] < metrics["patch"]["macro_f1"] < metrics["patch"]["macro_f1_high"]
    for task, names in {
        "patch": ("macro_f1", "accuracy", "no_deploy_f1", "coral_f1", "deploy_f1"),
        "frame": ("macro_f1", "accuracy", "deploy_precision", "deploy_recall", "deploy_f1"),
    }.items():
        found = details[task]["test"]["intervals"]
        assert set(found) == set(names)
        for name in names:
            assert found[name]["clusters"] == 6
            assert found[name]["low"] <= metrics[task][name] <= found[name]["high"]
    assert found["macro_f1"] != details["frame"]["val"]["intervals"]
    assert details["frame"]["val"]["intervals"] == "n/a: 1 cluster; an interval needs at least 5"
    assert details["patch"]["test"]["intervals"]["macro_f1"]["low"] == metrics["patch"]["macro_f1_low"]


def test_the_groups_of_the_split_are_what_is_drawn(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the split is by frame, the frames are drawn."""
    monkeypatch.setattr(runs, "SITES", MANY)
    write_run(run)
    path = run / "data/catalog/splits.csv"
    splits = SPLITS_TABLE.read(path)
    SPLITS_TABLE.write(splits.assign(group=splits["frame_id"]), path)
    details = report()
    assert details["patch"]["test"]["intervals"]["macro_f1"]["clusters"] == 12
    # Dory_0000 has no frame label
    assert details["frame"]["test"]["intervals"]["macro_f1"]["clusters"] == 11
    SPLITS_TABLE.write(splits[splits["frame_id"] != "demo/Coil/Coil_0000.jpg"], path)
    with pytest.raises(TableError, match=r"no group for frame demo/Coil/Coil_0000\.jpg"):
        evaluate.main(["--no-figures"])


def test_human_ceiling_by_hand(run: Path) -> None:
    ceiling = report()["human_ceiling"]
    # B takes the first patch of each of 4 frames for Coral, where gold has none: 11 of 15 alike.
    # Against gold: Deploy 2 of 4: 4/6; No-Deploy 4 of 6: 8/10; Coral 5 of 5, said 9 times: 10/14.
    (patch,) = ceiling["patch"]
    assert (patch["reference"], patch["annotator"], patch["n"]) == ("A", "B", 15)
    assert patch["agreement"] == round(100 * 11 / 15, 4)
    assert patch["human"]["macro_f1"] == round(100 * (4 / 6 + 8 / 10 + 10 / 14) / 3, 4)
    assert patch["network"]["accuracy"] == 80.0
    gold, other = ["D"] * 4 + ["N"] * 6 + ["C"] * 5, ["D"] * 2 + ["C"] * 2 + ["N"] * 4 + ["C"] * 2 + ["C"] * 5
    assert patch["kappa"] == pytest.approx(cohen_kappa_score(gold, other), abs=1e-4)
    assert patch["human"]["macro_f1"] == pytest.approx(100 * f1_score(gold, other, average="macro"), abs=1e-3)
    (frame,) = ceiling["frame"]
    assert (frame["n"], frame["agreement"], frame["human"]["deploy_recall"]) == (3, 33.3333, 100.0)
    assert frame["kappa"] == 0.0  # B says Deploy always: no better than chance


def test_one_annotator_is_no_ceiling(run: Path) -> None:
    for name in ("data/patches/labels.csv", "data/catalog/frame_labels.csv"):
        path = run / name
        path.write_text("\n".join(line for line in path.read_text().splitlines() if ",B," not in line) + "\n")
    assert report()["human_ceiling"] == "no second annotator labelled what is scored here"


def test_conditions_by_hand(run: Path) -> None:
    report()
    table = pd.read_csv(run / "metrics/by_condition.csv").set_index(["condition", "quartile"])
    # Contrast of the four test frames is 0.04 to 0.07: one frame each. Nothing is known of the rest.
    assert table.index.tolist() == [
        ("water_depth_m", 0),
        ("altitude_m", 0),
        *[("contrast", quartile) for quartile in (1, 2, 3, 4)],
        ("blue_red_ratio", 0),
    ]
    first = table.loc[("contrast", 1)]
    # Coil_0000: DD DC NN: Deploy 2/3, Coral 0, No-Deploy 1
    assert (first["from"], first["to"], first["n_patches"]) == (0.04, 0.04, 3)
    assert first["macro_f1"] == pytest.approx(100 * (2 / 3 + 0 + 1) / 3, abs=1e-3)
    assert table.loc[("blue_red_ratio", 0), "n_patches"] == 15
    assert np.isnan(table.loc[("blue_red_ratio", 0), "from"])
    assert np.isnan(first["macro_f1_low"])


def test_sequences_are_told_apart_within_a_site(run: Path) -> None:
    path = run / "data/catalog/frames.csv"
    lines = [line.replace("Seq01", "Seq02") if "Coil_0001" in line else line for line in path.read_text().splitlines()]
    path.write_text("\n".join(lines) + "\n")
    report()
    table = pd.read_csv(run / "metrics/by_sequence.csv")
    test = table[table["split"] == "test"].set_index(["site", "sequence"])
    assert test.index.tolist() == [("Coil", "Seq01"), ("Coil", "Seq02"), ("Dory", "Seq01")]
    assert test["n_patches"].tolist() == [3, 4, 8]
    assert test["n_frames"].tolist() == [1, 1, 1]


def test_costs_and_areas_by_hand(run: Path) -> None:
    alpha = report()["alpha"]
    # Validation is right from 0.25 to 0.49: no cost, middle 0.37. Of 3 test frames one is missed (1), one false (3).
    assert alpha["cost"] == {
        "false_deploy": 3.0,
        "missed_deploy": 1.0,
        "cheapest_alpha_on_validation": 0.37,
        "validation_cost_per_frame": 0.0,
        "test_cost_per_frame": 1.3333,
        "test_cost_per_frame_as_decided": 1.3333,
    }
    # Frames by Deploy share: 3/4 No-Deploy; 1/4 Deploy and 1/4 No-Deploy together: precision 1/3 at recall 1.
    assert alpha["deploy_precision_recall_area"]["test"]["frames"] == 33.3333
    assert alpha["deploy_precision_recall_area"]["val"]["frames"] == 100.0
    curve = pd.read_csv(run / "plots/alpha_curve.csv")
    assert curve.loc[37, ["cost", "validation_cost", "validation_accuracy"]].tolist() == [1.3333, 0.0, 100.0]


def test_coral_cover_by_hand(run: Path) -> None:
    cover = report()["coral_cover"]
    table = pd.read_csv(run / "plots/coral_cover.csv")
    # Of 3, 4, 4 and 4 labelled patches: 0, 2, 2, 1 are Coral and 1, 2, 2, 0 are called so.
    assert table["annotated"].tolist() == [0.0, 50.0, 50.0, 25.0]
    assert table["predicted"].tolist() == [33.3333, 50.0, 50.0, 0.0]
    assert (cover["n_frames"], cover["bias"], cover["mae"]) == (4, 2.0833, 14.5833)


def test_both_rules_are_reported_whichever_decides(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    by_ratio = many(run, monkeypatch)
    ratio_scores = read_json(Path("metrics/metrics.json"))["frame"]
    by_logistic = many(run, monkeypatch, rule="logistic")
    logistic_scores = read_json(Path("metrics/metrics.json"))["frame"]
    assert (by_ratio["rules"]["used"], by_logistic["rules"]["used"]) == ("ratio", "logistic")
    for rule, scores in (("ratio", ratio_scores), ("logistic", logistic_scores)):
        assert by_ratio["rules"][rule] == by_logistic["rules"][rule]
        assert by_ratio["rules"][rule]["test"]["macro_f1"] == scores["macro_f1"]


def test_calibration_is_reported(run: Path) -> None:
    calibration = report()["calibration"]
    assert (calibration["method"], calibration["temperature"]) == ("none", 1.0)
    # test: 12 of 15 right; confidence 0.7 but for one of 0.8 (ND), one 0.9 (DC) and one 0.95 (CD)
    over = (12 * 0.7 + 0.8 + 0.9 + 0.95) / 15 - 12 / 15
    assert calibration["test"]["n"] == 15
    assert calibration["test"]["over_confidence"] == pytest.approx(100 * over, abs=1e-3)
    table = pd.read_csv(run / "plots/reliability.csv")
    assert table["n"].sum() == 15
    assert table.loc[9, ["from", "to", "n", "accuracy"]].tolist() == [90.0, 100.0, 1.0, 0.0]
