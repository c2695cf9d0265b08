"""The nearest common ancestors of two versions, and the files there and at each of the two."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import TypeAlias

from msgspec import Struct

from ragforge.domain.commands import typed
from ragforge.domain.errors import UsageError
from ragforge.domain.ids import short_id
from ragforge.domain.versions import Node, Version
from ragforge.store.base_versions import Versions
from ragforge.versions.tree import state_of

ROWS = 500
LINE_FIRST = 50
"""How many versions of a line are read first; twice as many each time the base is not among them."""

State: TypeAlias = dict[str, Node | None]


class Three(Struct, frozen=True):
    """The content of every path that either side changed, in the base and on both sides."""

    base: State
    ours: State
    theirs: State


class Ancestry(Struct, frozen=True):
    """Time and parents of every version of a project, by its id."""

    known: Mapping[str, tuple[datetime, tuple[str, ...]]]

    def of(self, id: str) -> set[str]:
        """Return the version and all its ancestors."""
        return _come_from(id, self.known)

    def latest(self, ids: Collection[str]) -> list[str]:
        """Return the versions of an ancestry that no other one of it descends from, newest first."""
        earlier = {parent for id in ids for parent in self.known[id][1]}
        return sorted(set(ids) - earlier, key=lambda id: (self.known[id][0], id), reverse=True)


async def common_bases(versions: Versions, ours: str, theirs: str) -> tuple[Ancestry, list[str]]:
    """Return the common ancestors of both that no later common one descends from, newest first.

    There are several if each side merged the other before. A version is its own ancestor, and so is "", the
    state before the first, of every version. Raises UsageError if one is not stored, StoreError.
    """
    sides = [id for id in (ours, theirs) if id]
    found = {version.id: version for version in await versions.get(sides)}
    for id in sides:
        if id not in found:
            raise UsageError(f"There is no version {short_id(id)} here. `{typed('log')}` lists them.")
    if len(sides) < 2:
        return Ancestry({}), []
    ancestry = Ancestry(await _parents(versions, found[ours].project_id))
    # An ancestor of a common one is common too, so the latest are those that are not a parent of any.
    return ancestry, ancestry.latest(ancestry.of(ours) & ancestry.of(theirs))


async def three_states(versions: Versions, base: str, ours: str, theirs: str) -> Three:
    """Return the content at the base and at both, of every path that one of their lines changed.

    A path that one line never mentions is there as the others found it.
    """
    lines = [await _line_above(versions, side, base) for side in (ours, theirs)]
    base_line: Sequence[Version] = ()
    if any(line is None for line in lines):
        # One reaches the base through a merge: then only the line from the very beginning is certain.
        lines = [await versions.line(side) if side else [] for side in (ours, theirs)]
        base_line = await versions.line(base) if base else ()
    our_line, their_line = (line or [] for line in lines)
    origins: dict[str, Node | None] = {}
    for line in (base_line, our_line, their_line):
        for version in reversed(line):
            for change in version.changes:
                origins.setdefault(change.path, change.before)
    return Three(
        base=origins | state_of(base_line),
        ours=origins | state_of(our_line),
        theirs=origins | state_of(their_line),
    )


async def _parents(versions: Versions, project_id: str) -> dict[str, tuple[datetime, tuple[str, ...]]]:
    """Return time and parents of every version of the project; clocks differ, so no order is relied on."""
    known: dict[str, tuple[datetime, tuple[str, ...]]] = {}
    before: str | None = None
    while rows := await versions.rows(project_id, limit=ROWS, before=before):
        known.update((row.version.id, (row.version.at, row.version.parents)) for row in rows)
        before = rows[-1].version.id
    return known


def _come_from(id: str, known: Mapping[str, tuple[datetime, Iterable[str]]]) -> set[str]:
    found: set[str] = set()
    waiting = [id]
    while waiting:
        each = waiting.pop()
        if each not in found and each in known:
            found.add(each)
            waiting.extend(known[each][1])
    return found


async def _line_above(versions: Versions, side: str, base: str) -> list[Version] | None:
    """Return the version and its first parents down to the base, exclusive; None if it is not among them."""
    if not side:
        return []
    limit = LINE_FIRST
    while True:
        line = await versions.line(side, limit=limit)
        ids = [version.id for version in line]
        if base in ids:
            return line[: ids.index(base)]
        if len(line) < limit:
            return None
        limit *= 2
