"""What something is used for, and what of that is left: "Redis for sessions and for the cache"."""

import re
from functools import lru_cache

from ragforge.domain.language.base import AnyOf
from ragforge.memory.terms import SAME_SHARE, about

_PURPOSE = AnyOf(lambda language: (*language.purpose, *language.place))
_BETWEEN = re.compile(r"\s*,\s*|\s+(?:and|et)\s+")
_END = re.compile(r"[.;:!?](?=\s|$)")


@lru_cache(1_024)
def purposes_in(statement: str) -> tuple[frozenset[str], ...]:
    """What each purpose that the statement lists is about, and each place; empty where it names none."""
    found = _PURPOSE.search(statement)
    if found is None:
        return ()
    start = next(at for at in map(found.start, range(1, len(found.regs))) if at >= 0)
    said = _END.split(statement[start:])[0]
    return tuple(filter(None, map(about, _BETWEEN.split(said))))


def names_part(change: str, statement: str) -> bool:
    """Whether the change names some of what the statement is for, and not all of it."""
    listed, given_up = purposes_in(statement), purposes_in(change)
    gone = [any(_are_same(each, other) for other in given_up) for each in listed]
    return any(gone) and not all(gone)


def _are_same(one: frozenset[str], other: frozenset[str]) -> bool:
    return len(one & other) >= SAME_SHARE * max(len(one), len(other))
