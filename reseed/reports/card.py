"""The model card, under the headings of Mitchell et al. 2019 (doi:10.1145/3287560.3287596)."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from reseed.artifacts.raw import SYNTHETIC_NOTICE, WEAK_NOTICE
from reseed.artifacts.splits import TEST, TRAIN, VAL
from reseed.base.classes import CLASSES, DECISIONS
from reseed.history.run import Run
from reseed.reports.page import MOST_ROWS, NONE, Page, code, percent, words
from reseed.score.percent import NOT_AVAILABLE, class_key
from reseed.score.registry import FRAME, PATCH

WHAT: Final = (
    "A network calls each patch of a downward camera frame No-Deploy, Coral or Deploy; the frame is Deploy where the "
    "share of Deploy patches is above alpha. Method: Raine et al. 2025 (arXiv:2509.01019). Code: reseed, Apache-2.0."
)
RECORDED: Final = "All parameters stand in `params.yaml`, the digest of every input in `dvc.lock` of that revision."
USES: Final = (
    (
        "For: deciding, under the eyes of people who know the reef, where a vessel drops coral reseeding devices; and"
        " for comparing such classifiers."
    ),
    "Users: reef restoration and marine robotics teams.",
    (
        "Not for: another camera, height or reef than those below without scoring it there first; measuring coral "
        "cover or its change (the cover of a frame is a by-product); navigation; any use that no person can stop."
    ),
)
FACTORS: Final = (
    "Light, water and seabed differ from site to site, with depth, distance to the seabed, haze and the colour of the"
    " water. Evaluated: test sites {sites}, and quarters of the test frames by depth, altitude, contrast and blue-red"
    " ratio (`metrics/by_condition.csv`). Not evaluated: other cameras, other seasons, night."
)
METRICS: Final = (
    "Patch macro F1 leads: the plain mean of the F1 of the three classes, so that failure on the rare one shows. "
    "Frame scores judge the decisions: of the frames where a device would be dropped, how many deserve it "
    "(precision), and of those that deserve it, how many get one (recall). 95 % intervals: cluster bootstrap over "
    "whole groups of the split."
)
CEILING: Final = "Annotator {name}, scored like the network on {n:,} of these {items}: macro F1 {score}."
CEILING_MEANS: Final = "No score means much above what people agree on."
ETHICS: Final = (
    "A wrong Deploy drops a device on sand, algae or living coral: it wastes what was bred for it and can harm what "
    "lives there. A missed Deploy leaves a place without help. The two cost differently; `evaluate.cost_false_deploy`"
    " and `evaluate.cost_missed_deploy` say how much, and people who answer for the reef set them. Frames carry "
    "positions: those of rare or protected places may not be for everybody."
)
INTERVAL_LIMIT: Final = (
    "An interval speaks of other groups of the same kind: of no other kind of reef, no other camera and no other "
    "training run."
)
BEFORE_USE: Final = (
    "Before use elsewhere: label frames of that place by people, score them as a test split, choose alpha on others, "
    "and look at the surest mistakes (`plots/figures/`)."
)


_PATCH_SCORES: Final = {
    "macro_f1": "patch macro F1",
    "accuracy": "patch accuracy",
    **{f"{class_key(name)}_f1": f"patch F1 {name}" for name in CLASSES},
}
_FRAME_SCORES: Final = {
    "macro_f1": "frame macro F1",
    "accuracy": "frame accuracy",
    "deploy_precision": "frame Deploy precision",
    "deploy_recall": "frame Deploy recall",
    "deploy_f1": "frame Deploy F1",
}


@dataclass(frozen=True)
class Card:
    """What a card is made of.

    Args:
        record: The result.
        model: `models/model.json`; empty where it is not stored here.
        statement: The data statement; empty where it cannot be given.
        missing: Why it cannot; empty if it can.
    """

    record: Run
    model: Mapping[str, Any]
    statement: Mapping[str, Any]
    missing: str


def card_page(card: Card) -> str:
    """Return the card as Markdown; the same result gives the same bytes."""
    page = Page()
    page.title("Model card: may a coral device be dropped here?", 1)
    record = card.record
    page.say(
        f"Revision: {words(str(record.revision))}" if record.revision.commit else "Of the workspace, not committed"
    )
    page.warn(
        [f"**{SYNTHETIC_NOTICE}**: every score below is of rendered frames."] * record.synthetic
        + [f"**{WEAK_NOTICE}.**"] * record.weak
    )
    for heading, write in _SECTIONS.items():
        page.title(heading, 2)
        write(page, card)
    return page.text()


def _details(page: Page, card: Card) -> None:
    model, params = card.model, card.record.params.get("train") or {}
    page.say(WHAT)
    height_px, width_px = model.get("input_px") or (NONE, NONE)
    page.table(
        ("", "value"),
        [
            ["network", code(str(model.get("backbone") or params.get("backbone")))],
            ["sha256 of `models/model.pt`", code(str(model["sha256"])) if "sha256" in model else NONE],
            ["input", f"{width_px} x {height_px} px RGB"],
            ["patch", _patch_row(model, card.record.params)],
            ["start weights", code(str((model.get("pretrained") or params).get("weights")))],
            ["loss, sampler", f"{code(str(params.get('loss')))}, {code(str(params.get('sampler')))}"],
            ["best epoch", str(model.get("best_epoch", NONE))],
            ["seed, device, threads", ", ".join(str(model.get(key, NONE)) for key in ("seed", "device", "threads"))],
            ["versions", words(", ".join(f"{k} {v}" for k, v in (model.get("versions") or {}).items())) or NONE],
            ["revision", code(card.record.revision.commit or "workspace, not committed")],
        ],
        numbers=False,
    )
    page.say(RECORDED)


def _patch_row(model: Mapping[str, Any], params: Mapping[str, Any]) -> str:
    """Return what a patch was: its edge on the stored frame and for the network, and how one became the other."""
    cut = model.get("geometry") or {}
    asked = params.get("extract") or {}
    edges = [cut.get(f"{name}_px", asked.get(name, NONE)) for name in ("patch_size", "input_size")]
    rules = [f"{name}: {words(str(cut.get(name, NONE)))}" for name in ("resize", "decode")]
    return "; ".join([f"{edges[0]} stored px to an edge (target), shown to the network as {edges[1]} px", *rules])


def _use(page: Page, card: Card) -> None:
    del card
    page.items(USES, MOST_ROWS)


def _factors(page: Page, card: Card) -> None:
    sites = ", ".join(code(str(site)) for site in card.record.sites["site"][:MOST_ROWS])
    page.say(FACTORS.format(sites=sites or NONE))


def _metrics(page: Page, card: Card) -> None:
    frame = card.record.metrics[FRAME]
    how = (
        "chosen on validation frames"
        if (card.record.params.get("aggregate") or {}).get("alpha") == "auto"
        else "set by hand"
    )
    page.say(METRICS)
    page.say(f"Decision threshold: alpha {frame.get('alpha', NONE)}, {how}.")


def _evaluation_data(page: Page, card: Card) -> None:
    _counts(page, card, [TEST])


def _training_data(page: Page, card: Card) -> None:
    _counts(page, card, [TRAIN, VAL])
    statement = card.statement
    if statement:
        page.table(
            ("source", "kind", "licence", "sha256", "pinned"),
            [
                [
                    code(str(source["name"])),
                    words(str(source["kind"])),
                    words(str(source["licence"])),
                    code(str(source["sha256"])),
                    "yes" if source["pinned"] else "no",
                ]
                for source in statement["sources"]
            ],
            numbers=False,
        )
        page.say(f"Labels of annotator {code(str(statement['annotator']))}. {_left_out(statement['quarantined'])}")


def _left_out(quarantined: Mapping[str, Mapping[str, int]]) -> str:
    reasons = Counter(
        {f"{n:,} {kind} ({reason})": n for kind, found in quarantined.items() for reason, n in found.items()}
    )
    return (
        f"Left out as unusable: {words(', '.join(sorted(reasons)))}."
        if reasons
        else "Nothing was left out as unusable."
    )


def _counts(page: Page, card: Card, splits: Iterable[str]) -> None:
    """Add how many patches and frames of each class the splits have, by site."""
    if not card.statement:
        page.say(f"No data statement: {words(card.missing)}.")
        return
    rows = []
    for split in splits:
        found = [row for row in card.statement["patches"] if row["split"] == split]
        frames = [row for row in card.statement["frames"] if row["split"] == split]
        for site in sorted({row["site"] for row in (*found, *frames)}):
            by_class = {row["class"]: row["n"] for row in found if row["site"] == site}
            decided = {row["class"]: row["n"] for row in frames if row["site"] == site}
            rows.append(
                [
                    f"{split} {code(site)}",
                    f"{sum(decided.values()):,}",
                    f"{decided.get(DECISIONS[1], 0):,}",
                    *(f"{by_class.get(name, 0):,}" for name in CLASSES),
                    f"{sum(by_class.values()) - sum(by_class.get(name, 0) for name in CLASSES):,}",
                ]
            )
    header = ("split, site", "frames", "of them Deploy", *(f"{name} patches" for name in CLASSES), "unlabelled patches")
    page.table(header, rows[: 2 * MOST_ROWS])
    if len(rows) > 2 * MOST_ROWS:
        page.say(f"… and {len(rows) - 2 * MOST_ROWS:,} more sites (`python -m reseed audit`).")


def _analyses(page: Page, card: Card) -> None:
    record = card.record
    rows = []
    for task, names in ((PATCH, _PATCH_SCORES), (FRAME, _FRAME_SCORES)):
        found = record.details[task][TEST].get("intervals")
        for name, shown in names.items():
            interval = found.get(name) if isinstance(found, dict) else None
            known = isinstance(interval, dict) and "reason" not in interval
            text = f"{interval['low']:.1f} to {interval['high']:.1f}" if known and interval else NONE
            rows.append([shown, percent(record.metrics[task][name]), text, f"{record.metrics[task]['n']:,}"])
    page.table(("test score", "", "95 % interval", "items"), rows)
    verdicts = ((record.details.get("baselines") or {}).get("verdict") or {}).values()
    page.items([words(str(verdict)) for verdict in verdicts], MOST_ROWS)
    page.table(
        ("test site", "labelled patches", "patch macro F1", "frame accuracy"),
        [
            [
                code(row["site"]),
                f"{row['n_patches']:,.0f}",
                *(_score(row[key]) for key in ("macro_f1", "frame_accuracy")),
            ]
            for row in record.sites[:MOST_ROWS].to_dict("records")
        ],
    )
    ceiling = record.details.get("human_ceiling")
    people = [
        CEILING.format(
            name=code(str(entry["annotator"])), n=entry["n"], items=items, score=percent(entry["human"]["macro_f1"])
        )
        for task, items in ((PATCH, "patches"), (FRAME, "frames"))
        for entry in (ceiling.get(task, []) if isinstance(ceiling, dict) else [])
    ]
    page.items(people, MOST_ROWS)
    if people:
        page.say(CEILING_MEANS)


def _ethics(page: Page, card: Card) -> None:
    del card
    page.say(ETHICS)


def _caveats(page: Page, card: Card) -> None:
    page.items(_limits(card), MOST_ROWS)


def _limits(card: Card) -> list[str]:
    record = card.record
    limits = ["Rendered frames: no score here says anything of a field."] * record.synthetic
    limits += [
        f"{task} scores have no interval: {words(found.removeprefix('n/a: '))}."
        for task in (PATCH, FRAME)
        if isinstance(found := record.details[task][TEST].get("intervals"), str)
    ]
    limits.append(INTERVAL_LIMIT)
    limits += ["No frame has a reference decision, so the decisions are not scored."] * (
        record.metrics[FRAME]["n"] == 0
    )
    limits += [words(_capital(str(note))) + "." for note in card.statement.get("notes") or []]
    limits.append(BEFORE_USE)
    return limits


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _score(value: Any) -> str:
    return NOT_AVAILABLE if value != value else percent(float(value))  # noqa: PLR0124 - NaN


_SECTIONS: Final = {
    "Model details": _details,
    "Intended use": _use,
    "Factors": _factors,
    "Metrics": _metrics,
    "Evaluation data": _evaluation_data,
    "Training data": _training_data,
    "Quantitative analyses": _analyses,
    "Ethical considerations": _ethics,
    "Caveats and recommendations": _caveats,
}
