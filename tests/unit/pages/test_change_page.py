"""The page of a change in a browser."""

from pathlib import Path

import pytest

from reseed.pages.render import html_page
from reseed.pages.run_data import frame_data, pictures
from tests.axe import violations
from tests.browser import browser_page, find_browser
from tests.unit.pages.many import many

BROWSER = find_browser()
HOSTILE = "</script><img src=x onerror=\"document.title='attacked'\">"
EMPTY = ("lead", "cards", "score_rows", "class_rows", "site_rows", "operating_rows", "param_rows", "data_rows")


@pytest.mark.skipif(BROWSER is None, reason="no Chromium or Chrome on this machine (RESEED_BROWSER names one)")
@pytest.mark.xdist_group("browser")
def test_flipped_frames_stand_beside_each_other(tmp_path: Path) -> None:
    assert BROWSER is not None
    tables = many(30)
    columns = frame_data(tables)["frames"]
    n = len(columns["id"])
    columns |= {"before": [*columns["golds"][:-1], ""], "base": ["Deploy"] * n, "head": ["No-Deploy"] * n}
    columns |= {"gold": ["Deploy"] * n, "better": [-1, *[1] * (n - 1)], "id": [HOSTILE, *columns["id"][1:]]}
    trend = "commit,committed,subject,patch_macro_f1,patch_macro_f1_low,patch_macro_f1_high,frame_macro_f1\n"
    trend += "aaaaaaa,2026-01-01,One,70.0,60.0,80.0,50.0\nbbbbbbb,2026-01-02,Two,75.0,,,60.0\n"
    data = {"frames": columns, "pictures": pictures(tables, columns), "csv": {"trend": trend}}
    context = {key: [] for key in EMPTY} | {"code_rows": [], "audit_rows": [["chain", "PASS", "fine"]]}
    context |= {"title": "t", "marks": [HOSTILE], "base_name": HOSTILE, "head_name": "h", "headline": HOSTILE}
    scripts = ("page", "chart", "grid", "change")
    text = html_page("change.html.j2", scripts, data, None, **context, flipped="", verdict="v")
    (tmp_path / "change.html").write_text(text, encoding="utf-8")
    with browser_page(BROWSER) as page:
        page.open(tmp_path / "change.html")
        page.until(lambda: page.run("Boolean(window.reseed)"))
        assert (page.console, page.requests, page.run("document.title")) == ([], [], "t")
        assert page.run("document.querySelectorAll('article').length") == 24
        assert page.run("document.querySelectorAll('article.wrong').length") == 1
        assert page.run("document.querySelectorAll('article:first-child figure').length") == 3
        page.run("document.getElementById('more').click()")
        assert page.run("document.querySelectorAll('article').length") == 30
        # The patches of base are not those of head in the last one: it is shown without.
        assert page.run("document.querySelectorAll('article:last-child figure').length") == 2
        assert page.run("document.querySelectorAll('#trend circle').length") == 4
        assert page.run("document.querySelectorAll('#trend .whisker').length") == 1
        assert violations(page) == []
        assert page.run("document.documentElement.scrollWidth") == 1280
