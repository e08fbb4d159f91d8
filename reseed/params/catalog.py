"""Section `catalog`: what counts as usable, how labels are understood, and whose labels are the reference."""

from typing import Literal

from pydantic import Field, field_validator

from reseed.params.load import Section

# DVC leaves keys of these names out of its cache key (treeverse/dvc#10296), so a change would go unnoticed.
_UNSEEN_BY_DVC = ("size", "nfiles")

OnConflict = Literal["error", "drop"]
Unmapped = Literal["error", "drop"]
MachineLabels = Literal["exclude", "keep"]


class CatalogParams(Section):
    """Section `catalog`."""

    annotator: str = Field(
        min_length=1, description="annotator whose labels are gold; a source with a single one needs no name: auto"
    )
    max_pixels: int = Field(ge=1, le=1_000_000_000, description="1 to 1e9: images that declare more are quarantined")
    strict: bool = Field(description="true or false: whether any quarantined image stops the run")
    max_quarantined_pct: float = Field(ge=0, le=100, description="0 to 100: a larger share of unusable images stops")
    on_conflict: OnConflict = Field(description="labels that contradict each other: error, or drop them all")
    label_map: str | dict[str, str | None] = Field(
        description="name of the map file beside the labels, or the map itself (code: class or null)"
    )
    unmapped: Unmapped = Field(description="codes that the label map lacks: error or drop")
    machine_labels: MachineLabels = Field(
        description="labels by a machine that no person confirmed: exclude, or keep them, and every score says so"
    )
    weak_labels: bool = Field(description="frame-folders: whether every patch inherits the class folder of its frame")
    grid_rows: int = Field(ge=1, le=100, description="patch-folders: rows of the grid the patches were cut by, 1-100")
    grid_cols: int = Field(ge=1, le=100, description="patch-folders: columns of that grid, 1 to 100")

    # One check for both forms: a union of types reports one problem for each of its members.
    @field_validator("label_map", mode="plain")
    @classmethod
    def _file_name_or_map(cls, value: object) -> str | dict[str, str | None]:
        if isinstance(value, str) and value.strip() and not set(value) & {"/", "\\"}:
            return value
        if not isinstance(value, dict) or not value:
            raise ValueError("a file name without folders such as label_map.yaml, or a mapping of codes to classes")
        for code, name in value.items():
            if not isinstance(code, str) or not (name is None or isinstance(name, str)):
                raise ValueError(f"code {code!r} and its class {name!r} in quotes: codes are text, null drops a code")
            if code in _UNSEEN_BY_DVC:
                raise ValueError(f"no code {code!r} here, where DVC would not see it change: use a label map file")
        return dict(value)
