"""What the commands on versions share: the session that they are about, and telling what a move came to."""

import os
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from ragforge.cli.edge import FAILED, tell
from ragforge.cli.options import Options, run_async
from ragforge.cli.output import printable
from ragforge.domain.errors import UsageError

if TYPE_CHECKING:  # costs more than all of `ragforge --version`
    from ragforge.domain.moves import Part
    from ragforge.session.state import Session, Workspace
    from ragforge.versions.head_move import Choices
    from ragforge.versions.move_result import MoveResult


class OnConflict(StrEnum):
    """What becomes of a file that was changed since."""

    KEEP = "keep"
    RESTORE = "restore"
    MERGE = "merge"


SessionId = Annotated[
    str | None,
    typer.Option("-r", "--resume", metavar="ID", help="The session; otherwise the folder's newest."),
]
FilesOnly = Annotated[bool, typer.Option("--files", help="Move the files alone, and not the conversation.")]
ChatOnly = Annotated[bool, typer.Option("--chat", help="Move the conversation alone, and not the files.")]
Conflicts = Annotated[
    OnConflict | None,
    typer.Option(
        "--on-conflict",
        help="What becomes of files that were changed since: they are kept if this is not given.",
    ),
]


def run_move(
    context: typer.Context,
    move: "Callable[[Session], Awaitable[MoveResult]]",
    *,
    resume: str | None,
    chosen: bool,
    may_begin: bool = False,
) -> None:
    """Move the heads of a session and tell what it came to; leaves with the exit code.

    chosen: whether it was said what becomes of files in conflict.
    may_begin: where the folder has no session, a new one will do.
    """
    options: Options = context.find_root().obj

    async def work() -> int:
        async with opened_session(options, resume, claims=True, may_begin=may_begin) as session:
            moved = await move(session)
            await _keep_draft(session, moved)
        return _told(moved, chosen=chosen)

    raise typer.Exit(run_async(work))


def part_of(*, files: bool, chat: bool) -> "Part":
    """What moves. Raises UsageError for both."""
    from ragforge.domain.moves import Part

    if files and chat:
        raise UsageError("--files moves the files alone, --chat the conversation: give only one.")
    return Part.FILES if files else Part.CHAT if chat else Part.BOTH


def choices_of(on_conflict: OnConflict | None) -> "Choices":
    """What becomes of files in conflict."""
    from ragforge.domain.moves import ConflictChoice
    from ragforge.versions.head_move import Choices

    return Choices(ConflictChoice(on_conflict or OnConflict.KEEP))


@asynccontextmanager
async def opened_session(
    options: Options, resume: str | None = None, *, claims: bool = False, may_begin: bool = False
) -> "AsyncGenerator[Session]":
    """The session that is named, else the folder's newest, claimed; or a new one that only looks.

    Raises RagforgeError, such as SessionBusy where another process has it open.
    claims: False for what is about the project and no session of it.
    may_begin: a new one will do where the folder has none.
    """
    from ragforge.session.open import close_session, close_workspace, new_session, open_workspace

    named = options.resume if resume is None else resume
    if named == "":
        raise UsageError("-r needs an ID here. `ragforge sessions` lists them.")
    workspace = await open_workspace(cwd=options.cwd, flags=options.flags, environ=os.environ)
    await workspace.background.close()  # no model is asked, and no work begins
    for notice in workspace.loaded.notices:
        tell(notice)
    try:
        if claims:
            session = await _claimed(workspace, named, may_begin=may_begin)
        else:
            session = await new_session(workspace)
        try:
            yield session
        finally:
            for notice in session.worktree.recorder.take_said():
                tell(notice)
            await close_session(session)
    finally:
        if waits := await close_workspace(workspace):
            tell(waits)


async def _claimed(workspace: "Workspace", named: str | None, *, may_begin: bool) -> "Session":
    from ragforge.session.library import find_session
    from ragforge.session.open import new_session, newest_session_here, resume_session

    if named:
        record = await find_session(workspace.store, named)
    else:
        try:
            record = await newest_session_here(workspace)
        except UsageError:
            if not may_begin:
                raise
            return await new_session(workspace)
    resumed = await resume_session(workspace, record)
    for notice in resumed.notices:
        tell(notice)
    return resumed.session


async def _keep_draft(session: "Session", moved: "MoveResult") -> None:
    """The message that was undone waits in the session's prompt until its redo, unless another text does."""
    from ragforge.domain.messages import text_of
    from ragforge.domain.versions import MoveAction

    local = session.workspace.local
    draft = await local.draft(session.id)
    if moved.draft and not draft:
        await local.set_draft(session.id, moved.draft)
    elif moved.action is MoveAction.REDO and draft in {text_of(turn.user) for turn in moved.turns}:
        await local.set_draft(session.id, "")


def _told(moved: "MoveResult", *, chosen: bool) -> int:
    """Tell what became of it; the exit code: 1 where files stay otherwise than was asked for."""
    from ragforge.versions.words import moved_lines

    first, *others = moved_lines(moved)
    typer.echo(printable(first))
    for line in others:
        typer.echo(printable(line))
    if moved.kept and not chosen:
        tell("--on-conflict restore or merge would have brought the files that were kept.")
    left = moved.skipped or moved.marked or moved.doubted or (moved.kept and not chosen)
    return FAILED if left else 0
