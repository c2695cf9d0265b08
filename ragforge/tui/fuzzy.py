"""Rank names by what was typed of them."""

import threading
from collections.abc import Iterable
from heapq import nsmallest

_CHECK_EVERY = 2_000


def ranked(
    query: str, names: Iterable[str], *, limit: int = 200, stop: threading.Event | None = None
) -> list[str]:
    """Return the names that contain the query's letters in order, best first; nothing once `stop` is set.

    The last part of a path counts more than its folders, a whole run of letters more than scattered ones,
    and the shorter name more than the longer.
    """
    wanted = query.lower()
    fits: list[tuple[tuple[int, int, int, int], str]] = []
    for number, name in enumerate(names):
        if stop and number % _CHECK_EVERY == 0 and stop.is_set():
            return []
        if (fit := _fit(wanted, name.lower())) is not None:
            fits.append((fit, name))
    return [name for _, name in nsmallest(limit, fits)]


def _fit(wanted: str, name: str) -> tuple[int, int, int, int] | None:
    """Return how well it fits, lower is better: (how, where or how scattered, last part, length)."""
    if not wanted:
        return 0, name.rstrip("/").count("/"), 0, 0
    last = name.rstrip("/").rfind("/") + 1
    lengths = (len(name) - last, len(name))
    if name.startswith(wanted, last):
        return 0, 0, *lengths
    if (at := name.find(wanted, last)) >= 0:
        return 1, at - last, *lengths
    if (at := name.find(wanted)) >= 0:
        return 2, at, *lengths
    if (spread := _spread(wanted, name[last:])) is not None:
        return 3, spread, *lengths
    if (spread := _spread(wanted, name)) is not None:
        return 4, spread, *lengths
    return None


def _spread(wanted: str, name: str) -> int | None:
    """Return how many letters are between the first and the last match; None if one is missing."""
    first = at = name.find(wanted[0])
    for letter in wanted[1:]:
        if at < 0:
            return None
        at = name.find(letter, at + 1)
    return at - first - len(wanted) + 1 if at >= 0 else None
