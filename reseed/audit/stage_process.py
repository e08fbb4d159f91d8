"""Run stages with the code of one folder on the data of others: `python -I stage_process.py CODE JOBS`.

A script and no module of the package: the code that it runs may be that of another version.
"""

import importlib
import json
import os
import sys
import threading
import traceback


def main(code: str, jobs: list[tuple[str, str, list[str]]]) -> None:
    """Run each stage in its folder, and write a line of JSON about each: the stage and why it failed, or nothing.

    Args:
        code: Folder with `reseed/` and `stages/`; from nowhere else but the Python installation is imported.
        jobs: Stage, folder and options of each.
    """
    threading.Thread(target=_end_with_audit, daemon=True).start()
    sys.path.insert(0, code)
    sys.dont_write_bytecode = True
    report, sys.stdout = sys.stdout, sys.stderr
    for stage, folder, options in jobs:
        os.chdir(folder)
        try:
            importlib.import_module(f"stages.{stage}").main(options)
            problem = ""
        except SystemExit as error:
            problem = f"ended with {error.code}" if error.code else ""
        except BaseException as error:  # noqa: BLE001  whatever it is, the audit tells it
            is_told = any(kind.__name__ == "ReseedError" for kind in type(error).__mro__)
            problem = str(error) if is_told else traceback.format_exc().strip().splitlines()[-1]
        report.write(json.dumps({"stage": stage, "problem": problem}) + "\n")
        report.flush()


def _end_with_audit() -> None:
    """End when the audit was killed, which closes standard input: nobody would read what comes."""
    while os.read(0, 1):
        pass
    os._exit(1)


if __name__ == "__main__":
    main(sys.argv[1], json.loads(sys.argv[2]))
