"""Writing one run as a Workflow Run RO-Crate, and reading it back to see that it says what was meant.

Both exports of an audited run, the crate and the in-toto statement, are written here.
"""

import json
from collections.abc import Iterable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from reseed.audit.export_attestation import RunFile, provenance, run_files
from reseed.audit.export_entities import PROFILES, ROOT, CrateRun, Entity, run_entities
from reseed.audit.objects import digests
from reseed.audit.trusted import Check
from reseed.base.errors import ReseedError
from reseed.base.files import new_folder, write_json
from reseed.history.run import Run

# Of the profiles in version 0.5; the second brings `md5` and `sha256`.
VERSION: Final = "1.1"
CONTEXT: Final = "https://w3id.org/ro/terms/workflow-run/context"
METADATA: Final = "ro-crate-metadata.json"
_BUILD_INSTRUCTIONS: Final = "https://codemeta.github.io/terms/buildInstructions"


def require_crate_target(folder: Path) -> None:
    """Check that a crate can be written to `folder`.

    Raises:
        ReseedError: If the library is not installed, or `folder` is a file or a folder with something in it.
    """
    _library()
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ReseedError(f"--crate {folder}: exists and is not an empty folder; name a new one")


def write_crate(run: CrateRun, folder: Path) -> int:
    """Write the crate to a new folder, read it back, compare every entity and file; return how many entities it has.

    Raises:
        ReseedError: See `require_crate_target`; or if what was read back is not what was meant.
    """
    require_crate_target(folder)
    entities, files = run_entities(run), run.carried
    with new_folder(folder) as part:
        _write(entities, files, part)
        check_crate(part, entities, files)
    return len(entities)


def check_crate(folder: Path, entities: Iterable[Entity], files: Mapping[str, RunFile]) -> None:
    """Load a crate and compare every entity and the content of every file.

    Args:
        folder: The crate.
        entities: What it should say, as `run_entities` gives it.
        files: What it should hold, by path.

    Raises:
        ReseedError: Names the first that differs.
    """
    crate = _library()(str(folder))
    found = {entity.id: _comparable(entity.properties()) for entity in crate.get_entities()}
    wanted = {entity["@id"]: _comparable(entity) for entity in entities}
    extra = found.keys() - wanted.keys() - {METADATA}
    if extra:
        raise ReseedError(f"{folder}: the crate has an entity {min(extra)} that was not meant to be there")
    for name, entity in wanted.items():
        if found.get(name) != entity:
            said = "lacks" if name not in found else "describes otherwise than meant"
            raise ReseedError(f"{folder}: the crate {said} {name}")
    for path, file in files.items():
        content = folder / path
        if not content.is_file() or digests(content) != (file.md5, file.sha256):
            raise ReseedError(f"{folder}: {path} in the crate is not the one of the run")


def _write(entities: Iterable[Entity], files: Mapping[str, RunFile], folder: Path) -> None:
    crate = _library()(version=VERSION)
    crate.metadata.extra_contexts.append(CONTEXT)
    crate.metadata.extra_terms["buildInstructions"] = _BUILD_INSTRUCTIONS
    descriptor = [{"@id": f"https://w3id.org/ro/crate/{VERSION}"}, {"@id": list(PROFILES)[-1]}]
    crate.metadata["conformsTo"] = descriptor
    context_entity = import_module("rocrate.model.contextentity").ContextEntity
    for entity in entities:
        name = entity["@id"]
        properties = {key: value for key, value in entity.items() if key != "@id"}
        if name == ROOT:
            root = properties
        elif name in files:
            crate.add_file(files[name].content, dest_path=name, properties=properties)
        elif name.endswith("/") and "://" not in name:
            crate.add_dataset(dest_path=name, properties=properties)
        else:
            crate.add(context_entity(crate, name, properties=properties))
    for key, value in root.items():
        if key != "@type":
            crate.root_dataset[key] = value
    crate.write(str(folder))
    metadata = folder / METADATA
    # As every JSON file of the project: characters as they are, one line end at the end.
    text = json.dumps(json.loads(metadata.read_bytes()), indent=2, ensure_ascii=False)
    metadata.write_text(f"{text}\n", encoding="utf-8")


def _comparable(entity: Any) -> Any:
    """Return JSON-LD with every set as a sorted list: in it a single value is as good as a list of one."""
    if isinstance(entity, Mapping):
        return {key: _comparable(value) for key, value in entity.items()}
    if isinstance(entity, list):
        return _comparable(entity[0]) if len(entity) == 1 else sorted((_comparable(item) for item in entity), key=repr)
    return entity


def _library() -> Any:
    """Return the class ROCrate.

    Raises:
        ReseedError: If the package is not installed.
    """
    try:
        return import_module("rocrate.rocrate").ROCrate
    except ModuleNotFoundError as error:
        raise ReseedError(
            f"--crate needs the package rocrate ({error}): pip install -r requirements-extras.txt -c requirements.lock"
        ) from error


def write_exports(
    run: Run,
    checks: Mapping[str, Check],
    stated: Mapping[str, Any],
    *,
    folder: Path,
    crate: Path | None,
    statement: Path | None,
) -> list[str]:
    """Write what is asked for; return a line about each file or folder written.

    Args:
        run: The run.
        checks: What the audit found.
        stated: Its data statement.
        folder: Of the audit, for the files that git tracks.
        crate: New or empty folder, or None.
        statement: JSON file, or None.

    Raises:
        ReseedError: If there is no data statement, or a file that must be in is not stored here or is a link.
    """
    if "sources" not in stated:
        raise ReseedError(f"there is no data statement: {stated['not_available']}")
    files = run_files(run, folder / "files")
    sources = tuple(stated["sources"])
    done = []
    if statement is not None:
        write_json(statement, provenance(run, files, list(sources)))
        done.append(f"in-toto statement: {statement}")
    if crate is not None:
        code = run.commit or run.repository.resolve("HEAD").commit
        described = CrateRun(
            run=run,
            code=code,
            name=f"run of {code[:7]}" if run.commit else f"uncommitted run on top of {code[:7]}",
            date=run.repository.committed_at(code),
            files=files,
            sources=sources,
            checks=checks,
        )
        n_entities = write_crate(described, crate)
        n_files = len(described.carried)
        done.append(f"RO-Crate: {crate}, {n_entities} entities and {n_files} files, read back and compared")
    return done
