import argparse
import importlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

from reseed.base.errors import printable
from reseed.cli.main import COMMANDS, main, show

REPOSITORY = Path(__file__).parents[3]


def test_help_lists_every_command_with_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--help"])
    assert ended.value.code == 0
    lines = capsys.readouterr().out.splitlines()
    for name, what in COMMANDS.items():
        assert sum(line.split() == [name, *what.split()] for line in lines) == 1


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_its_module(name: str) -> None:
    module = importlib.import_module(f"reseed.cli.{name.replace('-', '_')}")
    module.add_arguments(argparse.ArgumentParser())
    assert callable(module.run)


@pytest.mark.parametrize("argv", [[], ["nope"], ["pin"], ["check", "extra"]])
def test_wrong_usage_ends_with_2(argv: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(argv)
    assert ended.value.code == 2


def test_as_a_program_a_user_error_is_one_line_without_traceback(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "reseed", "pin", str(tmp_path / "gone")],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr == f"error: {tmp_path / 'gone'}: no such file or folder\n"


@pytest.mark.parametrize("as_json", [False, True])
@pytest.mark.parametrize("sign", ["\x1b[2J", "\x9b2J", "\u202e", "\ud800", "\r"])
def test_text_of_others_does_nothing_to_a_terminal(
    sign: str, capsys: pytest.CaptureFixture[str], *, as_json: bool
) -> None:
    """Escape sequences, also of one character; turned writing; half a character, which no terminal can be sent."""
    report = {"synthetic": False, "name": f"reef{sign}\tä"}
    show(report, lambda report: [report["name"]], as_json=as_json)
    shown = capsys.readouterr().out
    assert sign[0] not in shown
    shown.encode()
    if as_json:
        assert json.loads(shown) == report
    else:
        assert shown == f"reef{printable(sign)}\tä\n"
