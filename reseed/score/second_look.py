"""Where two annotators disagree, what is most worth looking at again."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from reseed.base.classes import DEPLOY
from reseed.score.matching import Key, frame_of, sorting


@dataclass(frozen=True)
class SecondLook:
    """One item that two annotators see differently.

    Args:
        key: The item.
        first: What the first annotator said.
        second: What the second said.
        frame: The frame it lies on; empty if the key does not tell.
        frame_disagreements: Items of that frame that they see differently.
        frame_items: Items of that frame that both labelled.
    """

    key: Key
    first: str
    second: str
    frame: str
    frame_disagreements: int
    frame_items: int


def second_looks(
    key_columns: Key, keys: Sequence[Key], first: Sequence[str], second: Sequence[str]
) -> tuple[SecondLook, ...]:
    """Return every disagreement, most worth a second look first.

    Deploy against another class comes before No-Deploy against Coral, as only it can change a deployment; then the
    frames with the largest share of disagreement, where a rule of the protocol may be read differently; then by key.

    Args:
        key_columns: Names of the parts of a key.
        keys: (N,) items that both labelled.
        first: (N,) class names.
        second: (N,) class names.
    """
    frames = [frame_of(key_columns, key) or "" for key in keys]
    items = Counter(frames)
    against = Counter(frame for frame, a, b in zip(frames, first, second, strict=True) if a != b)
    looks = [
        SecondLook(key, a, b, frame, against[frame] if frame else 1, items[frame] if frame else 1)
        for key, a, b, frame in zip(keys, first, second, frames, strict=True)
        if a != b
    ]
    return tuple(sorted(looks, key=_worth))


def _worth(look: SecondLook) -> tuple[bool, float, tuple[tuple[int, int, str], ...]]:
    decides = DEPLOY in {look.first, look.second}
    return not decides, -look.frame_disagreements / look.frame_items, sorting(look.key)
