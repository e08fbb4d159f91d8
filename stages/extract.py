"""Stage extract: cut every frame into patches and give each patch its label."""

import sys
from dataclasses import asdict
from pathlib import Path

from reseed.artifacts.catalog import ANNOTATIONS, FRAMES, PIECES, QUARANTINE
from reseed.artifacts.patches import PATCH_INDEX, PATCH_LABELS
from reseed.base.files import write_json
from reseed.params.extract import ExtractParams
from reseed.params.load import load_section
from reseed.patches.extract import coarser_labels, cut, cut_beforehand, mixed_footprint, plan
from reseed.patches.resize import RESIZE_RULE
from reseed.patches.store import Geometry, write_patches
from reseed.survey.imagery import DECODE_RULE
from stages.runner import parse_arguments, run_stage


def main(argv: list[str] | None = None) -> None:
    """Cut every frame into patches, pack them, and label them from the annotations inside."""
    parse_arguments(__doc__, argv)
    params = load_section(Path("params.yaml"), "extract", ExtractParams)
    out = Path("data/patches")
    tables = Path("data/catalog")
    frames, pieces = FRAMES.read(tables / "frames.csv"), PIECES.read(tables / "pieces.csv")
    annotations = ANNOTATIONS.read(tables / "annotations.csv")
    planned = plan(frames, annotations, params, pieces)
    blocks = cut(planned, Path("data/raw"), params.patch_size, params.input_size)
    write_patches(out / "patches.npy", blocks, planned.n_patches, params.input_size)
    index = PATCH_INDEX.frame([row for frame in planned.frames for row in frame.index_rows])
    labels = PATCH_LABELS.frame([row for frame in planned.frames for row in frame.labels])
    PATCH_INDEX.write(index, out / "index.csv")
    PATCH_LABELS.write(labels, out / "labels.csv")
    QUARANTINE.write(QUARANTINE.frame(list(planned.quarantined)), out / "quarantine.csv")
    write_json(out / "geometry.json", asdict(Geometry(params.patch_size, params.input_size, RESIZE_RULE, DECODE_RULE)))
    labelled = labels.loc[(labels["gold"] == 1) & (labels["label"] != ""), "patch_id"].nunique()
    sys.stdout.write(
        f"extract: {planned.n_patches} patches of {len(planned.frames)} frames, {labelled} with a gold label, "
        f"{len(planned.quarantined)} frame(s) quarantined\n"
    )
    size_px = params.patch_size
    coarse = coarser_labels(planned, annotations, size_px)
    for remark in filter(None, (mixed_footprint(planned, size_px), cut_beforehand(planned, size_px), coarse)):
        sys.stderr.write(f"extract: {remark}\n")


if __name__ == "__main__":
    run_stage(main)
