"""The run as an in-toto Statement v1 with a SLSA provenance v1 predicate: what was made, from what, by what.

Specifications: in-toto/attestation `spec/v1`, slsa.dev `spec/v1.0/provenance`. The statement is not signed: whoever
vouches for it signs it (`cosign attest-blob --statement`, `in-toto-sign`). Both exports list the files of a run as
dvc.lock recorded them (`RunFile`).
"""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Final

from reseed.audit.objects import digests, require_room
from reseed.base.errors import ReseedError
from reseed.base.parallel import ordered_map
from reseed.history.repository import MissingError
from reseed.history.run import LOCK, METRICS, RAW, Run

# Files of a run that no stage reads or writes, and that tell how to run it and what one may do with it.
BESIDE: Final = ("dvc.yaml", "dvc.lock", "params.yaml", "requirements.lock", "LICENSE", "CITATION.cff", "README.md")
_FOLDER: Final = ".dir"


@dataclass(frozen=True)
class RunFile:
    """One file or folder.

    Args:
        path: POSIX path below the root of the project.
        md5: As dvc.lock recorded it; of its content where dvc.lock does not name it.
        length_bytes: Of its content; of a folder the sum; None where nobody recorded it.
        content: Where it lies; None for a folder and where it is not stored here.
        sha256: Of its content; empty where that is not here.
        is_folder: Whether dvc.lock recorded a folder.
    """

    path: str
    md5: str
    length_bytes: int | None
    content: Path | None
    sha256: str
    is_folder: bool = False


def run_files(run: Run, folder: Path) -> dict[str, RunFile]:
    """Return every input and output that dvc.lock names, the members of folders but data/raw, and `BESIDE`, by path.

    Each content is hashed. Raw files are not: `data/raw.json` has the digest of every source, `frames.csv` of every
    frame. A folder of code counts as its files.

    Args:
        run: The run.
        folder: A new one, for the content of the files that git tracks.

    Raises:
        ReseedError: If a content is not the one that dvc.lock recorded, or is a link.
    """
    entries = [e for stage in run.lock.values() for kind in ("deps", "outs") for e in stage.get(kind) or []]
    folders: dict[str, dict[str, Any]] = {}
    plain: dict[str, tuple[str, int | None]] = {}
    for entry in entries:
        path, md5 = str(entry["path"]), str(entry["md5"])
        if not md5.endswith(_FOLDER):
            plain[path] = (md5, entry.get("size"))
            continue
        folders[path] = entry
        if path not in run.outputs:
            plain |= {name: ("", None) for name in run.tracked if name.startswith(f"{path}/")}
    for path in (folders.keys() & run.outputs.keys()) - {RAW}:
        try:
            plain |= {member: (digest, None) for member, digest in run.members(path)}
        except MissingError:
            continue  # described by its own digest alone
    plain |= {path: ("", None) for path in BESIDE if path not in plain and path in run.tracked}
    own = [path for path in plain if path in run.tracked]
    folder.mkdir(exist_ok=True)
    require_room(folder, sum(run.tracked[path].length_bytes for path in own), "the files that git tracks")

    def described(item: tuple[str, tuple[str, int | None]]) -> RunFile:
        path, (md5, length_bytes) = item
        content = run.object(md5) if path not in run.tracked else folder / path
        if content is None:
            return RunFile(path, md5, length_bytes, None, "")
        if path in run.tracked:
            content.parent.mkdir(parents=True, exist_ok=True)
            content.write_bytes(run.source(path))
        found, sha256 = digests(content)
        if md5 not in {"", found}:
            raise ReseedError(f"{path} of {run.name} is {found}, dvc.lock recorded {md5}; `audit` tells more")
        return RunFile(path, found, content.stat().st_size, content, sha256)

    done = ordered_map(described, list(plain.items()), total=len(plain), unit="file", what="hash")
    files = {file.path: file for file in done}
    files |= {
        path: RunFile(path, str(entry["md5"]), entry.get("size"), None, "", is_folder=True)
        for path, entry in folders.items()
    }
    return dict(sorted(files.items()))


def git_blob(content: Path) -> str:
    """Return the id that git gives a file with this content, 40 hex digits."""
    data = content.read_bytes()
    return hashlib.sha1(b"blob %d\0%b" % (len(data), data), usedforsecurity=False).hexdigest()


STATEMENT_TYPE: Final = "https://in-toto.io/Statement/v1"
PREDICATE_TYPE: Final = "https://slsa.dev/provenance/v1"
# How the parameters and dependencies are to be read: a DVC pipeline, run by `dvc repro`, see docs/audit.md.
BUILD_TYPE: Final = "https://dvc.org/doc/command-reference/repro"
# A machine that nobody vouches for ran it: no more than SLSA Build level 1.
BUILDER: Final = "https://dvc.org/"
_MODEL: Final = "models/"
_METRICS: Final = "metrics/"


def provenance(run: Run, files: Mapping[str, RunFile], sources: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the statement, ready for JSON.

    Args:
        run: The run.
        files: What it read and wrote, see `run_files`.
        sources: Of the data statement.

    Raises:
        ReseedError: If the model or a metrics file is not stored here: a subject needs its sha256.
    """
    synthetic = any(source["synthetic"] for source in sources)
    card = run.mapping("models/model.json")
    return {
        "_type": STATEMENT_TYPE,
        "subject": [_subject(run, files[path], synthetic=synthetic) for path in _subjects(run)],
        "predicateType": PREDICATE_TYPE,
        "predicate": {
            "buildDefinition": {
                "buildType": BUILD_TYPE,
                "externalParameters": {"pipeline": "dvc.yaml", "params": run.params},
                "internalParameters": {key: card.get(key) for key in ("device", "versions")},
                "resolvedDependencies": list(_dependencies(run, files, sources)),
            },
            "runDetails": {
                "builder": {"id": BUILDER, "version": {"dvc": dvc_version(run)}},
                "metadata": {"invocationId": files[LOCK].sha256},
                "byproducts": [_descriptor(files[LOCK])],
            },
        },
    }


def dvc_version(run: Run) -> str:
    """Return the version of DVC that requirements.lock pins at this state; `unknown` without one."""
    lock = run.source("requirements.lock") if run.has("requirements.lock") else b""
    lines = lock.decode("utf-8", "replace").splitlines()
    return next((line.removeprefix("dvc==") for line in lines if line.startswith("dvc==")), "unknown")


def _subjects(run: Run) -> list[str]:
    """Return the paths of the scores and of the model, the headline first."""
    found = sorted(path for path in run.outputs if path.startswith((_METRICS, _MODEL)))
    return [METRICS, *(path for path in found if path != METRICS)]


def _subject(run: Run, file: RunFile, *, synthetic: bool) -> dict[str, Any]:
    if not file.sha256:
        raise ReseedError(
            f"{file.path} of {run.name}: its object is not here, and a statement needs its sha256; `--fetch` or "
            "`dvc pull` gets it"
        )
    descriptor = _descriptor(file)
    return descriptor | {"annotations": {"synthetic": synthetic}} if file.path.startswith(_METRICS) else descriptor


def _dependencies(run: Run, files: Mapping[str, RunFile], sources: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the commit, each source, the weights that training started from, and every file that a stage read."""
    if run.commit:
        yield {"name": "commit", "digest": {"gitCommit": run.commit}}
    yield from map(_source, sources)
    weights = run.mapping("data/pretrained/weights.json")
    if weights.get("sha256"):
        facts = {key: weights.get(key) for key in ("backbone", "weights", "file")}
        yield {"name": "pretrained weights", "digest": {"sha256": weights["sha256"]}, "annotations": facts}
    if converted := run.mapping("models/model.json").get("converted"):
        network = {"name": "imported network", "digest": {"sha256": converted["sha256"]}}
        yield network | {"annotations": {"file": converted["file"]}}
    read = {str(dep["path"]) for stage in run.lock.values() for dep in stage.get("deps") or []}
    inside = {path for path in files if path in run.tracked and read & set(map(str, PurePosixPath(path).parents))}
    named = (read | inside | {"dvc.yaml", "params.yaml"}) & files.keys()
    for path in sorted(path for path in named - run.outputs.keys() if not files[path].is_folder):
        content = files[path].content
        descriptor = _descriptor(files[path])
        if content is not None:
            descriptor["digest"]["gitBlob"] = git_blob(content)
        yield descriptor


def _source(source: Mapping[str, Any]) -> dict[str, Any]:
    """Return a source; its digest is that of the one file it came as, or of the folder as in `dirHash`."""
    kind = "sha256" if source["kind"] in {"archive", "url"} else "dirHash"
    kept = ("kind", "release", "licence", "citation", "pinned", "synthetic", "files", "bytes")
    uri = str(source["uri"])
    described: dict[str, Any] = {"name": f"data/raw/{source['name']}", "digest": {kind: source["sha256"]}}
    if "://" in uri:
        described["uri"] = uri
    said = {key: source.get(key) for key in kept} | ({"path": uri} if uri and "://" not in uri else {})
    return described | {"annotations": said}


def _descriptor(file: RunFile) -> dict[str, Any]:
    return {"name": file.path, "digest": ({"sha256": file.sha256} if file.sha256 else {}) | {"md5": file.md5}}
