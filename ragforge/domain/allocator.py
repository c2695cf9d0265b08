"""The C library's memory: kept together, and given back."""

import ctypes

ARENAS_MAX = 2
MAPPED_BYTES_MIN = 1024 * 1024
"""A block of this size has pages of its own, which the system gets back when it is freed."""
KEPT_BYTES_MAX = 4 * MAPPED_BYTES_MIN
"""So much free memory at an arena's end stays ours: a search over many vectors takes it again and again."""
_M_TRIM_THRESHOLD = -1
_M_MMAP_THRESHOLD = -3
_M_ARENA_MAX = -8
"""As glibc's `malloc.h` has them."""


def limit_memory() -> None:
    """Let the threads that begin from now on share a few arenas, and keep large blocks out of those.

    glibc gives each of our threads an arena of its own. What many threads have freed there in a long session
    is then spread over all of them and goes back to nobody. Once a block of some megabytes was freed, glibc
    also takes blocks of that size from the arenas, where they leave holes; setting the size stops that.
    Does nothing where the C library has no such limits.
    Source: mallopt(3), M_ARENA_MAX, M_MMAP_THRESHOLD and M_TRIM_THRESHOLD.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_M_ARENA_MAX, ARENAS_MAX)
        mallopt(_M_MMAP_THRESHOLD, MAPPED_BYTES_MIN)
        mallopt(_M_TRIM_THRESHOLD, KEPT_BYTES_MAX)
