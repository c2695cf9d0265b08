"""An agent's copy of the project, in which it works in parallel to others; its result is a version."""

from asyncio import Lock
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from msgspec import Struct
from msgspec.structs import replace

from ragforge.domain.cancellation import in_thread, undisturbed
from ragforge.domain.errors import UsageError
from ragforge.domain.messages import Parts
from ragforge.domain.moves import Part
from ragforge.domain.versions import MoveAction
from ragforge.session.model import leave_model
from ragforge.session.moves import checkout
from ragforge.session.open import store_session
from ragforge.session.state import Session
from ragforge.versions.attempts.check_consent import check_command
from ragforge.versions.attempts.check_run import Checked, check
from ragforge.versions.attempts.copy_sessions import place_in, workspace_in
from ragforge.versions.attempts.request import Request, start_of
from ragforge.versions.comparison import changes_of_version
from ragforge.versions.copies.file_copies import make_room
from ragforge.versions.copies.project_copies import make_places, remove_copies
from ragforge.versions.difference import as_text
from ragforge.versions.words import moved_lines

DIFF_CHARS_MAX = 200_000


class CopyResult(Struct, frozen=True):
    """The result in a copy. checked: None if no check command runs."""

    version: str
    diff: str
    checked: Checked | None = None


@asynccontextmanager
async def session_in_copy(
    session: Session, child: Session, parts: Parts, *, turns: Lock
) -> AsyncGenerator[Session]:
    """Open the child session in a copy of the folder of `session`; the copy is removed afterwards.

    Consent is the same there as in the folder. turns: a lock for changes of files in the folder.
    Raises UsageError if no copy can be made.
    """
    if not await session.worktree.is_tracked():
        raise UsageError(session.worktree.not_tracked)
    workspace = child.workspace
    await store_session(child, said=parts)
    room = await in_thread(lambda _: make_room(workspace.data_dir))
    try:
        async with turns, session.worktree.ground() as ground:
            start = await start_of(session, ground, Request(parts))
            places = await make_places(
                ground,
                room,
                head=start.version,
                numbered={1: child.live.record.title},
                session_id=child.id,
                turn=None,
            )
        (copy,) = places.copies
        place = place_in(session, copy)
        inside = Session(
            await workspace_in(workspace, places.about, copy.root, place=place),
            replace(child.live, record=replace(child.live.record, cwd=str(place.cwd))),
        )
        try:
            yield inside
        finally:
            await undisturbed(_leave(inside), cancel_after=True)
    finally:
        await undisturbed(remove_copies(workspace.history, room), cancel_after=True)


async def _leave(inside: Session) -> None:
    await leave_model(inside)
    await inside.workspace.jobs.stop_all()
    await inside.workspace.recorders.close()


async def result_in_copy(inside: Session, turn_id: str, *, label: str) -> CopyResult | None:
    """Return the turn's result in the copy, checked there; None if it changed nothing. Raises StoreError."""
    await inside.worktree.recorder.settle()
    workspace = inside.workspace
    versions = [each for each in await workspace.store.versions.of_turns([turn_id]) if each.changes]
    if not versions:
        return None
    version = versions[-1]
    await workspace.store.versions.label(version.id, label)
    diff = as_text((await changes_of_version(inside.worktree, version)).files)[:DIFF_CHARS_MAX]
    command = (await check_command(workspace)).command
    checked = await check(command, cwd=workspace.place.root, env=workspace.child_env) if command else None
    return CopyResult(version.id, diff, checked)


async def take_version(session: Session, version_id: str) -> list[str]:
    """Change the project's files to the version; return notices. Raises UsageError, StoreError."""
    moved = await checkout(session, version_id, part=Part.FILES, action=MoveAction.TAKE)
    return moved_lines(moved)
