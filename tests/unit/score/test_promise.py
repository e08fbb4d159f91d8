import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom
from statsmodels.stats.multitest import multipletests

from reseed.base.errors import TableError
from reseed.score.alpha import decisions
from reseed.score.promise import (
    CONFIDENT,
    FRAME,
    MILLION,
    allowed_loss,
    alpha_of_drops,
    alpha_text,
    lowest_alpha,
    needed_units,
    shares,
)
from tests.unit.score.simulated import recall, risk, simulate

TARGET, DELTA = Fraction("0.05"), Fraction("0.1")
SURVEYS = 1000


def arrays(*frames: tuple[int, str]) -> tuple[np.ndarray, np.ndarray]:
    """Frames as their share in percent and `y`, the reference is Deploy, or `n`."""
    share = np.array([percent * MILLION // 100 for percent, _ in frames])
    return share, np.array([gold == "n" for _, gold in frames])


@given(
    st.integers(1, 60).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))),
    st.integers(0, MILLION),
)
def test_rounded_shares_decide_as_the_counts_do(counts: tuple[int, int], alpha: int) -> None:
    deploy, total = np.array([counts[0]]), np.array([counts[1]])
    assert (shares(deploy, total) > alpha) == decisions(deploy, total, Fraction(alpha, MILLION))


def test_frame_by_hand() -> None:
    # 39 frames, target 0.05: 0.05 x 40 - 1 = 1 wrong drop is allowed. Wrong if dropped: at 80, 60 and 30 %. At alpha
    # 0.6 only the frame at 80 % is wrong; just below, that at 60 % is too.
    share, wrong = arrays((80, "n"), (60, "n"), (30, "n"), *[(90, "y")] * 36)
    assert alpha_text(lowest_alpha(FRAME, share, wrong, TARGET, DELTA)) == "0.6"
    # 38 frames: 0.95 is allowed, so none.
    assert alpha_text(lowest_alpha(FRAME, share[:-1], wrong[:-1], TARGET, DELTA)) == "0.8"
    # 79 frames: 3 are allowed, and there are no more.
    more = np.concatenate([share, share[-40:], share[-4:]]), np.concatenate([wrong, wrong[-36:], np.zeros(8, bool)])
    assert lowest_alpha(FRAME, more[0][:79], more[1][:79], TARGET, DELTA) == 0


def test_frames_of_one_share_are_dropped_on_together() -> None:
    share, wrong = arrays(*[(50, "n")] * 3, *[(50, "y")] * 36)
    assert lowest_alpha(FRAME, share, wrong, TARGET, DELTA) == MILLION // 2


def test_confident_by_hand() -> None:
    # 0.95^45 = 0.0994 <= 0.1, 0.95^44 = 0.1047: 45 frames allow no wrong drop, 44 promise nothing.
    share, wrong = arrays((80, "n"), *[(90, "y")] * 44)
    assert lowest_alpha(CONFIDENT, share, wrong, TARGET, DELTA) == 800_000
    with pytest.raises(TableError, match=r"confident at 5 %: needs 45 frames with a reference decision, there are 44"):
        lowest_alpha(CONFIDENT, share[:-1], wrong[:-1], TARGET, DELTA)


@pytest.mark.parametrize("n", [45, 100, 300, 1000, 20_000])
def test_the_tail_is_that_of_scipy(n: int) -> None:
    allowed = allowed_loss(CONFIDENT, n, TARGET, DELTA)
    assert binom.cdf(allowed, n, 0.05) <= 0.1 < binom.cdf(allowed + 1, n, 0.05)


@pytest.mark.parametrize("target", ["0.5", "0.9", "0.999999", "0.001", "0.000001", "1e-18"])
def test_a_strange_target_still_says_how_many_are_needed(target: str) -> None:
    bound = Fraction(target)
    assert needed_units(FRAME, bound, DELTA) == math.ceil(1 / bound) - 1
    needed = needed_units(CONFIDENT, bound, DELTA)
    assert needed * math.log1p(-bound) == pytest.approx(math.log(0.1), abs=-math.log1p(-bound), rel=1e-9)
    share, wrong = arrays((90, "y"))
    if needed > 1:
        with pytest.raises(TableError, match=f"needs {needed} frames with a reference decision, there are 1"):
            lowest_alpha(CONFIDENT, share, wrong, bound, DELTA)
    else:
        assert lowest_alpha(CONFIDENT, share, wrong, bound, DELTA) == 0


def test_groups_count_alike_whatever_their_size() -> None:
    # Group a: 1 of 2 frames is a wrong drop above 40 %, so its loss is 1/2; 0.05 x 20 - 1 = 0 is allowed of 19 groups.
    share, wrong = arrays((40, "n"), (90, "y"), *[(90, "y")] * 18)
    groups = ["a", "a", *map(str, range(18))]
    assert lowest_alpha(FRAME, share, wrong, TARGET, DELTA, groups) == 400_000
    # Target 0.1: 0.1 x 20 - 1 = 1 is allowed.
    assert lowest_alpha(FRAME, share, wrong, Fraction("0.1"), DELTA, groups) == 0


@pytest.mark.parametrize(("promise", "needed"), [(FRAME, 19), (CONFIDENT, 65)])
def test_too_few_groups_are_never_a_number(promise: str, needed: int) -> None:
    share, wrong = arrays(*[(90, "y")] * 600)
    groups = [f"site {n % 6}" for n in range(600)]
    with pytest.raises(TableError, match=f"needs {needed} groups with a reference decision, there are 6"):
        lowest_alpha(promise, share, wrong, TARGET, DELTA, groups)
    assert needed_units(promise, TARGET, DELTA, by_group=True) == needed
    assert allowed_loss(promise, needed, TARGET, DELTA, by_group=True) >= 0
    assert allowed_loss(promise, needed - 1, TARGET, DELTA, by_group=True) < 0


def test_a_sample_of_one_frame_a_sequence_keeps_the_promise_for_sequences() -> None:
    rng, risks = np.random.default_rng(0), []
    for _ in range(400):
        survey, length = simulate(rng, 1, sites=60, frames=60), rng.integers(5, 61, 60)
        sites = rng.permutation(60)[:19]
        frames = rng.integers(length[sites])
        share, wrong = survey.share[0], survey.wrong[0]
        groups = [str(site) for site in sites]
        alpha = lowest_alpha(FRAME, share[sites, frames], wrong[sites, frames], TARGET, DELTA, groups)
        risks.append(np.mean([risk(share[site, :n], wrong[site, :n], alpha) for site, n in enumerate(length)]))
    assert np.mean(risks) <= 0.05 + 2 * np.std(risks) / np.sqrt(len(risks))
    assert np.mean(risks) > 0.02, "not kept by never dropping"


def test_drops_by_hand() -> None:
    # n = 19 labelled, No-Deploy at 50 and 20 %. Survey of 10: five at 60 %, two at 40 %, three at 10 %. Target 0.1.
    # At 60 %: p = 1/20 <= 0.1 x 5/10, kept. At 40 %: p = 2/20 > 0.1 x 7/10. Alpha is 0.5, the highest share below 60 %.
    share, wrong = arrays((50, "n"), (20, "n"), *[(70, "y")] * 17)
    survey = arrays(*[(60, "y")] * 5, *[(40, "y")] * 2, *[(10, "y")] * 3)[0]
    assert alpha_of_drops(share, wrong, survey, Fraction("0.1")) == 500_000
    # With one frame less at 60 %: 0.05 > 0.1 x 4/9, so that nothing can be dropped on.
    assert alpha_of_drops(share, wrong, survey[1:], Fraction("0.1")) == MILLION


def test_drops_is_the_procedure_of_benjamini_and_hochberg() -> None:
    rng = np.random.default_rng(5)
    for _ in range(50):
        share, survey = (shares(rng.integers(0, 29, n), np.full(n, 28)) for n in (60, 200))
        wrong = share < rng.integers(0, MILLION, 60)
        p = (1 + ((share[:, None] >= survey) & wrong[:, None]).sum(axis=0)) / 61
        chosen = multipletests(p, 0.2, method="fdr_bh")[0] & (survey > 0)  # no alpha drops on a share of 0
        assert ((survey > alpha_of_drops(share, wrong, survey, Fraction("0.2"))) == chosen).all()


@pytest.mark.parametrize(("n", "m", "message"), [(18, 5, "needs 19 frames .* there are 18"), (30, 0, "every frame")])
def test_drops_that_cannot_be_promised(n: int, m: int, message: str) -> None:
    share, wrong = arrays(*[(90, "y")] * n)
    with pytest.raises(TableError, match=message):
        alpha_of_drops(share, wrong, np.full(m, MILLION), TARGET)


@given(st.lists(st.tuples(st.integers(0, 100), st.sampled_from("yn")), min_size=45, max_size=90))
def test_promising_more_never_lowers_alpha(frames: list[tuple[int, str]]) -> None:
    share, wrong = arrays(*frames)
    by_target = [lowest_alpha(FRAME, share, wrong, Fraction(t, 100), DELTA) for t in (30, 20, 10, 5)]
    assert by_target == sorted(by_target)
    assert lowest_alpha(CONFIDENT, share, wrong, TARGET, DELTA) >= by_target[-1]


def mean_and_error(values: list[float]) -> tuple[float, float]:
    return float(np.mean(values)), float(np.std(values) / len(values) ** 0.5)


def test_promises_hold_in_simulated_surveys_of_which_a_random_sample_was_labelled() -> None:
    rng = np.random.default_rng(11)
    surveys = simulate(rng, SURVEYS)
    risks, violations, found, best, false_drops = [], [], [], [], []
    for share, wrong in zip(surveys.share.reshape(SURVEYS, -1), surveys.wrong.reshape(SURVEYS, -1), strict=True):
        order = rng.permutation(len(share))
        sample, rest = order[:100], order[100:]
        alpha = lowest_alpha(FRAME, share[sample], wrong[sample], TARGET, DELTA)
        risks.append(risk(share[rest], wrong[rest], alpha))
        found.append(recall(share[rest], wrong[rest], alpha))
        best.append(recall(share[rest], wrong[rest], lowest_alpha(FRAME, share, wrong, TARGET, DELTA)))
        confident = lowest_alpha(CONFIDENT, share[sample], wrong[sample], TARGET, DELTA)
        violations.append(float(risk(share[rest], wrong[rest], confident) > float(TARGET)))
        dropped = share[rest] > alpha_of_drops(share[sample], wrong[sample], share[rest], Fraction("0.1"))
        false_drops.append(float((dropped & wrong[rest]).sum() / max(1, dropped.sum())))
    for values, bound in ((risks, 0.05), (violations, 0.1), (false_drops, 0.1)):
        mean, error = mean_and_error(values)
        assert mean <= bound + 2 * error
    assert np.mean(risks) > 0.03  # no promise that drops on nothing
    assert np.mean(best) - np.mean(found) <= 0.03


def test_frames_of_other_sites_promise_nothing_and_the_documentation_says_so() -> None:
    surveys = simulate(np.random.default_rng(12), SURVEYS)
    above = []
    for share, wrong in zip(surveys.share, surveys.wrong, strict=True):
        alpha = lowest_alpha(CONFIDENT, share[:5].ravel(), wrong[:5].ravel(), TARGET, DELTA)
        above.append(risk(share[5], wrong[5], alpha) > float(TARGET))
    assert np.mean(above) > DELTA + 0.1
    page = " ".join((Path(__file__).parents[3] / "docs/calibrate.md").read_text().split())
    assert f"a new site was above 5 % in {100 * np.mean(above):.0f} of 100 surveys" in page


def test_risk_control_is_that_of_mapie() -> None:
    methods = pytest.importorskip(
        "mapie.risk_control.methods", reason="MAPIE, an independent implementation, is not installed"
    )
    rng = np.random.default_rng(3)
    alphas = np.arange(0, 101)
    for _ in range(20):
        share = rng.integers(0, 101, 100) * (MILLION // 100)
        wrong = rng.random(100) < 0.4
        losses = (share[:, None] > alphas * (MILLION // 100)) & wrong[:, None]
        _, bound = methods.get_r_hat_plus(losses.astype(float), alphas, "crc", None, None, None)
        first = int(np.flatnonzero(bound <= 0.1 + 1e-12)[0])
        assert lowest_alpha(FRAME, share, wrong, Fraction("0.1"), DELTA) == alphas[first] * (MILLION // 100)
