"""How much of the tests runs: what every change needs, everything (`make test-all`), or a random sixth.

`make test` leaves out: on Neo4j 2026 all but what depends on its version (`each_server`), tests marked
as `long` or `long_on_servers`, nine tenths of the kills at random, two thirds of those that are counted out,
and more of the examples of those that try many.
"""

import os
import random
import zlib
from collections.abc import Iterable, Sequence
from typing import TypeVar

import pytest
from hypothesis import settings

from tests.servers.neo4j import VERSIONS

T = TypeVar("T")

ALL = os.environ.get("RAGFORGE_TEST_ALL", "") not in ("", "0")
SIXTH = os.environ.get("RAGFORGE_TEST_SIXTH", "")
"""Any text: another one picks another sixth."""
TIMES = 10 if ALL else 1
"""How many times as many kills are tried."""
EXAMPLES = 10 if ALL else 0.25
"""How many times as many examples are tried as a test says."""
EXAMPLES_MIN = 5
OTHERS_EACH_TIME = ALL or "RAGFORGE_TEST_EXAMPLES" in os.environ
"""Whether tests of many examples try other ones in each run."""
NEWER = "neo4j-2026"


def kept(items: Iterable[pytest.Item]) -> tuple[list[pytest.Item], list[pytest.Item]]:
    """The tests that are to run, and the others."""
    chosen: list[pytest.Item] = []
    others: list[pytest.Item] = []
    for item in items:
        (chosen if (ALL or not _is_extra(item)) and _is_in_sixth(item.nodeid) else others).append(item)
    return chosen, others


def asks_all_of(kind: str) -> bool:
    """Whether the tests ask a server of this kind for most of what the program asks one for."""
    return ALL or kind != NEWER


def some(points: Sequence[T]) -> Sequence[T]:
    """Of the points at which something is killed or cut every third, from another one on in each run."""
    return points if ALL else points[random.randrange(3) :: 3]


def _is_extra(item: pytest.Item) -> bool:
    if item.get_closest_marker("long"):
        return True
    called = getattr(item, "callspec", None)
    values = called.params.values() if called else ()
    kinds = [kind for kind in VERSIONS if kind in values]
    if item.get_closest_marker("long_on_servers"):
        return bool(kinds)
    return NEWER in kinds and not item.get_closest_marker("each_server")


def _is_in_sixth(nodeid: str) -> bool:
    return not SIXTH or zlib.crc32(f"{SIXTH} {nodeid}".encode()) % 6 == 0


def share_examples(items: Iterable[pytest.Item]) -> None:
    """Let tests of many examples try EXAMPLES times as many, also those that say how many themselves."""
    seen: set[int] = set()
    for item in items:
        if not isinstance(item, pytest.Function):
            continue
        for owner, name in ((item.obj, "_hypothesis_internal_use_settings"), (item.cls, "settings")):
            holder = getattr(owner, "__func__", owner)
            usual = getattr(holder, name, None)
            if isinstance(usual, settings) and id(holder) not in seen:
                seen.add(id(holder))
                shared = max(round(usual.max_examples * EXAMPLES), min(usual.max_examples, EXAMPLES_MIN))
                setattr(holder, name, settings(usual, max_examples=shared))
