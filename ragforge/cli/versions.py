"""The session that a command is about."""

import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from ragforge.cli.edge import tell
from ragforge.cli.options import Options
from ragforge.domain.errors import UsageError

if TYPE_CHECKING:  # costs more than all of `ragforge --version`
    from ragforge.session.state import Session, Workspace


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
