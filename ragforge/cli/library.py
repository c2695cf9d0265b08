"""Open and close what a command works with: the library or a session."""

import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from ragforge.cli.edge import tell
from ragforge.cli.options import Options
from ragforge.commands.base import Opens
from ragforge.domain.errors import UsageError

if TYPE_CHECKING:  # costs more than all of `ragforge --version`
    from ragforge.session.machine import Library, Machine
    from ragforge.session.state import Session, Workspace


def this_machine(options: Options, url: str = "") -> "Machine":
    """Return this machine according to the flags, with the store at the address in use if one is given."""
    from ragforge.session.databases import this_machine

    return this_machine(cwd=options.cwd, flags=options.flags, environ=os.environ, url=url)


@asynccontextmanager
async def opened_library(options: Options) -> "AsyncGenerator[Library]":
    """Open the folder's library; at the end, report rows that wait for a server. Raises RagforgeError."""
    from ragforge.session.library import close_library, open_library
    from ragforge.session.persons import same_person_words
    from ragforge.session.project import unasked_words

    opened = await open_library(cwd=options.cwd, flags=options.flags, environ=os.environ)
    for words in (same_person_words(opened.person), await unasked_words(opened)):
        if words:
            tell(words)
    try:
        yield opened
    finally:
        if waits := await close_library(opened):
            tell(waits)


@asynccontextmanager
async def opened_session(
    options: Options, opens: Opens = Opens.NONE, resume: str | None = None
) -> "AsyncGenerator[Session]":
    """Open the named session, else the folder's newest; or a new one.

    Raises RagforgeError, such as SessionBusy if another process has it open.
    """
    from ragforge.session.open import close_session, close_workspace, new_session, open_workspace
    from ragforge.session.persons import same_person_words
    from ragforge.session.project import unasked_words

    named = options.resume if resume is None else resume
    if named == "":
        raise UsageError("-r needs an ID here. `ragforge sessions` lists them.")
    workspace = await open_workspace(
        cwd=options.cwd,
        flags=options.flags,
        environ=os.environ,
        recalls=not options.no_memory,
        trusts_project=options.trust_project,
    )
    await workspace.background.close()  # no model is asked, and no work starts
    unasked = await unasked_words(workspace)
    for notice in (*workspace.loaded.notices, same_person_words(workspace.person), unasked):
        if notice:
            tell(notice)
    try:
        if opens is Opens.NONE:
            session = await new_session(workspace)
        else:
            session = await _named_session(workspace, named, opens)
        try:
            yield session
        finally:
            for notice in session.worktree.recorder.take_said():
                tell(notice)
            await close_session(session)
    finally:
        if waits := await close_workspace(workspace):
            tell(waits)


async def _named_session(workspace: "Workspace", named: str | None, opens: Opens) -> "Session":
    from ragforge.session.library import find_session
    from ragforge.session.open import new_session, newest_session_here, resume_session

    if named:
        record = await find_session(workspace.store, named)
    else:
        try:
            record = await newest_session_here(workspace)
        except UsageError:
            if opens is Opens.NEWEST:
                raise
            return await new_session(workspace)
    resumed = await resume_session(workspace, record, read_only=opens is Opens.LOOK)
    for notice in resumed.notices:
        tell(notice)
    return resumed.session
