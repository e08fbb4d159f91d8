"""The tables of the catalog depend on what a source holds, never on the order in which it turns up."""

import hashlib
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reseed.artifacts.catalog import ANNOTATIONS, FRAME_LABELS, FRAMES, PIECES, QUARANTINE
from reseed.artifacts.raw import RawSource
from reseed.sources import folder as sources
from reseed.survey.catalog import build_catalog
from tests.data.breaking import BASES
from tests.unit.survey.surveys import catalog_params

ROOT = Path(__file__).parents[3]
ANNOTATOR = {"survey": "A", "patches": "auto", "export": "auto"}


def digest(raw: Path, base: str) -> str:
    """Return one digest of everything that the catalog stage would write."""
    source = RawSource("src", "folder", "x", "auto", "0" * 64, 1, 1, "unknown", pinned=False, synthetic=False)
    catalog = build_catalog([source], raw, catalog_params(annotator=ANNOTATOR[base]))
    texts = [
        FRAMES.to_csv(catalog.frames, "f"),
        PIECES.to_csv(catalog.pieces, "p"),
        ANNOTATIONS.to_csv(catalog.annotations, "a"),
        FRAME_LABELS.to_csv(catalog.frame_labels, "l"),
        QUARANTINE.to_csv(catalog.quarantine, "q"),
        str(catalog.counts),
    ]
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, str]]:
    made = {}
    for base, write in BASES.items():
        raw = tmp_path_factory.mktemp(base)
        write(raw / "src")
        (raw / "src" / "Coral").mkdir(exist_ok=True)
        (raw / "src" / ("Coral/z_3.png" if base == "patches" else "z.png")).write_bytes(b"broken")
        made[base] = raw, digest(raw, base)
    return made


@settings(max_examples=12, deadline=None)
@given(base=st.sampled_from(list(BASES)), seed=st.integers(0, 2**32 - 1))
def test_any_shuffling_of_files_and_rows_gives_the_same_bytes(
    plain: dict[str, tuple[Path, str]], base: str, seed: int
) -> None:
    raw, expected = plain[base]
    rng = random.Random(seed)  # noqa: S311 - an order, not a secret
    before = {path: path.read_bytes() for path in sorted(raw.rglob("*.csv"))}
    real_walk = os.walk

    def shuffled_walk(top: Path, **options: object) -> Iterator[tuple[str, list[str], list[str]]]:
        for parent, folders, names in real_walk(top, **options):
            rng.shuffle(folders)
            rng.shuffle(names)
            yield parent, folders, names

    try:
        for path, data in before.items():
            header, *rows = data.decode().splitlines()
            rng.shuffle(rows)
            path.write_text("\n".join([header, *rows]) + "\n")
        with mock.patch.object(sources.os, "walk", shuffled_walk):
            assert digest(raw, base) == expected
    finally:
        for path, data in before.items():
            path.write_bytes(data)


@pytest.mark.parametrize("base", BASES)
def test_another_locale_time_zone_and_hash_seed_give_the_same_bytes(
    plain: dict[str, tuple[Path, str]], base: str
) -> None:
    raw, expected = plain[base]
    code = (
        "import pathlib, sys; from tests.unit.survey.test_order import digest; "
        "print(digest(pathlib.Path(sys.argv[1]), sys.argv[2]))"
    )
    odd = {"PYTHONHASHSEED": "7", "LC_ALL": "C", "LANG": "C", "TZ": "Pacific/Auckland", "PYTHONUTF8": "0"}
    done = subprocess.run(
        [sys.executable, "-c", code, str(raw), base],
        cwd=ROOT,
        env=os.environ | odd,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == expected
