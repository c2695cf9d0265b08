"""The C library's memory: kept together, and given back."""

import ctypes

ARENAS_MAX = 2
MAPPED_BYTES_MIN = 128 * 1024
"""A block of this size has pages of its own, which the system gets back when it is freed. As glibc starts."""
_M_MMAP_THRESHOLD = -3
_M_ARENA_MAX = -8
"""As glibc's `malloc.h` has them."""


def limit_memory() -> None:
    """Let the threads that begin from now on share a few arenas, and keep large blocks out of those.

    glibc gives each of our threads an arena of its own. What many threads have freed there in a long session
    is then spread over all of them and goes back to nobody. Once a block of some megabytes was freed, glibc
    also takes blocks of that size from the arenas, where they leave holes; setting the size stops that.
    Does nothing where the C library has no such limits.
    Source: mallopt(3), M_ARENA_MAX and M_MMAP_THRESHOLD.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_M_ARENA_MAX, ARENAS_MAX)
        mallopt(_M_MMAP_THRESHOLD, MAPPED_BYTES_MIN)
