"""The map as a reader meets it: opened from a file in a browser without a network, clicked, toggled."""

import base64
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from reseed.base.classes import CLASS_COLOURS
from reseed.infer.map_page import Story, page
from reseed.infer.tables import FrameRow
from tests.axe import violations
from tests.browser import Page, browser_page, find_browser
from tests.unit.infer.boat import frame_image
from tests.unit.survey.surveys import encoded

BROWSER = find_browser()
pytestmark = [
    pytest.mark.skipif(BROWSER is None, reason="no Chromium or Chrome on this machine (RESEED_BROWSER names one)"),
    pytest.mark.xdist_group("browser"),  # one browser, not one for each worker
]

STORY = Story("Tow of a test", "alone", "0.5", "Model m", ())
PATCHES = "22222110"  # 5 Deploy, 2 Coral, 1 No-Deploy
JPEG = base64.b64encode(encoded(frame_image("dddddccn"), "JPEG")).decode()
RGB = {name: f"rgb({', '.join(str(int(c[i : i + 2], 16)) for i in (1, 3, 5))})" for name, c in CLASS_COLOURS.items()}


def row(
    frame: str, place: tuple[float, float] | None, decision: str = "Deploy", coral: int = 2, *, synthetic: bool = False
) -> FrameRow:
    return FrameRow(frame, "2023-03-15T02:06:00Z", place, 4.5, 2, 4, 5, coral, decision, "", 12.5, synthetic)


def tow(name: str, number: int, latitude: float = -9.5, longitude: float = 143.75) -> list[FrameRow]:
    """Frames a metre apart, the odd ones No-Deploy."""
    return [
        row(f"{name}/{i:04d}.jpg", (latitude + i * 1e-5, longitude), "No-Deploy" if i % 2 else "Deploy", i % 9)
        for i in range(number)
    ]


@pytest.fixture(scope="module")
def browser() -> Iterator[Page]:
    assert BROWSER is not None
    with browser_page(BROWSER) as opened:
        yield opened


def opened(
    browser: Page, path: Path, rows: list[FrameRow], gold: dict[str, str] | None = None, story: Story = STORY
) -> Page:
    frames = [row.frame for row in rows]
    path.write_text(
        page(story, rows, dict.fromkeys(frames, PATCHES), gold or {}, dict.fromkeys(frames, JPEG)), encoding="utf-8"
    )
    browser.console.clear()
    browser.requests.clear()
    browser.open(path)
    browser.until(lambda: browser.run("Boolean(window.reseed)"))
    browser.settle()
    return browser


def click_frame(browser: Page, number: int) -> None:
    at = browser.run(
        f"(() => {{ const box = document.getElementById('map').getBoundingClientRect();"
        f" const p = reseed.map.latLngToContainerPoint(reseed.frames[{number}].at);"
        " return [box.x + p.x, box.y + p.y]; })()"
    )
    browser.click(*at)
    browser.settle()


def text(browser: Page, selector: str) -> str:
    return str(browser.run(f"document.querySelector('{selector}')?.innerText ?? ''"))


def fill(browser: Page, number: int) -> str:
    return str(browser.run(f"reseed.frames[{number}].point.options.fillColor"))


def test_a_click_on_a_point_shows_its_picture_with_the_grid(browser: Page, tmp_path: Path) -> None:
    shown = opened(browser, tmp_path / "map.html", tow("tow_1", 6))
    assert text(shown, "#finding") == "3 of 6 frames: Deploy (50.0 %)"
    assert "alpha 0.5" in text(shown, "#rule")
    assert shown.run("document.querySelector('.leaflet-popup')") is None
    click_frame(shown, 2)
    said = text(shown, ".leaflet-popup-content")
    assert "tow_1/0002.jpg" in said
    assert "Deploy 5 of 8 patches, 62.5 %: above alpha 0.5" in said
    assert "2023-03-15 02:06:00 UTC" in said
    assert "9.499980° S, 143.750000° E" in said
    assert shown.run("document.querySelector('.picture img').naturalWidth") == 160
    colours = shown.run(
        "[...document.querySelectorAll('.patches i')].map((cell) => getComputedStyle(cell).borderTopColor)"
    )
    assert colours == [RGB["Deploy"]] * 5 + [RGB["Coral"]] * 2 + [RGB["No-Deploy"]]
    # The cells lie on the picture, and the whole popup on the map.
    inside = shown.run(
        "(() => { const at = (s) => document.querySelector(s).getBoundingClientRect();"
        " const [p, g, c, m] = ['.picture img', '.patches', '.leaflet-popup', '#map'].map(at);"
        " return [Math.abs(p.width - g.width) + Math.abs(p.height - g.height), c.top >= m.top && c.left >= m.left];"
        " })()"
    )
    assert inside[0] < 2
    assert inside[1]
    shown.click_on("[aria-label='next frame']")
    shown.settle()
    assert "tow_1/0003.jpg" in text(shown, ".leaflet-popup-content")
    assert text(shown, ".pill").strip() == "No-Deploy"
    shown.click_on(".grid-key input")  # without the grid, to see the seafloor
    shown.settle()
    assert shown.run("getComputedStyle(document.querySelector('.patches')).display") == "none"
    assert (shown.console, shown.requests) == ([], [])


def test_layers_change_the_colours(browser: Page, tmp_path: Path) -> None:
    rows = tow("tow_1", 6)
    gold = {row.frame: "Deploy" for row in rows[:4]}
    shown = opened(browser, tmp_path / "map.html", rows, gold)
    assert "Gold is known for 4 frames: the same decision on 2 (no score" in text(shown, "#rule")
    assert [fill(shown, 0), fill(shown, 1)] == [CLASS_COLOURS["Deploy"], CLASS_COLOURS["No-Deploy"]]
    before = shown.run("document.querySelector('#map canvas.leaflet-zoom-animated') && 1")
    assert before == 1
    shown.click_on("input[value=coral]")
    # Cover runs from 0 of 8 to 5 of 8, the scale to 70 %: the palest, and 62.5 / 70 of the way to the full colour.
    assert fill(shown, 0) == "rgb(255,247,240)"
    assert fill(shown, 5) == "rgb(218,110,26)"
    assert "70 % of patches" in text(shown, "#legend")
    rings = "reseed.frames.filter((frame) => frame.ring && frame.ring._map).length"
    assert shown.run(rings) == 0
    shown.click_on("#gold")
    assert shown.run(rings) == 4
    assert "gold Deploy" in text(shown, "#legend")
    shown.click_on("input[value=decision]")
    shown.click_on("#gold")
    assert (fill(shown, 1), shown.run(rings)) == (CLASS_COLOURS["No-Deploy"], 0)
    assert (shown.console, shown.requests) == ([], [])


def test_sequences_far_apart_are_discs_until_one_is_clicked(browser: Page, tmp_path: Path) -> None:
    rows = [*tow("tow_1", 4), *tow("tow_2", 4, latitude=-9.6)]
    shown = opened(browser, tmp_path / "map.html", rows)
    assert shown.run("document.querySelectorAll('.pie').length") == 2
    assert "2 of 4 Deploy" in text(shown, ".pie-label")
    assert "conic-gradient" in shown.run("document.querySelector('.pie').style.background")
    shown.click_on(".pie")
    shown.until(lambda: shown.run("document.querySelectorAll('.pie').length") == 0)
    shown.settle()
    click_frame(shown, 0)
    assert "tow_1/0000.jpg" in text(shown, ".leaflet-popup-content")
    shown.click_on("#whole")
    shown.until(lambda: shown.run("document.querySelectorAll('.pie').length") == 2)


def test_the_line_of_a_sequence_breaks_where_frames_are_far_apart(browser: Page, tmp_path: Path) -> None:
    rows = [*tow("t", 3), *(row(f"t/z{i}.jpg", (-9.6 + i * 1e-5, 143.75)) for i in range(2))]
    shown = opened(browser, tmp_path / "map.html", rows)
    assert shown.run("reseed.frames[0].sequence.line.getLatLngs().map((way) => way.length)") == [3, 2]


def test_frames_that_share_one_fix_are_all_reached(browser: Page, tmp_path: Path) -> None:
    shown = opened(browser, tmp_path / "map.html", [row(f"t/{i}.jpg", (-9.5, 143.75)) for i in range(3)])
    shown.click_on(".pie")
    shown.settle()
    assert "1 of 3" in text(shown, ".where")
    shown.click_on("[aria-label='previous frame']")
    shown.settle()
    assert "t/2.jpg" in text(shown, ".leaflet-popup-content")


def test_names_of_files_are_text_and_never_markup(browser: Page, tmp_path: Path) -> None:
    evil = [
        "<img src=x onerror=alert(1)>.jpg",
        "<script>alert(2).jpg",
        "<!--<script>.jpg",
        "a'\"&amp;\u2028\\u003c.jpg",
    ]
    folder = "<b onclick=alert(3)>tow"
    rows = [row(f"{folder}/{name}", (-9.5 + i * 1e-5, 143.75)) for i, name in enumerate(evil)]
    rows.append(row("x</script><script>alert(5)</script>/1.jpg", None))
    story = Story("<script>alert(4)</script>", "<i>", "0.5", "Model <s>m</s>", ("<u>remark</u>",))
    shown = opened(browser, tmp_path / "map.html", rows, story=story)
    for i, name in enumerate(evil):
        click_frame(shown, i)
        assert shown.run("document.querySelector('.file').textContent") == f"{folder}/{name}"
        shown.click_on(".leaflet-popup-close-button")
        shown.settle()  # it fades
    assert text(shown, "#title") == story.title
    assert shown.run("document.querySelectorAll('aside b, aside s, aside u, h1 *, .file *').length") == 0
    assert shown.run("document.scripts.length") == 3  # the data, Leaflet, the page's own
    assert shown.run("document.querySelector('.sequence .name').textContent") == folder
    assert (shown.console, shown.requests) == ([], [])


def test_the_policy_of_the_page_lets_no_other_script_run(browser: Page, tmp_path: Path) -> None:
    shown = opened(browser, tmp_path / "map.html", tow("t", 2))
    script = "const s = document.createElement('script'); s.textContent = 'window.bad = 1'; document.body.append(s);"
    shown.run(f"(() => {{ {script} }})()")
    assert shown.run("window.bad") is None
    assert shown.run("fetch('https://example.org/').then(() => 'sent', () => 'refused')") == "refused"
    assert any("Content Security Policy" in said for said in shown.console)


def test_without_any_frame_there_is_no_talk_of_strips(browser: Page, tmp_path: Path) -> None:
    shown = opened(browser, tmp_path / "map.html", [])
    assert text(shown, ".empty") == "No frame was decided: there is nothing to show."
    assert text(shown, "#finding") == "No frame was decided"


def test_without_any_position_the_strips_show_every_frame(browser: Page, tmp_path: Path) -> None:
    shown = opened(browser, tmp_path / "map.html", [row("1.jpg", None), row("2.jpg", None, "No-Deploy")])
    assert "No frame has a position" in text(shown, ".empty")
    shown.click_on(".sequence canvas")
    assert "2.jpg" in text(shown, "#card")
    assert "position unknown" in text(shown, "#card")
    shown.click_on("[aria-label=close]")
    assert shown.run("document.getElementById('card').hidden")
    assert (shown.console, shown.requests) == ([], [])


def test_a_survey_across_the_antimeridian_lies_in_one_piece(browser: Page, tmp_path: Path) -> None:
    rows = [row("t/1.jpg", (-17.0, 179.99999)), row("t/2.jpg", (-17.0, -179.99999))]
    shown = opened(browser, tmp_path / "map.html", rows)
    assert shown.run("reseed.map.getBounds().getEast() - reseed.map.getBounds().getWest()") < 0.01
    click_frame(shown, 1)
    assert "179.999990° W" in text(shown, ".leaflet-popup-content")


def test_rendered_frames_are_marked(browser: Page, tmp_path: Path) -> None:
    shown = opened(browser, tmp_path / "map.html", [row("t/1.jpg", (-9.5, 143.75), synthetic=True)])
    assert "SYNTHETIC" in text(shown, "#notice")
    assert opened(browser, tmp_path / "map.html", tow("t", 1)).run("document.getElementById('notice').hidden")


def test_thousands_of_frames_stay_usable(browser: Page, tmp_path: Path) -> None:
    began = time.monotonic()
    shown = opened(browser, tmp_path / "map.html", tow("tow_1", 3000))
    assert time.monotonic() - began < 20
    began = time.monotonic()
    shown.click_on("input[value=coral]")
    assert shown.run("reseed.state.colour") == "coral"
    click_frame(shown, 1500)
    assert "of 3000" in text(shown, ".where")
    assert time.monotonic() - began < 10


def test_the_map_keeps_to_wcag(browser: Page, tmp_path: Path) -> None:
    page = opened(browser, tmp_path / "map.html", [*tow("one", 5), row("two/1.jpg", None)], {"one/0001.jpg": "Deploy"})
    assert violations(page) == []
