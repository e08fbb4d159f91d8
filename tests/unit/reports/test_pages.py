"""Pages from templates: names of others stay names, in every place of every page."""

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jinja2 import UndefinedError
from markdown_it import MarkdownIt

from reseed.compare.comparison import compare
from reseed.compare.pull_request import pull_request
from reseed.history.repository import Repository
from reseed.history.run import Run
from reseed.reports.card import Card, card_page
from reseed.reports.page import aligned, code, interval_text, named_list, p_text, render
from reseed.reports.reforms import Item, People
from reseed.reports.report import comparison_page, report_page
from tests.unit.audit.history import History, every, reef
from tests.unit.audit.results import commit_result

EVIL = [
    "<script>x</script>|`tick`|**bold** @everyone ![i](u) [a](javascript:b)\n# Title",
    "a | b `|` c\n\n| d |\n<img src=x>",
    "``|<a href=x>**x**</a>~~s~~ &lt;b&gt; {{ 7 * 7 }} {% raw %}",
]
# What the program itself wrote and looks up again: such values are not names of others.
OWN = {
    "score",
    "p",
    "difference",
    "check",
    "status",
    "class",
    "gold",
    "rule",
    "commit",
    "mean",
    "a",
    "b",
    "low",
    "high",
}


def poisoned(value: Any, evil: str, key: str = "") -> Any:
    """Return a report with each free text in it replaced."""
    if isinstance(value, dict):
        return {name: poisoned(item, evil, name) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [poisoned(item, evil, key) for item in value]
    return evil if isinstance(value, str) and value and key not in OWN and value != "n/a" else value


@pytest.fixture
def pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Callable[[str], str]]:
    """The Markdown pages, each as a function of the text that stands for every name."""
    monkeypatch.chdir(tmp_path)
    history, run = History(tmp_path).start(), reef()
    first = commit_result(history, run.but(wrong=every(run.gold, 5), wrong_frames=every(run.frames, 2)))
    second = commit_result(history, run.but(params="train:\n  lr: 0.01\n", digest="cd" * 32), reseed__x_py="1\n")
    repository = Repository(tmp_path)
    base, head = repository.resolve(first), repository.resolve(second)
    report = pull_request(repository, base, head, {}, 100, 0)
    compared = compare(
        repository, [Run(repository, base).with_answers()], [Run(repository, head).with_answers()], 100, 0
    )
    record = Run(repository, head).with_result()
    check = {"check": "leakage", "status": "FAIL", "reason": "x", "findings": ["x", "y"], "notes": ["n"]}

    def card(evil: str) -> str:
        statement = {
            "sources": [{"name": evil, "kind": evil, "licence": evil, "sha256": evil, "pinned": True}],
            "annotator": evil,
            "quarantined": {evil: {evil: 3}},
            "notes": [evil],
            "patches": [{"split": "test", "site": evil, "class": "Coral", "n": 3}],
            "frames": [{"split": "test", "site": evil, "class": "Deploy", "n": 3}],
        }
        people = {"patch": [{"annotator": evil, "n": 5, "human": {"macro_f1": 1.5}}]}
        details = record.details | {"human_ceiling": people, "baselines": {"verdict": {"patch": evil}}}
        evil_record = copy.copy(record)
        vars(evil_record).update(sites=record.sites.assign(site=evil), details=details)
        model = {"backbone": evil, "sha256": evil, "versions": {evil: evil}, "geometry": {"resize": evil}}
        words = People(**dict.fromkeys(People.model_fields, evil))
        items = [Item("1a", evil, evil, "people", evil)]
        return card_page(Card(evil_record, model, statement, evil, [evil], words, items))

    return {
        "report": lambda evil: report_page(poisoned(report | {"checks": [check]}, evil), {}),
        "comparison": lambda evil: comparison_page(poisoned(compared, evil), "markdown"),
        "card": card,
    }


def shape(html: str) -> list[str]:
    """The elements of a page, without what is in them."""
    return [part.split(">")[0].split()[0] for part in html.split("<")[1:]]


@pytest.mark.parametrize("page", ["report", "comparison", "card"])
def test_no_name_changes_the_form_of_a_page(page: str, pages: dict[str, Callable[[str], str]]) -> None:
    markdown = MarkdownIt("gfm-like", {"linkify": False})
    plain = markdown.render(pages[page]("name"))
    assert "name" in plain
    for evil in EVIL:
        html = markdown.render(pages[page](evil))
        assert shape(html) == shape(plain)
        assert "{{ 7 * 7 }}" in html or "{{" not in evil
        spoken = "".join(part.split("</code>")[-1] for part in html.split("<code>"))
        assert "@everyone" not in spoken


def test_a_comparison_in_a_terminal_is_not_escaped(pages: dict[str, Callable[[str], str]], tmp_path: Path) -> None:
    assert "\\*\\*bold" in pages["comparison"](EVIL[0])
    repository = Repository(tmp_path)
    run = Run(repository, repository.resolve("HEAD")).with_answers()
    text = comparison_page(poisoned(compare(repository, [run], [run], 100, 0), "a_b*c"), "terminal")
    assert "  A  a_b*c (" in text
    assert "#" not in text


def test_a_name_that_a_template_lacks_is_an_error() -> None:
    with pytest.raises(UndefinedError, match="'alone' is undefined"):
        render("report.md.j2", "markdown")


def test_the_filters() -> None:
    assert [p_text(p) for p in (0.0004, 0.05, 1.0, "n/a")] == ["< 0.001", "0.050", "1.000", "n/a"]
    assert interval_text({"low": 1.25, "high": 3.0}) == "1.2 to 3.0"
    assert interval_text({"low": "n/a", "high": "n/a"}) == "n/a"
    assert interval_text(None) == ""
    assert named_list(["a", "b", "c"], 2) == "a, b and 1 more"
    assert named_list(["a", "b"], 2) == "a, b"
    assert aligned(("", "x"), [["a", "1"], ["bb", "10"]]) == ["       x", "  a    1", "  bb  10"]
    assert code("a") + "b" == "`a`b"
