from pathlib import Path

from matplotlib.figure import Figure
from matplotlib.text import Text
from PIL import Image

from reseed.artifacts.catalog import FRAMES, PIECES
from reseed.figures.contact_sheet import survey_sheet


def sheet(folder: Path, count: int) -> Figure:
    empty = dict.fromkeys(FRAMES.names, "") | {"synthetic": 0, "width_px": 16, "height_px": 8, "site": "Ugar"}
    rows = [empty | {"frame_id": f"s/f{number:02d}.png", "sequence": "tow"} for number in range(count)]
    (folder / "s").mkdir(exist_ok=True)
    for row in rows:
        Image.new("RGB", (16, 8), (90, 120, 110)).save(folder / str(row["frame_id"]))
    return survey_sheet(FRAMES.frame(rows), PIECES.frame([]), folder)


def said(figure: Figure) -> list[str]:
    return [found.get_text() for found in figure.findobj(Text)]  # type: ignore[attr-defined]


def test_the_sheet_says_whether_it_shows_all(tmp_path: Path) -> None:
    assert "all of them" in said(sheet(tmp_path, 3))
    texts = said(sheet(tmp_path, 40))
    assert "6 of them, spread evenly along each row" in texts
    assert "all of them" not in texts
