"""One run as the entities of a Provenance Run Crate: what ran, on what, with which values, and what came out.

Profiles: https://w3id.org/ro/wfrun/provenance/0.5 and what it extends. Nobody is named as agent, and there are no
times: a run records neither.
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePosixPath
from typing import Final

from reseed.artifacts.raw import SYNTHETIC_NOTICE
from reseed.audit.chain import METRICS
from reseed.audit.exports.crate_facts import ENGINE, LANGUAGE, PROFILES, PYTHON, fact_entities, score_entities
from reseed.audit.exports.crate_run import WORKFLOW, Entity, Run, ref, script_of, source_id
from reseed.history.run_files import RAW

ROOT: Final = "./"
_WHAT: Final = (
    "Frames of a downward camera over a reef, cut into patches, classified, and decided Deploy or No-Deploy: the "
    "evaluation of Raine et al. 2025 (arXiv:2509.01019), run as a DVC pipeline. Images and foreign weights are "
    "described by digest, not carried."
)
_FORMATS: Final = {
    ".py": "text/x-python",
    ".csv": "text/csv",
    ".json": "application/json",
    ".yaml": "application/yaml",
    ".lock": "text/plain",
    ".cff": "application/yaml",
    ".md": "text/markdown",
    ".png": "image/png",
    ".npy": "application/x-npy",
    ".pt": "application/x-pytorch",
}


def run_entities(run: Run) -> list[Entity]:
    """Return every entity but the metadata descriptor, the root first, each with its `@id` and `@type`."""
    descriptions = _descriptions(run)
    files = [_file(run, path, descriptions.get(path, "")) for path in run.files]
    parts = [entity["@id"] for entity in files if not entity["@id"].startswith("#")]
    actions = list(_actions(run))
    root = _root(run, parts, actions)
    return [_single(entity) for entity in (root, *files, *actions, *fact_entities(run))]


def _single(entity: Entity) -> Entity:
    """Return an entity with lists of one as that one, as RO-Crate 1.1 recommends."""
    return {key: value[0] if isinstance(value, list) and len(value) == 1 else value for key, value in entity.items()}


def _root(run: Run, parts: Iterable[str], actions: Iterable[Entity]) -> Entity:
    return {
        "@id": ROOT,
        "@type": "Dataset",
        "name": f"{f'{SYNTHETIC_NOTICE}: ' if run.synthetic else ''}reseed, {run.name}",
        "description": f"{SYNTHETIC_NOTICE}. {_WHAT}" if run.synthetic else _WHAT,
        "keywords": ["reef", "coral", "deployment decision", *(["synthetic data"] if run.synthetic else [])],
        "datePublished": run.date,
        "license": ref("LICENSE") if "LICENSE" in run.files else "unknown",
        "conformsTo": [ref(profile) for profile in PROFILES],
        "mainEntity": ref(WORKFLOW),
        "mentions": [*(ref(action["@id"]) for action in actions), ref("#audit")],
        "hasPart": [ref(part) for part in parts],
    }


def _file(run: Run, path: str, description: str) -> Entity:
    """Return a file or folder: a part of the crate if that carries it, else what is known of it."""
    file, name = run.files[path], run.ids[path]
    entity: Entity = {"@id": name, "@type": "CreativeWork", "name": path, "md5": file.md5.removesuffix(".dir")}
    if file.length_bytes is not None:
        entity["contentSize"] = str(file.length_bytes)
    if file.sha256:
        entity["sha256"] = file.sha256
    if not file.is_folder:
        entity["encodingFormat"] = _FORMATS.get(PurePosixPath(path).suffix, "text/plain")
    if description:
        entity["description"] = description
    if path == METRICS:
        entity["variableMeasured"] = [ref(score["@id"]) for score in score_entities(run)]
    if path == RAW:
        entity["hasPart"] = [ref(source_id(source)) for source in run.sources]
    elif name.endswith("/"):
        entity["@type"] = "Dataset"
        members = [member for member in run.files if member.startswith(f"{path}/")]
        entity["hasPart"] = [ref(member) for member in members if member in run.carried]
        entity["mentions"] = [ref(run.ids[member]) for member in members if member not in run.carried]
    elif path == WORKFLOW:
        entity |= _workflow(run)
    elif path in run.carried:
        entity |= {"@type": "File"} | _tool(run, path)
    return entity


def _workflow(run: Run) -> Entity:
    return {
        "@type": ["File", "SoftwareSourceCode", "ComputationalWorkflow", "HowTo"],
        "name": "reseed",
        "version": run.code,
        "programmingLanguage": ref(LANGUAGE),
        "url": "https://arxiv.org/abs/2509.01019",
        "hasPart": [ref(script_of(stage)) for stage in run.stages],
        "step": [ref(f"#step/{stage}") for stage in run.stages],
        "input": [ref(f"#parameter/{key}") for key in run.parameters],
        "buildInstructions": ref(run.ids.get("requirements.lock", "#requirements.lock")),
    }


def _tool(run: Run, path: str) -> Entity:
    """Return what makes the script of a stage a tool, with every module it loads; nothing for another file."""
    stage = next((name for name in run.stages if script_of(name) == path), None)
    if stage is None:
        return {"about": ref(ROOT)} if path == "README.md" else {}
    loaded = [dep for dep in run.paths(stage, "deps") if dep.endswith(".py") and dep != path]
    return {
        "@type": ["File", "SoftwareSourceCode"],
        "version": run.code,
        "programmingLanguage": ref(PYTHON),
        "softwareRequirements": [ref(run.ids[dep]) for dep in loaded],
    }


def _actions(run: Run) -> Iterator[Entity]:
    """Yield what happened: the run, each stage's execution and DVC's call of it, and DVC's own run."""
    sources = [ref(source_id(source)) for source in run.sources]
    kept = [path for path in run.snapshot.outputs if path.startswith(("metrics/", "models/", "plots/"))]
    yield {
        "@id": "#run",
        "@type": "CreateAction",
        "name": run.name,
        "description": "dvc repro",
        "instrument": ref(WORKFLOW),
        "object": [*sources, ref(run.ids["params.yaml"]), *(ref(f"#value/{key}") for key in run.parameters)],
        "result": [*(ref(run.ids[path]) for path in kept), *(ref(score["@id"]) for score in score_entities(run))],
    }
    for stage in run.stages:
        read = [ref(run.ids[path]) for path in run.paths(stage, "deps") if not path.endswith(".py")]
        made = run.paths(stage, "outs")
        used = (run.snapshot.lock[stage].get("params") or {}).get("params.yaml") or {}
        yield {
            "@id": f"#run/{stage}",
            "@type": "CreateAction",
            "name": f"stage {stage}",
            "description": str(run.snapshot.lock[stage].get("cmd")),
            "instrument": ref(script_of(stage)),
            "object": [*(sources if RAW in made else []), *read, *(ref(f"#value/{key}") for key in used)],
            "result": [ref(run.ids[path]) for path in made],
        }
        yield {
            "@id": f"#control/{stage}",
            "@type": "ControlAction",
            "name": f"DVC runs stage {stage}",
            "instrument": ref(f"#step/{stage}"),
            "object": ref(f"#run/{stage}"),
        }
    yield {
        "@id": "#engine",
        "@type": "OrganizeAction",
        "name": "dvc repro",
        "instrument": ref(ENGINE),
        "object": [ref(f"#control/{stage}") for stage in run.stages],
        "result": ref("#run"),
    }


def _descriptions(run: Run) -> dict[str, str]:
    """Return what dvc.yaml says of each output."""
    entries = (
        entry
        for stage in run.snapshot.pipeline.values()
        for kind in ("outs", "metrics")
        for entry in stage.get(kind) or []
        if isinstance(entry, Mapping)
    )
    return {str(path): str(said["desc"]) for entry in entries for path, said in entry.items() if "desc" in said}
