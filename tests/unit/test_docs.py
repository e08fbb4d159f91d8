"""The documentation is true: commands, options, parameters, files and targets that it names exist."""

import argparse
import importlib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from reseed.cli.check import SECTIONS
from reseed.cli.main import COMMANDS

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    path
    for pattern in ("*.md", "docs/*.md", "data/README.md", "reseed/**/README.md")
    for path in ROOT.glob(pattern)
    if path.name not in {"MODEL_CARD.md", "report.md"}  # written by commands
)
TEXTS = [pytest.param(path.read_text(), id=path.relative_to(ROOT).as_posix()) for path in PAGES]
# Options of dvc and of a benchmark that a page names without the program.
OF_OTHERS = {"--temp", "--queue", "--full-size"}
PLACES = ("reseed", "stages", "tests", "docs", "params", "benchmarks", ".ci", ".github")


def options(command: str) -> set[str]:
    """Every option that `python -m reseed COMMAND` takes."""
    parser = argparse.ArgumentParser()
    importlib.import_module(f"reseed.cli.{command.replace('-', '_')}").add_arguments(parser)
    return {option for each in (parser, *steps(parser)) for option in each._option_string_actions}


def steps(parser: argparse.ArgumentParser) -> list[argparse.ArgumentParser]:
    """The parsers of a command's steps, if it has any."""
    subparsers = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    return [each for action in subparsers for each in action.choices.values()]


def calls(text: str) -> Iterator[tuple[str, list[str]]]:
    """Each `python -m reseed COMMAND ...` with its options; a usage that goes on in the next line counts in full."""
    joined = re.sub(r"\n +(?=\[--)", " ", text)
    for command, rest in re.findall(r"python -m reseed ([a-z][\w-]*)([^`\n#]*)", joined):
        yield command, re.findall(r"--[a-z][a-z-]*", rest)


def prose(text: str) -> str:
    """A page without its blocks of code."""
    return re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)


def spans(text: str) -> list[str]:
    """What stands between backticks on one line, outside blocks of code."""
    return re.findall(r"`([^`\n]+)`", prose(text))


@pytest.mark.parametrize("text", TEXTS)
def test_every_command_exists_with_the_options_used(text: str) -> None:
    for command, used in calls(text):
        assert command in COMMANDS
        assert set(used) <= options(command), f"python -m reseed {command}"


@pytest.mark.parametrize("text", TEXTS)
def test_every_option_named_alone_exists(text: str) -> None:
    known = OF_OTHERS.union(*map(options, COMMANDS))
    for span in spans(text):
        if span.startswith("--"):
            assert re.match(r"--[a-z-]+", span)[0] in known, span  # type: ignore[index]


@pytest.mark.parametrize("text", TEXTS)
def test_every_parameter_exists(text: str) -> None:
    named = [span for span in spans(text) if not span.endswith((".py", ".json", ".csv", ".md"))]
    named += re.findall(r"-S (\S+?)=", text)
    for name in named:
        found = re.match(rf"({'|'.join(SECTIONS)})\.(\w+)", name)
        if found:
            assert found[2] in SECTIONS[found[1]].model_fields, name


@pytest.mark.parametrize("text", TEXTS)
def test_every_module_and_target_exists(text: str) -> None:
    for name in re.findall(r"python -m ((?:benchmarks|stages|tests)\.\w+)", text):
        assert (ROOT / name.replace(".", "/")).with_suffix(".py").is_file(), name
    targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    # At the start of a code span or of a line of code: "and make" in a sentence is no target.
    for name in re.findall(r"(?:`|^    )make ([a-z-]+)", text, re.MULTILINE):
        assert name in targets, f"make {name}"


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_every_link_and_file_exists(page: Path) -> None:
    text = page.read_text()
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", prose(text)):
        assert target.startswith("https://") or (page.parent / target).exists(), target
    for name in re.findall(r"\bdocs/\w+\.md\b", text):
        assert (ROOT / name).exists(), name
    for span in spans(text):
        if re.fullmatch(rf"(?:{'|'.join(map(re.escape, PLACES))})/[\w./-]*", span) and "results" not in span:
            assert (ROOT / span).exists(), span


@pytest.mark.parametrize("page", sorted(ROOT.glob("reseed/*/README.md")), ids=lambda path: path.parent.name)
def test_a_package_page_names_modules_that_exist_and_its_table_lists_all(page: Path) -> None:
    named = [span for span in spans(page.read_text()) if re.fullmatch(r"[\w/]+\.py", span)]
    assert [name for name in named if not any((folder / name).is_file() for folder in (ROOT, page.parent))] == []
    first_cells = re.findall(r"^\| (`\w+\.py`[^|]*)\|", page.read_text(), re.MULTILINE)
    if first_cells:
        listed = re.findall(r"\w+\.py", " ".join(first_cells))
        assert sorted(listed) == sorted(path.name for path in page.parent.glob("[!_]*.py"))


def test_readme_names_every_command_or_the_page_that_does() -> None:
    pages = "".join(path.read_text() for path in PAGES)
    assert [name for name in COMMANDS if f"python -m reseed {name}" not in pages] == []


@pytest.mark.parametrize("command", COMMANDS)
def test_every_argument_of_a_command_is_explained(command: str) -> None:
    parser = argparse.ArgumentParser()
    importlib.import_module(f"reseed.cli.{command.replace('-', '_')}").add_arguments(parser)
    found = [action for each in (parser, *steps(parser)) for action in each._actions]
    assert [action.dest for action in found if not action.help] == []


def test_the_words_that_need_one_have_an_entry_in_the_glossary() -> None:
    entries = re.findall(r"^\| \*\*(.+?)\*\* \|", (ROOT / "docs/glossary.md").read_text(), re.MULTILINE)
    needed = (
        "frame, patch, site, sequence, group, gold, inherited label, alpha, macro F1, annotator, baseline, interval"
    )
    assert set(needed.split(", ")) | {"drift"} <= set(entries)
    assert len(entries) == len(set(entries))


def test_calls_are_found_by_hand() -> None:
    text = (
        "`python -m reseed audit HEAD --claim k=1`\npython -m reseed crossval --group site # --not-this\n    [--out F]"
    )
    assert list(calls(text)) == [("audit", ["--claim"]), ("crossval", ["--group"])]
    assert list(calls("python -m reseed audit [REV]\n      [--crate DIR]")) == [("audit", ["--crate"])]
