"""How a score that is synthetic or of weak labels is marked; apart from matplotlib, so that text loads fast."""

from typing import Final

SYNTHETIC_NOTICE: Final = "SYNTHETIC demo reef, not a field score"
WEAK_NOTICE: Final = "WEAK labels: patches inherited the label of their frame, nobody looked at them"
