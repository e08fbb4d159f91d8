"""How long the intervals of a large survey take: `python -m benchmarks.bootstrap_speed`.

30,000 patches in frames of 28, every frame a cluster of its own: the most clusters there can be on a 7 x 4 grid. All
scores of the report come from the same 10,000 resamples. Must stay within 5 s on two cores.
"""

import time

import numpy as np

from reseed.score.bootstrap import cluster_counts, intervals, paired_differences
from reseed.score.registry import SCORES

PATCHES, PER_FRAME, RESAMPLES = 30_000, 28, 10_000
LIMIT_S = 5.0


def main() -> None:
    """Time single and paired intervals, and say whether they keep the limit."""
    rng = np.random.default_rng(0)
    clusters = np.array([f"frame {index // PER_FRAME:05d}" for index in range(PATCHES)])
    gold = rng.choice(3, size=PATCHES, p=[0.55, 0.3, 0.15])
    answers = [np.where(rng.random(PATCHES) < skill, gold, rng.integers(0, 3, PATCHES)) for skill in (0.75, 0.7)]
    start = time.perf_counter()
    first = cluster_counts(clusters, gold, answers[0], 3)
    found = intervals(first, SCORES["patch"], RESAMPLES, seed=0)
    single_s = time.perf_counter() - start
    start = time.perf_counter()
    second = cluster_counts(clusters, gold, answers[1], 3)
    paired_differences(first, second, SCORES["patch"], RESAMPLES, seed=0)
    paired_s = time.perf_counter() - start
    shown = found["macro_f1"]
    print(f"{PATCHES:,} patches in {len(first):,} clusters, {RESAMPLES:,} resamples, {len(SCORES['patch'])} scores")
    print(f"  intervals {single_s:.2f} s   paired difference {paired_s:.2f} s   limit {LIMIT_S:.0f} s each")
    print(f"  macro F1 {100 * shown.low:.2f} to {100 * shown.high:.2f} %")
    if max(single_s, paired_s) > LIMIT_S:
        raise SystemExit("too slow")


if __name__ == "__main__":
    main()
