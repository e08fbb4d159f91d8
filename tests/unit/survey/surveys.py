"""Small survey folders for tests, in the layout a recorder leaves."""

import io
import json
from pathlib import Path

import numpy as np
from PIL import Image

from reseed.params.catalog import CatalogParams

WIDTH, HEIGHT = 70, 40

LOG_HEADER = "filename_string,latitude,longitude,ping_depth,pressure_depth,time_secs"


def catalog_params(**changes: object) -> CatalogParams:
    values = {"annotator": "auto", "max_pixels": 1_000_000, "strict": False, "max_quarantined_pct": 90.0}
    values |= {"on_conflict": "error", "label_map": "label_map.yaml", "unmapped": "error", "weak_labels": False}
    values |= {"machine_labels": "exclude"}
    return CatalogParams.model_validate(values | {"grid_rows": 4, "grid_cols": 7} | changes)


def picture(seed: int = 0, width: int = WIDTH, height: int = HEIGHT) -> Image.Image:
    """A picture of 8 px blocks, so that JPEG keeps most of it."""
    rng = np.random.default_rng(seed)
    blocks = rng.integers(0, 256, (-(-height // 8), -(-width // 8), 3), dtype=np.uint8)
    return Image.fromarray(blocks.repeat(8, axis=0).repeat(8, axis=1)[:height, :width])


def encoded(image: Image.Image, kind: str, **options: object) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


def reefscan_exif(latitude: float = -9.5, longitude: float = 143.75, time: str = "2023:03:15 02:06:35") -> Image.Exif:
    """EXIF as the recorder writes it: refs S and E, GPSAltitude = water depth without a reference."""
    gps = {1: "S" if latitude < 0 else "N", 2: _dms(latitude), 3: "E" if longitude >= 0 else "W", 4: _dms(longitude)}
    exif = Image.Exif()
    for tag, tags in ((0x8825, gps | {6: 1.86}), (0x8769, {0x9003: time, 0x9206: 1.09})):
        exif.get_ifd(tag).update(tags)
        exif[tag] = exif.get_ifd(tag)  # without it Pillow's TIFF writer leaves the directory out
    return exif


def _dms(degrees: float) -> tuple[float, float, float]:
    whole = abs(degrees)
    return float(int(whole)), float(int(whole * 60 % 60)), round(whole * 3600 % 60, 3)


def write_survey(root: Path, sequences: tuple[str, ...] = ("drop_1", "tow_2"), frames: int = 2) -> list[str]:
    """Write sequences of JPEG frames with log, survey.json and annotations in both forms; return the frame paths."""
    paths = []
    for number, sequence in enumerate(sequences):
        folder = root / sequence
        folder.mkdir(parents=True)
        log = [LOG_HEADER]
        for index in range(frames):
            name = f"20230315_0206{35 + index}_000_{index:04d}.jpg"
            exif = reefscan_exif(time=f"2023:03:15 02:06:{35 + index}")
            (folder / name).write_bytes(encoded(picture(10 * number + index), "JPEG", quality=95, exif=exif))
            log.append(f"{name},-9.5,143.75,1095,0.77,{1678845995 + index}")
            paths.append(f"{sequence}/{name}")
        log.append("20230315_020659_000_0099.jpg,-9.5,143.75,1095,0.77,1678846019")
        (folder / "photo_log.csv").write_text("\n".join(log) + "\n")
        (folder / "survey.json").write_text(json.dumps({"id": sequence, "site": f"Reef {number}"}))
    grid = [f"{path},1,2,0,{col},{label},A" for path in paths for col, label in enumerate(("Coral", "No Deploy"))]
    (root / "annotations_A.csv").write_text(
        "frame,grid_rows,grid_cols,row,col,label,annotator\n" + "\n".join(grid) + "\n"
    )
    rects = [f"{path},0,0,{WIDTH},{HEIGHT},deploy,B" for path in paths]
    (root / "annotations_B.csv").write_text("frame,x0,y0,x1,y1,label,annotator\n" + "\n".join(rects) + "\n")
    decisions = [f"{path},No-Deploy,A" for path in paths]
    (root / "frame_labels_A.csv").write_text("frame,label,annotator\n" + "\n".join(decisions) + "\n")
    return paths
