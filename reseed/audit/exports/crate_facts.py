"""What a crate says beside files and actions: software, parameters, sources, scores, the audit."""

import json
from collections.abc import Iterator
from typing import Any, Final

from reseed.artifacts.raw import SYNTHETIC_NOTICE
from reseed.audit.chain import METRICS
from reseed.audit.exports.attestation import dvc_version
from reseed.audit.exports.crate_run import Entity, Run, ref, script_of, source_id
from reseed.audit.ladder import flat_scores

ENGINE: Final = "https://dvc.org/"
LANGUAGE: Final = "https://dvc.org/doc/user-guide/project-structure/dvcyaml-files"
PYTHON: Final = "https://www.python.org/"
PROFILES: Final = {
    "https://w3id.org/ro/wfrun/process/0.5": "Process Run Crate",
    "https://w3id.org/ro/wfrun/workflow/0.5": "Workflow Run Crate",
    "https://w3id.org/ro/wfrun/provenance/0.5": "Provenance Run Crate",
    "https://w3id.org/workflowhub/workflow-ro-crate/1.0": "Workflow RO-Crate",
}
# Scores that are no percentages, by the last part of their key.
_NO_PERCENT: Final = frozenset({"n", "alpha", "synthetic", "frames_train", "frames_test"})
_KINDS: Final = {bool: "Boolean", int: "Integer", float: "Float"}


def fact_entities(run: Run) -> list[Entity]:
    """Return the entities, each with its `@id` and `@type`."""
    return [*_software(run), *_parameters(run), *_sources(run), *score_entities(run), *_audit(run), *_profiles()]


def score_entities(run: Run) -> list[Entity]:
    """Return each score of `metrics.json`."""
    return [
        {"@id": f"#score/{key}", "@type": "PropertyValue", "name": key, "value": _typed(value)[1]}
        | ({} if key.split(".")[-1] in _NO_PERCENT else {"unitText": "percent"})
        for key, value in flat_scores(dict(run.scores)).items()
    ]


def _software(run: Run) -> Iterator[Entity]:
    version = dvc_version(run.snapshot)
    yield {"@id": ENGINE, "@type": "SoftwareApplication", "name": "DVC", "url": ENGINE, "softwareVersion": version}
    yield {"@id": LANGUAGE, "@type": "ComputerLanguage", "name": "dvc.yaml", "url": LANGUAGE}
    yield {"@id": PYTHON, "@type": "ComputerLanguage", "name": "Python", "url": PYTHON}
    for number, stage in enumerate(run.stages, 1):
        yield {
            "@id": f"#step/{stage}",
            "@type": "HowToStep",
            "name": stage,
            "position": str(number),
            "description": str((run.snapshot.pipeline.get(stage) or {}).get("desc", "")),
            "workExample": ref(script_of(stage)),
        }


def _parameters(run: Run) -> Iterator[Entity]:
    """Yield each parameter, and its value in this run."""
    for key, value in run.parameters.items():
        kind, text = _typed(value)
        parameter, given = f"#parameter/{key}", f"#value/{key}"
        yield {"@id": parameter, "@type": "FormalParameter", "name": key, "additionalType": kind} | {
            "workExample": ref(given)
        }
        yield {"@id": given, "@type": "PropertyValue", "name": key, "value": text, "exampleOfWork": ref(parameter)}


def _sources(run: Run) -> Iterator[Entity]:
    """Yield each source, and each licence once."""
    for source in run.sources:
        pinned = "pinned" if source["pinned"] else "not pinned"
        said = f"{source['files']} files, kind {source['kind']}, {pinned}"
        yield {
            "@id": source_id(source),
            "@type": "CreativeWork",
            "name": source["name"],
            "description": f"{SYNTHETIC_NOTICE}: {said}" if source["synthetic"] else said,
            **({"url" if "://" in source["uri"] else "alternateName": source["uri"]} if source["uri"] else {}),
            "version": source["release"],
            "license": ref(f"#licence/{source['licence']}"),
            "citation": source["citation"],
            "contentSize": str(source["bytes"]),
            "sha256": source["sha256"],
        }
    for licence in sorted({source["licence"] for source in run.sources}):
        yield {"@id": f"#licence/{licence}", "@type": "CreativeWork", "name": licence}


def _audit(run: Run) -> Iterator[Entity]:
    """Yield what `python -m reseed audit` said of each rung as the crate was made."""
    yield {
        "@id": "#audit",
        "@type": "AssessAction",
        "name": "python -m reseed audit",
        "object": ref(METRICS),
        "result": [ref(f"#audit/{name}") for name in run.rungs],
    }
    for name, rung in run.rungs.items():
        yield {"@id": f"#audit/{name}", "@type": "PropertyValue", "name": f"rung {name}", "value": rung.status}


def _profiles() -> Iterator[Entity]:
    for profile, name in PROFILES.items():
        yield {"@id": profile, "@type": "CreativeWork", "name": name, "version": profile.rsplit("/", 1)[1]}


def _typed(value: Any) -> tuple[str, str]:
    """Return the schema.org type of a value and its text: of text as it is, else as JSON."""
    if isinstance(value, str):
        return "Text", value
    return _KINDS.get(type(value), "PropertyValue"), json.dumps(value, ensure_ascii=False)
