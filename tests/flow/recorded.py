"""What tests of recorded versions look at: the line at the head, and contents."""

import random
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path

from ragforge.domain.events import AgentEvent, Notice, TurnEnded
from ragforge.domain.versions import Change, Node, Version
from ragforge.files.folder_lock import folder_lock
from ragforge.session.state import Session
from ragforge.store.sqlite.connection import Connection, Database
from ragforge.versions.scan.nodes import node_at
from ragforge.versions.tree import state_of
from tests.standins.gemini import Call, Calls, Recorded, Reply, Text

DAY_MS = 86_400_000
COMMANDS = (
    "rm -f {0}.txt; printf more > more-{1}.txt",
    "mkdir -p folder/{0}; mv {0}.txt folder/{0}/ || touch {0}.txt",
    "rm -rf folder; printf {1} >> log.txt",
    "sed -i s/a/b/ *.txt",
)


def answers(chance: random.Random) -> list[Callable[[Recorded], Reply]]:
    """Some tools to run for each message, then a word."""

    def answer(request: Recorded) -> Reply:
        if any("functionResponse" in part for part in request.body["contents"][-1]["parts"]):
            return Text("Done.")
        name, other = chance.randrange(4), chance.randrange(1000)
        command = chance.choice(COMMANDS).format(name, other)
        return Calls(
            Call("write", {"path": f"new-{other}-{time.monotonic_ns()}.txt", "content": f"a {other}"}),
            Call("shell", {"command": command}),
        )

    return [answer] * 1000


async def line(session: Session) -> list[Version]:
    """The versions at the files' head, newest first, as they stand without looking at the disk."""
    await session.worktree.recorder.settle()
    workspace = session.workspace
    head = await workspace.history.head(workspace.place.root)
    return await workspace.store.versions.line(head.version) if head.version else []


async def line_now(session: Session) -> list[Version]:
    """The same after everything on the disk was accounted for."""
    head = await session.worktree.catch_up()
    return await session.workspace.store.versions.line(head.version) if head.version else []


async def version_of(session: Session, events: Sequence[AgentEvent]) -> Version:
    """The newest version of the turn. Where the turn's end tells of one already, it is that one."""
    last = events[-1]
    assert isinstance(last, TurnEnded)
    await session.worktree.recorder.settle()
    found = await session.workspace.store.versions.of_turns([last.turn.id])
    assert found
    assert last.version in (None, found[-1])
    return found[-1]


def told(events: Sequence[AgentEvent]) -> str:
    return "\n".join(event.text for event in events if isinstance(event, Notice))


def kinds(version: Version) -> dict[str, tuple[str, str]]:
    """What became of each path, and how that is known."""
    return {change.path: (str(change.kind), str(change.provenance)) for change in version.changes}


async def contents(session: Session, change: Change) -> tuple[bytes | None, bytes | None]:
    """What lay at the path before and after, from the blob store."""

    async def content(node: Node | None) -> bytes | None:
        return None if node is None else await session.workspace.blobs.get(node.digest)

    return await content(change.before), await content(change.after)


async def assert_head_is_disk(session: Session) -> None:
    """Of every path that was ever changed the head says what lies there, and has its content."""
    root: Path = session.workspace.place.root
    for path, node in state_of(await line(session)).items():
        assert node == node_at(root / path), path
        if node is not None and node.digest:
            await session.workspace.blobs.get(node.digest)


def busy(session: Session) -> AbstractAsyncContextManager[None]:
    """Another session restores files while it lasts."""
    workspace = session.workspace
    return folder_lock(workspace.data_dir, workspace.place.root, timeout_s=60)


def shell(command: str, **more: object) -> Calls:
    return Calls(Call("shell", {"command": command, **more}))


def write(path: str, content: str) -> Calls:
    return Calls(Call("write", {"path": path, "content": content}))


def edit(path: str, old: str, new: str) -> Calls:
    return Calls(Call("edit", {"path": path, "old": old, "new": new}))


def read(path: str) -> Calls:
    return Calls(Call("read", {"path": path}))


async def a_day_passes(session: Session) -> None:
    """For the contents: what nobody has asked for since then may be cleaned up."""
    await session.workspace.blobs.sizes()  # the database is there now
    database = Database(session.workspace.data_dir / "blobs.db")

    def age(connection: Connection) -> None:
        connection.execute("UPDATE blob SET at = max(1, at - ?) WHERE at > 0", (2 * DAY_MS,))
        connection.execute("UPDATE touched SET at = at - ?", (2 * DAY_MS,))

    await database.write(age)
    await database.close()
