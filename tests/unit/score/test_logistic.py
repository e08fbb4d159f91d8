import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from reseed.artifacts.catalog import FRAME_LABELS
from reseed.artifacts.patches import PATCH_INDEX
from reseed.artifacts.predictions import PATCH_PREDICTIONS
from reseed.base.errors import TableError
from reseed.score.alpha import exact
from reseed.score.calibration import fit_rule, frame_features
from reseed.score.decisions import LOGISTIC, count_patches, frame_table, logistic_decisions

NAMES = {"N": "No-Deploy", "C": "Coral", "D": "Deploy"}


def tables(frames: dict[str, tuple[str, str]]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Frame: split and rows of initials, as `DD/NC`."""
    predictions, index = [], []
    for frame, (split, grid) in frames.items():
        for row, line in enumerate(grid.split("/")):
            for col, initial in enumerate(line):
                patch = f"{frame}#r{row:03d}c{col:03d}"
                corners = {"x0": 10 * col, "y0": 10 * row, "x1": 10 * col + 10, "y1": 10 * row + 10}
                index.append({"patch_id": patch, "frame_id": frame, "row": row, "col": col, **corners})
                chances = {"p_no_deploy": 0.2, "p_coral": 0.3, "p_deploy": 0.5}
                said = {"split": split, "gold": "", **chances, "predicted": NAMES[initial]}
                predictions.append({"patch_id": patch, "frame_id": frame, **said})
    return PATCH_PREDICTIONS.frame(predictions), PATCH_INDEX.frame(index)


def test_features_by_hand() -> None:
    # 2 x 2 of 10 px: every patch is 5 px from the middle along each axis, so the whole spreads by sqrt(25 + 25).
    # a: Deploy in the upper row, 5 px from its centre along x only: 5 / sqrt(50). One Coral: no spread.
    # b: Deploy at opposite corners: as spread as the whole.
    names, features = frame_features(*tables({"b": ("val", "DN/ND"), "a": ("val", "DD/CN")}))
    assert names.tolist() == ["a", "b"]
    assert features[0] == pytest.approx([0.5, 0.25, 5 / np.sqrt(50), 0.0])
    assert features[1] == pytest.approx([0.5, 0.0, 1.0, 0.0])


def test_a_frame_of_one_patch_has_no_spread() -> None:
    assert frame_features(*tables({"a": ("val", "D")}))[1].tolist() == [[1.0, 0.0, 0.0, 0.0]]


def test_a_patch_without_a_place_is_refused() -> None:
    predictions, index = tables({"a": ("val", "DN")})
    with pytest.raises(TableError, match="no patch a#r000c001"):
        frame_features(predictions, index.head(1))


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000))
def test_equals_scikit_learn(seed: int) -> None:
    rng = np.random.default_rng(seed)
    features = rng.random((25, 4))
    deploy = features[:, 0] + rng.normal(0, 0.4, 25) > 0.5
    rule = fit_rule(features, deploy)
    if rule is None:
        assert deploy.all() or not deploy.any()
        return
    scaler = StandardScaler().fit(features)
    theirs = LogisticRegression(C=1.0, tol=1e-10, max_iter=10_000).fit(scaler.transform(features), deploy)
    assert rule.weights == pytest.approx(theirs.coef_[0], abs=1e-4)
    assert rule.bias == pytest.approx(theirs.intercept_[0], abs=1e-4)
    unseen = rng.random((50, 4))
    chance = theirs.predict_proba(scaler.transform(unseen))[:, 1]
    sure = np.abs(chance - 0.5) > 1e-3
    assert (rule.deploys(unseen)[sure] == (chance > 0.5)[sure]).all()


def test_a_perfectly_separated_and_a_constant_feature_are_no_trouble() -> None:
    features = np.array([[0.0, 0, 0, 0], [0.1, 0, 0, 0], [0.9, 0, 0, 0], [1.0, 0, 0, 0]])
    rule = fit_rule(features, np.array([False, False, True, True]))
    assert rule is not None
    assert rule.n == 4
    assert rule.weights[1:].tolist() == [0, 0, 0]
    assert rule.deploys(features).tolist() == [False, False, True, True]


def test_only_validation_frames_teach_and_every_frame_is_decided() -> None:
    frames = {
        "v1": ("val", "DD/DD"),
        "v2": ("val", "NN/NN"),
        "v3": ("val", "DD/DN"),
        "v4": ("val", "NN/ND"),
        "t1": ("test", "DD/DD"),
        "t2": ("test", "NN/NN"),
        "x": ("train", "DD/DD"),
    }
    predictions, index = tables(frames)
    answers = {"v1": "Deploy", "v2": "No-Deploy", "v3": "Deploy", "v4": "No-Deploy"}
    wrong = {"t1": "No-Deploy", "t2": "Deploy", "x": "No-Deploy"}  # were they used, nothing could be learned

    def decided(labels: dict[str, str]) -> list[bool]:
        rows = [{"frame_id": f, "annotator": "A", "label": name, "gold": 1} for f, name in labels.items()]
        counts = count_patches(predictions, FRAME_LABELS.frame(rows))
        found = logistic_decisions(predictions, index, counts)
        assert found is not None
        table = frame_table(counts, exact(0.8), LOGISTIC, found)
        assert table["decision"].tolist() == table["logistic_decision"].tolist() != table["ratio_decision"].tolist()
        return [bool(value) for value in found]

    assert decided(answers) == decided({**answers, **wrong}) == [True, False, True, False, True, False, True]


def test_without_both_decisions_on_validation_there_is_no_rule() -> None:
    predictions, index = tables({"v": ("val", "DD"), "t": ("test", "NN")})
    rows = [{"frame_id": "v", "annotator": "A", "label": "Deploy", "gold": 1}]
    counts = count_patches(predictions, FRAME_LABELS.frame(rows))
    assert logistic_decisions(predictions, index, counts) is None
    assert frame_table(counts, exact(0.5))["logistic_decision"].tolist() == ["", ""]
    with pytest.raises(TableError, match=r"aggregate\.rule is logistic, but the labelled validation frames"):
        frame_table(counts, exact(0.5), LOGISTIC, None)
