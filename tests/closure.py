"""`python -m tests.closure` prints which project files each stage loads, as they belong into `deps` of dvc.yaml."""

from pathlib import Path

from reseed.audit.imports import closure

if __name__ == "__main__":
    ROOT = Path(__file__).parents[1]
    for stage in sorted((ROOT / "stages").glob("*.py")):
        if stage.stem not in {"__init__", "runner"}:
            print(f"{stage.stem}:")
            for file in closure(f"stages.{stage.stem}", ROOT):
                print(f"      - {file}")
