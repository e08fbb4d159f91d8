"""Section `pull`: which data."""

from typing import Annotated, Literal

from pydantic import Field, field_validator, model_validator

from reseed.params.load import Section

# From biigle on: exports of annotation tools, each declared in reseed/survey/exports.
Layout = Literal[
    "auto",
    "survey",
    "patch-folders",
    "frame-folders",
    "table",
    "biigle",
    "coco",
    "coralnet",
    "coralnet-toolbox",
    "cpce",
    "label-studio",
    "reefcloud",
    "squidle",
    "taglab",
    "viame",
    "yolo",
]
SOURCE_NAME = r"^[a-z0-9][a-z0-9_\-]*$"


class Source(Section):
    """One entry of `pull.sources`."""

    name: str = Field(pattern=SOURCE_NAME, description="folder name below data/raw: a-z, 0-9, _ and -")
    kind: Literal["demo", "folder", "archive", "url"] = Field(
        description="demo: rendered from demo.*; folder: copied; archive: a zip or tar file, unpacked; url: downloaded"
    )
    uri: str = Field(description="where it lies; $VAR is expanded, in paths also ~; demo: empty")
    layout: Layout = Field(
        description="how the folder is organised, see docs/layouts.md; auto tells them apart and says why"
    )
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] | None = Field(
        description="digest the data must have (`python -m reseed pin URI`), or null"
    )
    licence: str = Field(description="licence of the data, or unknown")
    citation: str = Field(description="how to cite the data: a DOI, a reference, or unknown")
    split: Literal["train", "val", "test"] | None = Field(
        description="train, val or test if all its frames belong there; null: the data or section split decides"
    )

    @model_validator(mode="after")
    def _uri_goes_with_kind(self) -> "Source":
        if (self.kind == "demo") != (self.uri == ""):
            raise ValueError("uri is empty for kind demo, and a path or url for every other kind")
        # A variable may hold the whole url; what it holds is looked at when it is fetched.
        if self.kind == "url" and "://" not in self.uri and not self.uri.startswith("$"):
            raise ValueError("uri with its scheme for kind url, such as https://example.org/reef.zip")
        if self.kind in ("folder", "archive") and "://" in self.uri:
            raise ValueError("kind url for a uri with a scheme; kinds folder and archive take a path")
        return self

    @model_validator(mode="after")
    def _demo_is_not_pinned(self) -> "Source":
        # Floating-point arithmetic differs between processors, and with it the bytes of a rendered frame.
        if self.kind == "demo" and self.sha256 is not None:
            raise ValueError("sha256 null for kind demo: demo.seed pins it")
        return self


class PullParams(Section):
    """Section `pull`."""

    sources: list[Source] = Field(min_length=1, description="at least one source")

    @field_validator("sources")
    @classmethod
    def _names_differ(cls, sources: list[Source]) -> list[Source]:
        names = [source.name for source in sources]
        if len(set(names)) < len(names):
            raise ValueError("every source a name of its own")
        return sources
