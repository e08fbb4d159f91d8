"""How long a report takes: `python -m benchmarks.report_speed`, at the root of a checkout whose pipeline has run.

Reports the workspace against the last commit, imports and the fast checks of the audit included. Must stay within 15 s
on two cores for the demo.
"""

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

LIMIT_S = 15.0


def main() -> None:
    """Time one report, and say whether it keeps the limit."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "report.md")
        start = time.perf_counter()
        subprocess.run([sys.executable, "-m", "reseed", "report", "--base", "HEAD", "--out", str(out)], check=True)
        wall_s = time.perf_counter() - start
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"report {wall_s:.2f} s, {used.ru_utime + used.ru_stime:.2f} s on a processor, limit {LIMIT_S:.0f} s")
    if wall_s > LIMIT_S:
        raise SystemExit("too slow")


if __name__ == "__main__":
    main()
