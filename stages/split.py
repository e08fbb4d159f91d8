"""Stage split: divide the frames into train, val and test by groups, and look for seafloor that they share."""

import sys
from dataclasses import asdict
from pathlib import Path

from reseed.artifacts.catalog import ANNOTATIONS, FRAME_LABELS, FRAMES, PIECES
from reseed.artifacts.leakage import leakage_sentence, write_leakage
from reseed.artifacts.patches import SPLITS_TABLE
from reseed.params.load import load_section
from reseed.params.split import SplitParams
from reseed.patches.leakage import look_at_borders
from reseed.patches.overlap import sentence, table_leaks
from reseed.patches.splits import divide, label_weights
from stages.runner import parse_arguments, run_stage


def main(argv: list[str] | None = None) -> None:
    """Divide the frames by group and say what a reader should know about the division."""
    parse_arguments(__doc__, argv)
    params = load_section(Path("params.yaml"), "split", SplitParams)
    catalog = Path("data/catalog")
    frames = FRAMES.read(catalog / "frames.csv")
    weights = label_weights(
        ANNOTATIONS.read(catalog / "annotations.csv"), FRAME_LABELS.read(catalog / "frame_labels.csv")
    )
    division = divide(frames, weights, params)
    table = SPLITS_TABLE.frame(
        [
            {"frame_id": frame_id, "group": division.groups[frame_id], "split": split}
            for frame_id, split in division.splits.items()
        ]
    )
    SPLITS_TABLE.write(table, catalog / "splits.csv")
    counts = table["split"].value_counts()
    sys.stdout.write("split: " + ", ".join(f"{name} {count}" for name, count in sorted(counts.items())) + " frames\n")
    sys.stdout.write(f"split: {sentence(table_leaks(frames, division.splits, params.guard_frames))}\n")
    pieces = PIECES.read(catalog / "pieces.csv")
    leakage = look_at_borders(frames, pieces, division.splits, Path("data/raw"), params.guard_frames)
    write_leakage(leakage, catalog / "leakage.json")
    sys.stdout.write(f"split: {leakage_sentence(asdict(leakage))}\n")
    for remark in division.remarks:
        sys.stderr.write(f"split: {remark}\n")


if __name__ == "__main__":
    run_stage(main)
