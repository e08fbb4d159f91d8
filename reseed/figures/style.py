"""What all figures share: type sizes, the header that states the finding, the synthetic notice, exact PNG bytes."""

import functools
import io
import textwrap
from collections.abc import Callable
from typing import Any, Final, ParamSpec

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from reseed.artifacts.raw import SYNTHETIC_NOTICE
from reseed.score.bootstrap import Interval

DPI: Final = 160
MOST_PX: Final = 720  # of the width: two pictures stand side by side in `dvc plots diff`
INK: Final = "#1b1f23"
MUTED: Final = "#57606a"
FAINT: Final = "#d0d7de"
NOTICE_FILL: Final = "#ffd33d"

# Points; the smallest text is readable at the width the figure is made for (a page, about 7 inches).
TITLE_PT: Final = 13.0
TEXT_PT: Final = 9.5
SMALL_PT: Final = 9.0

_MARGIN_IN = 0.25
_NOTICE_IN = 0.32
_LINE_IN = 0.235
_SUBLINE_IN = 0.185
_CHARS_PER_IN = {TITLE_PT: 9.6, TEXT_PT: 14.4}

# Whatever shapes a picture goes back to matplotlib's defaults first, so that a user's matplotlibrc changes nothing.
_SHAPING: Final = (
    *("agg", "axes", "errorbar", "figure", "font", "grid", "hatch", "image", "legend", "lines", "mathtext", "patch"),
    *("path", "savefig", "scatter", "text", "xaxis", "xtick", "yaxis", "ytick"),
)
_RC: Final[dict[Any, Any]] = {
    **{key: value for key, value in mpl.rcParamsDefault.items() if key.split(".")[0] in _SHAPING},
    "font.family": "DejaVu Sans",  # comes with matplotlib: the same glyphs on every machine
    "font.size": TEXT_PT,
    "text.color": INK,
    "text.usetex": False,
    "text.parse_math": False,  # a site may be called $5 Reef
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "axes.labelsize": TEXT_PT,
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.unicode_minus": False,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "xtick.labelsize": SMALL_PT,
    "ytick.labelsize": SMALL_PT,
    "figure.facecolor": "white",
    "figure.dpi": DPI,
    "savefig.dpi": DPI,
    "savefig.facecolor": "white",
    "path.simplify": True,
}

P = ParamSpec("P")


def styled(draw: Callable[P, Figure]) -> Callable[P, Figure]:
    """Wrap a function that draws a figure so that it draws in the project's style, whatever the user's settings."""

    @functools.wraps(draw)
    def in_style(*args: P.args, **kwargs: P.kwargs) -> Figure:
        with mpl.rc_context(_RC):
            return draw(*args, **kwargs)

    return in_style


class Sheet:
    """A figure measured in inches, with the header every figure has: notice, title, subtitle.

    Args:
        width_in: Width of the figure.
        body_in: Height below the header.
        title: The finding, in one sentence.
        subtitle: What was measured, on what, and how to read it.
        synthetic: Whether the picture shows synthetic data; says so above the title.
    """

    def __init__(self, width_in: float, body_in: float, title: str, subtitle: str, *, synthetic: bool) -> None:
        titles = _wrap(title, width_in, TITLE_PT)
        subtitles = _wrap(subtitle, width_in, TEXT_PT)
        notice_in = _NOTICE_IN if synthetic else 0.0
        header_in = 0.22 + notice_in + _LINE_IN * len(titles) + 0.06 + _SUBLINE_IN * len(subtitles) + 0.12
        self.width_in = width_in
        self.body_in = body_in
        self.height_in = body_in + header_in
        self.figure = Figure(figsize=(self.width_in, self.height_in))
        FigureCanvasAgg(self.figure)
        below_top = 0.18
        if synthetic:
            _write_notice(self.figure, SYNTHETIC_NOTICE, below_top)
            below_top += notice_in
        self._lines(titles, below_top, _LINE_IN, fontsize=TITLE_PT, fontweight="bold")
        below_top += _LINE_IN * len(titles) + 0.06
        self._lines(subtitles, below_top, _SUBLINE_IN, fontsize=TEXT_PT, color=MUTED)

    def axes(self, left_in: float, bottom_in: float, width_in: float, height_in: float) -> Axes:
        """Return axes at a place given in inches from the lower left corner."""
        w, h = self.width_in, self.height_in
        return self.figure.add_axes((left_in / w, bottom_in / h, width_in / w, height_in / h))

    def text(self, x_in: float, y_in: float, text: str, **how: Any) -> None:
        """Write text at a place given in inches from the lower left corner."""
        self.figure.text(x_in / self.width_in, y_in / self.height_in, text, **how)

    def _lines(self, lines: list[str], below_top_in: float, line_in: float, **how: Any) -> None:
        for number, line in enumerate(lines):
            self.text(_MARGIN_IN, self.height_in - below_top_in - number * line_in, line, va="top", **how)


def _write_notice(figure: Figure, notice: str, below_top_in: float) -> None:
    width_in, height_in = figure.get_size_inches()
    figure.text(
        (_MARGIN_IN + 0.06) / width_in,
        (height_in - below_top_in - 0.03) / height_in,
        notice,
        va="top",
        fontsize=SMALL_PT,
        fontweight="bold",
        bbox={"boxstyle": "square,pad=0.35", "facecolor": NOTICE_FILL, "edgecolor": "none"},
    )


def marked(figure: Figure, notices: list[str]) -> Figure:
    """Write notices above everything in a figure, which grows for them: what is there keeps its place in inches.

    Args:
        figure: What a function of this package returned; changed.
        notices: One line each; none leaves the figure as it is.
    """
    if not notices:
        return figure
    width_in, height_in = figure.get_size_inches()
    grown_in = height_in + _NOTICE_IN * len(notices)
    shrink = height_in / grown_in
    for ax in figure.axes:
        left, bottom, width, height = ax.get_position(original=True).bounds
        ax.set_position((left, bottom * shrink, width, height * shrink))
    for text in figure.texts:
        text.set_y(text.get_position()[1] * shrink)
    figure.set_size_inches(width_in, grown_in)
    for number, notice in enumerate(notices):
        _write_notice(figure, notice, 0.18 + number * _NOTICE_IN)
    return figure


def plain_axes(ax: Axes) -> None:
    """Strip axes to a bare drawing area."""
    ax.set_xticks([])
    ax.set_yticks([])
    for spine in ax.spines.values():
        spine.set_visible(False)


def png_bytes(figure: Figure) -> bytes:
    """Return a figure as PNG; the same figure gives the same bytes: no date, no software version.

    Args:
        figure: What a function of this package returned.
    """
    buffer = io.BytesIO()
    with mpl.rc_context(_RC):
        dpi = min(DPI, MOST_PX / figure.get_figwidth())
        figure.savefig(buffer, format="png", metadata={"Software": None}, dpi=dpi)
    return buffer.getvalue()


def together(text: str) -> str:
    """Return `text` with blanks at which no title breaks: `70.8 %`, the name of a site."""
    return text.replace(" ", "\u00a0")


def score(percent: float) -> str:
    """Return a score as titles and labels show it: percent, one decimal."""
    return together(f"{percent:.1f} %")


def counted(number: int, noun: str) -> str:
    """Return a count with its noun: `1 test frame`, `448 test patches`."""
    plural = noun + ("es" if noun.endswith("ch") else "s")
    return f"{number:,} {noun if number == 1 else plural}"


def _wrap(text: str, width_in: float, size_pt: float) -> list[str]:
    """Break a text into as few lines as fit, of about equal length: no last line of one word."""
    columns = int((width_in - 2 * _MARGIN_IN) * _CHARS_PER_IN[size_pt])
    lines = textwrap.wrap(text, columns, break_on_hyphens=False)
    for narrower in range(columns - 1, max(map(len, text.split(" "))), -1):
        shorter = textwrap.wrap(text, narrower, break_on_hyphens=False)
        if len(shorter) > len(lines):
            break
        lines = shorter
    return lines


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
