"""Draw docs/calibrate.png: wrong drops in simulated surveys, alpha from the survey itself and from other sites.

python -m benchmarks.promise [FILE.png]
"""

import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from reseed.score.promise import CONFIDENT, lowest_alpha
from tests.unit.score.simulated import risk, simulate

_SURVEYS = 1000
_TARGET, _DELTA = Fraction("0.05"), Fraction("0.1")


def main() -> None:
    """Simulate and draw."""
    out = Path(sys.argv[1] if len(sys.argv) > 1 else "docs/calibrate.png")
    rng = np.random.default_rng(12)
    surveys = simulate(rng, _SURVEYS)
    own, other = [], []
    for share, wrong in zip(surveys.share, surveys.wrong, strict=True):
        order = rng.permutation(share.size)
        sample, rest = order[:100], order[100:]
        alpha = lowest_alpha(CONFIDENT, share.ravel()[sample], wrong.ravel()[sample], _TARGET, _DELTA)
        own.append(100 * risk(share.ravel()[rest], wrong.ravel()[rest], alpha))
        alpha = lowest_alpha(CONFIDENT, share[:5].ravel(), wrong[:5].ravel(), _TARGET, _DELTA)
        other.append(100 * risk(share[5], wrong[5], alpha))
    figure = Figure(figsize=(8, 3), layout="constrained")
    axes = figure.subplots(1, 2, sharex=True, sharey=True)
    for axis, values, title in zip(
        axes, (own, other), ("100 random frames of the survey itself", "1,000 frames of five other sites"), strict=True
    ):
        axis.hist(values, bins=np.arange(0, 31), color="#4477aa")
        axis.axvline(5, color="#cc3311", linestyle="--")
        above = np.mean(np.array(values) > 5)
        axis.set_title(f"{title}\nmean {np.mean(values):.1f} %, above 5 % in {above:.0%}", fontsize=9)
        axis.set_xlabel("frames dropped on wrongly, percent")
    axes[0].set_ylabel("simulated surveys")
    figure.savefig(out, dpi=110, metadata={"Software": None})


if __name__ == "__main__":
    main()
