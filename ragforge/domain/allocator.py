"""Settings of the C library's memory allocator: fewer arenas, memory returned to the system."""

import ctypes
import sys

ARENAS_MAX = 2
MAPPED_BYTES_MIN = 1024 * 1024
"""A block of this size is allocated separately, and returned to the system when freed."""
KEPT_BYTES_MAX = 4 * MAPPED_BYTES_MIN
"""How much free memory an arena keeps at its end: repeated searches over many vectors reuse it."""
_M_TRIM_THRESHOLD = -1
_M_MMAP_THRESHOLD = -3
_M_ARENA_MAX = -8
"""The constants of glibc's `malloc.h`."""


def limit_memory() -> None:
    """Let threads started from now on share a few arenas, and allocate large blocks separately.

    glibc gives each thread an arena of its own. Memory freed by many threads in a long session is then spread
    over all arenas and never returned. Once a block of some megabytes was freed, glibc also takes blocks of
    that size from the arenas, where they leave holes; a fixed threshold prevents that.
    Does nothing if the C library has no such settings.
    Source: mallopt(3), M_ARENA_MAX, M_MMAP_THRESHOLD and M_TRIM_THRESHOLD.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_M_ARENA_MAX, ARENAS_MAX)
        mallopt(_M_MMAP_THRESHOLD, MAPPED_BYTES_MIN)
        mallopt(_M_TRIM_THRESHOLD, KEPT_BYTES_MAX)


def trim_heap() -> None:
    """Give freed memory back to the system; it takes half a millisecond.

    By itself glibc only releases the end of the heap, so a long session grows by the gaps between what
    stays. Does nothing elsewhere.
    """
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
    if trim is not None:
        trim(0)
