"""What a crate is made of: one audited run, and the identifiers that its entities have."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from graphlib import TopologicalSorter
from typing import Any, Final

from reseed.audit.checks import Rung
from reseed.history.run_files import RAW, RunFile
from reseed.history.snapshot import Snapshot

Entity = dict[str, Any]
WORKFLOW: Final = "dvc.yaml"
# Imagery and foreign weights: large, and of others, whose licence may not let them be passed on. Described by digest.
DESCRIBED_ONLY: Final = frozenset(
    {
        "data/patches/patches.npy",
        "data/pretrained/weights.pt",
        "plots/contact_sheet.png",
        "plots/figures/mistakes.png",
    }
)


@dataclass(frozen=True)
class Run:
    """One audited run.

    Args:
        snapshot: The run.
        code: Commit of its code; of the workspace that of HEAD, and `name` says so.
        name: The run for people.
        date: When the commit was made, ISO 8601.
        files: Every input and output, see `run_files`.
        sources: Of the data statement.
        scores: `metrics.json`.
        rungs: What the audit said.
    """

    snapshot: Snapshot
    code: str
    name: str
    date: str
    files: Mapping[str, RunFile]
    sources: tuple[dict[str, Any], ...]
    scores: Mapping[str, Any]
    rungs: Mapping[str, Rung]

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
        used: dict[str, Any] = {}
        for stage in self.snapshot.lock.values():
            used |= (stage.get("params") or {}).get("params.yaml") or {}
        return used

    @cached_property
    def stages(self) -> tuple[str, ...]:
        """Every stage after those whose outputs it reads."""
        maker = {path: stage for stage in self.snapshot.lock for path in self.paths(stage, "outs")}
        needs = {
            stage: sorted({maker[path] for path in self.paths(stage, "deps") if path in maker} - {stage})
            for stage in self.snapshot.lock
        }
        return tuple(TopologicalSorter(needs).static_order())

    @property
    def synthetic(self) -> bool:
        """Whether a source was rendered."""
        return any(source["synthetic"] for source in self.sources)

    def paths(self, stage: str, kind: str) -> list[str]:
        """Return the paths of the `deps` or `outs` of a stage."""
        return [str(entry["path"]) for entry in self.snapshot.lock[stage].get(kind) or []]


def ref(identifier: str) -> dict[str, str]:
    """Return a reference to an entity."""
    return {"@id": identifier}


def script_of(stage: str) -> str:
    """Return the path of a stage's script."""
    return f"stages/{stage}.py"


def source_id(source: Mapping[str, Any]) -> str:
    """Return the `@id` of a source; no crate holds one."""
    return f"#{RAW}/{source['name']}"
