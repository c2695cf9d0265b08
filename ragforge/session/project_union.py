"""Merge two projects, and split one, with everything that belongs to them.

A merge leaves the source project, which says where it went: its id leads to the other one, and what another
machine writes there unaware follows at the next start. What moved is recorded,
so that a split can take it out again.
"""

import asyncio
import os
import socket
from collections.abc import Collection, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, contextmanager, suppress
from datetime import datetime
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ragforge.domain import timeouts
from ragforge.domain.derivations import Derived, DerivedFilter, DerivedKind, DerivedOwner
from ragforge.domain.errors import SessionBusy, StoreUnavailable, UsageError
from ragforge.domain.ids import new_id, now, short_id
from ragforge.domain.memories import Association, Memory, MemoryFilter, memory_id
from ragforge.domain.turns import Project
from ragforge.domain.versions import Version
from ragforge.domain.words import counted
from ragforge.store.base import Store
from ragforge.store.base_conversations import ProjectMove

ALL = 10_000_000
PAGE = 1_000
SESSIONS_AT_ONCE = 20
NOTED_AT_ONCE = 1_000
"""Ids in one note: a derived record holds no more than some 200,000 characters."""
BUSY_SHOWN = 5


class MovedIds(Struct, frozen=True):
    """What a merge moved. shared: memories that the other project had too; branches: old and new names."""

    sessions: tuple[str, ...] = ()
    versions: tuple[str, ...] = ()
    moves: tuple[str, ...] = ()
    memories: tuple[str, ...] = ()
    shared: tuple[str, ...] = ()
    branches: tuple[tuple[str, str], ...] = ()


MOVED = DerivedKind("ProjectMerge", MovedIds, owner=DerivedOwner.PROJECT)


class ProjectContents(Struct, frozen=True):
    """What belongs to a project. turns: on the paths to the heads of its sessions."""

    sessions: tuple[str, ...]
    turns: int
    memories: tuple[Memory, ...]
    versions: tuple[Version, ...]
    """Without their changes."""
    branches: Mapping[str, str]
    """The versions that they point to, by their names."""
    moves: tuple[str, ...]

    @property
    def words(self) -> str:
        """Return the amount, in words."""
        return ", ".join(
            (
                f"{counted(len(self.sessions), 'session')} with {counted(self.turns, 'turn')}",
                "1 memory" if len(self.memories) == 1 else f"{len(self.memories):,} memories",
                counted(len(self.versions), "version"),
                "1 branch" if len(self.branches) == 1 else f"{len(self.branches):,} branches",
            )
        )

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to move."""
        return not (self.sessions or self.memories or self.versions or self.branches or self.moves)


@contextmanager
def read_whole(store: Store) -> Generator[None]:
    """Raise StoreUnavailable at the end if a read inside lacked something because the server was late."""
    before = store.link.partial
    yield
    if store.link.partial > before:
        raise StoreUnavailable(
            f"Nothing was moved, because not everything could be read. {store.link.missing}"
        )


async def read_contents(store: Store, project_id: str) -> ProjectContents:
    """Return what belongs to the project. Raises StoreError."""
    rows = await store.sessions.recent(project_id=project_id, limit=ALL)
    wanted = MemoryFilter(project_id, forgotten=True, replaced=True, abandoned=True, limit=ALL)
    memories = [each for each in await store.memories.find(wanted) if each.project_id == project_id]
    versions: list[Version] = []
    while page := await store.versions.rows(
        project_id, limit=PAGE, before=versions[-1].id if versions else None
    ):
        versions += [row.version for row in page]
    return ProjectContents(
        sessions=tuple(await store.projects.sessions(project_id)),
        turns=sum(row.turns for row in rows),
        memories=tuple(memories),
        versions=tuple(versions),
        branches={each.name: each.version_id for each in await store.versions.branches(project_id)},
        moves=tuple(each.id for each in await store.versions.moves(project_id, limit=None)),
    )


async def check_free(store: Store, sessions: Sequence[str]) -> None:
    """Raise UsageError if any of the sessions is open somewhere."""
    busy: list[str] = []
    for start in range(0, len(sessions), SESSIONS_AT_ONCE):
        found = await asyncio.gather(
            *(_holder(store, each) for each in sessions[start : start + SESSIONS_AT_ONCE])
        )
        busy += filter(None, found)
    if busy:
        more = f"\n  and {len(busy) - BUSY_SHOWN} more" if len(busy) > BUSY_SHOWN else ""
        listed = "".join(f"\n  {each}" for each in busy[:BUSY_SHOWN])
        raise UsageError(f"Nothing was moved, because it is open elsewhere. Close it first:{listed}{more}")


async def _holder(store: Store, session_id: str) -> str:
    """Return who writes the session; empty for nobody."""
    try:
        claim = await store.sessions.claim(session_id)
    except SessionBusy as busy:
        return f"session {short_id(session_id)}, by {busy.holder or 'another process'}"
    await claim.release()
    return ""


async def merge(store: Store, source: Project, target: Project, contents: ProjectContents) -> None:
    """Move everything in the source to the target, to which its folders belong from then on.

    It can be interrupted at any point: then the next start in the target continues.
    Raises UsageError while a session of the source is open, StoreError.
    """
    await check_free(store, contents.sessions)
    # Recorded before anything moves: what comes there from now on is known to be late.
    await store.projects.add(replace(source, merged_into=target.id, changed_at=now()))
    await _check_stays(store, source, target)
    try:
        await _move_all(store, source.id, target.id, contents)
    except StoreUnavailable as error:
        raise StoreUnavailable(
            f"{error} Part of {source.name} may be in {target.name} already. Run the same command again to "
            f"move the rest; the next start in {target.name} does so too."
        ) from error


async def _check_stays(store: Store, source: Project, target: Project) -> None:
    """Raise UsageError if the target was merged into another meanwhile, and keep the source then.

    Each of two merges first records where its source goes and then checks, so that they cannot form a cycle.
    """
    await store.drain(timeout_s=timeouts.NEO4J_DRAIN_S_MAX)
    found = await store.projects.get(target.id)
    if found is None or found.merged_into:
        await store.projects.add(source)
        raise UsageError(
            f"Nothing was moved: {target.name} itself has just been merged into another project."
        )


async def bring_late(store: Store, project: Project, *, split_off: bool = False) -> int:
    """Move what came to projects that were merged into this one since; return for how many there was any.

    What is being written right now waits for the next time, and so does what is being split off, unless it
    is brought back (`split_off`) because that was interrupted. Raises StoreError.
    """
    brought = 0
    every = {each.id: each for each in await store.projects.every()}
    for each in every.values():
        if not _ends_in(each, project.id, every):
            continue
        contents = await read_contents(store, each.id)
        is_ours = (
            await store.leases.take(_lease_of(each), seconds=timeouts.PROJECT_SPLIT_LEASE_S)
            if not contents.is_empty
            else False
        )
        if contents.is_empty or not (is_ours or split_off):
            continue
        try:
            await check_free(store, contents.sessions)
            await _move_all(store, each.id, project.id, contents)
        except (UsageError, SessionBusy):
            continue
        finally:
            await store.leases.give_back(_lease_of(each))
        brought += 1
    return brought


def _ends_in(project: Project, target: str, every: Mapping[str, Project]) -> bool:
    """Whether it was merged into the target, or into what was merged into it."""
    passed = set[str]()
    while project.merged_into and project.id not in passed:
        passed.add(project.id)
        if project.merged_into == target:
            return True
        if project.merged_into not in every:
            return False
        project = every[project.merged_into]
    return False


def _lease_of(project: Project) -> str:
    return f"project split {project.id}"


async def _move_all(store: Store, source: str, target: str, contents: ProjectContents) -> None:
    names = {each.name for each in await store.versions.branches(target)}
    branches = _renamed(contents.branches, names, source)
    ids = {memory.id: _id_in(memory, target) for memory in contents.memories}
    there = {each.id for each in await store.memories.get(list(ids.values()))}
    shared = [each for each in contents.memories if ids[each.id] != each.id and ids[each.id] in there]
    await _note(
        store,
        source,
        MovedIds(
            sessions=contents.sessions,
            versions=tuple(each.id for each in contents.versions if not each.session_id),
            moves=contents.moves,
            memories=tuple(ids.values()),
            shared=tuple(ids[memory.id] for memory in shared),
            branches=tuple(branches.items()),
        ),
    )
    await _move_sessions(store, source, target, contents.sessions)
    for memory in shared:
        await _unite(store, memory, ids[memory.id], target)
    gone = {memory.id for memory in shared}
    await store.projects.move(
        ProjectMove(
            source,
            target,
            versions=tuple(each.id for each in contents.versions),
            branches=branches,
            moves=contents.moves,
            memories={id: called for id, called in ids.items() if id not in gone},
        )
    )


async def _move_sessions(store: Store, source: str, target: str, sessions: Sequence[str]) -> None:
    """Move some at a time, each batch with the right to write them, so that nobody else does meanwhile."""
    for start in range(0, len(sessions), SESSIONS_AT_ONCE):
        batch = sessions[start : start + SESSIONS_AT_ONCE]
        async with AsyncExitStack() as held:
            for each in batch:
                claim = await store.sessions.claim(each)
                held.push_async_callback(claim.release)
            await store.projects.move(ProjectMove(source, target, sessions=tuple(batch)))


async def _unite(store: Store, memory: Memory, id: str, target: str) -> None:
    """Give the memory of the same text in the other project the evidence of this one."""
    links = await store.memories.associations([memory.id])
    await store.memories.save(replace(memory, id=id, project_id=target))
    moved = [_with_end(link, memory.id, id) for link in links]
    await store.memories.associate([link for link in moved if link.from_id != link.to_id])
    await store.archive.rewrite([], without=[memory.id])


def _id_in(memory: Memory, project_id: str) -> str:
    """Return its id in the project. One that has another owner keeps its own, as does a global one."""

    def id_of(project_id: str, owner: str) -> str:
        return memory_id(
            memory.content,
            scope=memory.scope,
            project_id=project_id,
            session_id=memory.session_id,
            owner=owner,
        )

    for owner in dict.fromkeys(("", memory.owner)):
        if memory.id == id_of(memory.project_id, owner):
            return id_of(project_id, owner)
    return memory.id


def _renamed(branches: Iterable[str], taken: Collection[str], source: str) -> dict[str, str]:
    """Return the names of branches, and their names beside these others."""
    used, found = {*taken}, dict[str, str]()
    for name in branches:
        called, number = name, 1
        while called in used:
            number += 1
            called = f"{name}-{short_id(source)}" + ("" if number == 2 else f"-{number}")
        used.add(called)
        found[name] = called
    return found


async def _note(store: Store, source: str, moved: MovedIds) -> None:
    """Record in the source project what it had, in as many notes as it needs.

    None replaces another, whoever else records what they move at the same time.
    """
    moment = now()
    for part in _parts(moved):
        await store.derivations.save(
            Derived(
                kind=MOVED.label,
                owner_kind=DerivedOwner.PROJECT,
                owner=source,
                project_id=source,
                at=moment,
                data=msgspec.to_builtins(part),
                name=new_id(),
            )
        )


def _parts(moved: MovedIds) -> Iterator[MovedIds]:
    lists = [getattr(moved, name) for name in MovedIds.__struct_fields__]
    for start in range(0, max(map(len, lists)), NOTED_AT_ONCE):
        yield MovedIds(*(each[start : start + NOTED_AT_ONCE] for each in lists))


async def read_moved(store: Store, source: str) -> MovedIds:
    """Return what merges moved out of the project. Raises StoreError."""
    found = await store.derivations.find(DerivedFilter(MOVED.label, source, (source,), limit=ALL))
    notes = [MOVED.read(each) for each in found]
    return MovedIds(
        *(
            tuple(dict.fromkeys(each for note in notes for each in getattr(note, name)))
            for name in MovedIds.__struct_fields__
        )
    )


class Split(Struct, frozen=True):
    """What a split would take out of a project. along: sessions that share turns or versions with those
    requested, and so cannot stay. copied: memories that are based on sessions of both sides."""

    moving: ProjectContents
    along: int
    copied: tuple[Memory, ...] = ()


async def plan_split(
    store: Store, project: Project, wanted: Collection[str], moved: MovedIds | None = None
) -> Split:
    """Return what leaves the project with these sessions, or with what a merge had moved.

    Raises UsageError if nothing of it is in the project, or nothing would stay; StoreError.
    """
    contents = await read_contents(store, project.id)
    moved = moved or MovedIds()
    seed = {*wanted, *moved.sessions} & {*contents.sessions}
    groups = _Groups()
    for one, other in await store.projects.joined_sessions(project.id):
        groups.join(one, other)
    for version in contents.versions:
        groups.join(version.id, *version.parents, *filter(None, [version.session_id]))
    roots = {groups.root(each) for each in (*seed, *moved.versions)}
    sessions = tuple(each for each in contents.sessions if groups.root(each) in roots)
    versions = tuple(each for each in contents.versions if groups.root(each.id) in roots)
    goes, copied = await _parted(store, contents, {*sessions}, moved)
    if not sessions and not versions and not goes:
        raise UsageError("This project contains none of that.")
    if moved == MovedIds() and len(sessions) == len(contents.sessions):
        raise UsageError("The whole project belongs together, so nothing would remain in it.")
    rows = {
        row.session.id: row.turns for row in await store.sessions.recent(project_id=project.id, limit=ALL)
    }
    ids = {each.id for each in versions}
    moves = [
        each.id
        for each in await store.versions.moves(project.id, limit=None)
        if each.session_id in sessions or (not each.session_id and {each.from_version, each.to_version} & ids)
    ]
    moving = ProjectContents(
        sessions=sessions,
        turns=sum(rows.get(each, 0) for each in sessions),
        memories=goes,
        versions=versions,
        branches={name: version for name, version in contents.branches.items() if version in ids},
        moves=tuple(moves),
    )
    return Split(moving, len({*sessions} - seed), copied)


async def _parted(
    store: Store, contents: ProjectContents, sessions: Collection[str], moved: MovedIds
) -> tuple[tuple[Memory, ...], tuple[Memory, ...]]:
    """Return the memories that go, and those of both sides."""
    proofs = list(dict.fromkeys(turn for memory in contents.memories for turn in memory.turns))
    session_of = {turn.id: turn.session_id for turn in await store.turns.read(proofs)} if proofs else {}
    goes, both = list[Memory](), list[Memory]()
    for memory in contents.memories:
        sides = {session_of[turn] in sessions for turn in memory.turns if turn in session_of}
        if not sides:
            sides = {memory.session_id in sessions or memory.id in moved.memories}
            sides |= {False} if memory.id in moved.shared else set()
        if True in sides:
            (both if len(sides) == 2 else goes).append(memory)
    return tuple(goes), tuple(both)


async def split(
    store: Store,
    project: Project,
    target: Project,
    plan: Split,
    moved: MovedIds | None,
    *,
    at: datetime | None = None,
) -> None:
    """Move the plan from the project to the target, which is stored as given.

    at: when it was split off, if that was in another store. It can be interrupted at any point: until all
    is moved, the target counts as merged into the project, so the next start in that brings back what was
    moved. Raises UsageError while a session of it is open, StoreError.
    """
    moving = plan.moving
    await check_free(store, moving.sessions)
    await store.leases.take(_lease_of(target), seconds=timeouts.PROJECT_SPLIT_LEASE_S)
    await store.projects.add(replace(target, merged_into=project.id, changed_at=None))
    try:
        await _move_planned(store, project, target, plan, moved)
        await store.projects.add(replace(target, changed_at=at or now()))
    except StoreUnavailable as error:
        raise StoreUnavailable(
            f"{error} Part of {project.name} may be in {target.name} already. Run the same command again to "
            f"split it; if you do not, the next start in {project.name} moves that part back."
        ) from error
    with suppress(StoreUnavailable):  # it expires by itself, and the split is done
        await store.leases.give_back(_lease_of(target))


async def _move_planned(
    store: Store, project: Project, target: Project, plan: Split, moved: MovedIds | None
) -> None:
    moving = plan.moving
    taken = {each.name for each in await store.versions.branches(target.id)}
    former = {called: name for name, called in (moved.branches if moved else ())}
    branches = {
        name: former[name] if former.get(name, name) not in taken and name in former else called
        for name, called in _renamed(moving.branches, taken, project.id).items()
    }
    for memory in plan.copied:
        await _copy(store, memory, target, plan)
    await _move_sessions(store, project.id, target.id, moving.sessions)
    ids = {each.id: _id_in(each, target.id) for each in moving.memories}
    there = {each.id for each in await store.memories.get(list(ids.values()))}
    shared = [each for each in moving.memories if ids[each.id] != each.id and ids[each.id] in there]
    for memory in shared:
        await _unite(store, memory, ids[memory.id], target.id)
    gone = {memory.id for memory in shared}
    await store.projects.move(
        ProjectMove(
            project.id,
            target.id,
            versions=tuple(each.id for each in moving.versions),
            branches=branches,
            moves=moving.moves,
            memories={id: called for id, called in ids.items() if id not in gone},
        )
    )


async def _copy(store: Store, memory: Memory, target: Project, plan: Split) -> None:
    """Give each of the two projects the memory, based on its own turns."""
    sessions = {*plan.moving.sessions}
    session_of = {turn.id: turn.session_id for turn in await store.turns.read(memory.turns)}
    theirs = tuple(turn for turn in memory.turns if session_of.get(turn) in sessions)
    id = _id_in(memory, target.id)
    if id == memory.id:
        return  # a global one is valid in both
    ours = tuple(turn for turn in memory.turns if turn not in theirs)
    made_in, stays_in = (session_of.get(each[0], "") if each else "" for each in (theirs, ours))
    if memory.session_id in sessions:
        made_in = memory.session_id
    else:
        stays_in = memory.session_id
    links = await store.memories.associations([memory.id])
    leaving = {each.id for each in plan.moving.memories}
    apart = [link for link in links if leaving & {link.from_id, link.to_id}]
    await store.memories.save(replace(memory, id=id, project_id=target.id, turns=theirs, session_id=made_in))
    await store.memories.associate([_with_end(link, memory.id, id) for link in apart])
    # Its links stay where their other ends are; there is no other way to remove one.
    stays = [link for link in links if link not in apart]
    await store.archive.rewrite(
        [replace(memory, turns=ours, session_id=stays_in), *stays], without=[memory.id]
    )


def _with_end(link: Association, before: str, after: str) -> Association:
    """Return the link with another memory in place of one."""
    ends = (after if each == before else each for each in (link.from_id, link.to_id))
    return replace(link, **dict(zip(("from_id", "to_id"), ends, strict=True)))


class _Groups:
    """Groups of what belongs together, as far as joined."""

    def __init__(self) -> None:
        self._above: dict[str, str] = {}

    def root(self, one: str) -> str:
        """Return the representative of the group of this one."""
        while (above := self._above.get(one, one)) != one:
            self._above[one] = self._above.get(above, above)
            one = above
        return one

    def join(self, first: str, *others: str) -> None:
        """Join all of these."""
        for other in others:
            self._above[self.root(other)] = self.root(first)


async def sessions_in_folder(store: Store, project: Project, folder: Path) -> set[str]:
    """Return ids of the project's sessions that started in this folder of this machine. Raises StoreError."""
    path, host = os.fspath(folder), socket.gethostname()
    return {
        row.session.id
        for row in await store.sessions.recent(project_id=project.id, limit=ALL)
        if row.session.host in ("", host) and path in (row.session.project_path, row.session.cwd)
    }
