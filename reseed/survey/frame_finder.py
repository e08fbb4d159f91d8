"""Finding the image that a table means by what the table calls it."""

import difflib
import posixpath
import unicodedata
from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath

from reseed.base.errors import TableError

_SHOWN = 10


class FrameFinder:
    """Finds the frame that a table means.

    Args:
        sizes: Width and height in pixels of every usable frame, by POSIX path below the source.
        quarantined: Paths of the images that cannot be used.
    """

    def __init__(self, sizes: Mapping[str, tuple[int, int]], quarantined: Iterable[str]) -> None:
        self.sizes = sizes
        known = [*sizes, *quarantined]
        self._known = set(known)
        # Archives made on macOS decompose accents: the same name in other bytes.
        self._composed = {_composed(path): path for path in sorted(known, reverse=True)}
        self._by_name: dict[str, list[str]] = {}
        for path in sorted(known):
            self._by_name.setdefault(_composed(PurePosixPath(path).name), []).append(path)

    def find(self, text: str, folder: str) -> str | None:
        """Return the path of the frame below the source, or None if there is no such image.

        Args:
            text: Path as the table gives it: relative to the folder of the table, else to the source.
            folder: POSIX path of the table's folder below the source.
        """
        for spelled in (text, text.replace("\\", "/")):
            for start in (folder, ""):
                path = posixpath.normpath(posixpath.join(start, spelled))
                found = path if path in self._known else self._composed.get(_composed(path))
                if found is not None:
                    return found
        return None

    def find_by_name(self, text: str, folder: str) -> str | None:
        """Return the frame at that path, else the only one of that file name below `folder`, else in the source.

        Raises:
            TableError: If several images have that name, so that the table may mean any of them.
        """
        found = self.find(text, folder)
        if found is not None:
            return found
        named = self._by_name.get(_composed(PurePosixPath(text.replace("\\", "/")).name), [])
        below = [path for path in named if not folder or path.startswith(f"{folder}/")]
        candidates = below or named
        if len(candidates) > 1:
            raise TableError(
                f"{text!r} may mean {len(candidates)} images: {', '.join(candidates[:_SHOWN])}; "
                "write the path relative to the folder of the table"
            )
        return candidates[0] if candidates else None

    def nearest(self, text: str) -> str:
        """Return the known path that looks most like `text`, or an empty string."""
        by_folded = {path.casefold(): path for path in sorted(self._known)}
        close = difflib.get_close_matches(text.casefold(), by_folded, n=1, cutoff=0.8)
        return by_folded[close[0]] if close else ""


def _composed(text: str) -> str:
    return unicodedata.normalize("NFC", text)
