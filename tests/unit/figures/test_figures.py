from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.text import Text

from reseed.artifacts.raw import SYNTHETIC_NOTICE, WEAK_NOTICE
from reseed.base.classes import CLASS_COLOURS, CLASSES, DECISIONS
from reseed.base.errors import TableError
from reseed.figures.alpha_curve import alpha_figure
from reseed.figures.baselines import bars, baselines_figure
from reseed.figures.by_site import conditions_figure, site_figure
from reseed.figures.confusion import confusion_figure, mistakes_figure, short_id
from reseed.figures.contact_sheet import contact_sheet, pick_frames
from reseed.figures.style import counted, marked, png_bytes
from reseed.figures.training import coral_figure, reliability_figure, training_figure
from reseed.score.alpha_curve import AlphaCurve, alpha_curve
from reseed.score.baselines import BaselineScore, Ceiling, agree
from reseed.score.bootstrap import Interval
from reseed.score.calibration import reliability
from reseed.score.plots import BY_CONDITION, BY_SITE, CONDITIONS
from reseed.score.registry import TaskScores

COUNTS = np.array([[187, 29, 17], [21, 132, 18], [25, 11, 103]])


def curve(split: str, deploy: list[int], gold: list[int]) -> AlphaCurve:
    n = np.full(len(deploy), 28)
    return alpha_curve(split, np.array(deploy, dtype=np.int64), n, np.array(gold, dtype=np.int64))


def sites(*rows: tuple[str, int, float, int]) -> pd.DataFrame:
    """Site, labelled patches, macro F1 and Deploy support."""
    plain = {column.name: 50.0 if column.kind == "float" else 20 for column in BY_SITE}
    return pd.DataFrame(
        [
            {**plain, "split": "test", "site": site, "n_patches": n, "macro_f1": f1, "deploy_support": deploy}
            for site, n, f1, deploy in rows
        ]
    )


def mistakes(count: int, predicted: str = "Deploy") -> pd.DataFrame:
    columns = ["patch_id", "site", "gold", "predicted", "probability"]
    rows = [(f"s/q/f_{index:04d}.jpg#r003c005", "Ugar", "Coral", predicted, 0.9) for index in range(count)]
    return pd.DataFrame(rows, columns=columns)


def pictures(count: int) -> np.ndarray:
    return np.full((count, 8, 8, 3), 90, dtype=np.uint8)


TRAINING = pd.DataFrame(
    {"epoch": [1, 2, 3], "train_loss": [1, 0.5, 0.4], "val_loss": [1, 0.6, 0.7], "val_macro_f1": [40, 81.5, 79]}
)
TEST, VAL = curve("test", [2, 9, 14, 20], [0, 0, 1, 1]), curve("val", [1, 16], [0, 1])
SITES = sites(("Ugar", 300, 61.25, 20), ("Erub", 40, 82.0, 0))

SURE, UNSURE = Interval(0.6, 0.9, 12), Interval(float("nan"), float("nan"), 2, "2 clusters; too few")


def task_scores(macro_f1: float, interval: Interval) -> TaskScores:
    return TaskScores("patch", 9, {"macro_f1": macro_f1}, np.eye(3, dtype=np.int64), {"macro_f1": interval})


def baseline(name: str, scores: TaskScores | None, not_run: str = "") -> BaselineScore:
    return BaselineScore(name, name, scores, None, None, {}, not_run)


NETWORK = task_scores(0.812, SURE)
BASELINES = [baseline("mean colour", task_scores(0.2, SURE)), baseline("largest class", task_scores(0.3, UNSURE))]
BASELINES += [baseline("whole image", None), baseline("other", None, "too early")]
AGREEMENT = agree(np.array([0, 1, 1]), np.array([0, 1, 0]), list("abc"), 3, 100, 0)
CEILING = Ceiling("patch", "A", "B", AGREEMENT, task_scores(0.9, UNSURE), NETWORK)
BARS, FRAME_BARS = (bars(NETWORK, BASELINES, [CEILING], task) for task in ("patch", "frame"))
VERDICTS = ["Patch macro F1 81.2 % beats the best baseline, with no interval: 2 clusters.", "Frame macro F1 is below."]
RNG = np.random.default_rng(0)
HONEST = np.round(RNG.dirichlet([0.5, 0.5, 0.5], 400), 6)
RELIABILITY = reliability(
    HONEST, np.array([RNG.choice(3, p=row / row.sum()) for row in HONEST]), [str(i % 8) for i in range(400)], 100, 0
)


def conditions(unknown: str = "", low: float = 55.0) -> pd.DataFrame:
    plain = {column.name: 60.0 if column.kind == "float" else 120 for column in BY_CONDITION}
    rows = []
    for condition in CONDITIONS:
        for quartile in [0] if condition == unknown else [1, 2, 3, 4]:
            place = {"condition": condition, "quartile": quartile, "from": quartile / 20, "to": (quartile + 1) / 20}
            rows.append(plain | place | {"macro_f1": 80.0 - 5 * quartile, "macro_f1_low": low})
    table = pd.DataFrame(rows)
    table.loc[(table["condition"] == "altitude_m") & (table["quartile"] == 3), "macro_f1"] = 31.0
    return table


COVER = pd.DataFrame({"annotated": [0.0, 0.0, 25.0, 50.0], "predicted": [0.0, 0.0, 45.0, 60.0]})

DRAW: dict[str, Callable[[bool], Figure]] = {
    "confusion": lambda s: confusion_figure(COUNTS, CLASSES, SURE, item="patch", synthetic=s),
    "alpha": lambda s: alpha_figure(TEST, VAL, 0.4, 1.0, SURE, 0.4, UNSURE, synthetic=s),
    "sites": lambda s: site_figure(SITES, 77.2, synthetic=s),
    "baselines": lambda s: baselines_figure(BARS, BARS, VERDICTS, "", synthetic=s),
    "reliability": lambda s: reliability_figure(RELIABILITY, "temperature", 1.25, synthetic=s),
    "conditions": lambda s: conditions_figure(conditions(), 71.0, synthetic=s),
    "coral": lambda s: coral_figure(COVER, synthetic=s),
    "mistakes": lambda s: mistakes_figure(mistakes(3), pictures(3), 9, 90, synthetic=s),
    "training": lambda s: training_figure(TRAINING, synthetic=s),
    "contact": lambda s: contact_sheet(list(pictures(3)), ["Ugar", "Ugar", "Erub"], "3 frames", synthetic=s),
}


def texts(figure: Figure) -> list[str]:
    return [found.get_text().replace("\u00a0", " ") for found in figure.findobj(Text) if found.get_text()]  # type: ignore[attr-defined]


def said(figure: Figure) -> str:
    return " ".join(texts(figure))


@pytest.mark.parametrize("name", DRAW)
def test_the_same_figure_gives_the_same_bytes_whatever_the_users_settings(name: str) -> None:
    once = png_bytes(DRAW[name](True))
    with mpl.rc_context({"font.size": 30, "lines.linewidth": 9, "axes.facecolor": "red", "savefig.dpi": 30}):
        again = png_bytes(DRAW[name](True))
    assert once.startswith(b"\x89PNG")
    assert once == again
    assert b"Software" not in once


@pytest.mark.parametrize("name", DRAW)
def test_synthetic_data_says_so_and_real_data_does_not(name: str) -> None:
    assert SYNTHETIC_NOTICE in texts(DRAW[name](True))
    assert "synthetic" not in said(DRAW[name](False)).lower()


@pytest.mark.parametrize("name", DRAW)
def test_no_text_is_too_small_or_leaves_the_picture(name: str) -> None:
    figure = DRAW[name](True)
    png_bytes(figure)
    width, height = figure.canvas.get_width_height()
    axes = [axis for ax in figure.axes for axis in (ax.xaxis, ax.yaxis)]
    # matplotlib keeps labels of ticks beyond the axes and does not draw them
    shown = {tick.label1 for axis in axes for tick in axis._update_ticks()}
    beyond = {tick.label1 for axis in axes for tick in axis.get_major_ticks()} - shown
    for found in figure.findobj(Text):
        if isinstance(found, Text) and found.get_text() and found.get_visible() and found not in beyond:
            assert found.get_fontsize() >= 9, found.get_text()
            box = found.get_window_extent()
            inside = box.x0 >= 0 and box.y0 >= 0 and box.x1 <= width and box.y1 <= height
            assert inside, found.get_text()


def test_the_confusion_title_is_the_finding() -> None:
    figure = confusion_figure(COUNTS, CLASSES, SURE, item="patch", synthetic=False)
    # F1: 2*187/(233+233), 2*132/(171+172), 2*103/(139+138); accuracy 422/543
    assert "Patch macro F1 77.2 % on 543 test patches" in texts(figure)
    assert "95 % interval of macro F1 60.0 to 90.0. Accuracy 77.7 %." in said(figure)
    assert {"187", "29", "80 %", "of 233", "74.1 %"} <= set(texts(figure))


def test_a_confusion_of_one_and_of_none() -> None:
    one = confusion_figure(
        np.array([[1, 0], [0, 0]]), DECISIONS, UNSURE, item="frame", place=" at alpha 0.50", synthetic=False
    )
    assert "Frame macro F1 50.0 % on 1 test frame at alpha 0.50" in texts(one)
    assert "no reference" in texts(one)
    none = confusion_figure(np.zeros((2, 2), dtype=np.int64), DECISIONS, UNSURE, item="frame", synthetic=False)
    assert "No frame score" in said(none)
    assert "%" not in said(none)


def test_the_alpha_title_compares_with_hindsight() -> None:
    # Validation: 1 of 28 Deploy patches No-Deploy, 16 of 28 Deploy: right from 1/28 on and below 16/28 = 0.571, that is
    # from 0.04 to 0.57, whose middle is 0.305, the higher of the two about it 0.31.
    assert "At alpha 0.31 frame macro F1 is 100.0 %, the best of any alpha" in said(
        alpha_figure(TEST, VAL, 0.31, 1.0, SURE, 0.4, UNSURE, synthetic=False)
    )
    picked = float(VAL.best().alpha)
    worse = said(alpha_figure(TEST, VAL, picked, 0.7333, UNSURE, None, UNSURE, synthetic=False))
    assert "26.7 points below the best alpha in hindsight (0.41)" in worse
    assert "2 validation frames, 4 test frames, 2 of them Deploy by reference." in worse
    assert "No interval: 2 clusters" in worse
    assert "least cost" not in worse
    assert "from alpha 0.72 on" in worse  # the surest frame has 20 of 28 = 0.714


def test_an_alpha_set_by_hand_is_not_praised_for_its_luck() -> None:
    title = "At alpha 0.40 frame macro F1 is 100.0 %, with an alpha set by hand: validation picks 0.31"
    text = said(alpha_figure(TEST, VAL, 0.4, 1.0, SURE, 0.4, UNSURE, synthetic=False))
    assert title in text
    assert "the best of any alpha" not in text
    nothing = said(alpha_figure(TEST, curve("val", [], []), 0.4, 1.0, SURE, None, UNSURE, synthetic=False))
    assert "frame macro F1 is 100.0 %, with an alpha set by hand" in nothing


@pytest.mark.parametrize(
    ("test", "validation", "expected"),
    [
        (curve("test", [], []), VAL, "no test frame has a reference decision"),
        (TEST, curve("val", [], []), "alpha cannot be chosen"),
        (curve("test", [0, 0], [0, 1]), VAL, "from alpha 0.00 on"),
        (curve("test", [28, 28], [0, 1]), VAL, "Deploy precision"),
    ],
)
def test_alpha_curves_with_little_in_them(test: AlphaCurve, validation: AlphaCurve, expected: str) -> None:
    assert expected in said(alpha_figure(test, validation, 0.5, 0.5, UNSURE, None, UNSURE, synthetic=False))


def test_sites_are_sorted_worst_first_and_few_patches_are_flagged() -> None:
    figure = site_figure(SITES, 77.2, synthetic=False)
    assert "Patch macro F1 ranges from 61.2 % (Ugar) to 82.0 % (Erub)" in said(figure)
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == ["Ugar", "Erub"]
    assert "fewer than 50 labelled patches" in said(figure)
    assert "no Deploy" in said(figure)
    colours = {to_hex(dots.get_facecolor()[0]) for dots in figure.axes[0].collections if len(dots.get_offsets())}
    assert set(CLASS_COLOURS.values()) <= colours


def test_one_site_is_no_spread() -> None:
    assert "One test site only" in said(site_figure(sites(("$5 Reef", 300, 61.25, 20)), 61.2, synthetic=False))


def test_only_test_sites_with_labels_are_drawn() -> None:
    table = pd.concat([SITES, sites(("Ghost", 0, float("nan"), 0)), sites(("Val", 90, 9.0, 9)).assign(split="val")])
    assert "Ghost" not in said(site_figure(table, 77.2, synthetic=False))
    assert "Val" not in texts(site_figure(table, 77.2, synthetic=False))


def test_sites_show_how_sure_they_are() -> None:
    sure = SITES.assign(macro_f1_low=[50.0, 70.0], macro_f1_high=[70.0, 90.0])
    assert "Whiskers: 95 % intervals." in said(site_figure(sure, 77.2, synthetic=False))
    unsure = SITES.assign(macro_f1_low=np.nan, macro_f1_high=np.nan)
    assert "Whiskers" not in said(site_figure(unsure, 77.2, synthetic=False))


def lines_of(figure: Figure, axes: int) -> list[tuple[list[float], list[float]]]:
    return [(list(line.get_xdata()), list(line.get_ydata())) for line in figure.axes[axes].lines]


def test_baselines_say_in_words_whether_they_are_beaten() -> None:
    figure = baselines_figure(BARS, FRAME_BARS, VERDICTS, "2 clusters", synthetic=False)
    assert "Patch macro F1 81.2 % beats the best baseline" in said(figure)
    assert "Frame macro F1 is below." in said(figure)
    assert "No intervals: 2 clusters." in said(figure)
    assert {"81.2 %", "20.0 %", "30.0 %", "90.0 %", "annotator B", "not run", "frames only"} <= set(texts(figure))
    assert "Patch macro F1 81.2 % beats the best baseline" in texts(figure)  # the subtitle says why without interval
    assert ([60.0, 90.0], [0, 0]) in lines_of(figure, 0)  # the whisker of the network
    assert "Whiskers: 95 % intervals" in said(baselines_figure(BARS, BARS, VERDICTS, "", synthetic=False))


def test_no_number_beside_a_bar_is_crossed_by_the_line_of_the_network() -> None:
    short = [baseline("short", task_scores(0.2, UNSURE)), baseline("none", None, "too early")]
    figure = baselines_figure(bars(NETWORK, short, [], "patch"), BARS, VERDICTS, "", synthetic=False)
    numbers = {found.get_text().replace("\u00a0", " "): found for found in figure.axes[0].texts}
    line = next(line for line in figure.axes[0].lines if line.get_linestyle() != "-")
    for name in ("20.0 %", "not run"):
        assert numbers[name].get_bbox_patch() is not None, name
        assert numbers[name].get_zorder() > line.get_zorder(), name


def test_a_class_that_no_reference_has_is_named_beside_the_score() -> None:
    counts = COUNTS.copy()
    counts[1] = 0
    text = said(confusion_figure(counts, CLASSES, SURE, item="patch", synthetic=False))
    assert "No test patch is Coral by reference, which counts 0 in the macro F1." in text
    frames = said(confusion_figure(np.array([[5, 1], [0, 0]]), DECISIONS, UNSURE, item="frame", synthetic=False))
    assert "No test frame is Deploy by reference" in frames
    assert "by reference" not in said(confusion_figure(COUNTS, CLASSES, SURE, item="patch", synthetic=False))
    one = replace(NETWORK, confusion=counts)
    assert "Patches (no Coral: counts 0)" in said(
        baselines_figure(bars(one, [], [], "patch"), BARS, VERDICTS, "", synthetic=False)
    )


def test_the_reliability_title_says_how_sure_against_how_right() -> None:
    assert "points surer than it is right" in said(
        reliability_figure(replace(RELIABILITY, over_confidence=0.05), "none", 1.0, synthetic=False)
    )
    under = said(reliability_figure(replace(RELIABILITY, over_confidence=-0.05), "none", 1.0, synthetic=False))
    assert "5.0 points less sure than it is right" in under
    assert "as the network gives them" in under
    even = said(reliability_figure(replace(RELIABILITY, over_confidence=0.001), "temperature", 1.25, synthetic=False))
    apart = replace(RELIABILITY, over_confidence=0.001, expected_error=0.08)
    assert "but 8.0 points off at a given confidence" in said(reliability_figure(apart, "none", 1.0, synthetic=False))
    close = replace(apart, expected_error=0.02)
    assert "about as sure as it is right" in said(reliability_figure(close, "none", 1.0, synthetic=False))
    assert "calibrated, temperature 1.25." in even


def test_conditions_name_the_weakest_quarter() -> None:
    text = said(conditions_figure(conditions(), 71.0, synthetic=False))
    assert "Weakest, at 31.0 %, where altitude is 0.15\u20130.20 m" in text
    assert "Whiskers" in text
    text = said(conditions_figure(conditions("altitude_m", float("nan")), 71.0, synthetic=False))
    assert "not known for these frames" in text
    assert "Weakest, at 60.0 %, where water depth is 0.20\u20130.25 m" in text
    assert "Too few groups for intervals." in text


def ticks(figure: Figure, axes: int) -> list[str]:
    return [label.get_text().split("\n(")[0].replace("\n", "") for label in figure.axes[axes].get_xticklabels()]


def test_narrow_ranges_are_told_apart_and_counts_stand_below_the_axes() -> None:
    table = conditions()
    depth = table["condition"] == "water_depth_m"
    table.loc[depth, "from"] = [4.201, 4.203, 4.206, 4.209]
    table.loc[depth, "to"] = [4.202, 4.205, 4.208, 4.21]
    figure = conditions_figure(table, 71.0, synthetic=False)
    assert ticks(figure, 0) == ["4.201\u20134.202", "4.203\u20134.205", "4.206\u20134.208", "4.209\u20134.210"]
    assert ticks(figure, 1)[0] == "0.05\u20130.10"
    assert [label.get_text().rsplit("\n", 1)[1] for label in figure.axes[0].get_xticklabels()] == ["(120)"] * 4
    png_bytes(figure)
    boxes = [label.get_window_extent() for label in figure.axes[0].get_xticklabels()]
    assert all(left.x1 < right.x0 for left, right in pairwise(boxes))
    assert "120" not in [found.get_text() for found in figure.axes[0].texts]


def test_coral_cover_says_how_far_off() -> None:
    # Errors 0, 0, 20, 10: bias and MAE 7.5, RMSE sqrt(500 / 4) = 11.2.
    text = said(coral_figure(COVER, synthetic=False))
    assert "Coral cover comes out 7.5 points too high, 7.5 points off per frame" in text
    assert "4 test frames" in text
    assert "RMSE 11.2 points" in text
    assert "larger dots" in text
    even = COVER.assign(predicted=COVER["annotated"])
    assert "Coral cover is right on average, 0.0 points off per frame" in said(coral_figure(even, synthetic=False))
    flat = COVER.assign(annotated=10.0)
    assert "R2 undefined" in said(coral_figure(flat, synthetic=False))


def test_mistakes_say_what_would_be_deployed_wrongly() -> None:
    some = pd.concat([mistakes(2), mistakes(1, "No-Deploy")], ignore_index=True)
    figure = mistakes_figure(some, pictures(3), 9, 90, synthetic=False)
    assert "2 of the 3 surest mistakes take Coral for Deploy" in said(figure)
    assert "The surest 3 of 9 wrong among 90 test patches." in said(figure)
    assert {"Coral", "→ Deploy 90 %", "→ No-Deploy 90 %", "f_0000 r3 c5"} <= set(texts(figure))
    assert "all take Coral for Deploy" in said(mistakes_figure(mistakes(1), pictures(1), 1, 9, synthetic=False))
    none = mistakes_figure(mistakes(1, "No-Deploy"), pictures(1), 1, 9, synthetic=False)
    assert "No false Deploy among the surest mistakes" in said(none)
    assert "No mistake among 90 test patches" in said(mistakes_figure(mistakes(0), pictures(0), 0, 90, synthetic=False))
    with pytest.raises(TableError, match="2 pictures for 3 mistakes"):
        mistakes_figure(mistakes(3), pictures(2), 9, 90, synthetic=False)


@pytest.mark.parametrize(
    ("patch", "width", "expected"),
    [
        ("a/b/20230315_020635_123_0042.jpg#r003c005", 15, "…123_0042 r3 c5"),
        ("a/b/f.jpg#y0671x0217", 20, "f y0671x0217"),
        ("a/b/longframe.png#y0671x0217", 5, "…ame y0671x0217"),
    ],
)
def test_short_ids_keep_what_tells_frames_apart(patch: str, width: int, expected: str) -> None:
    assert short_id(patch, width) == expected


def test_training_marks_the_first_of_the_best_epochs() -> None:
    assert "Validation macro F1 peaks at 81.5 % in epoch 2 of 3" in said(training_figure(TRAINING, synthetic=False))
    level = TRAINING.assign(val_macro_f1=[50.0, 50.0, 50.0])
    assert "in epoch 1 of 3" in said(training_figure(level, synthetic=False))
    assert "in epoch 1 of 1" in said(training_figure(TRAINING.head(1), synthetic=False))


def test_a_training_curve_without_a_column_is_refused() -> None:
    with pytest.raises(TableError, match="no column val_loss"):
        training_figure(TRAINING.drop(columns="val_loss"), synthetic=False)


def test_a_network_that_was_taken_over_has_no_curve() -> None:
    figure = training_figure(TRAINING.head(0), synthetic=True)
    assert "Nothing was trained here: the network was taken over from a checkpoint" in said(figure)
    assert not figure.axes


def frames(*groups: tuple[str, str, int]) -> pd.DataFrame:
    return pd.DataFrame(
        [
            {"frame_id": f"{site}/{sequence}/{number:03d}.jpg", "site": site, "sequence": sequence}
            for site, sequence, count in groups
            for number in range(count)
        ]
    )


def test_a_sheet_shows_sequences_and_spreads_over_each() -> None:
    table = frames(("Ugar", "Seq01", 11), ("Erub", "Seq02", 3), ("Erub", "Seq01", 2))
    picked = pick_frames(table.sample(frac=1, random_state=2), limit=9)
    assert picked["row"].drop_duplicates().tolist() == ["Erub\nSeq01", "Erub\nSeq02", "Ugar"]
    # 9 // 3 rows = 3 each: first, middle, last of 11
    ugar = picked.loc[picked["row"] == "Ugar", "frame_id"].tolist()
    assert ugar == ["Ugar/Seq01/000.jpg", "Ugar/Seq01/005.jpg", "Ugar/Seq01/010.jpg"]
    assert picked["detail"].tolist() == ["2 frames"] * 2 + ["3 frames"] * 3 + ["11 frames"] * 3


def test_a_sheet_of_many_sites_shows_eight() -> None:
    picked = pick_frames(frames(*[(f"Site {index:02d}", "Seq01", 9) for index in range(20)]))
    assert picked["row"].nunique() == 8
    assert len(picked) == 32
    assert {"Site 00", "Site 19"} <= set(picked["row"])


def test_a_sheet_takes_images_of_different_shapes() -> None:
    images = [np.zeros((30, 40, 3), dtype=np.uint8), np.zeros((10, 40, 3), dtype=np.uint8)]
    figure = contact_sheet(images, ["A\nSeq01", "B"], "2 frames", details=["x", "y"], synthetic=False)
    assert {"A", "Seq01", "B", "x", "y"} <= set(texts(figure))


def test_a_sheet_of_nothing_is_refused() -> None:
    with pytest.raises(TableError, match="no frame to show"):
        pick_frames(frames())
    with pytest.raises(TableError, match="0 images for 0 row names"):
        contact_sheet([], [], "none", synthetic=False)
    with pytest.raises(TableError, match="1 images for 2 row names"):
        contact_sheet(list(pictures(1)), ["A", "B"], "one", synthetic=False)


def test_counts_agree_with_their_noun() -> None:
    assert counted(1, "test patch") == "1 test patch"
    assert counted(4480, "test patch") == "4,480 test patches"
    assert counted(0, "frame") == "0 frames"


@pytest.mark.parametrize("name", DRAW)
def test_a_notice_is_written_above_and_moves_nothing_else(name: str) -> None:
    plain, figure = DRAW[name](True), marked(DRAW[name](True), [WEAK_NOTICE])
    height = plain.get_size_inches()[1]
    assert figure.get_size_inches()[1] == pytest.approx(height + 0.32)
    assert WEAK_NOTICE in texts(figure)
    assert SYNTHETIC_NOTICE in texts(figure)
    for before, after in zip(plain.axes, figure.axes, strict=True):
        edges = [ax.get_position(original=True).bounds for ax in (before, after)]
        assert edges[1][1] * (height + 0.32) == pytest.approx(edges[0][1] * height)
        assert edges[1][3] * (height + 0.32) == pytest.approx(edges[0][3] * height)
    assert png_bytes(marked(DRAW[name](True), [])) == png_bytes(DRAW[name](True))


@pytest.mark.parametrize(
    "weak", [{"frames": 4}, {"coral_support": 0}, {"deploy_support": 0, "frames": 40}, {"no_deploy_support": 0}]
)
def test_no_headline_comes_from_a_quarter_of_few_frames_or_without_a_class(weak: dict[str, int]) -> None:
    table = conditions()
    weakest = table["macro_f1"] == 31.0
    table.loc[weakest, list(weak)] = list(weak.values())
    assert "Weakest, at 60.0 %" in said(conditions_figure(table, 71.0, synthetic=False))
    table[list(weak)] = list(weak.values())
    assert "none can be called the weakest" in said(conditions_figure(table, 71.0, synthetic=False))
