"""One run as the entities of a Provenance Run Crate: what ran, on what, with which values, and what came out.

Profiles: https://w3id.org/ro/wfrun/provenance/0.5 and what it extends. Nobody is named as agent, and there are no
times: a run records neither.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from graphlib import TopologicalSorter
from pathlib import PurePosixPath
from typing import Any, Final

from reseed.artifacts.raw import SYNTHETIC_NOTICE
from reseed.audit.export_attestation import RunFile, dvc_version
from reseed.audit.registry import flat_scores
from reseed.audit.trusted import PACKAGES, Check
from reseed.history.run import METRICS, RAW, Run

Entity = dict[str, Any]
ROOT: Final = "./"
WORKFLOW: Final = "dvc.yaml"
ENGINE: Final = "https://dvc.org/"
LANGUAGE: Final = "https://dvc.org/doc/user-guide/project-structure/dvcyaml-files"
PYTHON: Final = "https://www.python.org/"
PROFILES: Final = {
    "https://w3id.org/ro/wfrun/process/0.5": "Process Run Crate",
    "https://w3id.org/ro/wfrun/workflow/0.5": "Workflow Run Crate",
    "https://w3id.org/ro/wfrun/provenance/0.5": "Provenance Run Crate",
    "https://w3id.org/workflowhub/workflow-ro-crate/1.0": "Workflow RO-Crate",
}
# Imagery and foreign weights: large, and of others, whose licence may not let them be passed on. Described by digest.
DESCRIBED_ONLY: Final = frozenset(
    {
        "data/patches/patches.npy",
        "data/pretrained/weights.pt",
        "plots/contact_sheet.png",
        "plots/figures/mistakes.png",
    }
)
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
# Scores that are no percentages, by the last part of their key.
_NO_PERCENT: Final = frozenset({"n", "alpha", "synthetic"})
_KINDS: Final = {bool: "Boolean", int: "Integer", float: "Float"}


@dataclass(frozen=True)
class CrateRun:
    """One audited run, as a crate describes it.

    Args:
        run: The run.
        code: Commit of its code; of the workspace that of HEAD, and `name` says so.
        name: The run for people.
        date: When the commit was made, ISO 8601.
        files: Every input and output, see `run_files`.
        sources: Of the data statement.
        checks: What the audit found.
    """

    run: Run
    code: str
    name: str
    date: str
    files: Mapping[str, RunFile]
    sources: tuple[dict[str, Any], ...]
    checks: Mapping[str, Check]

    @cached_property
    def carried(self) -> dict[str, RunFile]:
        """The files that the crate holds itself, by their path in it."""
        return {
            path: file for path, file in self.files.items() if file.content is not None and path not in DESCRIBED_ONLY
        }

    @cached_property
    def ids(self) -> dict[str, str]:
        """The `@id` of each file and folder by its path: without `#` what the crate holds."""
        ids = {path: path if path in self.carried else f"#{path}" for path in self.files}
        return ids | {
            path: f"{path}/"
            for path, file in self.files.items()
            if file.is_folder and any(member.startswith(f"{path}/") for member in self.carried)
        }

    @cached_property
    def parameters(self) -> dict[str, Any]:
        """Every parameter that a stage used, by dotted key."""
        return {key: value for stage in self.run.lock for key, value in self.used(stage).items()}

    @cached_property
    def stages(self) -> tuple[str, ...]:
        """Every stage after those whose outputs it reads."""
        lock = self.run.lock
        maker = {path: stage for stage in lock for path in self.paths(stage, "outs")}
        needs = {
            stage: sorted({maker[path] for path in self.paths(stage, "deps") if path in maker} - {stage})
            for stage in lock
        }
        return tuple(TopologicalSorter(needs).static_order())

    @property
    def synthetic(self) -> bool:
        """Whether a source was rendered."""
        return any(source["synthetic"] for source in self.sources)

    def paths(self, stage: str, kind: str) -> list[str]:
        """Return the paths of the `deps` or `outs` of a stage."""
        return [str(entry["path"]) for entry in self.run.lock[stage].get(kind) or []]

    def used(self, stage: str) -> dict[str, Any]:
        """Return the parameters that a stage used, by dotted key."""
        return (self.run.lock[stage].get("params") or {}).get("params.yaml") or {}


def run_entities(crate: CrateRun) -> list[Entity]:
    """Return every entity but the metadata descriptor, the root first, each with its `@id` and `@type`."""
    files = [_file(crate, path) for path in crate.files]
    actions = list(_actions(crate))
    facts = (_software, _parameters, _sources, _scores, _audit, _profiles)
    others = [entity for describe in facts for entity in describe(crate)]
    return [_single(entity) for entity in (_root(crate, files, actions), *files, *actions, *others)]


def ref(identifier: str) -> dict[str, str]:
    """Return a reference to an entity."""
    return {"@id": identifier}


def script_of(stage: str) -> str:
    """Return the path of a stage's script."""
    return f"stages/{stage}.py"


def source_id(source: Mapping[str, Any]) -> str:
    """Return the `@id` of a source; no crate holds one."""
    return f"#{RAW}/{source['name']}"


def _single(entity: Entity) -> Entity:
    """Return an entity with lists of one as that one, as RO-Crate 1.1 recommends."""
    return {key: value[0] if isinstance(value, list) and len(value) == 1 else value for key, value in entity.items()}


def _root(crate: CrateRun, files: list[Entity], actions: list[Entity]) -> Entity:
    return {
        "@id": ROOT,
        "@type": "Dataset",
        "name": f"{f'{SYNTHETIC_NOTICE}: ' if crate.synthetic else ''}reseed, {crate.name}",
        "description": f"{SYNTHETIC_NOTICE}. {_WHAT}" if crate.synthetic else _WHAT,
        "keywords": ["reef", "coral", "deployment decision", *(["synthetic data"] if crate.synthetic else [])],
        "datePublished": crate.date,
        "license": ref("LICENSE") if "LICENSE" in crate.files else "unknown",
        "conformsTo": [ref(profile) for profile in PROFILES],
        "mainEntity": ref(WORKFLOW),
        "mentions": [*(ref(action["@id"]) for action in actions), ref("#audit")],
        "hasPart": [ref(entity["@id"]) for entity in files if not entity["@id"].startswith("#")],
    }


def _file(crate: CrateRun, path: str) -> Entity:
    """Return a file or folder: a part of the crate if that carries it, else what is known of it."""
    file, name = crate.files[path], crate.ids[path]
    entity: Entity = {"@id": name, "@type": "CreativeWork", "name": path, "md5": file.md5.removesuffix(".dir")}
    if file.length_bytes is not None:
        entity["contentSize"] = str(file.length_bytes)
    if file.sha256:
        entity["sha256"] = file.sha256
    if not file.is_folder:
        entity["encodingFormat"] = _FORMATS.get(PurePosixPath(path).suffix, "text/plain")
    if description := _descriptions(crate).get(path):
        entity["description"] = description
    if path == METRICS:
        entity["variableMeasured"] = [ref(score["@id"]) for score in _scores(crate)]
    if path == RAW:
        entity["hasPart"] = [ref(source_id(source)) for source in crate.sources]
    elif name.endswith("/"):
        entity["@type"] = "Dataset"
        members = [member for member in crate.files if member.startswith(f"{path}/")]
        entity["hasPart"] = [ref(crate.ids[member]) for member in members if member in crate.carried]
        entity["mentions"] = [ref(crate.ids[member]) for member in members if member not in crate.carried]
    elif path == WORKFLOW:
        entity |= _workflow(crate)
    elif path in crate.carried:
        entity |= {"@type": "File"} | _tool(crate, path)
    return entity


def _workflow(crate: CrateRun) -> Entity:
    return {
        "@type": ["File", "SoftwareSourceCode", "ComputationalWorkflow", "HowTo"],
        "name": "reseed",
        "version": crate.code,
        "programmingLanguage": ref(LANGUAGE),
        "url": "https://arxiv.org/abs/2509.01019",
        "hasPart": [ref(script_of(stage)) for stage in crate.stages],
        "step": [ref(f"#step/{stage}") for stage in crate.stages],
        "input": [ref(f"#parameter/{key}") for key in crate.parameters],
        "buildInstructions": ref(crate.ids.get("requirements.lock", "#requirements.lock")),
    }


def _tool(crate: CrateRun, path: str) -> Entity:
    """Return what makes the script of a stage a tool, with the code it loads; nothing for another file."""
    stage = next((name for name in crate.stages if script_of(name) == path), None)
    if stage is None:
        return {"about": ref(ROOT)} if path == "README.md" else {}
    return {
        "@type": ["File", "SoftwareSourceCode"],
        "version": crate.code,
        "programmingLanguage": ref(PYTHON),
        "softwareRequirements": [
            ref(crate.ids[dep]) for dep in crate.paths(stage, "deps") if _is_code(dep) and dep != path
        ],
    }


def _is_code(path: str) -> bool:
    return path.split("/", maxsplit=1)[0] in PACKAGES


def _actions(crate: CrateRun) -> Iterator[Entity]:
    """Yield what happened: the run, each stage's execution and DVC's call of it, and DVC's own run."""
    sources = [ref(source_id(source)) for source in crate.sources]
    kept = [path for path in crate.run.outputs if path.startswith(("metrics/", "models/", "plots/"))]
    yield {
        "@id": "#run",
        "@type": "CreateAction",
        "name": crate.name,
        "description": "dvc repro",
        "instrument": ref(WORKFLOW),
        "object": [*sources, ref(crate.ids["params.yaml"]), *(ref(f"#value/{key}") for key in crate.parameters)],
        "result": [*(ref(crate.ids[path]) for path in kept), *(ref(score["@id"]) for score in _scores(crate))],
    }
    for stage in crate.stages:
        read = [ref(crate.ids[path]) for path in crate.paths(stage, "deps") if not _is_code(path)]
        made = crate.paths(stage, "outs")
        yield {
            "@id": f"#run/{stage}",
            "@type": "CreateAction",
            "name": f"stage {stage}",
            "description": str(crate.run.lock[stage].get("cmd")),
            "instrument": ref(script_of(stage)),
            "object": [*(sources if RAW in made else []), *read, *(ref(f"#value/{key}") for key in crate.used(stage))],
            "result": [ref(crate.ids[path]) for path in made],
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
        "object": [ref(f"#control/{stage}") for stage in crate.stages],
        "result": ref("#run"),
    }


def _descriptions(crate: CrateRun) -> dict[str, str]:
    """Return what dvc.yaml says of each output."""
    entries = [
        entry
        for stage in crate.run.pipeline.values()
        for kind in ("outs", "metrics")
        for entry in stage.get(kind) or []
        if isinstance(entry, Mapping)
    ]
    return {str(path): str(facts["desc"]) for entry in entries for path, facts in entry.items() if "desc" in facts}


def _software(crate: CrateRun) -> Iterator[Entity]:
    version = dvc_version(crate.run)
    yield {"@id": ENGINE, "@type": "SoftwareApplication", "name": "DVC", "url": ENGINE, "softwareVersion": version}
    yield {"@id": LANGUAGE, "@type": "ComputerLanguage", "name": "dvc.yaml", "url": LANGUAGE}
    yield {"@id": PYTHON, "@type": "ComputerLanguage", "name": "Python", "url": PYTHON}
    for number, stage in enumerate(crate.stages, 1):
        yield {
            "@id": f"#step/{stage}",
            "@type": "HowToStep",
            "name": stage,
            "position": str(number),
            "description": str((crate.run.pipeline.get(stage) or {}).get("desc", "")),
            "workExample": ref(script_of(stage)),
        }


def _parameters(crate: CrateRun) -> Iterator[Entity]:
    """Yield each parameter, and its value in this run."""
    for key, value in crate.parameters.items():
        kind, text = _typed(value)
        parameter, given = f"#parameter/{key}", f"#value/{key}"
        yield {"@id": parameter, "@type": "FormalParameter", "name": key, "additionalType": kind} | {
            "workExample": ref(given)
        }
        yield {"@id": given, "@type": "PropertyValue", "name": key, "value": text, "exampleOfWork": ref(parameter)}


def _sources(crate: CrateRun) -> Iterator[Entity]:
    """Yield each source, and each licence once."""
    for source in crate.sources:
        pinned = "pinned" if source["pinned"] else "not pinned"
        facts = f"{source['files']} files, kind {source['kind']}, {pinned}"
        yield {
            "@id": source_id(source),
            "@type": "CreativeWork",
            "name": source["name"],
            "description": f"{SYNTHETIC_NOTICE}: {facts}" if source["synthetic"] else facts,
            **({"url" if "://" in source["uri"] else "alternateName": source["uri"]} if source["uri"] else {}),
            "version": source["release"],
            "license": ref(f"#licence/{source['licence']}"),
            "citation": source["citation"],
            "contentSize": str(source["bytes"]),
            "sha256": source["sha256"],
        }
    for licence in sorted({source["licence"] for source in crate.sources}):
        yield {"@id": f"#licence/{licence}", "@type": "CreativeWork", "name": licence}


def _scores(crate: CrateRun) -> Iterator[Entity]:
    """Yield each score of `metrics.json`."""
    for key, value in flat_scores(crate.run.metrics).items():
        score = {"@id": f"#score/{key}", "@type": "PropertyValue", "name": key, "value": _typed(value)[1]}
        yield score | ({} if key.split(".")[-1] in _NO_PERCENT else {"unitText": "percent"})


def _audit(crate: CrateRun) -> Iterator[Entity]:
    """Yield what each check of `python -m reseed audit` found as the crate was made."""
    yield {
        "@id": "#audit",
        "@type": "AssessAction",
        "name": "python -m reseed audit",
        "object": ref(METRICS),
        "result": [ref(f"#audit/{name}") for name in crate.checks],
    }
    for name, check in crate.checks.items():
        yield {"@id": f"#audit/{name}", "@type": "PropertyValue", "name": f"check {name}", "value": check.status}


def _profiles(_: CrateRun) -> Iterator[Entity]:
    for profile, name in PROFILES.items():
        yield {"@id": profile, "@type": "CreativeWork", "name": name, "version": profile.rsplit("/", 1)[1]}


def _typed(value: Any) -> tuple[str, str]:
    """Return the schema.org type of a value and its text: of text as it is, else as JSON."""
    if isinstance(value, str):
        return "Text", value
    return _KINDS.get(type(value), "PropertyValue"), json.dumps(value, ensure_ascii=False)
