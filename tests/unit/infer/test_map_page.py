"""What `map.html` holds, read as text: these tests need no browser."""

import base64
import hashlib
import json
from html.parser import HTMLParser
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import numpy as np
import pytest
import simplejpeg

from reseed.base.errors import ReseedError
from reseed.base.grid import Grid
from reseed.infer import map_page
from reseed.infer.map_page import Story, page, page_data, write_map
from reseed.infer.tables import THUMBNAIL_COLUMNS, THUMBNAILS_FILE, FrameRow, LineFile
from reseed.pages import parts
from reseed.pages.parts import thumbnail_jpeg

STORY = Story("A & B <tow>", "alone", "0.5", "Model m", ("1 frame without a position.",))


def row(frame: str, longitude: float | None = 143.75, decision: str = "Deploy", *, synthetic: bool = False) -> FrameRow:
    place = None if longitude is None else (-9.5, longitude)
    return FrameRow(frame, "2023-03-15T02:06:00Z", place, None, 2, 4, 5, 2, decision, "", 12.5, synthetic)


class Reader(HTMLParser):
    """Collects the scripts and every address that a page refers to."""

    def __init__(self) -> None:
        super().__init__()
        self.scripts: list[str] = []
        self.addresses: list[str] = []
        self.policy = ""
        self._in_script = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = dict(attrs)
        self._in_script = tag == "script"
        if self._in_script:
            self.scripts.append("")
        self.addresses += [value or "" for name, value in attrs if name in {"src", "href", "action", "data"}]
        if named.get("http-equiv") == "Content-Security-Policy":
            self.policy = named["content"] or ""

    def handle_endtag(self, tag: str) -> None:  # noqa: ARG002 - the parser names it
        self._in_script = False

    def handle_data(self, data: str) -> None:
        if self._in_script:
            self.scripts[-1] += data


def read(text: str) -> Reader:
    reader = Reader()
    reader.feed(text)
    return reader


def test_everything_is_inside_and_only_the_scripts_of_the_page_are_allowed() -> None:
    text = page(STORY, [row("t/1.jpg")], {"t/1.jpg": "22222110"}, {}, {"t/1.jpg": "AAAA"})
    found = read(text)
    assert found.addresses == ["data:,"]  # the icon, so that no browser asks for one
    data, library, own = found.scripts
    assert "Leaflet 1.9" in library
    assert "Vladimir Agafonkin" in library  # the copyright notice goes with it
    assert own.lstrip().startswith('"use strict"')
    for script in (library, own):
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in found.policy
    assert found.policy.startswith("default-src 'none'")
    assert "sourceMappingURL" not in text
    assert "url(images/" not in text
    assert "<title>A &amp; B &lt;tow&gt;</title>" in text
    assert json.loads(data)["sequences"][0]["frames"][0]["patches"] == "22222110"


def test_no_name_can_end_the_block_of_data() -> None:
    names = ["</script>.jpg", "<!--.jpg", "&lt;.jpg", "\u2028.jpg"]
    found = read(page(STORY, [row(f"t/{name}") for name in names], {}, {}, {}))
    assert len(found.scripts) == 3
    assert not set("<>&\u2028") & set(found.scripts[0])
    sequences = json.loads(found.scripts[0])["sequences"]
    assert {frame["name"] for sequence in sequences for frame in sequence["frames"]} == {f"t/{name}" for name in names}


def test_gold_notice_and_counts() -> None:
    rows = [row("a/1.jpg"), row("a/2.jpg", decision="No-Deploy", synthetic=True), row("3.jpg", None)]
    data = page_data(STORY, rows, {}, {"a/1.jpg": "Deploy", "a/2.jpg": "Deploy"}, {}, every=1)
    assert (data["nFrames"], data["nDeploy"]) == (3, 2)
    assert data["gold"] == {"known": 2, "same": 1}
    assert "SYNTHETIC" in data["notice"]
    assert [sequence["name"] for sequence in data["sequences"]] == ["a", "alone"]
    assert page_data(STORY, rows[:1], {}, {}, {}, every=1)["notice"] == ""


def test_longitudes_run_on_across_the_antimeridian() -> None:
    frames = page_data(STORY, [row("t/1.jpg", 179.5), row("t/2.jpg", -179.5)], {}, {}, {}, every=1)["sequences"][0][
        "frames"
    ]
    assert [frame["at"][1] for frame in frames] == [179.5, 180.5]
    assert frames[1]["lon"] == -179.5


def test_thumbnails_are_thinned_where_the_page_would_grow_too_large(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [row(f"t/{number}.jpg") for number in range(10)]
    table = LineFile(tmp_path / THUMBNAILS_FILE, THUMBNAIL_COLUMNS)
    table.append([{"frame": one.frame, "jpeg_base64": "A" * 1000} for one in rows])
    table.close()
    monkeypatch.setattr(map_page, "THUMBNAILS_BYTES", 4000)  # 10 rows of about 1 kB: every third
    assert write_map(tmp_path, tmp_path / "map.html", STORY, rows, {}, {}) == 3
    data = json.loads(read((tmp_path / "map.html").read_text("utf-8")).scripts[0])
    shown = [number for number, frame in enumerate(data["sequences"][0]["frames"]) if frame["jpeg"]]
    assert shown == [0, 3, 6, 9]
    assert "Thumbnails of one frame in 3, to keep the page small." in data["remarks"]


def test_without_the_package_one_line_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(parts, "distribution", missing)
    with pytest.raises(ReseedError, match=r"needs the package XStatic-Leaflet .*pip install"):
        parts.read_leaflet()


@pytest.mark.parametrize("edge_px", [16, 33, 96, 256])
def test_patches_lie_in_a_thumbnail_where_the_grid_is_drawn(edge_px: int) -> None:
    """Each patch of one colour: whatever the size, cell (r, c) of the picture has the colour of patch 7 r + c."""
    grid = Grid(4, 7)
    colours = np.random.default_rng(0).integers(40, 215, (28, 1, 1, 3), dtype=np.uint8)
    images = np.broadcast_to(colours, (28, edge_px, edge_px, 3)).copy()
    picture = simplejpeg.decode_jpeg(thumbnail_jpeg(images, grid))
    small = picture.shape[0] // 4
    assert picture.shape == (4 * small, 7 * small, 3)
    assert small == min(edge_px, 48)
    middles = picture[small // 2 :: small, small // 2 :: small].reshape(28, 3).astype(int)
    assert np.abs(middles - colours.reshape(28, 3)).max() < 30  # JPEG
