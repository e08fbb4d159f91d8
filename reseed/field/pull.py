"""Bringing one source to data/raw, and recording what came."""

from pathlib import Path

from reseed.artifacts.raw import RawSource
from reseed.errors import SourceError
from reseed.field.inventory import take_inventory
from reseed.field.sources import copy_folder, digest_folder, require_apart, resolve_uri
from reseed.params.pull import Source


def bring_folder(source: Source, target: Path, final: Path) -> None:
    """Copy a source of kind `folder` to `target`, as delivered.

    Args:
        source: Its entry in `pull.sources`.
        target: New folder to copy to.
        final: Where everything will lie in the end, data/raw; a source may neither hold it nor lie inside it.

    Raises:
        SourceError: If the source is missing, empty, unreadable or overlaps `final`.
    """
    origin = resolve_uri(source.uri)
    try:
        require_apart(origin, final)
        copy_folder(origin, target, f"copy {source.name}")
    except SourceError as error:
        raise SourceError(f"pull.sources {source.name}: {error}") from error


def record(source: Source, folder: Path) -> RawSource:
    """Digest what lies in `folder` and hold it against the pin.

    The copy is digested, not the origin: what is recorded is what the later stages work on.

    Args:
        source: Its entry in `pull.sources`.
        folder: Where it was brought to.

    Raises:
        SourceError: If there is no image in it, or if it is pinned and differs; names both digests.
    """
    inventory = take_inventory(source.name, folder)
    if not inventory.images:
        raise SourceError(
            f"pull.sources {source.name}: no image among the {inventory.found} files of {source.uri or 'the demo'}; "
            "JPEG, PNG, BMP and TIFF are read"
        )
    digest = digest_folder(folder, f"digest {source.name}")
    require_pin(source, digest.sha256)
    return RawSource(
        name=source.name,
        kind=source.kind,
        uri=source.uri,
        layout=source.layout,
        sha256=digest.sha256,
        bytes=digest.total_bytes,
        files=len(digest.files),
        licence=source.licence,
        pinned=source.sha256 is not None,
        synthetic=source.kind == "demo",
    )


def require_pin(source: Source, sha256: str) -> None:
    """Check a digest against the pin, if there is one.

    Raises:
        SourceError: If they differ; names both.
    """
    if source.sha256 is not None and source.sha256 != sha256:
        raise SourceError(
            f"pull.sources {source.name}: {source.uri} is not what was pinned\n  pinned  {source.sha256}\n"
            f"  found   {sha256}\nBring the pinned data back, or pin what is there: set sha256 to the digest found"
        )
