"""What files a source consists of: images, tables, and what is neither."""

from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

from reseed.field.imagery import HEAD_BYTES, IMAGE_SUFFIXES, sniff_format
from reseed.field.sources import explained, list_files

SYSTEM_FILE: Final = "system_file"

_SYSTEM_NAMES: Final = ("thumbs.db", "desktop.ini", "ehthumbs.db")
_SYSTEM_FOLDERS: Final = ("__macosx", "$recycle.bin", "system volume information", "@eadir")
_TEXT_SUFFIXES: Final = (".csv", ".json", ".txt", ".md", ".yaml", ".yml", ".tsv")


@dataclass(frozen=True)
class Inventory:
    """The files of one source, each in exactly one of the three groups, all sorted bytewise by path.

    Args:
        source: Name of the source; its files lie below `root`.
        root: Folder of the source below data/raw.
        images: POSIX paths below `root` of the files whose name or content says image.
        others: POSIX paths of tables and everything else; a layout says which of them it reads.
        system: POSIX paths of what operating systems leave behind, such as `.DS_Store`, `._x.jpg` and `Thumbs.db`.
    """

    source: str
    root: Path
    images: tuple[str, ...]
    others: tuple[str, ...]
    system: tuple[str, ...]

    @property
    def found(self) -> int:
        """Number of files."""
        return len(self.images) + len(self.others) + len(self.system)


def take_inventory(source: str, root: Path) -> Inventory:
    """Sort the files below `root` into images, system files and others.

    Raises:
        SourceError: If the folder is missing or cannot be read.
    """
    images, others, system = [], [], []
    for path, file in list_files(root).items():
        if is_system_file(path):
            system.append(path)
        elif _is_image(path, file):
            images.append(path)
        else:
            others.append(path)
    return Inventory(source, root, tuple(images), tuple(others), tuple(system))


def is_system_file(path: str) -> bool:
    """Whether a POSIX path names something that an operating system left behind, or a hidden file or folder."""
    *folders, name = PurePosixPath(path).parts
    return (
        any(part.startswith(".") for part in (*folders, name))
        or name.casefold() in _SYSTEM_NAMES
        or any(folder.casefold() in _SYSTEM_FOLDERS for folder in folders)
    )


def _is_image(path: str, file: Path) -> bool:
    suffix = PurePosixPath(path).suffix.casefold()
    if suffix in IMAGE_SUFFIXES:
        return True
    if suffix in _TEXT_SUFFIXES:
        return False
    with explained(file, "read"), file.open("rb") as reader:
        return sniff_format(reader.read(HEAD_BYTES)) is not None
