"""What `report.html` knows of each frame and patch, in columns that a browser reads quickly."""

import base64
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reseed.artifacts.patches import TEST, TRAIN, VAL
from reseed.base.classes import CLASS_INDEX, DECISIONS, DEPLOY
from reseed.base.grid import Grid
from reseed.pages.parts import jpeg, thumbnail_jpeg
from reseed.score.alpha import exact
from reseed.score.evidence import PROBABILITIES, patch_losses, surest_first

SPLITS: Final = (TRAIN, VAL, TEST, "none")
# One character for each whole percent from 0 to 100; none of them means anything in HTML, JSON or a script.
PERCENT_SIGNS: Final = "".join(chr(code) for code in range(0x23, 0x7F) if chr(code) not in "&<>\\") + "".join(
    map(chr, range(0xC0, 0xC0 + 13))
)
NO_LABEL: Final = "."
# A page of this many bytes opens at once; above it frames have smaller pictures, then none.
LARGE_BYTES: Final = 5_000_000
SMALL_BYTES: Final = 2_500_000
_SMALL_WIDTH_PX: Final = 96
_SURE: Final = 0.9
_ANOTHER: Final = "another annotator says so too"
_EVERY_TRAINING: Final = "every training says so"


@dataclass(frozen=True)
class RunTables:
    """The tables of one run that the page shows.

    Args:
        patches: Table PATCH_PREDICTIONS.
        frames: Table FRAME_PREDICTIONS.
        catalog: Table FRAMES.
        index: Table PATCH_INDEX, in the order of `store`.
        patch_labels: Table PATCH_LABELS.
        frame_labels: Table FRAME_LABELS.
        repeats: Table REPEAT_PREDICTIONS.
        store: (N, S, S, 3) uint8, the packed patches; None where they are not stored.
    """

    patches: pd.DataFrame
    frames: pd.DataFrame
    catalog: pd.DataFrame
    index: pd.DataFrame
    patch_labels: pd.DataFrame
    frame_labels: pd.DataFrame
    repeats: pd.DataFrame
    store: NDArray[np.uint8] | None


def only(tables: RunTables, frames: Sequence[str]) -> RunTables:
    """Return the tables of some frames; the index stays whole, it tells where the packed patches lie."""
    names, found = set(frames), vars(tables)
    kept = {key: found[key][found[key]["frame_id"].isin(names)] for key in ("patches", "frames", "catalog")}
    return RunTables(**{**found, **kept})


def thresholds(deploy_count: Sequence[int], n_patches: Sequence[int]) -> list[Fraction]:
    """Return every alpha at which a decision changes, ascending, 0 first: between two of them nothing does."""
    return sorted({Fraction(0), *(Fraction(d, n) for d, n in zip(deploy_count, n_patches, strict=True))})


def frame_data(tables: RunTables) -> dict[str, Any]:
    """Return what the page knows of frames and patches, one list per column, frames in the order of their ids.

    A frame is decided Deploy at threshold number k where its `rank` is above k: integers, so no rounding decides.
    """
    frames = tables.frames.sort_values("frame_id", kind="stable").reset_index(drop=True)
    patches = _in_order(tables, frames)
    catalog = tables.catalog.set_index("frame_id").loc[frames["frame_id"]]
    ratios = [Fraction(d, n) for d, n in zip(frames["deploy_count"], frames["n_patches"], strict=True)]
    steps = thresholds(frames["deploy_count"].tolist(), frames["n_patches"].tolist())
    rank = {ratio: number for number, ratio in enumerate(steps)}
    used = exact(float(frames["alpha"].iloc[0]))
    ends = np.asarray(np.cumsum(patches.groupby("number").size()), dtype=np.int64)
    columns = {
        "id": frames["frame_id"].tolist(),
        **_named("site", catalog["site"]),
        **_named("sequence", catalog["sequence"]),
        "split": [SPLITS.index(split) for split in frames["split"]],
        "n": frames["n_patches"].tolist(),
        "deploy": frames["deploy_count"].tolist(),
        "coral": frames["coral_count"].tolist(),
        "rank": [rank[ratio] for ratio in ratios],
        "ask": frames["ask"].tolist(),
        "decided": [DECISIONS.index(name) for name in frames["decision"]],
        "gold": _decisions(frames["gold"]),
        "second": _decisions(_looked_up(frames["frame_id"], _second(tables.frame_labels, "frame_id"))),
        "time": catalog["captured_at"].tolist(),
        "latitude": _numbers(catalog["latitude_deg"], 6),
        "longitude": _numbers(catalog["longitude_deg"], 6),
        "depth": _numbers(catalog["water_depth_m"], 2),
        "width": catalog["width_px"].tolist(),
        "height": catalog["height_px"].tolist(),
        **_by_frame(patches, len(frames), ends),
    }
    return {
        "frames": columns,
        "thresholds": [f"{step.numerator}/{step.denominator}" for step in steps],
        "used": max(number for number, step in enumerate(steps) if step <= used),
        "signs": PERCENT_SIGNS,
    }


def frame_order(columns: dict[str, list[Any]]) -> list[int]:
    """Return the numbers of the frames, those first that people look at first: wrong ones, then test, by their loss."""

    def worth(number: int) -> tuple[bool, int, float, int]:
        gold, decided = columns["gold"][number], columns["decided"][number]
        loss = columns["loss"][number]
        right = gold is None or gold == decided
        return right, -columns["split"][number] % len(SPLITS), -(loss or 0.0), number

    return sorted(range(len(columns["id"])), key=worth)


def pictures(tables: RunTables, columns: dict[str, list[Any]]) -> dict[int, str]:
    """Return JPEGs of the frames by their number, base64: large ones while there is room, then small ones, then none.

    Args:
        tables: Of the run.
        columns: Of `frame_data`.
    """
    if tables.store is None:
        return {}
    rows = tables.index.assign(place=np.arange(len(tables.index))).groupby("frame_id", sort=False)
    places = {str(name): group for name, group in rows}
    found: dict[int, str] = {}
    large, small = LARGE_BYTES, SMALL_BYTES
    for number in frame_order(columns):
        group = places.get(columns["id"][number])
        if group is None or small <= 0:
            continue
        edge = {} if large > 0 else {"width_px": _SMALL_WIDTH_PX}
        coded = base64.b64encode(_frame_jpeg(tables.store, group, **edge)).decode("ascii")
        found[number] = coded
        if large > 0:
            large -= len(coded)
        else:
            small -= len(coded)
    return dict(sorted(found.items()))


def _frame_jpeg(store: NDArray[np.uint8], rows: pd.DataFrame, **edge: int) -> bytes:
    ordered = rows.sort_values(["row", "col", "y0", "x0"], kind="stable")
    images = np.asarray(store[ordered["place"].to_numpy()])
    if int(ordered["row"].min()) < 0:  # around points: side by side, there is no whole frame to show
        cols = int(np.ceil(np.sqrt(len(images))))
        blank = np.zeros((-len(images) % cols, *images.shape[1:]), dtype=np.uint8)
        return thumbnail_jpeg(np.concatenate([images, blank]), Grid(-(-len(images) // cols), cols), **edge)
    grid = Grid(int(ordered["row"].max()) + 1, int(ordered["col"].max()) + 1)
    whole = np.zeros((grid.n_patches, *images.shape[1:]), dtype=np.uint8)  # a patch may be missing: black
    whole[ordered["row"].to_numpy() * grid.cols + ordered["col"].to_numpy()] = images
    return thumbnail_jpeg(whole, grid, **edge)


def patch_pictures(tables: RunTables, patch_ids: Sequence[str]) -> list[str]:
    """Return a JPEG of each patch, base64; empty where patches are not stored."""
    if tables.store is None:
        return [""] * len(patch_ids)
    row_of = {patch: row for row, patch in enumerate(tables.index["patch_id"])}
    return [base64.b64encode(jpeg(np.asarray(tables.store[row_of[patch]]))).decode("ascii") for patch in patch_ids]


def _in_order(tables: RunTables, frames: pd.DataFrame) -> pd.DataFrame:
    """Return the patches frame by frame, row by row, with row, col and what a second annotator says of them.

    A cell of a grid that has no patch stands in its place as a row without an answer, so that a place is a cell.
    """
    place = tables.index[["patch_id", "row", "col", "x0", "y0", "x1", "y1"]]
    second = _second(tables.patch_labels, "patch_id")
    patches = tables.patches.merge(place, on="patch_id", how="left", validate="one_to_one")
    patches = patches.assign(second=_looked_up(patches["patch_id"], second))
    number = pd.Series(range(len(frames)), index=frames["frame_id"])
    patches = patches.assign(number=patches["frame_id"].map(number))
    patches = pd.concat([patches, _missing_cells(patches)], ignore_index=True)
    return patches.sort_values(["number", "row", "col", "y0", "x0"], kind="stable").reset_index(drop=True)


def _missing_cells(patches: pd.DataFrame) -> pd.DataFrame:
    """Return rows for the cells of a grid that have no patch, such as where only some patches of a frame were given."""
    on_grid = patches[patches["row"] >= 0]
    shape = on_grid.groupby("number").agg(rows=("row", "max"), cols=("col", "max"), n=("row", "size"))
    shape = shape.assign(rows=shape["rows"] + 1, cols=shape["cols"] + 1)
    rows = []
    for number, frame in shape[shape["rows"] * shape["cols"] != shape["n"]].iterrows():
        mine = on_grid[on_grid["number"] == number]
        there = set(zip(mine["row"], mine["col"], strict=True))
        cells = ((row, col) for row in range(frame["rows"]) for col in range(frame["cols"]))
        about = {"frame_id": mine["frame_id"].iloc[0], "number": number}
        rows += [about | {"row": row, "col": col} for row, col in cells if (row, col) not in there]
    absent = pd.DataFrame(rows, columns=["frame_id", "number", "row", "col"])
    words = dict.fromkeys(("patch_id", "split", "gold", "predicted", "second"), "")
    return absent.assign(**words, **dict.fromkeys(PROBABILITIES, 0.0), x0=0, y0=0, x1=0, y1=0)[patches.columns]


def _by_frame(patches: pd.DataFrame, n_frames: int, ends: NDArray[np.int64]) -> dict[str, list[Any]]:
    """Return what the patches of each frame say: digits of classes, percent signs, grid, loss and confidence."""
    probabilities = patches[PROBABILITIES].to_numpy(dtype=np.float64)
    gold = _digits(patches["gold"])
    known = gold != NO_LABEL
    signs = np.array(list(PERCENT_SIGNS))[np.rint(100 * probabilities).astype(np.int64)]
    number = patches["number"].to_numpy()
    loss = pd.Series(patch_losses(patches)).groupby(number).mean().reindex(range(n_frames))
    answered = np.where(patches["predicted"] == "", np.nan, probabilities.max(axis=1))
    sure = pd.Series(answered).groupby(number).mean()
    second = _digits(patches["second"])
    differs = pd.Series((second != NO_LABEL) & known & (second != gold)).groupby(number).sum()
    on_grid = patches["row"].to_numpy() >= 0
    boxes = patches.loc[~on_grid, ["number", "x0", "y0", "x1", "y1"]].groupby("number")
    points = {name: group[["x0", "y0", "x1", "y1"]].to_numpy().tolist() for name, group in boxes}
    return {
        "rows": (patches["row"].groupby(number).max() + 1).tolist(),
        "cols": (patches["col"].groupby(number).max() + 1).tolist(),
        "points": [points.get(frame) for frame in range(n_frames)],
        "loss": _numbers(loss, 4),
        "sure": _numbers(sure, 4),
        "differs": differs.tolist(),
        "golds": _joined(gold, ends),
        "answers": _joined(_digits(patches["predicted"]), ends),
        "seconds": _joined(second, ends),
        "pCoral": _joined(signs[:, 1], ends),
        "pDeploy": _joined(signs[:, 2], ends),
    }


def _digits(names: pd.Series) -> NDArray[np.str_]:
    return np.asarray(names.map({name: str(index) for name, index in CLASS_INDEX.items()}).fillna(NO_LABEL), dtype="U1")


def _joined(characters: NDArray[np.str_], ends: NDArray[np.int64]) -> list[str]:
    text = "".join(characters.tolist())
    return [text[start:end] for start, end in zip([0, *ends[:-1].tolist()], ends.tolist(), strict=True)]


def _named(key: str, names: pd.Series) -> dict[str, list[Any]]:
    """Return the different names, and for each frame the number of its own."""
    different = sorted(set(names))
    number = {name: place for place, name in enumerate(different)}
    return {f"{key}Names": different, key: [number[name] for name in names]}


def _decisions(names: Iterable[str]) -> list[int | None]:
    return [None if name == "" else int(name == DEPLOY) for name in names]


def _second(labels: pd.DataFrame, key: str) -> dict[str, str]:
    """Return what the first annotator who is not the reference says of each item."""
    others = labels[(labels["gold"] == 0) & (labels["label"] != "")].drop_duplicates(key)
    return dict(zip(others[key], others["label"], strict=True))


def _looked_up(items: pd.Series, labels: dict[str, str]) -> list[str]:
    return [labels.get(item, "") for item in items]


def _numbers(values: pd.Series, decimals: int) -> list[float | None]:
    return [None if np.isnan(value) else round(float(value), decimals) for value in values]


@dataclass(frozen=True)
class Doubt:
    """A test patch worth a second look.

    Args:
        patch_id: Which.
        frame_id: Its frame.
        place: Number of the patch in its frame, from 0.
        site: Its reef site.
        gold: Reference class.
        predicted: Class of the network.
        probability: Of the class of the network, 0 to 1.
        why: Why the reference may be wrong; empty where only the network is.
    """

    patch_id: str
    frame_id: str
    place: int
    site: str
    gold: str
    predicted: str
    probability: float
    why: str


def doubts(tables: RunTables, most: int) -> tuple[list[Doubt], list[Doubt]]:
    """Return the surest wrong test patches, and those of them whose reference may be wrong.

    The reference may be wrong where another annotator says what the network says, or where every training of the
    recipe agrees against it and the network is at least 90 % sure.
    """
    frames = tables.frames.sort_values("frame_id", kind="stable").reset_index(drop=True)
    patches = _in_order(tables, frames)
    patches = patches.assign(place=patches.groupby("number").cumcount())
    wrong = surest_first(patches[(patches["split"] == TEST) & (patches["gold"] != "")])
    wrong = wrong.assign(site=wrong["frame_id"].map(tables.catalog.set_index("frame_id")["site"]))
    same = tables.repeats.merge(wrong[["patch_id", "predicted"]], on="patch_id", suffixes=("", "_first"))
    agreed = (same["predicted"] == same["predicted_first"]).groupby(same["patch_id"]).all().to_dict()
    every_training = np.array([agreed.get(patch, False) for patch in wrong["patch_id"]], dtype=np.bool_)
    every_training &= wrong["probability"].to_numpy() >= _SURE
    another = (wrong["second"] == wrong["predicted"]).to_numpy()
    wrong = wrong.assign(why=np.select([another, every_training], [_ANOTHER, _EVERY_TRAINING], ""))
    wrong = wrong.assign(probability=wrong["probability"].round(4))
    found = [Doubt(**row) for row in wrong[[entry.name for entry in fields(Doubt)]].to_dict("records")]  # type: ignore[arg-type]
    return found[:most], [one for one in found if one.why][:most]
