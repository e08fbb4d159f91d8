"""How long another alpha takes: `python -m benchmarks.alpha_rerun`, at the root of a checkout whose pipeline has run.

Runs stages aggregate and evaluate as DVC does, each in a Python of its own, imports included. Must stay within 8 s on
two cores for the demo; DVC's own start and bookkeeping come on top.
"""

import resource
import subprocess
import sys
import time

STAGES = ("aggregate", "evaluate")
LIMIT_S = 8.0


def main() -> None:
    """Time both stages, and say whether they keep the limit."""
    total = 0.0
    for stage in STAGES:
        start, before = time.perf_counter(), _children_cpu_s()
        subprocess.run([sys.executable, "-m", f"stages.{stage}"], check=True)
        wall_s = time.perf_counter() - start
        total += wall_s
        print(f"{stage:<10} {wall_s:.2f} s, of which {_children_cpu_s() - before:.2f} s on a processor")
    print(f"{'both':<10} {total:.2f} s, limit {LIMIT_S:.0f} s")
    if total > LIMIT_S:
        raise SystemExit("too slow")


def _children_cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
