"""The stages of dvc.yaml, one thin script each.

The code here runs before a stage imports anything, which is what both of its settings need.
"""

import os
import sys
from types import TracebackType

# Threads that wait for each other sleep instead of keeping a core busy: without it, two experiments on two cores take
# many times as long as one after the other. Read when torch is loaded; results do not depend on it.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")


def _explain(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Write one line for Ctrl-C, also while libraries are still being imported; a bug keeps its traceback."""
    if issubclass(kind, KeyboardInterrupt):
        sys.stderr.write("interrupted: nothing of this stage was written; a training goes on at its last epoch\n")
    else:
        sys.__excepthook__(kind, error, trace)


sys.excepthook = _explain
