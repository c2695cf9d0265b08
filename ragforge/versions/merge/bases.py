"""The base of a merge with several common ancestors: these, merged with each other."""

from collections.abc import Awaitable, Callable, Sequence

from msgspec import Struct, field

from ragforge.domain.versions import Node, Version
from ragforge.store.base_versions import Versions
from ragforge.versions.merge.ancestors import Ancestry, State, Three
from ragforge.versions.tree import state_of

LEVELS_MAX = 16
"""How deep bases that have several bases themselves are merged; beyond, the newest is used."""


async def states_from_several(
    versions: Versions,
    ancestry: Ancestry,
    bases: Sequence[str],
    ours: str,
    theirs: str,
    *,
    join: Callable[[Three], Awaitable[State]],
) -> Three:
    """Return the content at both sides and at the merged base, of every path that any of them changed.

    join: merges two states into one. What both sides took from each other before is common to them then,
    whichever side had it first. Source: git's documentation, merge strategy "recursive".
    Raises StoreError.
    """
    joining = _Joining(versions, ancestry, join)
    for id in (ours, theirs):
        await joining.read(id)
    await joining.read_all(bases, LEVELS_MAX)
    return Three(await joining.joined(tuple(bases), LEVELS_MAX), joining.state(ours), joining.state(theirs))


class _Joining(Struct):
    """Bases that are being merged."""

    versions: Versions
    ancestry: Ancestry
    join: Callable[[Three], Awaitable[State]]
    lines: dict[str, list[Version]] = field(default_factory=dict[str, list[Version]])
    origins: dict[str, Node | None] = field(default_factory=dict[str, Node | None])
    """The content of each path before the first version that changed it."""
    asked: set[tuple[str, ...]] = field(default_factory=set[tuple[str, ...]])
    done: dict[tuple[str, ...], State] = field(default_factory=dict[tuple[str, ...], State])

    async def read(self, id: str) -> None:
        """Read the version's line, from its very beginning."""
        if id in self.lines:
            return
        self.lines[id] = await self.versions.line(id)
        for version in reversed(self.lines[id]):
            for change in version.changes:
                self.origins.setdefault(change.path, change.before)

    async def read_all(self, bases: Sequence[str], levels: int) -> None:
        """Read the lines of all ancestors: origins must be known before a state is computed."""
        for id in bases:
            await self.read(id)
        for inner in self._inner(bases, levels):
            if inner not in self.asked:
                self.asked.add(inner)
                await self.read_all(inner, levels - 1)

    def state(self, id: str) -> State:
        """Return the files at the version."""
        return self.origins | state_of(self.lines[id])

    async def joined(self, bases: tuple[str, ...], levels: int) -> State:
        """Return the files at all of these, merged; for none, the state before the first version."""
        if bases in self.done:
            return self.done[bases]
        state = self.state(bases[0]) if bases else dict(self.origins)
        for id, inner in zip(bases[1:], self._inner(bases, levels), strict=False):
            base = await self.joined(inner, levels - 1)
            state = await self.join(Three(base, state, self.state(id)))
        self.done[bases] = state
        return state

    def _inner(self, bases: Sequence[str], levels: int) -> list[tuple[str, ...]]:
        """Return, for each but the first, its common ancestors with all before it."""
        if not bases:
            return []
        found: list[tuple[str, ...]] = []
        above = self.ancestry.of(bases[0])
        for id in bases[1:]:
            own = self.ancestry.of(id)
            common = self.ancestry.latest(above & own)
            found.append(tuple(common if levels > 0 else common[:1]))
            above |= own
        return found
