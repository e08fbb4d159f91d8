"""Does a 95 % interval hold the truth 95 % of the time? `python -m benchmarks.interval_coverage [--draws N]`.

A population of 20,000 sites is drawn, each with its own mix of classes, its own difficulty and 112 patches (4 frames).
A survey is G of its sites; its intervals hold the population's score, or not. Counted over many surveys, 92 to 98 % of
the intervals must hold it. Beside it the plain percentile interval, which needs far more sites to do so: it is why the
project widens it (reseed/evaluate/bootstrap.py).

The same for the paired difference of two networks that are equally good in the population: how often p falls below 5 %.
"""

import argparse
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from reseed.evaluate.bootstrap import Score, intervals, paired_differences, resampled_sums
from reseed.evaluate.confusion import accuracy, class_scores, macro_f1

SITES, PATCHES, RESAMPLES = 20_000, 112, 2_000
SURVEYS = (5, 6, 8, 10, 15, 20, 40, 100)
SCORES: Mapping[str, Score] = {
    "macro F1": macro_f1,
    "accuracy": accuracy,
    "Deploy F1": lambda counts: class_scores(counts).f1[..., 2],
}


def main() -> None:
    """Print coverage by number of sites."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=2000, help="surveys simulated for each number of sites")
    draws = parser.parse_args().draws
    rng = np.random.default_rng(0)
    first, second = population(rng)
    truth = {name: float(score(first.sum(axis=0)[None])[0]) for name, score in SCORES.items()}
    noise = 100 * 1.96 * np.sqrt(0.95 * 0.05 / draws)
    print(f"Coverage of nominal 95 % intervals, percent of {draws} surveys (+- {noise:.1f} by chance)")
    print(
        f"{'sites':>6}  " + "  ".join(f"{name:>9}" for name in SCORES) + "   plain macro F1   false alarms of p < 5 %"
    )
    for n_sites in SURVEYS:
        held, plain, alarms = coverage(rng, first, second, truth, n_sites, draws)
        row = "  ".join(f"{100 * value:9.1f}" for value in held.values())
        print(f"{n_sites:6}  {row}   {100 * plain:14.1f}   {100 * alarms:23.1f}", flush=True)


def population(rng: np.random.Generator) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the confusion counts of every site under two networks of the same skill, each (SITES, 3, 3)."""
    mix = rng.dirichlet([5.0, 3.0, 1.5], size=SITES)
    support = rng.multinomial(PATCHES, mix)
    skill = np.clip(rng.normal(0.75, 0.08, size=SITES), 0.3, 0.98)  # one difficulty for both: the site's
    answers = np.eye(3) * skill[:, None, None] + (1 - np.eye(3)) * (1 - skill[:, None, None]) / 2
    return rng.multinomial(support, answers), rng.multinomial(support, answers)


def coverage(
    rng: np.random.Generator,
    first: NDArray[np.int64],
    second: NDArray[np.int64],
    truth: Mapping[str, float],
    n_sites: int,
    draws: int,
) -> tuple[dict[str, float], float, float]:
    """Return the share of surveys whose interval holds the truth, by score; plain percentile; and false alarms."""
    held, plain, alarms = dict.fromkeys(SCORES, 0), 0, 0
    for seed in range(draws):
        sites = rng.integers(0, SITES, n_sites)
        for name, interval in intervals(first[sites], SCORES, RESAMPLES, seed).items():
            held[name] += interval.low <= truth[name] <= interval.high
        low, high = np.quantile(macro_f1(resampled_sums(first[sites], RESAMPLES, seed)), [0.025, 0.975])
        plain += low <= truth["macro F1"] <= high
        found = paired_differences(first[sites], second[sites], {"macro F1": macro_f1}, RESAMPLES, seed)
        alarms += found["macro F1"].p < 0.05
    return {name: count / draws for name, count in held.items()}, plain / draws, alarms / draws


if __name__ == "__main__":
    main()
