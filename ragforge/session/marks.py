"""Sessions that came from somebody else, by their marks, and search in all that a user may find."""

import asyncio
from collections.abc import Collection, Mapping

from msgspec.structs import replace

from ragforge.domain.derivations import DerivedFilter, DerivedOwner
from ragforge.domain.printable import one_line
from ragforge.domain.search import HitKind, Query
from ragforge.domain.shares import SHARED, SharedSession
from ragforge.memory.recall.results import Recall, SearchResults
from ragforge.memory.recall.search import search
from ragforge.store.base import Store

MARKS_MAX = 10_000
PROGRAM_MESSAGES_MAX = 1_000
"""The newest of a project."""


async def read_mark(store: Store, session_id: str) -> SharedSession | None:
    """Return whose session it is where it came from somebody else. Raises StoreError."""
    found = await store.derivations.find(DerivedFilter(SHARED.label, owners=(session_id,), abandoned=True))
    return SHARED.read(found[0]) if found else None


async def shared_here(store: Store, project_id: str) -> dict[str, SharedSession]:
    """The sessions that were imported for the project, by their ids. Raises StoreError."""
    marks = await shared_anywhere(store)
    return {session: mark for session, mark in marks.items() if mark.into == project_id}


async def shared_anywhere(store: Store) -> dict[str, SharedSession]:
    """The sessions that were imported for any project, by their ids. Raises StoreError."""
    found = await store.derivations.find(DerivedFilter(SHARED.label, limit=MARKS_MAX))
    marks = {each.owner: SHARED.read(each) for each in found if each.owner_kind is DerivedOwner.SESSION}
    return {session: mark for session, mark in marks.items() if mark}


async def search_everything(recall: Recall, query: Query) -> SearchResults:
    """What is found in the project, in what was imported for it, and in what its programs said.

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
    """What is found in the project and in what was imported for it. Raises StoreError."""
    answer = await search(recall, query)
    if not query.project_id:
        return answer
    marks = await shared_here(recall.store, query.project_id)
    found = list(answer.found)
    for project in await shared_projects(recall.store, marks):
        more = await search(recall, replace(query, project_id=project))
        found += [each for each in more.found if each.hit.session_id in marks]
    found.sort(key=lambda each: -each.hit.score)
    return replace(answer, found=tuple(found[: query.limit]))


async def shared_projects(store: Store, marks: Mapping[str, SharedSession]) -> list[str]:
    """Return the projects in which the sessions of these marks are kept."""
    sessions = [await store.sessions.get(each) for each in marks]
    return list(dict.fromkeys(each.project_id for each in sessions if each))


async def shared_among(store: Store, session_ids: Collection[str]) -> dict[str, str]:
    """Say of those of the sessions that came from somebody else who shared them, and when, by their ids."""
    wanted = set(session_ids)
    marks = await shared_anywhere(store) if wanted else {}
    return {session: shared_by(mark) for session, mark in marks.items() if session in wanted}


def shared_by(mark: SharedSession) -> str:
    """Say who shared it, and when."""
    return f"shared by {one_line(mark.by)} on {mark.exported_at:%Y-%m-%d}"
