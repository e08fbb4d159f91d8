"""How a synthetic score is marked, in pictures and in text; apart from matplotlib, so that text loads fast."""

from typing import Final

SYNTHETIC_NOTICE: Final = "SYNTHETIC demo reef, not a field score"
