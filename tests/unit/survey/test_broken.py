"""Whatever arrives broken is named, and all good frames come through with unchanged labels."""

import functools
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from reseed.artifacts.raw import RawSource
from reseed.base.errors import ReseedError
from reseed.survey.catalog import Catalog, build_catalog
from reseed.survey.imagery import REASONS
from tests.data.breaking import BASES
from tests.data.make_broken import CASES, main
from tests.unit.survey.surveys import catalog_params

LAYOUT = {"survey": "survey", "patches": "patch-folders", "export": "coralnet"}
ANNOTATOR = {"survey": "A", "patches": "auto", "export": "auto"}
# A label in another spelling is the same label.
LABEL = ["frame_id", "annotator", "x0", "y0", "x1", "y1", "label", "kind", "gold"]


def catalogued(raw: Path, base: str, **params: Any) -> Catalog:
    source = RawSource("src", "folder", "x", LAYOUT[base], "0" * 64, 1, 1, "unknown", pinned=False, synthetic=False)
    return build_catalog([source], raw, catalog_params(annotator=ANNOTATOR[base], **params))


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Any:
    @functools.cache
    def of(base: str) -> Catalog:
        raw = tmp_path_factory.mktemp(base)
        BASES[base](raw / "src")
        return catalogued(raw, base)

    return of


@pytest.fixture
def raw(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path
    for path in tmp_path.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)  # so that it can be cleared away


@pytest.mark.parametrize("name", CASES)
def test_it_is_named_and_good_frames_come_through(name: str, raw: Path, good: Any) -> None:
    case = CASES[name]
    BASES[case.base](raw / "src")
    case.write(raw / "src")
    if case.error:
        with pytest.raises(ReseedError, match=case.error) as caught:
            catalogued(raw, case.base, **case.params)
        assert "src" in str(caught.value)
        return
    catalog = catalogued(raw, case.base, **case.params)
    assert dict(zip(catalog.quarantine["path"], catalog.quarantine["reason"], strict=True)) == {
        f"src/{path}": reason for path, reason in case.quarantined.items()
    }
    assert set(case.quarantined.values()) <= set(REASONS)
    frames = catalog.frames.set_index("frame_id")
    for path, expected in case.frames.items():
        row = frames.loc[f"src/{path}"]
        for column, value in expected.items():
            assert math.isnan(row[column]) if value is None else row[column] == value, (path, column, row[column])
    part = catalog.counts["sources"]["src"]
    for key, number in case.counts.items():
        assert functools.reduce(lambda value, step: value.get(step, 0), key.split("."), part) == number, key
    assert part["found"] == part["kept"] + part["quarantined"] + part["ignored"]
    assert sum(part["quarantined_by_reason"].values()) == part["quarantined"]
    assert sum(part["ignored_by_reason"].values()) == part["ignored"]
    _require_unchanged(good(case.base), catalog, new={f"src/{path}" for path in case.frames}, name=name)


def _require_unchanged(before: Catalog, after: Catalog, new: set[str], name: str) -> None:
    if name in ("a missing class folder", "class folders in other spellings"):  # takes good patches away, or moves them
        labels = set(after.annotations[["x0", "y0", "label"]].itertuples(index=False, name=None))
        assert labels <= set(before.annotations[["x0", "y0", "label"]].itertuples(index=False, name=None))
        return
    assert set(after.frames["frame_id"]) == set(before.frames["frame_id"]) | new
    for table, columns in (("frames", None), ("annotations", LABEL), ("frame_labels", None)):
        rows, old = getattr(after, table), getattr(before, table)
        rows = rows[rows["frame_id"].isin(set(old["frame_id"])) & ~(rows.get("annotator", "") == "NA")]
        assert rows[columns or list(rows)].to_csv(index=False) == old[columns or list(old)].to_csv(index=False), table


def test_all_that_does_not_stop_the_run_at_once(raw: Path, good: Any) -> None:
    """None gets into another's way; of those that write a frame of the same name the last one counts."""
    BASES["survey"](raw / "src")
    left_out = {"utf-16", "semicolons", "tabs", "read-only", "empty columns at the end"}  # change the tables as a whole
    for name, case in CASES.items():
        if case.base == "survey" and not case.error and name not in left_out:
            case.write(raw / "src")
    catalog = catalogued(raw, "survey", on_conflict="drop")
    part = catalog.counts["sources"]["src"]
    assert part["found"] == part["kept"] + part["quarantined"] + part["ignored"]
    assert part["quarantined"] >= 17
    old = good("survey").annotations
    kept = catalog.annotations[catalog.annotations["frame_id"].isin(set(old["frame_id"]))]
    kept = kept[kept["annotator"] != "NA"]
    assert kept[LABEL].to_csv(index=False) == old[LABEL].to_csv(index=False)


def test_the_examples_can_be_written_to_look_at(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path)]) == 0
    assert f"{len(CASES)} examples" in capsys.readouterr().out
    assert len(list(tmp_path.iterdir())) == len(CASES)
    assert main([]) == 2
    for path in tmp_path.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)
