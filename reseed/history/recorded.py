"""What a run recorded: dvc.yaml and dvc.lock, whose every path lies inside the project, and its answers.

Also whether a table that somebody hands in comes from rendered frames: its score tells nothing about the field.
"""

import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Final

import pandas as pd

from reseed.artifacts.patches import TEST
from reseed.artifacts.raw import read_raw
from reseed.base.csv import TextTable, unguard
from reseed.base.documents import parse_yaml
from reseed.base.errors import ReseedError, SourceError, TableError
from reseed.base.files import read_json
from reseed.score.matching import FRAME_COLUMNS, Item
from reseed.sources.inventory import changed_since_pulled

if TYPE_CHECKING:
    from reseed.history.run import Run
    from reseed.score.paired import Answers

# Answers of the further trainings of a recipe.
_REPEATED: Final = {"patch": "data/predictions/repeats.csv", "frame": "data/predictions/repeat_frames.csv"}
_ABSENT: Final = object()
_MD5: Final = re.compile(r"[0-9a-f]{32}(\.dir)?")


def read_lock(value: Mapping[str, Any], where: str) -> dict[str, dict[str, Any]]:
    """Return the stages of dvc.lock.

    Args:
        value: What the file holds.
        where: Its name, for messages.

    Raises:
        ReseedError: If it is not of the known form, names a path outside the project or an odd digest, or if two
            outputs are one or one lies in another: what is recorded of it would be either.
    """
    stages = _stages(value, where)
    outputs: set[str] = set()
    for name, stage in stages.items():
        for kind in ("deps", "outs"):
            for entry in _list(stage, kind, where):
                if not isinstance(entry, dict) or "path" not in entry:
                    raise ReseedError(f"{where}: stage {name} has {kind} without a path")
                require_inside(str(entry["path"]), f"{where}, stage {name}")
                require_md5(str(entry.get("md5")), f"{entry['path']} in {where}")
        paths = [str(entry["path"]) for entry in _list(stage, "outs", where)]
        if twice := (outputs & set(paths)) or {path for path in paths if paths.count(path) > 1}:
            raise ReseedError(f"{where}: {min(twice)} is an output twice")
        outputs |= set(paths)
    for path in sorted(outputs):
        if above := outputs & set(map(str, PurePosixPath(path).parents)):
            raise ReseedError(f"{where}: output {path} lies in output {min(above)}")
    return stages


def read_pipeline(value: Mapping[str, Any], where: str) -> dict[str, dict[str, Any]]:
    """Return the stages of dvc.yaml.

    Args:
        value: What the file holds.
        where: Its name, for messages.

    Raises:
        ReseedError: If it is not of the known form, or names a path outside the project.
    """
    stages = _stages(value, where)
    for name, stage in stages.items():
        for kind in ("deps", "outs", "metrics", "plots"):
            _list(stage, kind, where)
            for path in declared(stage, kind):
                require_inside(path, f"{where}, stage {name}")
    return stages


def declared(stage: Mapping[str, Any], *kinds: str) -> set[str]:
    """Return the paths that a stage of dvc.yaml names under these keys."""
    return {PurePosixPath(name).as_posix() for name in _named(stage, kinds)}


def require_inside(path: str, where: str) -> None:
    """Check that a path, as DVC writes it, names something below the root of the project, and nothing of git or DVC.

    Raises:
        ReseedError: If it does not.
    """
    plain = PurePosixPath(path)
    odd = path.startswith(("/", "~")) or "\\" in path or ":" in path.split("/", maxsplit=1)[0] or not path.isprintable()
    if odd or not plain.parts or str(plain) != path or {"..", ".git", ".dvc"} & set(plain.parts):
        raise ReseedError(
            f"{where}: the path {path!r} does not lie inside the project; nothing is read or written there"
        )


def require_md5(digest: str, what: str) -> None:
    """Check that a digest is one, as it becomes the name of a file.

    Raises:
        ReseedError: If it is not.
    """
    if not _MD5.fullmatch(digest):
        raise ReseedError(f"{what}: {digest!r} is no md5 of 32 hex digits")


def _stages(value: Mapping[str, Any], where: str) -> dict[str, dict[str, Any]]:
    stages = value.get("stages") or {}
    if not isinstance(stages, dict) or not all(isinstance(stage, dict) for stage in stages.values()):
        raise ReseedError(f"{where}: `stages` is no mapping of stages")
    return {str(name): stage for name, stage in stages.items()}


def _list(stage: Mapping[str, Any], kind: str, where: str) -> list[Any]:
    entries = stage.get(kind) or []
    if not isinstance(entries, list):
        raise ReseedError(f"{where}: `{kind}` is no list")
    return entries


def _named(stage: Mapping[str, Any], kinds: tuple[str, ...]) -> Iterator[str]:
    for kind in kinds:
        for entry in stage.get(kind) or []:
            yield str(next(iter(entry)) if isinstance(entry, Mapping) and entry else entry)


RAW_RECORD: Final = Path("data/raw.json")
_RAW: Final = Path("data/raw")
_SYNTHETIC: Final = "synthetic"
_PLACES: Final = ("patch_id", *FRAME_COLUMNS)


def speaks_of_rendered(tables: Sequence[TextTable], items: Iterable[Item], root: Path) -> bool | None:
    """Return whether a scored frame was rendered; None where nothing tells.

    What tells: a column `synthetic`; a frame or patch id that starts with the name of a source of `data/raw.json`; a
    table that lies in the folder of such a source.

    Args:
        tables: The tables, `where` being their paths.
        items: Their scored rows.
        root: Folder of the run, where `data/raw.json` lies.
    """
    rows = [item.row for item in items]
    said = [row.cells[_SYNTHETIC] for row in rows if _SYNTHETIC in row.cells]
    if said:
        return any(value not in {"", "0"} for value in said)
    if not (root / RAW_RECORD).is_file():
        return None
    sources = _synthetic(root / RAW_RECORD)
    starts = {row.cells[name].split("/", 1)[0] for row in rows for name in _PLACES if name in row.cells}
    places = [Path(table.where).resolve() for table in tables]
    known = {
        name: rendered
        for name, rendered in sources.items()
        if name in starts or any((root / _RAW / name).resolve() in place.parents for place in places)
    }
    return any(known.values()) if known else None


def _synthetic(record: Path) -> dict[str, bool]:
    """Return whether each source was rendered; a record of another version of the project will do."""
    entries = read_json(record)
    if not isinstance(entries, list) or any(
        not isinstance(e, dict) or not {"name", "synthetic"} <= set(e) for e in entries
    ):
        raise SourceError(f"{record}: no list of sources with name and synthetic; run `dvc repro -f pull`")
    return {str(entry["name"]): bool(entry["synthetic"]) for entry in entries}


def read_answers(run: "Run") -> "Answers":
    """Return the predictions of a run on the test split, see `Run.answers`."""
    from reseed.score.paired import Answers  # noqa: PLC0415  scipy.stats, half a second that no audit needs

    patches = run.columns("data/predictions/patches.csv", ["patch_id", "frame_id", "split", "gold", "predicted"])
    frames = run.columns("data/predictions/frames.csv", ["frame_id", "split", "n_patches", "gold", "decision"])
    labelled = patches[(patches["split"] == TEST) & (patches["gold"] != "")].sort_values("patch_id")
    test = frames[frames["split"] == TEST].sort_values("frame_id")
    for table, column in ((run.splits, "group"), (run.catalog, "sha256")):
        test = test.merge(table[["frame_id", column]], how="left", on="frame_id", validate="one_to_one")
    lost = test.loc[test[["group", "sha256"]].isna().any(axis=1), "frame_id"]
    if len(lost):
        raise TableError(
            f"{run.name}: {len(lost)} predicted test frames are not in the catalog, first: {lost.iloc[0]}; its "
            "files are of different runs: run `dvc repro` there"
        )
    if labelled.empty:
        raise TableError(f"{run.name}: no test patch has a reference class, so there is nothing to compare")
    return Answers(
        run.name,
        labelled[["patch_id", "frame_id", "gold", "predicted"]].reset_index(drop=True),
        test[["frame_id", "group", "n_patches", "gold", "decision", "sha256"]].reset_index(drop=True),
    )


def read_trainings(run: "Run") -> "tuple[Answers, ...]":
    """Return the answers of every training of the recipe, see `Run.trainings`."""
    first, found = run.answers, [run.answers]
    if _REPEATED["frame"] not in run.outputs:
        return tuple(found)
    patches = run.columns(_REPEATED["patch"], ["repeat", "patch_id", "predicted"])
    frames = run.columns(_REPEATED["frame"], ["repeat", "frame_id", "decision"])
    for repeat in sorted(set(patches["repeat"]), key=int):
        predicted, decided = (
            dict(zip(rows[key], rows[answer], strict=True))
            for rows, key, answer in (
                (patches[patches["repeat"] == repeat], "patch_id", "predicted"),
                (frames[frames["repeat"] == repeat], "frame_id", "decision"),
            )
        )
        mine = replace(
            first,
            name=f"{run.name}, training {repeat}",
            patches=first.patches.assign(predicted=first.patches["patch_id"].map(predicted)),
            frames=first.frames.assign(decision=first.frames["frame_id"].map(decided)),
        )
        if mine.patches["predicted"].isna().any() or mine.frames["decision"].isna().any():
            raise TableError(f"{mine.name}: it does not answer every test item; run `dvc repro` there")
        found.append(mine)
    return tuple(found)


def read_columns(content: bytes, columns: Sequence[str], where: str) -> pd.DataFrame:
    """Return the columns of a table as text, rows in file order.

    Raises:
        TableError: If it is no table or lacks one of them.
    """
    try:
        df = pd.read_csv(io.BytesIO(content), dtype=str, keep_default_na=False, encoding="utf-8")
    except (ValueError, pd.errors.ParserError) as error:
        raise TableError(f"{where}: {error}") from error
    missing = [name for name in columns if name not in df.columns]
    if missing:
        raise TableError(f"{where}: no column {', '.join(missing)}; found: {', '.join(df.columns)}")
    return df[list(columns)].map(unguard)


def other_params(used: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """Yield every parameter whose value is no longer the one used: its key, both values, `none` where there is none.

    Args:
        used: The values that dvc.lock recorded, by their dotted keys.
        now: What params.yaml holds.
    """
    for key, value in used.items():
        found = _value(now, key)
        if found is _ABSENT or not same_value(value, found):
            yield key, value, "none" if found is _ABSENT else found


def stale_lines(folder: Path) -> list[str]:
    """Return why the scores in a workspace are not those of its parameters and sources as they are now, a line each.

    Args:
        folder: The workspace, or the folder of a run beside it.
    """
    lines = []
    lock, params = folder / "dvc.lock", folder / "params.yaml"
    if lock.is_file() and params.is_file():
        try:
            stages = read_lock(parse_yaml(lock.read_bytes(), lock.name), lock.name)
            now = parse_yaml(params.read_bytes(), params.name)
        except ReseedError as error:
            return [f"Whether the scores are those of params.yaml is not known: {error}."]
        used = [(stage.get("params") or {}).get("params.yaml") or {} for stage in stages.values()]
        changed = [f"{key} was {value}, is {other}" for each in used for key, value, other in other_params(each, now)]
        if changed:
            changed = list(dict.fromkeys(changed))
            lines.append(
                f"The parameters have changed since the scores were made ({'; '.join(changed)}): run `dvc repro`."
            )
    try:
        pulled = read_raw(folder / RAW_RECORD)
    except SourceError:  # there is none yet, or an older version wrote it
        return lines
    return lines + [
        f"Source {entry.name} has changed since the scores were made: run `dvc repro -f pull`, then `dvc repro`."
        for entry in pulled
        if changed_since_pulled(entry, folder / _RAW)
    ]


def _value(values: Any, key: str) -> Any:
    for part in key.split("."):
        if not isinstance(values, dict) or part not in values:
            return _ABSENT
        values = values[part]
    return values


def same_value(a: Any, b: Any) -> bool:
    """Whether two values are equal and of the same kind: 1 is not true, though 1 and 1.0 are one number."""
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same_value(a[key], b[key]) for key in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same_value, a, b))
    return isinstance(a, bool) == isinstance(b, bool) and bool(a == b)
