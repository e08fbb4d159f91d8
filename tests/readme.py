"""The scores of the committed demo, as README.md shows them: `python -m tests.readme` checks, `--write` writes."""

import argparse
import re
import subprocess
import sys
from pathlib import Path
from textwrap import indent
from typing import Final

ROOT: Final = Path(__file__).parents[1]
README: Final = ROOT / "README.md"
_BLOCK: Final = re.compile(r"(?<=<!-- scores -->\n).*?(?=<!-- /scores -->\n)", re.DOTALL)


def scores(root: Path = ROOT) -> str:
    """Return what `python -m reseed scores` prints in a checkout."""
    command = [sys.executable, "-m", "reseed", "scores"]
    return subprocess.run(command, cwd=root, capture_output=True, text=True, check=True).stdout


def written(text: str, printed: str) -> str:
    """Return the text of the README with the scores between its two marks, as a block of code."""
    block = "\n" + indent(printed.strip() + "\n", "    ") + "\n"
    return _BLOCK.sub(lambda _: block, text)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write README.md")
    before = README.read_text(encoding="utf-8")
    after = written(before, scores())
    if parser.parse_args().write:
        README.write_text(after, encoding="utf-8")
    elif before != after:
        sys.exit(
            "error: README.md does not show the scores of the committed demo; run `python -m tests.readme --write`"
        )
