"""Does a 95 % interval hold the truth 95 % of the time? `python -m benchmarks.interval_coverage [--draws N]`.

A population of 20,000 sites is drawn, each with its own mix of classes, its own difficulty, 112 labelled patches and 4
labelled frames. A survey is G of its sites; its intervals hold the population's score, or not. Counted over many
surveys, 92 to 98 % of the intervals must hold it.

Beside patch macro F1 stands what the plain percentile interval reaches, which needs far more sites, and how often p of
the paired difference of two equally good networks falls below 5 %. Scores of few frames jump: where a survey has 20
frames, nearly all right, no interval can be exact, and ours errs on the wide side.
"""

import argparse
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from reseed.score.bootstrap import Score, intervals, paired_differences, resampled_sums
from reseed.score.confusion import macro_f1
from reseed.score.registry import SCORES

SITES, PATCHES, FRAMES, RESAMPLES = 20_000, 112, 4, 2_000
SURVEYS = (5, 6, 8, 10, 15, 20, 40, 100)
ASKED: Mapping[str, tuple[str, ...]] = {
    "patch": ("macro_f1", "accuracy", "deploy_f1"),
    "frame": ("macro_f1", "accuracy"),
}


def main() -> None:
    """Print coverage by number of sites."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=2000, help="surveys simulated for each number of sites")
    draws = parser.parse_args().draws
    rng = np.random.default_rng(0)
    first, second, frames = population(rng)
    noise = 100 * 1.96 * np.sqrt(0.95 * 0.05 / draws)
    print(f"Coverage of nominal 95 % intervals, percent of {draws} surveys (+- {noise:.1f} by chance)")
    names = [f"{task} {name}" for task, scores in ASKED.items() for name in scores]
    print(" sites  " + "  ".join(f"{name:>15}" for name in names) + "  plain patch macro_f1  p < 5 % by chance")
    for n_sites in SURVEYS:
        held = coverage(rng, {"patch": first, "frame": frames}, n_sites, draws)
        plain, alarms = beside(rng, first, second, n_sites, draws)
        row = "  ".join(f"{100 * held[name]:15.1f}" for name in names)
        print(f"{n_sites:6}  {row}  {100 * plain:20.1f}  {100 * alarms:17.1f}", flush=True)


def population(rng: np.random.Generator) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return the patch confusion of every site under two networks of the same skill, and that of its frames."""
    mix = rng.dirichlet([5.0, 3.0, 1.5], size=SITES)
    support = rng.multinomial(PATCHES, mix)
    skill = np.clip(rng.normal(0.75, 0.08, size=SITES), 0.3, 0.98)  # one difficulty for both: the site's
    answers = confusion_chances(skill, 3)
    deploy = rng.binomial(FRAMES, rng.beta(2, 3, SITES))
    frames = rng.multinomial(np.stack([FRAMES - deploy, deploy], axis=1), confusion_chances(skill, 2))
    return rng.multinomial(support, answers), rng.multinomial(support, answers), frames


def confusion_chances(skill: NDArray[np.float64], n_classes: int) -> NDArray[np.float64]:
    """Return (SITES, K, K) chances of each answer: `skill` of the right one, the rest spread evenly."""
    right = np.eye(n_classes)
    return right * skill[:, None, None] + (1 - right) * (1 - skill[:, None, None]) / (n_classes - 1)


def coverage(
    rng: np.random.Generator, tables: Mapping[str, NDArray[np.int64]], n_sites: int, draws: int
) -> dict[str, float]:
    """Return the share of surveys whose interval holds the score of the population, of those that have one."""
    held: dict[str, list[bool]] = {f"{task} {name}": [] for task, scores in ASKED.items() for name in scores}
    for task, table in tables.items():
        scores: dict[str, Score] = {name: SCORES[task][name] for name in ASKED[task]}
        truth = {name: float(score(table.sum(axis=0)[None])[0]) for name, score in scores.items()}
        for seed in range(draws):
            sites = rng.integers(0, SITES, n_sites)
            for name, interval in intervals(table[sites], scores, RESAMPLES, seed).items():
                if interval.available:
                    held[f"{task} {name}"].append(interval.low <= truth[name] <= interval.high)
    return {name: float(np.mean(values)) for name, values in held.items()}


def beside(
    rng: np.random.Generator, first: NDArray[np.int64], second: NDArray[np.int64], n_sites: int, draws: int
) -> tuple[float, float]:
    """Return the coverage of plain percentile intervals, and how often p calls equal networks different."""
    truth, plain, alarms = float(macro_f1(first.sum(axis=0))), 0, 0
    for seed in range(draws):
        sites = rng.integers(0, SITES, n_sites)
        low, high = np.quantile(macro_f1(resampled_sums(first[sites], RESAMPLES, seed)), [0.025, 0.975])
        plain += low <= truth <= high
        found = paired_differences(first[sites], second[sites], {"macro F1": macro_f1}, RESAMPLES, seed)
        alarms += found["macro F1"].p < 0.05
    return plain / draws, alarms / draws


if __name__ == "__main__":
    main()
