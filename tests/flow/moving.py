"""Turns that change files, and what lies in a folder, for tests of undo and its kin."""

import os
import stat
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from ragforge.domain.turns import Turn, TurnStatus
from ragforge.domain.versions import Version
from ragforge.session.open import close_session, close_workspace, new_session, open_workspace
from ragforge.session.state import Session
from ragforge.versions.state import Head
from tests.flow.running import ended, say
from tests.standins.gemini import Call, Calls, GeminiStandIn, Text


def write(path: str, content: str) -> Call:
    return Call("write", {"path": path, "content": content})


def shell(command: str) -> Call:
    return Call("shell", {"command": command})


def read(path: str) -> Call:
    return Call("read", {"path": path})


async def turn(session: Session, gemini: GeminiStandIn, words: str, *calls: Call) -> Turn:
    """A turn in which the model makes these calls, one after the other."""
    gemini.script(*(Calls(call) for call in calls), Text("Done."))
    done = ended(await say(session, words))
    assert done.status is TurnStatus.FINISHED, done.error
    return done


def root_of(session: Session) -> Path:
    return session.workspace.place.root


def tree(folder: Path) -> dict[str, tuple[str, int, bytes]]:
    """Everything in the folder: kind, mode and content by path; an empty folder is there too."""
    found: dict[str, tuple[str, int, bytes]] = {}
    for path in sorted(folder.rglob("*")):
        name, mode = str(path.relative_to(folder)), stat.S_IMODE(path.lstat().st_mode)
        if path.is_symlink():
            found[name] = ("link", 0, os.fsencode(path.readlink()))
        elif path.is_dir():
            found[name] = ("folder", mode, b"")
        else:
            found[name] = ("file", mode, path.read_bytes())
    return found


async def head_of(session: Session) -> Head:
    await session.worktree.recorder.settle()  # a turn without tools may end before its version is made
    return await session.workspace.history.head(root_of(session))


async def line_of(session: Session) -> list[Version]:
    """The versions from the files' head down, newest first."""
    head = await head_of(session)
    return await session.workspace.store.versions.line(head.version) if head.version else []


async def versions_of(session: Session, turn: Turn) -> list[Version]:
    await session.worktree.recorder.settle()
    return await session.workspace.store.versions.of_turns([turn.id])


@asynccontextmanager
async def beside(session: Session) -> AsyncIterator[Session]:
    """Another session in the same folder, as another ragforge would have it open."""
    workspace = session.workspace
    other = await open_workspace(cwd=workspace.place.cwd, flags=workspace.flags, environ=workspace.environ)
    opened = await new_session(other)
    try:
        yield opened
    finally:
        await close_session(opened)
        await close_workspace(other)
