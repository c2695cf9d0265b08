"""An open store without what a turn needs: for lists, search and clean-up."""

import asyncio
from collections.abc import Collection, Generator, Mapping
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path

from msgspec.structs import replace

from ragforge.config.paths import data_dir, make_private
from ragforge.config.project import find_project
from ragforge.config.settings import load_settings
from ragforge.domain.errors import StoreError, StoreUnavailable, UsageError
from ragforge.domain.ids import now
from ragforge.domain.json import JsonValue
from ragforge.domain.turns import ConversationSession, Turn
from ragforge.domain.usage import Purpose
from ragforge.domain.words import counted
from ragforge.session.link import leave_store
from ragforge.session.machine import Library, Machine
from ragforge.session.persons import identify_person
from ragforge.session.project import allowed_repositories, identify_project
from ragforge.session.store_access import open_named
from ragforge.store.base import Store
from ragforge.store.base_conversations import Deleted
from ragforge.store.local.prompts import commands_key
from ragforge.store.local.state import LocalState, open_local_state
from ragforge.store.survey import lost_words

ID_PART_CHARS_MIN = 4


async def open_library(*, cwd: Path, flags: Mapping[str, JsonValue], environ: Mapping[str, str]) -> Library:
    """Open the library of this folder. Raises UsageError (a wrong setting) or StoreError.

    Raises StoreAddressWrong for an address that cannot be a store's.
    """
    place = find_project(cwd, identify=False)
    loaded = load_settings(cwd=cwd, flags=flags, environ=environ, project_root=place.root)
    try:
        folder = make_private(data_dir(environ))
    except UsageError as error:
        raise StoreUnavailable(str(error)) from error
    if lost := await asyncio.to_thread(lost_words, folder, loaded.settings.store):
        loaded = replace(loaded, notices=(*loaded.notices, *lost))
    async with AsyncExitStack() as opened:
        opened.enter_context(_telling(lost))
        store = await open_named(loaded, environ, loaded.settings.store, machine_dir=folder)
        opened.push_async_callback(store.close)
        local = await open_local_state(folder, history_max=loaded.settings.history.entries_max)
        opened.push_async_callback(local.close)
        known = await local.places.project_at(place.root)
        allowed = await allowed_repositories(local, known) if place.foreign_git else ()
        if known is None or await store.projects.get(known) is None:
            # It asks git, which takes as long as everything else.
            place = find_project(cwd, allowed=allowed)
        elif allowed:
            place = find_project(cwd, identify=False, allowed=allowed)
        project, alike = await identify_project(store, local, place)
        person = await identify_person(store, local, place, environ)
        opened.pop_all()  # successful: `close_library` closes them
    return Library(loaded, environ, folder, place, project, alike, store, local, person)


@contextmanager
def _telling(lost: list[str]) -> Generator[None]:
    """An error also says what was lost: the next start finds what was made in its place."""
    try:
        yield
    except StoreError as error:
        error.args = (" ".join((str(error), *lost)),)
        raise


async def close_library(library: Library) -> str:
    """Release everything. Return what to tell the user about rows that still wait for a server."""
    await library.local.close()
    return await leave_store(library.store)


async def read_secrets(machine: Machine) -> list[str]:
    """Return every configured key and password."""
    from ragforge.config.secrets import all_secrets  # not for lists and searches, which save nothing

    # In a thread: the keyring may take seconds.
    return await asyncio.to_thread(
        all_secrets, machine.environ, endpoints=machine.settings.endpoints, store_url=machine.url
    )


async def redacted(library: Library, text: str) -> str:
    """Return the text without secrets, which are never stored."""
    from ragforge.domain.redact import Redactor  # for the same reason

    return Redactor(await read_secrets(library)).text(text)


async def find_session(store: Store, id_part: str) -> ConversationSession:
    """Return the session with this id, or whose id starts or ends with it. Raises UsageError for none or
    several."""
    exact = await store.sessions.get(id_part)
    if exact:
        return exact
    long_enough = len(id_part) >= ID_PART_CHARS_MIN
    rows = await store.sessions.recent(with_id_part=id_part, limit=5) if long_enough else []
    if len(rows) == 1:
        return rows[0].session
    if rows:
        ids = ", ".join(row.session.id for row in rows)
        raise UsageError(f"Several sessions match {id_part!r}: {ids}. Give more of the id.")
    raise UsageError(f"There is no session {id_part!r}. `ragforge sessions` lists all sessions.")


async def newest_session(
    store: Store, *, project_id: str, cwd: Path, former: Collection[Path] = ()
) -> ConversationSession:
    """Return the session of this folder that was active last. Raises UsageError if there is none.

    Sessions in which an agent of a program spoke last come after all others.
    former: earlier paths of the folder.
    """
    rows = await store.sessions.recent(project_id=project_id)
    # An archived one only if no other was started here.
    rows.sort(key=lambda row: row.session.archived_at is not None)
    folders = {str(path) for path in (cwd, *former)}
    here = [row.session for row in rows if row.session.cwd in folders]
    for session in here:
        if not await _is_of_program(store, session):
            return session
    if here:
        return here[0]
    # A session of another folder of the project may be meant, or of this one before it was copied.
    others = f"-r ID resumes one from {rows[0].session.cwd}; `ragforge sessions` lists them." if rows else ""
    start = "Run `ragforge` to start one."
    raise UsageError(f"No session was started in {cwd} yet. {others or start}")


async def _is_of_program(store: Store, session: ConversationSession) -> bool:
    head = await store.turns.get(session.head) if session.head else None
    return head is not None and head.purpose is Purpose.PROGRAM


async def turn_at(store: Store, record: ConversationSession, number: int) -> Turn:
    """Return the turn at this position of the session's path, counted from 1. Raises UsageError."""
    path = await store.turns.path(record.head)
    if not 1 <= number <= len(path):
        raise UsageError(f"The session has {counted(len(path), 'turn')}; there is no turn {number}.")
    return path[number - 1]


async def archive_session(store: Store, session_id: str) -> None:
    """Archive a session. Raises SessionBusy while it is open, because it would continue there."""
    claim = await store.sessions.claim(session_id)
    try:
        await store.sessions.set_archived(session_id, now())
    finally:
        await claim.release()


async def delete_session(store: Store, local: LocalState, session_id: str) -> Deleted:
    """Delete the session and return what was removed. Raises SessionBusy while it is open."""
    claim = await store.sessions.claim(session_id)
    try:
        deleted = await store.sessions.delete(session_id)
    finally:
        await claim.release()
    await local.prompts.set_draft(session_id, "")
    await local.prompts.set_queue(session_id, [])
    await local.prompts.set_queue(commands_key(session_id), [])
    await local.recalls.forget(session_id)
    return deleted
