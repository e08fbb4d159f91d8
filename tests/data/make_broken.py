"""Writes one small example of everything that arrives broken, each into a source of good frames.

`python -m tests.data.make_broken FOLDER` writes them all, one folder for each, to look at. What must become of each
stands beside it in `CASES`; `tests/unit/survey/test_broken.py` holds the catalog to it.
"""

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from PIL.TiffImagePlugin import IFDRational

from tests.data.breaking import (
    BASES,
    DROP,
    JPEG,
    NEW,
    PLAIN,
    PNG,
    Writer,
    bomb,
    both,
    deep_gray,
    file,
    image,
    moved,
    oriented,
    read_only,
    reworded,
    rows,
    tagged,
    two_pages,
    unreadable,
)
from tests.unit.survey.surveys import encoded, picture


@dataclass(frozen=True)
class Case:
    """One thing that is wrong, and what must become of it.

    Args:
        write: Breaks a good source in place.
        quarantined: Reason of each image that cannot be used, by path.
        frames: For usable images that `write` adds: columns of `frames.csv` and their values, by path.
        counts: Numbers below `sources.src` in `counts.json`, by dotted key.
        error: Pattern of the message, if the run must stop.
        params: Keys of section catalog that differ.
        base: Good source that `write` works on: survey, patches or export.
    """

    write: Writer
    quarantined: Mapping[str, str] = field(default_factory=dict)
    frames: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)
    error: str = ""
    params: Mapping[str, Any] = field(default_factory=dict)
    base: str = "survey"


def unusable(name: str, data: bytes, reason: str) -> Case:
    return Case(file(f"{DROP}{name}", data), {f"{DROP}{name}": reason})


STORED = {"width_px": 70, "height_px": 40}
NOWHERE = {"latitude_deg": None, "longitude_deg": None}
FIRST = f"{DROP}20230315_020635_000_0000.jpg"
GRID_ROW = f"{FIRST},1,2,0,0"
ROW = "20230315_020635_000_0000.jpg,-9.5,143.75,1095,0.77,1678845995"

CASES: dict[str, Case] = {
    # Images that cannot be used.
    "truncated jpeg": unusable("half.jpg", JPEG[: len(JPEG) // 2], "truncated"),
    "truncated jpeg closed again": unusable("closed.jpg", JPEG[: len(JPEG) * 7 // 10] + b"\xff\xd9", "truncated"),
    "truncated jpeg padded with nul": unusable("padded.jpg", JPEG[: len(JPEG) // 2] + bytes(999), "truncated"),
    "truncated by a few bytes": unusable("short.jpg", JPEG[:-9], "truncated"),
    "truncated progressive jpeg": unusable(
        "progressive.jpg", encoded(picture(77), "JPEG", progressive=True)[:700], "truncated"
    ),
    "truncated png": unusable("cut.png", PNG[:-30], "truncated"),
    "truncated bmp": unusable("cut.bmp", encoded(picture(77), "BMP")[:4000], "truncated"),
    "truncated tiff": unusable("cut.tif", encoded(picture(77), "TIFF")[:4000], "truncated"),
    "a hole in a png": unusable("hole.png", PNG[:99] + b"\0\0" + PNG[101:], "corrupt"),
    "empty file": unusable("empty.jpg", b"", "empty_file"),
    "nothing but nul": unusable("nul.jpg", bytes(5000), "all_nul"),
    "text named jpg": unusable("text.jpg", b"see the other disk", "not_an_image"),
    "gif": unusable("moving.gif", encoded(picture(77).convert("P"), "GIF"), "unsupported_format"),
    "webp named jpg": unusable("web.jpg", encoded(picture(77), "WEBP"), "unsupported_format"),
    "floating point tiff": unusable("float.tif", encoded(picture(77).convert("F"), "TIFF"), "unsupported_mode"),
    "decompression bomb": unusable("bomb.png", bomb(), "too_many_pixels"),
    "more pixels than allowed": unusable("large.png", encoded(picture(0, 1001, 1000), "PNG"), "too_many_pixels"),
    "strict": Case(file(NEW, b""), error="1 of 7 images cannot be used.*catalog.strict", params={"strict": True}),
    "too many unusable": Case(file(NEW, b""), error="max_quarantined_pct 14.2", params={"max_quarantined_pct": 14.2}),
    # Images that look odd and are fine.
    "orientation": Case(file(NEW, oriented()), frames={NEW: STORED}),
    "cmyk": Case(image(NEW, "CMYK", "JPEG"), frames={NEW: STORED}),
    "gray": Case(image(NEW, "L", "JPEG"), frames={NEW: STORED}),
    "rgba": Case(image(f"{DROP}a.png", "RGBA", "PNG"), frames={f"{DROP}a.png": STORED}),
    "gray with alpha": Case(image(f"{DROP}a.png", "LA", "PNG"), frames={f"{DROP}a.png": STORED}),
    "palette": Case(image(f"{DROP}a.png", "P", "PNG"), frames={f"{DROP}a.png": STORED}),
    "one bit": Case(image(f"{DROP}a.png", "1", "PNG"), frames={f"{DROP}a.png": STORED}),
    "16 bit": Case(file(f"{DROP}a.png", deep_gray()), frames={f"{DROP}a.png": STORED}),
    "bmp": Case(image(f"{DROP}a.bmp", "RGB", "BMP"), frames={f"{DROP}a.bmp": STORED}),
    "tiff": Case(image(f"{DROP}a.TIFF", "RGB", "TIFF"), frames={f"{DROP}a.TIFF": STORED}),
    "tiff of two pages": Case(file(f"{DROP}a.tif", two_pages()), frames={f"{DROP}a.tif": STORED}),
    "png named jpg": Case(image(NEW, "RGB", "PNG"), frames={NEW: STORED}),
    "jpeg named txt is no image": Case(
        file(f"{DROP}a.txt", JPEG), counts={"found": 14, "ignored_by_reason.other_file": 1}
    ),
    "jpeg without a suffix": Case(file(f"{DROP}IMG_1", JPEG), frames={f"{DROP}IMG_1": STORED}),
    "upper-case suffix": Case(file(f"{DROP}A.JPG", JPEG), frames={f"{DROP}A.JPG": STORED}),
    "jpeg suffix": Case(file(f"{DROP}a.jpeg", JPEG), frames={f"{DROP}a.jpeg": STORED}),
    "bytes after the end": Case(file(NEW, JPEG + bytes(99)), frames={NEW: STORED}),
    "another resolution": Case(
        file(NEW, encoded(picture(77, 35, 20), "JPEG")), frames={NEW: {"width_px": 35, "height_px": 20}}
    ),
    # Folders.
    "what operating systems leave": Case(
        both(*(file(path, b"x") for path in (".DS_Store", f"{DROP}._a.jpg", f"{DROP}Thumbs.db", "__MACOSX/a.jpg"))),
        counts={"ignored_by_reason.system_file": 4},
    ),
    "nested folders": Case(file("a/b/c/deep.jpg", JPEG), frames={"a/b/c/deep.jpg": {"sequence": "src/a/b/c"}}),
    "camera folders": Case(
        both(file("seq/cam_1/a.jpg", JPEG), file("seq/cam_2/a.jpg", JPEG)),
        frames={"seq/cam_1/a.jpg": {"sequence": "src/seq"}, "seq/cam_2/a.jpg": {"sequence": "src/seq"}},
    ),
    "the same name in two sequences": Case(
        file("tow_9/20230315_020635_000_0000.jpg", JPEG),
        frames={"tow_9/20230315_020635_000_0000.jpg": {"sequence": "src/tow_9"}},
    ),
    "accents and spaces": Case(
        both(
            file("Récif n° 2/été 1.jpg", JPEG),
            # decomposed, as macOS archives spell it
            rows("annotations_A.csv", "Re\u0301cif n° 2/e\u0301te\u0301 1.jpg,1,2,0,0,Coral,A"),
        ),
        frames={"Récif n° 2/été 1.jpg": {"site": "Récif n° 2"}},
        counts={"labels.annotation_kept": 6 * 3 + 1},
    ),
    "a folder named like an image": Case(
        file("reef.jpg/a.jpg", JPEG), frames={"reef.jpg/a.jpg": {"sequence": "src/reef.jpg"}}
    ),
    "read-only": Case(read_only),
    # Tables that are read all the same.
    "byte-order mark": Case(reworded("*.csv", str, "utf-8-sig")),
    "carriage returns": Case(reworded("*.csv", lambda text: text.replace("\n", "\r\n"))),
    "utf-16": Case(reworded("*.csv", str, "utf-16")),
    "semicolons": Case(reworded("*.csv", lambda text: text.replace(",", ";"))),
    "tabs": Case(reworded("*.csv", lambda text: text.replace(",", "\t"))),
    "blank lines and blanks": Case(reworded("*.csv", lambda text: text.replace("\n", " \n\n").replace(",", " , "))),
    "empty columns at the end": Case(reworded("*.csv", lambda text: text.replace("\n", ",,\n"))),
    "rows in another order": Case(
        reworded("*.csv", lambda text: "\n".join([text.split("\n")[0], *reversed(text.split("\n")[1:])]))
    ),
    "spellings": Case(
        reworded(
            "annotations_*.csv", lambda text: text.replace("No Deploy", "no_deploy ").replace("deploy,B", "DEPLOY,B")
        )
    ),
    "an annotator called NA": Case(
        rows("annotations_B.csv", f"{FIRST},0,0,9,9,Coral,NA"), counts={"labels.annotation_kept": 6 * 3 + 1}
    ),
    "exact duplicates": Case(
        both(rows("annotations_A.csv", f"{GRID_ROW},Coral,A"), rows("frame_labels_A.csv", f"{FIRST},no deploy,A")),
        counts={"labels.annotation_duplicates_merged": 1, "labels.frame_label_duplicates_merged": 1},
    ),
    "contradictions dropped": Case(
        both(
            file(NEW, JPEG),
            rows("annotations_A.csv", f"{NEW},1,1,0,0,Coral,A", f"{NEW},1,1,0,0,Deploy,A"),
            rows("frame_labels_A.csv", f"{NEW},Deploy,A", f"{NEW},No-Deploy,A"),
            rows(f"{DROP}photo_log.csv", "x.jpg,-9.5,143,1,1,1678845995", "x.jpg,-9.6,143,1,1,1678845995"),
        ),
        frames={NEW: STORED},
        counts={
            "labels.annotation_contradictions_dropped": 2,
            "labels.frame_label_contradictions_dropped": 2,
            "layout.photo_log_contradictions_dropped": 1,
        },
        params={"on_conflict": "drop"},
    ),
    "labels of an unusable frame": Case(
        both(file(NEW, b""), rows("annotations_A.csv", f"{NEW},1,1,0,0,Coral,A")),
        {NEW: "empty_file"},
        counts={"labels.annotation_of_quarantined_frames_dropped": 1},
    ),
    "a file without a row and a row without a file": Case(
        both(file(NEW, JPEG), rows(f"{DROP}photo_log.csv", ROW.replace("0635_000_0000", "0658_000_0098"))),
        frames={NEW: STORED},
        counts={"layout.images_without_photo_log_row": 1, "layout.photo_log_rows_without_image": 3},
    ),
    "a log of another recorder": Case(
        both(
            file("tow_7/20230316_000001_000_0001.bmp", encoded(picture(77), "BMP")),
            file(
                "tow_7/photo_log.csv", b"filename_string,latitude,longitude\n20230316_000001_000_0001.bmp,-9.25,143\n"
            ),
        ),
        frames={
            "tow_7/20230316_000001_000_0001.bmp": {
                "latitude_deg": -9.25,
                "longitude_deg": 143.0,
                "captured_at": "2023-03-16T00:00:01Z",
            }
        },
    ),
    # Tables that stop the run.
    "a label called NA": Case(
        rows("annotations_A.csv", f"{GRID_ROW},NA,A"), error=r"annotations_A.csv line 14: label 'NA' is not a class"
    ),
    "a misspelt label": Case(
        rows("annotations_A.csv", f"{GRID_ROW},Corral,A"), error=r"label 'Corral' is not.*did you mean Coral\?"
    ),
    "a frame label that is no decision": Case(
        rows("frame_labels_A.csv", f"{FIRST},Coral,A"), error="frame label 'Coral' is neither decision"
    ),
    "an empty label": Case(rows("annotations_A.csv", f"{GRID_ROW},,A"), error="label is empty"),
    "contradicting rows": Case(
        rows("annotations_A.csv", f"{GRID_ROW},Deploy,A"),
        error=r"1 labels contradict.*line 14: Deploy / .*line 2: Coral.*on_conflict: drop",
    ),
    "contradicting decisions": Case(
        rows("frame_labels_A.csv", f"{FIRST},Deploy,A"), error="1 labels contradict another label"
    ),
    "contradicting log rows": Case(
        rows(f"{DROP}photo_log.csv", ROW.replace("-9.5", "-9.7")),
        error=r"photo_log.csv: 1 rows contradict .*on_conflict: drop",
    ),
    "rows for files that are not there": Case(
        rows("annotations_A.csv", f"{DROP}20230315_020635_000_000.jpg,1,2,0,0,Coral,A"),
        error=rf"1 rows are for 1 frames that are not there.*did you mean {FIRST}\?",
    ),
    "a rectangle outside the frame": Case(
        rows("annotations_B.csv", f"{FIRST},0,0,71,40,Coral,B"), error="not inside its frame of 70 x 40 px"
    ),
    "a cell outside the grid": Case(
        rows("annotations_A.csv", f"{FIRST},1,2,1,0,Coral,A"), error="outside a grid of 1 rows and 2 columns"
    ),
    "a row cut short": Case(rows("annotations_A.csv", f"{FIRST},1,2"), error="line 14: 3 cells, the header has 7"),
    "another encoding": Case(
        reworded("annotations_A.csv", lambda text: text + "é", "latin-1"),
        error="not utf-8 text; save the table as UTF-8",
    ),
    "a table cut off by nul": Case(
        both(rows("annotations_A.csv", "\0\0\0\0")), error="NUL characters: no text, or a copy that broke off"
    ),
    "an empty table": Case(file("annotations_C.csv", b""), error="annotations_C.csv: the table is empty"),
    "a missing column": Case(
        reworded("annotations_A.csv", lambda text: text.replace("label,", "class,")), error="no column label; found"
    ),
    "broken survey.json": Case(file(f"{DROP}survey.json", b'{"site"'), error="survey.json: not readable as JSON"),
    "no images at all": Case(
        lambda root: [path.unlink() for path in sorted(root.rglob("*.jpg"))] and None, error="no image among 7 files"
    ),
    # Geotags.
    "0/0 rationals": Case(
        tagged({2: (IFDRational(0, 0),) * 3}),
        frames={NEW: NOWHERE},
        counts={"geotag_problems.exif_position_not_a_number": 1, "position_from.none": 1},
    ),
    "missing hemisphere": Case(
        tagged({1: None}), frames={NEW: NOWHERE}, counts={"geotag_problems.exif_hemisphere_missing": 1}
    ),
    "lower-case hemisphere": Case(tagged({1: "s", 3: "e"}), frames={NEW: {"latitude_deg": -9.5}}),
    "latitude out of range": Case(
        tagged({2: (95.0, 0.0, 0.0)}), frames={NEW: NOWHERE}, counts={"geotag_problems.exif_position_out_of_range": 1}
    ),
    "null island": Case(
        tagged({2: (0.0, 0.0, 0.0), 4: (0.0, 0.0, 0.0)}),
        frames={NEW: NOWHERE},
        counts={"geotag_problems.exif_position_zero": 1},
    ),
    "no gps": Case(
        file(NEW, PLAIN),
        frames={NEW: NOWHERE | {"captured_at": "2023-03-15T02:06:50Z"}},
        counts={"time_from.file_name": 1},
    ),
    "gps altitude is depth": Case(tagged({6: 4.5}), frames={NEW: {"water_depth_m": 4.5}}),
    "gps altitude of an ordinary camera": Case(
        tagged({5: b"\0", 6: 12.0}),
        frames={NEW: {"water_depth_m": None}},
        counts={"geotag_problems.exif_depth_is_height_above_sea": 1},
    ),
    "log far from exif": Case(
        both(tagged(), rows(f"{DROP}photo_log.csv", f"{NEW.split('/')[1]},-9.501,143.75,1095,0.77,1678846010")),
        frames={NEW: {"latitude_deg": -9.5}},
        counts={"geotag_problems.position_disagreement": 1},
    ),
    "log near exif": Case(
        both(tagged(), rows(f"{DROP}photo_log.csv", f"{NEW.split('/')[1]},-9.5001,143.75,1095,0.77,1678846010")),
        frames={NEW: {"latitude_deg": -9.5}},
        counts={"geotag_problems.position_disagreement": 0},
    ),
    "a clock that was never set": Case(
        tagged(details={0x9003: "1980:01:01 00:00:00"}),
        frames={NEW: {"captured_at": "2023-03-15T02:06:50Z"}},
        counts={"geotag_problems.exif_time_implausible": 1, "time_from.file_name": 1},
    ),
    "log without a fix": Case(
        both(
            file(NEW, PLAIN),
            rows(f"{DROP}photo_log.csv", f"{NEW.split('/')[1]},0.0,0.0,0,0.77,1678846010"),
        ),
        frames={NEW: NOWHERE | {"captured_at": "2023-03-15T02:06:50Z"}},
        counts={"geotag_problems.log_position_zero": 1, "time_from.photo_log": 1},
    ),
    "broken exif": Case(
        file(NEW, JPEG[:40] + b"\xff" * 60 + JPEG[100:]),
        frames={NEW: NOWHERE},
    ),
    # Class folders.
    "an empty class folder": Case(lambda root: (root / "Empty").mkdir(), base="patches"),
    "a missing class folder": Case(
        lambda root: [path.unlink() for path in sorted((root / "Coral").iterdir())] and (root / "Coral").rmdir(),
        base="patches",
        counts={"kept": 4},
    ),
    "a folder that is no class": Case(
        moved("Coral", "Corals live"), base="patches", error=r"2 images are in no class folder.*Corals live \(2"
    ),
    "class folders in other spellings": Case(
        both(moved("Coral", "coral "), moved("No-Deploy", "NO_DEPLOY")), base="patches", counts={"kept": 6}
    ),
    "a truncated patch": Case(
        file("Coral/20230315_020639_000_0009_2.png", PNG[:-30]),
        {"Coral/20230315_020639_000_0009_2.png": "truncated"},
        base="patches",
    ),
    "a patch in two class folders": Case(
        file("Deploy/20230315_020630_000_0000_0.png", PNG), base="patches", error="1 patches are claimed by images"
    ),
    "an index outside the grid": Case(
        file("Deploy/20230315_020630_000_0000_29.png", PNG), base="patches", error="outside the grid of 4 x 7 patches"
    ),
    "a patch without an index": Case(file("Deploy/reef.png", PNG), base="patches", error="no name of the form"),
    # CoralNet exports.
    "an unmapped code": Case(rows("annotations.csv", "a.jpg,1,1,Turf"), base="export", error=r"lacks 1 .*Turf \(1\)"),
    "an unmapped code dropped": Case(
        rows("annotations.csv", "a.jpg,1,1,Turf"),
        base="export",
        params={"unmapped": "drop"},
        counts={"labels.annotation_unmapped_dropped": 1, "labels.annotation_mapped_to_null_dropped": 1},
    ),
    "a point outside the image": Case(
        rows("annotations.csv", "a.jpg,40,1,CCA"),
        base="export",
        error="row 40, column 1 is outside its image of 70 x 40",
    ),
    "a point of an image that is not there": Case(
        rows("annotations.csv", "c.jpg,1,1,CCA"), base="export", error="1 rows are for 1 frames that are not there"
    ),
    "a map to something that is no class": Case(
        file("label_map.yaml", b"CCA: Deply\n"),
        base="export",
        error=r"label_map.yaml, code 'CCA'.*did you mean Deploy\?",
    ),
}

# Root may read everything: then this one cannot be made.
if os.geteuid() != 0:
    CASES["a file that may not be read"] = Case(unreadable, {f"{DROP}locked.jpg": "unreadable"})


def main(argv: list[str]) -> int:
    """Write every case into a folder of its own."""
    if len(argv) != 1:
        sys.stderr.write("usage: python -m tests.data.make_broken FOLDER\n")
        return 2
    for name, case in CASES.items():
        root = Path(argv[0]) / name.replace("/", "-")
        BASES[case.base](root)
        case.write(root)
    sys.stdout.write(f"{len(CASES)} examples below {argv[0]}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
