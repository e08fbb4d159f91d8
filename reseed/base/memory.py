"""Large blocks of memory, which frames and networks ask for again and again at the same sizes."""

import ctypes
import functools
from typing import Final

# Of malloc.h: blocks below the one are kept when freed; memory above the other at the end of the heap is given back.
_M_TRIM_THRESHOLD: Final = -1
_M_MMAP_THRESHOLD: Final = -3
_KEPT_BYTES: Final = 2**30


@functools.cache
def keep_freed_memory() -> None:
    """Let the C library reuse freed memory for the next frame or training step instead of giving it back to the system.

    By itself glibc maps large blocks anew and the system clears them, page by page: 100,000 page faults in a training
    step at 256 px, a seventh of its time, and a tenth of the time from a frame to its patches. Other C libraries have
    no such setting and are left alone. Holds for the whole process.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):  # no such function, or no library to ask, as on Windows
        return
    mallopt(_M_MMAP_THRESHOLD, _KEPT_BYTES)
    mallopt(_M_TRIM_THRESHOLD, 2 * _KEPT_BYTES - 1)
