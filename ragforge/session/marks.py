"""Imported sessions of other people, identified by their marks; and search in all that a user may find."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import TypeVar

from msgspec.structs import replace

from ragforge.domain.derivations import Derived, DerivedFilter, DerivedOwner
from ragforge.domain.printable import one_line
from ragforge.domain.search import HitKind, Query
from ragforge.domain.shares import SHARED, SharedSession
from ragforge.memory.recall.results import Recall, SearchResults
from ragforge.memory.recall.search import search
from ragforge.store.base import Store

Found = TypeVar("Found")
MARKS_MAX = 10_000
PROGRAM_MESSAGES_MAX = 1_000
"""How many of a project are read, the newest."""


async def read_mark(store: Store, session_id: str) -> SharedSession | None:
    """Return whose session it is if it was imported. Raises StoreError."""
    found = await store.derivations.find(DerivedFilter(SHARED.label, owners=(session_id,), abandoned=True))
    return SHARED.read(found[0]) if found else None


async def shared_here(store: Store, project_id: str) -> dict[str, SharedSession]:
    """Return the sessions imported for the project, by their ids. Raises StoreError."""
    return (await _shared_for(store, project_id))[0]


async def shared_anywhere(store: Store) -> dict[str, SharedSession]:
    """Return the sessions imported for any project, by their ids. Raises StoreError."""
    return {record.owner: mark for record, mark in await _marks(store)}


async def _shared_for(store: Store, project_id: str) -> tuple[dict[str, SharedSession], list[str]]:
    """Return the sessions imported for the project, and the projects in which they are stored: one, and
    others of imports by an older ragforge."""
    marks = await _marks(store)
    leading = {into for into in {mark.into for _, mark in marks} if await _now_in(store, into) == project_id}
    found = [(record, mark) for record, mark in marks if mark.into in leading]
    kept_in = dict.fromkeys(record.project_id for record, _ in found)
    return {record.owner: mark for record, mark in found}, list(kept_in)


async def projects_apart(store: Store) -> set[str]:
    """Return the projects with imported sessions. Raises StoreError."""
    return {record.project_id for record, _ in await _marks(store)}


async def _now_in(store: Store, project_id: str) -> str:
    """Return the project that this one was merged into, or else this one."""
    passed: set[str] = set()
    while project_id not in passed:
        passed.add(project_id)
        project = await store.projects.get(project_id)
        if project is None or not project.merged_into:
            break
        project_id = project.merged_into
    return project_id


async def _marks(store: Store) -> list[tuple[Derived, SharedSession]]:
    found = await store.derivations.find(DerivedFilter(SHARED.label, limit=MARKS_MAX))
    sessions = [each for each in found if each.owner_kind is DerivedOwner.SESSION]
    return [(each, mark) for each in sessions if (mark := SHARED.read(each))]


async def search_everything(recall: Recall, query: Query) -> SearchResults:
    """Search the project, its imported sessions, and what its programs said.

    Raises StoreError.
    """
    indexed = tuple(kind for kind in query.kinds if kind is not HitKind.PROGRAM)
    answer = await search_with_shared(recall, replace(query, kinds=indexed)) if indexed else SearchResults(())
    # Only a session is searched, or what one user said: programs' conversations are of neither.
    if HitKind.PROGRAM not in query.kinds or query.session_id or query.by or not query.text.strip():
        return answer
    wanted = DerivedFilter("ProgramMessage", query.project_id, limit=PROGRAM_MESSAGES_MAX)
    messages = await recall.store.derivations.find(wanted)
    if not messages:
        return answer
    from ragforge.session.program_messages import program_hits  # few projects have any

    found = [*answer.found, *await asyncio.to_thread(program_hits, query, messages)]
    found.sort(key=lambda each: -each.hit.score)
    return replace(answer, found=tuple(found[: query.limit]))


async def search_with_shared(recall: Recall, query: Query) -> SearchResults:
    """Search the project and its imported sessions. Raises StoreError."""
    if not query.project_id:
        return await search(recall, query)

    async def one(project: str) -> SearchResults:
        return await search(recall, replace(query, project_id=project))

    answer, others, marks = await here_and_shared(recall.store, query.project_id, one)
    shared = [each for more in others for each in more.found if each.hit.session_id in marks]
    found = sorted([*answer.found, *shared], key=lambda each: -each.hit.score)
    return replace(answer, found=tuple(found[: query.limit]))


async def here_and_shared(
    store: Store, project_id: str, look: Callable[[str], Awaitable[Found]]
) -> tuple[Found, list[Found], Mapping[str, SharedSession]]:
    """Return what `look` finds in the project, and in those with its imported sessions, in parallel.

    Also the marks of the imported sessions: a project of an older import may have sessions of others too.
    Raises StoreError.
    """
    marks, kept_in = await _shared_for(store, project_id)
    answer, *others = await asyncio.gather(*map(look, (project_id, *kept_in)))
    return answer, others, marks


async def shared_among(store: Store, session_ids: Collection[str]) -> dict[str, str]:
    """Return who shared those of the sessions that were imported, and when, by their ids."""
    wanted = set(session_ids)
    marks = await shared_anywhere(store) if wanted else {}
    return {session: shared_by(mark) for session, mark in marks.items() if session in wanted}


def shared_by(mark: SharedSession) -> str:
    """Return who shared it, and when."""
    return f"shared by {one_line(mark.by)} on {mark.exported_at:%Y-%m-%d}"
