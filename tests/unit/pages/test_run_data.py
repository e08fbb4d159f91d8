import base64
from fractions import Fraction

import numpy as np
import pytest
import simplejpeg

from reseed.base.classes import DEPLOY
from reseed.pages import run_data
from reseed.pages.run_data import (
    LARGE_BYTES,
    PERCENT_SIGNS,
    SMALL_BYTES,
    doubts,
    frame_data,
    frame_order,
    pictures,
    thresholds,
)
from reseed.score.alpha import decisions
from tests.unit.pages.many import many


def test_thresholds_are_the_different_shares_with_zero() -> None:
    # 3/6 and 14/28 are one share; a share of 0 is the first threshold
    assert thresholds([3, 14, 0, 7], [6, 28, 28, 28]) == [0, Fraction(1, 4), Fraction(1, 2)]
    assert thresholds([5], [5]) == [0, 1]


def test_a_rank_above_the_threshold_is_the_decision_of_the_rule_at_every_threshold() -> None:
    tables = many(300)
    data = frame_data(tables)
    frames = tables.frames.sort_values("frame_id")
    deploy, n = frames["deploy_count"].to_numpy(), frames["n_patches"].to_numpy()
    for number, text in enumerate(data["thresholds"]):
        expected = decisions(deploy, n, Fraction(text)).tolist()
        assert [rank > number for rank in data["frames"]["rank"]] == expected
    used = data["used"]
    assert Fraction(data["thresholds"][used]) <= Fraction(3, 10) < Fraction(data["thresholds"][used + 1])
    assert [rank > used for rank in data["frames"]["rank"]] == (frames["decision"] == DEPLOY).tolist()


def test_each_whole_percent_has_a_sign_of_its_own_that_means_nothing_in_markup() -> None:
    assert len(set(PERCENT_SIGNS)) == 101
    assert not set(PERCENT_SIGNS) & set('<>&"\\\u2028\u2029')


def test_what_a_frame_says() -> None:
    tables = many(3)
    one = tables.patches.index[:28]
    tables.patches.loc[one, ["p_no_deploy", "p_coral", "p_deploy"]] = [0.25, 0.5, 0.25]
    tables.patches.loc[one, "gold"] = ["Coral"] * 14 + [""] * 13 + ["Deploy"]
    columns = frame_data(tables)["frames"]
    assert columns["golds"][0] == "1" * 14 + "." * 13 + "2"
    # 14 patches lose -ln 0.5 = 0.6931 and one -ln 0.25 = 1.3863: (14 * 0.6931 + 1.3863) / 15 = 0.7394
    assert columns["loss"][0] == pytest.approx(0.7394, abs=1e-4)
    assert columns["sure"][0] == 0.5
    assert {PERCENT_SIGNS.index(sign) for sign in columns["pCoral"][0]} == {50}
    assert (columns["rows"][0], columns["cols"][0], columns["points"][0]) == (4, 7, None)


def test_an_annotator_who_differs_is_counted_and_a_tie_of_names_is_settled_by_the_first() -> None:
    tables = many(2)
    patch = tables.patch_labels.iloc[[0, 1]].assign(annotator="B", gold=0, label=["Deploy", "Coral"])
    tables.patches.loc[[0, 1], "gold"] = "Coral"
    labels = run_data.pd.concat([tables.patch_labels, patch])
    columns = frame_data(run_data.RunTables(**(vars(tables) | {"patch_labels": labels})))["frames"]
    assert columns["seconds"][0][:3] == "21."
    assert columns["differs"] == [1, 0]


def test_wrong_frames_have_the_first_pictures_and_the_page_stays_small(monkeypatch: pytest.MonkeyPatch) -> None:
    tables = many(60)
    columns = frame_data(tables)["frames"]
    first = frame_order(columns)
    wrong = {i for i in first if columns["gold"][i] != columns["decided"][i]}
    assert set(first[: len(wrong)]) == wrong
    everything = pictures(tables, columns)
    assert list(everything) == list(range(60))
    size = len(everything[first[0]])
    monkeypatch.setattr(run_data, "LARGE_BYTES", 10 * size)
    monkeypatch.setattr(run_data, "SMALL_BYTES", 3 * size)
    some = pictures(tables, columns)
    assert set(some) == set(first[: len(some)])
    width = {i: simplejpeg.decode_jpeg_header(base64.b64decode(text))[1] for i, text in some.items()}
    assert {width[i] for i in first[:9]} == {336}
    assert width[first[len(some) - 1]] == 91  # 7 columns of 13 px
    assert sum(map(len, some.values())) < 15 * size
    assert LARGE_BYTES + SMALL_BYTES < 8_000_000


def test_points_have_their_boxes_and_their_patches_side_by_side() -> None:
    tables = many(2)
    tables.index.loc[:27, ["row", "col"]] = -1
    data = frame_data(tables)["frames"]
    assert data["points"][0][0] == [0, 0, 8, 8]
    assert data["points"][1] is None
    assert len(data["points"][0]) == 28
    height, width, *_ = simplejpeg.decode_jpeg_header(base64.b64decode(pictures(tables, data)[0]))
    assert (height, width) == (5 * 56, 6 * 56)  # 28 patches on 6 columns


def test_a_doubt_about_the_reference_has_its_reason() -> None:
    tables = many(5)
    test = tables.patches[tables.patches["split"] == "test"].index
    tables.patches.loc[test, "gold"] = tables.patches.loc[test, "predicted"]
    a, b, c = test[:3]
    tables.patches.loc[[a, b, c], ["gold", "predicted"]] = ["Coral", "Deploy"]
    tables.patches.loc[[a, b, c], "p_deploy"] = [0.95, 0.92, 0.6]
    ids = tables.patches.loc[[a, b, c], "patch_id"].tolist()
    repeats = run_data.pd.DataFrame(
        {"repeat": [1, 2, 1, 2], "patch_id": [ids[0], ids[0], ids[1], ids[1]]}
        | {"predicted": ["Deploy", "Deploy", "Deploy", "Coral"]}
    )
    other = tables.patch_labels[tables.patch_labels["patch_id"] == ids[2]].assign(gold=0, label="Deploy")
    labels = run_data.pd.concat([tables.patch_labels, other])
    surest, doubtful = doubts(run_data.RunTables(**(vars(tables) | {"repeats": repeats, "patch_labels": labels})), 9)
    assert [one.patch_id for one in surest] == ids
    assert [(one.patch_id, one.why) for one in doubtful] == [
        (ids[0], "every training says so"),
        (ids[2], "another annotator says so too"),
    ]
    assert [one.place for one in surest] == [0, 1, 2]
    assert np.isclose(surest[0].probability, 0.95)


def test_a_cell_without_a_patch_keeps_its_place() -> None:
    tables = many(3)
    gone = tables.patches["patch_id"].iloc[[2, 30]].tolist()  # row 0, column 2 of frame 0; the third patch of frame 1
    kept = {
        "patches": tables.patches[~tables.patches["patch_id"].isin(gone)].reset_index(drop=True),
        "index": tables.index[~tables.index["patch_id"].isin(gone)].reset_index(drop=True),
        "frames": tables.frames.assign(n_patches=[27, 27, 28]),
    }
    less = run_data.RunTables(**(vars(tables) | kept))
    whole, columns = frame_data(tables)["frames"], frame_data(less)["frames"]
    for name in ("golds", "answers"):
        expected = [text[:2] + "." + text[3:] for text in whole[name][:2]] + whole[name][2:]
        assert columns[name] == expected
    assert columns["n"] == [27, 27, 28]
    assert (columns["rows"], columns["cols"], columns["points"]) == ([4] * 3, [7] * 3, [None] * 3)
    probabilities = tables.patches[["p_no_deploy", "p_coral", "p_deploy"]].max(axis=1)[:28].drop(index=2)
    assert columns["sure"][0] == pytest.approx(probabilities.mean(), abs=1e-4)
    picture = simplejpeg.decode_jpeg(base64.b64decode(pictures(less, columns)[0]))
    assert picture[:40, 2 * 48 + 8 : 3 * 48 - 8].mean() < 10  # black
    assert picture[:40, 3 * 48 + 8 : 4 * 48 - 8].mean() > 40
