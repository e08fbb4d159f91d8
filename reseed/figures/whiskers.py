"""95 % intervals as error bars; a module of its own, so that figures without scores do not depend on them."""

from typing import Any

from matplotlib.axes import Axes

from reseed.figures.style import INK
from reseed.score.bootstrap import Interval


def whiskers(ax: Axes, at: float, interval: Interval, *, horizontal: bool) -> None:
    """Draw a 95 % interval as a line with two ends; nothing where there is none.

    Args:
        ax: Axes in percent.
        at: Place on the other axis.
        interval: Fractions.
        horizontal: Whether the score runs along x.
    """
    if not interval.available:
        return
    ends = [100 * interval.low, 100 * interval.high]
    line: dict[str, Any] = {"color": INK, "linewidth": 1.4, "zorder": 3, "clip_on": False, "solid_capstyle": "butt"}
    draw = line | {"marker": "|" if horizontal else "_", "markersize": 8, "markeredgewidth": 1.4}
    if horizontal:
        ax.plot(ends, [at, at], **draw)
    else:
        ax.plot([at, at], ends, **draw)
