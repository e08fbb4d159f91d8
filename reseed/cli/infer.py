"""`python -m reseed infer`: from a folder of frames to decisions on a map (docs/field.md)."""

import argparse
import math
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Final

from reseed.base.appearance import Familiar
from reseed.base.classes import DEPLOY
from reseed.base.errors import ReseedError, SourceError
from reseed.base.parallel import usable_cores
from reseed.engines.engine import AUTO, ENGINES, Engine, open_engine
from reseed.engines.facts import familiar_in
from reseed.infer.calibration import Calibration, carried, read_calibration, require_model, require_survey
from reseed.infer.cluster import decide_on_cluster, require_dask
from reseed.infer.deciding import Outcome, Rule, asked_text, frames_text, rule_of, write_outcome
from reseed.infer.frames import ListSource, Source, WatchedFolders
from reseed.infer.geotags import Logs
from reseed.infer.gold import GoldLabels, read_gold
from reseed.infer.map_page import RENDERED_NOTICE
from reseed.infer.run_folder import (
    NOBODY,
    FrameList,
    RunIdentity,
    common_root,
    enter,
    find_frames,
    locked,
    note_training,
)
from reseed.infer.running import REFRESH_S, Progress, decide_all
from reseed.infer.shards import Job, Manifest, estimate
from reseed.infer.tables import BAD_FILE, MAP_FILE, SKIPPED_FILE, take_up
from reseed.pages.parts import read_leaflet
from reseed.score.alpha import exact, parse_alpha
from reseed.score.promise import FRAME, needed_units

EXIT_UNUSABLE: Final = 3
EXIT_INTERRUPTED: Final = 130
_STOPPED: Final = "stopped before the last frame; the same command goes on\n"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "frames",
        nargs="+",
        type=Path,
        metavar="FRAMES",
        help="folders (searched with all their subfolders), image files, or lists of paths (.txt)",
    )
    parser.add_argument(
        "--model", type=Path, required=True, metavar="MODEL", help="folder with model.pt and model.json, or .onnx file"
    )
    parser.add_argument(
        "--out",
        type=Path,
        required=True,
        metavar="DIR",
        help="new folder, or the folder of an earlier run of the same model, which then continues",
    )
    threshold = parser.add_mutually_exclusive_group()
    threshold.add_argument(
        "--alpha", metavar="A", help="threshold of the decision, 0 to 1; default: the one stored with the model"
    )
    threshold.add_argument(
        "--calibration",
        type=Path,
        metavar="FILE",
        help="calibration.json of calibrate: the threshold that keeps a promise on these frames (docs/calibrate.md)",
    )
    parser.add_argument(
        "--patch-size",
        type=int,
        metavar="P",
        help="edge of a patch in stored pixels, for a camera of another resolution (docs/field.md)",
    )
    parser.add_argument(
        "--ask",
        metavar="SHARE",
        help="ask a person about unlike frames, and about at most this share of familiar ones; or none; default: as "
        "the model says (docs/calibrate.md)",
    )
    parser.add_argument(
        "--engine", choices=ENGINES, default=AUTO, help="library that runs the network; default: %(default)s"
    )
    parser.add_argument("--device", default="cpu", metavar="D", help="cpu, cuda, mps or auto; default: %(default)s")
    parser.add_argument("--threads", type=int, metavar="N", help="cores to use; default: all")
    parser.add_argument(
        "--gold",
        type=Path,
        metavar="FILE",
        help="CSV with columns frame and label: reference decisions to show on the map",
    )
    parser.add_argument("--title", metavar="TEXT", help="title of the map; default: the name of the folder")
    watch = parser.add_argument_group("a folder that is still being written")
    watch.add_argument("--watch", action="store_true", help="wait for more frames until Ctrl-C")
    watch.add_argument(
        "--drop-late", action="store_true", help="always take the newest frame, and skip older ones that wait"
    )
    watch.add_argument("--idle-end", type=float, metavar="SECONDS", help="end when no new frame has come for this long")
    cluster = parser.add_argument_group("many frames (docs/scale.md)")
    where = cluster.add_mutually_exclusive_group()
    where.add_argument("--workers", type=int, metavar="N", help="processes of this machine, on Dask")
    where.add_argument("--scheduler", metavar="ADDRESS", help="Dask cluster: tcp://..., tls://... or a scheduler file")
    cluster.add_argument("--dry-run", action="store_true", help="say how much work it is, and decide nothing")


def run(args: argparse.Namespace) -> int:
    """Decide the frames; return 0, or 3 if some cannot be used, or 130 if stopped before the end of a list."""
    _require_fitting(args)
    gold = None if args.gold is None else read_gold(args.gold)
    read_leaflet()  # better said now than after hours
    root = common_root(args.frames)
    listed = None if args.watch else find_frames(args.frames, args.out)
    workers = _cores(args.threads, "threads")
    _cores(args.workers, "workers")
    engine = open_engine(args.model, args.engine, threads=1, device=args.device)
    calibration = _calibration(engine, args, listed)
    rule = rule_of(engine, args.model, args.alpha if calibration is None else calibration.alpha, args.patch_size)
    doubt_from = None if calibration is None else exact(float(calibration.doubt_from))
    rule = replace(rule, familiar=_familiar(engine, args), doubt_from=doubt_from)
    promise = "" if calibration is None else _promise(calibration, growing=args.watch)
    logs = Logs(root, growing=args.watch)
    if listed is not None:
        logs.check(listed.frames)
        if gold is not None:
            _look_at_gold(args.gold, gold, listed, root)
    manifest = Manifest(listed.frames) if listed is not None and (_on_cluster(args) or args.dry_run) else None
    if listed is not None and manifest is not None and args.dry_run:
        sys.stdout.write(f"{estimate(manifest, listed.frames, rule)}\n")
        return 0
    if manifest is not None:
        manifest.require_same(args.out)
    enter(args.out, _identity(rule, root, manifest))
    with locked(args.out):
        rendered = note_training(args.out, trained_on_rendered=engine.facts.trained_on_rendered)
        if rendered:
            sys.stderr.write(f"note: {RENDERED_NOTICE}\n")
        write = partial(
            write_outcome,
            args.out,
            root,
            gold,
            title=args.title or root.name,
            alpha=rule.alpha_text,
            model=_model_line(args, rule),
            trained_on_rendered=rendered,
            promise=promise,
        )
        if manifest is not None:
            source: Source = ListSource(())
            job = Job.of(rule, args.out, root, args.model, args.engine, args.device)
            progress, before = decide_on_cluster(job, manifest, workers=args.workers, scheduler=args.scheduler)
            if progress.stopped:
                sys.stdout.write(_STOPPED)
                return EXIT_INTERRUPTED
        else:
            refresh = partial(write, reload_s=round(REFRESH_S)) if args.watch else None
            progress, source, before = _decide_here(args, rule, logs, root, listed, workers, refresh)
        outcome = write()
    ignored = 0 if listed is None else listed.ignored
    unfinished, closed = (source.unfinished, source.closed) if isinstance(source, WatchedFolders) else (0, ())
    closed = closed if listed is None else listed.closed
    lines = _report(args, rule, progress, outcome, logs, ignored, before, unfinished)
    lines += [promise] * bool(promise)
    lines += [f"folder left out: {folder}" for folder in closed]
    sys.stdout.write("\n".join(lines) + "\n")
    if progress.stopped and not args.watch:
        sys.stdout.write(_STOPPED)
        return EXIT_INTERRUPTED
    return EXIT_UNUSABLE if outcome.unusable or closed else 0


def _decide_here(
    args: argparse.Namespace,
    rule: Rule,
    logs: Logs,
    root: Path,
    listed: FrameList | None,
    workers: int,
    refresh: Callable[[], object] | None,
) -> tuple[Progress, Source, int]:
    """Decide the frames in threads of this process; return what was done, the source, and how many were done before."""
    done = take_up(args.out)
    source: Source
    if listed is None:
        total = None
        source = WatchedFolders(
            args.frames, root, args.out, done, newest_first=args.drop_late, idle_end_s=args.idle_end
        )
        sys.stderr.write(f"watching {', '.join(map(str, args.frames))}; Ctrl-C ends it and writes the map\n")
    else:
        waiting = [frame for frame in listed.frames if frame.name not in done]
        total, source = len(waiting), ListSource(waiting)
    progress = decide_all(
        source, rule, logs, args.out, workers=workers, ahead=not args.drop_late, total=total, refresh=refresh
    )
    return progress, source, len(done)


def _on_cluster(args: argparse.Namespace) -> bool:
    return args.workers is not None or args.scheduler is not None


def _require_fitting(args: argparse.Namespace) -> None:
    if _on_cluster(args) and (args.watch or args.threads):
        raise ReseedError(
            "--workers and --scheduler are for frames that are all there, and a worker is one thread: leave "
            "out --watch and --threads"
        )
    if args.dry_run and args.watch:
        raise ReseedError("--dry-run is for frames that are all there: leave out --watch")
    if _on_cluster(args):
        require_dask()
    for name in ("drop_late", "idle_end"):
        if getattr(args, name) and not args.watch:
            raise ReseedError(f"--{name.replace('_', '-')} is for a folder that is still being written: add --watch")
    if args.idle_end is not None and not (0 < args.idle_end < math.inf):
        raise ReseedError(f"--idle-end is {args.idle_end}; allowed: seconds above 0")
    no_folders = [str(path) for path in args.frames if not path.is_dir()]
    if args.watch and no_folders:
        raise SourceError(f"{', '.join(no_folders)}: no such folder; --watch takes folders that are there")


def _look_at_gold(path: Path, gold: GoldLabels, listed: FrameList, root: Path) -> None:
    """Say before hours of work what is wrong with the reference: a row that may mean two frames, or none that fits."""
    if not gold.of_frames([frame.name for frame in listed.frames], root):
        sys.stderr.write(
            f"note: {path}: none of its {len(gold):,} rows is of the {frames_text(len(listed.frames))} given; a row "
            "belongs to the frame whose path ends with the text of its column frame\n"
        )


def _cores(number: int | None, option: str) -> int:
    cores = usable_cores()
    if number is not None and not 1 <= number <= cores:
        raise ReseedError(f"--{option} is {number}; allowed: 1 to {cores}, the cores of this machine")
    return number or cores


def _calibration(engine: Engine, args: argparse.Namespace, listed: FrameList | None) -> Calibration | None:
    """Return the calibration that alpha is taken from, if it is of this model, these patches and these frames."""
    if args.calibration is not None:
        found, where = read_calibration(args.calibration), str(args.calibration)
        require_model(found, where, engine.facts, args.patch_size or engine.facts.patch_size_px)
    elif args.alpha is None and (inside := carried(engine.facts, str(args.model))) is not None:
        found, where = inside, f"calibration in {args.model}"
        same = replace(engine.facts, sha256=found.model_sha256)  # it lies in the file itself
        require_model(found, where, same, args.patch_size or engine.facts.patch_size_px)
    else:
        return None
    require_survey(found, where, listed, common_root(args.frames))
    return found


def _familiar(engine: Engine, args: argparse.Namespace) -> Familiar | None:
    """Return what familiar frames look like, with the share of them that a person may be asked about."""
    if args.ask == NOBODY:
        return None
    found = familiar_in(engine.facts, str(args.model))
    if args.ask is None or found is None:
        if args.ask is not None:
            raise ReseedError(
                f"--ask: {args.model} does not know what familiar frames look like; set aggregate.ask where it is "
                "trained, run `dvc repro` and export it again"
            )
        return found
    share = Fraction(parse_alpha(args.ask, "--ask"))
    if not 0 < share < 1:
        raise ReseedError(f"--ask is {args.ask}; allowed: none, or a number above 0 and below 1")
    needed = needed_units(FRAME, share, share)
    if len(found.distances) < needed:
        raise ReseedError(
            f"--ask is {args.ask}: needs {needed} groups in train and val, the model has {len(found.distances)}; "
            "give a higher share, or none"
        )
    return replace(found, share=share)


def _promise(calibration: Calibration, *, growing: bool) -> str:
    later = " Frames that were not there when the sample was drawn are not covered." if growing else ""
    return calibration.in_words() + later


def _identity(rule: Rule, root: Path, manifest: Manifest | None) -> RunIdentity:
    facts = rule.engine.facts
    return RunIdentity(
        frames=str(root),
        model_sha256=facts.sha256,
        backbone=facts.backbone,
        patch_size_px=rule.patch_size_px,
        input_size_px=facts.input_size_px,
        resize=facts.resize,
        decode=facts.decode,
        alpha=repr(float(rule.alpha)),
        ask=NOBODY if rule.familiar is None else repr(float(rule.familiar.share)),
        doubt_from="" if rule.doubt_from is None else repr(float(rule.doubt_from)),
        manifest_sha256=None if manifest is None else manifest.sha256,
    )


def _model_line(args: argparse.Namespace, rule: Rule) -> str:
    facts = rule.engine.facts
    return (
        f"Network {facts.backbone} from {args.model.resolve().name}, sha256 {facts.sha256[:12]}, "
        f"by {rule.engine.name}; patches of {rule.patch_size_px} px seen at {facts.input_size_px} px"
        + ("" if rule.patch_size_px == facts.patch_size_px else f", trained on {facts.patch_size_px} px")
    )


def _report(
    args: argparse.Namespace,
    rule: Rule,
    progress: Progress,
    outcome: Outcome,
    logs: Logs,
    ignored: int,
    before: int,
    unfinished: int,
) -> list[str]:
    busy_s = progress.seconds - progress.waiting
    speed = progress.decided / busy_s if busy_s > 0 else 0.0
    lines = [
        f"{frames_text(progress.decided)} decided in {progress.seconds:.1f} s ({speed:.1f} frames/s), {before} before"
    ]
    lines[0] = lines[0] if before else lines[0].removesuffix(", 0 before")
    lines.append(
        f"{outcome.n_deploy} of {outcome.n_frames}: {DEPLOY} at alpha {rule.alpha_text}"
        if outcome.n_frames
        else "no frame was decided"
    )
    if outcome.asked:
        lines.append(
            f"{outcome.asked.total():,} of {outcome.n_frames}: Ask, a person should look ({asked_text(outcome.asked)})"
        )
    if outcome.n_frames and outcome.agreement is not None:
        lines += [f"gold: {said}" for said in outcome.agreement.lines()]
    if outcome.unusable:
        lines.append(
            f"{frames_text(outcome.unusable.total())} unusable ({_listed(outcome.unusable)}): {args.out / BAD_FILE}"
        )
    if unfinished:
        lines.append(f"{frames_text(unfinished)} not decided yet, or not whole yet: the same command goes on")
    if progress.skipped:
        lines.append(f"{frames_text(progress.skipped)} passed over for newer ones: {args.out / SKIPPED_FILE}")
    if outcome.unplaced:
        lines.append(f"{frames_text(outcome.unplaced)} without a position: in the tables, not on the map")
    if ignored:
        lines.append(f"ignored: {ignored} file{'' if ignored == 1 else 's'} of other kinds")
    lines += [f"log not used: {reason}" for reason in logs.remarks()]
    if outcome.thumbnails_every > 1:
        lines.append(f"map with thumbnails of one frame in {outcome.thumbnails_every}")
    return [*lines, f"map: {args.out / MAP_FILE}"]


def _listed(counts: Counter[str]) -> str:
    return ", ".join(f"{reason} {number}" for reason, number in sorted(counts.items()))
