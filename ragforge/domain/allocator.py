"""The C library's memory, kept together."""

import ctypes

ARENAS_MAX = 2
_M_ARENA_MAX = -8
"""As glibc's `malloc.h` has it."""


def limit_arenas() -> None:
    """Let the threads that begin from now on share a few arenas; nothing where the C library has none.

    glibc gives each of our threads one of its own. What many threads have freed there in a long session is
    then spread over all of them and goes back to nobody.
    Source: mallopt(3), M_ARENA_MAX.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_M_ARENA_MAX, ARENAS_MAX)
