"""The picture of a sweep: scores against each parameter that was swept."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from reseed.base.errors import ReseedError
from reseed.figures.style import FAINT, INK, MUTED, SMALL_PT, Sheet, styled
from reseed.score.registry import BY_FULL_KEY

_WIDTH_IN: Final = 7.2
_PANEL_IN: Final = 2.6
_INKS: Final = ("#0058a3", "#d55e00", "#6a737d", "#8250a8", "#4d8290")


@styled
def sweep_figure(sweep: Mapping[str, Any]) -> Figure:
    """Draw a panel for each parameter, a dot for each finished trial, with what is known of its spread.

    Args:
        sweep: Of `reseed.compare.sweep.Sweep.report`.

    Raises:
        ReseedError: If no parameter differs among the finished trials.
    """
    done = [trial for trial in sweep["trials"] if trial["state"] == "done"]
    keys = sweep["shown"][:3]
    names = [name for name in sweep["params"] if len({str(trial["params"][name]) for trial in done}) > 1]
    if not names:
        raise ReseedError(
            f"sweep: a picture needs finished trials that differ in a parameter, and {len(done)} of "
            f"{len(sweep['trials'])} trials are finished: wait for `dvc queue status`, or leave out --figure"
        )
    best = max(done, key=lambda trial: trial["scores"][keys[0]] or 0.0)
    label = BY_FULL_KEY[keys[0]].full_label
    setting = ", ".join(f"{name.split('.')[-1]} {best['params'][name]}" for name in names)
    title = f"{label[:1].upper()}{label[1:]} is highest, {best['scores'][keys[0]] or 0:.1f} %, with {setting}"
    subtitle = (
        f"{len(done)} finished trials. Thin lines: 95 % interval of patches, or standard deviation over trainings."
    )
    sheet = Sheet(_WIDTH_IN, _PANEL_IN * len(names) + 0.3, title, subtitle, synthetic=bool(sweep["synthetic"]))
    for number, name in enumerate(names):
        bottom = 0.35 + _PANEL_IN * (len(names) - 1 - number)
        ax = sheet.axes(0.8, bottom + 0.25, _WIDTH_IN - 3.1, _PANEL_IN - 0.75)
        _panel(ax, name, done, keys)
    return sheet.figure


def _panel(ax: Axes, name: str, done: Sequence[Mapping[str, Any]], keys: Sequence[str]) -> None:
    given = [trial["params"][name] for trial in done]
    numeric = all(isinstance(value, int | float) and not isinstance(value, bool) for value in given)
    words = list(dict.fromkeys(map(str, given)))  # trials come in the order of their values
    places = [float(value) if numeric else float(words.index(str(value))) for value in given]
    # Scores of one trial stand side by side: equal ones would hide each other.
    step = 0.02 * ((max(places) - min(places) or 1.0) if numeric else len(words))
    for number, (key, ink) in enumerate(zip(keys, _INKS, strict=False)):
        aside = step * (number - (len(keys) - 1) / 2)
        known = [(x + aside, trial) for x, trial in zip(places, done, strict=True) if trial["scores"][key] is not None]
        for x, trial in known:
            low, high = _ends(trial, key)
            ax.plot([x, x], [low, high], color=ink, linewidth=1.0, alpha=0.6)
        values = [trial["scores"][key] for _, trial in known]
        ax.scatter(
            [x for x, _ in known], values, s=40 if number == 0 else 18, color=ink, label=BY_FULL_KEY[key].full_label
        )
    if not numeric:
        ax.set_xticks(range(len(words)), [word[:14] for word in words])
        ax.set_xlim(-0.5, len(words) - 0.5)
    ax.set_ylim(0, 103)
    ax.grid(axis="y", color=FAINT, linewidth=0.6)
    ax.set_axisbelow(True)
    ax.set_xlabel(name, color=INK)
    ax.set_ylabel("percent", color=MUTED)
    ax.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False, fontsize=SMALL_PT)


def _ends(trial: Mapping[str, Any], key: str) -> tuple[float, float]:
    value, spread = trial["scores"][key], trial["spread"].get(key)
    if key == "patch.macro_f1" and trial["interval"] is not None:
        return trial["interval"][0], trial["interval"][1]
    return (value, value) if spread is None else (max(0.0, value - spread), min(100.0, value + spread))
