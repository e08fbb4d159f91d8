"""Stage pull: bring every source to data/raw and check it against its pinned digest."""

import sys
from pathlib import Path

from reseed.artifacts.raw import read_raw, write_raw
from reseed.base.files import new_folder, remove
from reseed.demo.survey import render_survey
from reseed.params.demo import DemoParams
from reseed.params.load import load_section
from reseed.params.pull import PullParams
from reseed.sources.folder import explained
from reseed.sources.inventory import changed_since_pulled
from reseed.sources.pull import DOWNLOADS, bring, record
from stages.runner import parse_arguments, run_stage


def main(argv: list[str] | None = None) -> None:
    """Bring every source to data/raw as delivered, and record what came."""
    arguments = parse_arguments(
        __doc__, argv, changed="bring nothing; exit with 0 if a source has changed since it was pulled, else with 1"
    )
    if arguments.changed:
        sys.exit(0 if _changed(Path("data/raw"), Path("data/raw.json")) else 1)
    params = load_section(Path("params.yaml"), "pull", PullParams)
    demo = load_section(Path("params.yaml"), "demo", DemoParams)
    pulled = []
    with explained(Path("data/raw"), "write"), new_folder(Path("data/raw")) as raw:
        for source in params.sources:
            folder, delivered = raw / source.name, None
            if source.kind == "demo":
                render_survey(demo, folder)
            else:
                delivered = bring(source, folder, Path("data/raw"))
            pulled.append(record(source, folder, delivered))
    with explained(Path("data/raw.json"), "write"):
        write_raw(pulled, Path("data/raw.json"))
        remove(DOWNLOADS)  # not before all is there: what came of a failed run is not downloaded again
    for entry in pulled:
        sys.stdout.write(f"pull: {entry.name}: {entry.files} files, {entry.bytes} bytes, sha256 {entry.sha256}\n")


def _changed(raw: Path, record_file: Path) -> list[str]:
    """Name every source that has changed since it was pulled."""
    entries = read_raw(record_file) if record_file.is_file() else []
    changed = [entry.name for entry in entries if changed_since_pulled(entry, raw)]
    for name in changed:
        sys.stderr.write(f"pull: {name} has changed since it was pulled\n")
    return changed


if __name__ == "__main__":
    run_stage(main)
