"""A folder with two sessions at once that may die at any moment, for `test_history_machine`.

Folder, stores, states and contents are the real ones. Turns run through what records real turns; only the
model is left out. Who dies does so at a write of the local state: from then on none of its writes arrives.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from types import CoroutineType
from typing import Any, TypeVar

from msgspec.structs import replace

from ragforge.agent.parts import GuardedCall
from ragforge.domain.ids import new_id, now
from ragforge.domain.messages import TextPart
from ragforge.domain.turns import Turn, TurnEnd, TurnStatus
from ragforge.domain.usage import Usage
from ragforge.session.history import keep_end
from ragforge.session.open import (
    close_workspace,
    new_session,
    open_workspace,
    resume_session,
    store_session,
)
from ragforge.session.state import Session
from ragforge.store.sqlite.connection import Connection
from ragforge.versions.record.turn import LOOKED_AT, SHELVED, Recording
from ragforge.versions.state import HistoryState
from tests.contract.builders import a_call, a_request, a_step

T = TypeVar("T")

SESSIONS = 2
PATIENCE_S = 60.0
VERSIONS = str(Path("session", "versions"))


class Killed(BaseException):
    """The process is gone: nothing catches this, as nothing catches a SIGKILL."""


class MortalState(HistoryState):
    """The local state of a process that dies at one of its writes, before or after that is durable."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.writes_left: int | None = None
        self.dies_after = False
        self.dead = False

    async def _write(self, job: Callable[[Connection], T]) -> T:
        if self.writes_left == 0:
            if self.dies_after and not self.dead:
                await super()._write(job)
            self.dead = True
        if self.dead:
            raise Killed
        if self.writes_left is not None:
            self.writes_left -= 1
        return await super()._write(job)

    async def _read(self, job: Callable[[Connection], T]) -> T:
        if self.dead:
            raise Killed
        return await super()._read(job)


class World:
    """The folder and its sessions. Each has a workspace of its own, as another ragforge would."""

    def __init__(self, folder: Path, environ: dict[str, str]) -> None:
        self.root = folder / "project"
        self.root.mkdir()
        self.environ = environ
        self.sessions: list[Session] = []
        self.turns: list[str] = []

    async def open(self) -> None:
        """Open a session in each workspace: those that were open before, else new ones."""
        before, self.sessions = self.sessions, []
        for number in range(SESSIONS):
            workspace = await open_workspace(cwd=self.root, flags={}, environ=self.environ)
            await workspace.history.close()
            workspace = replace(workspace, history=MortalState(workspace.history.path))
            record = None
            if before:
                record = await workspace.store.sessions.get(before[number].id)
            if record:
                self.sessions.append((await resume_session(workspace, record)).session)
            else:
                self.sessions.append(await new_session(workspace))

    async def close(self) -> None:
        for session in self.sessions:
            if session.live.claim:
                await session.live.claim.release()
            await close_workspace(session.workspace)

    def state(self, session: Session) -> MortalState:
        state = session.workspace.history
        assert isinstance(state, MortalState)
        return state

    async def dying(self, session: Session, work: Awaitable[None], *, writes: int, after: bool) -> None:
        """Do it, and die at the n-th write of the local state, or right at the end."""
        state = self.state(session)
        state.writes_left, state.dies_after = writes, after
        with suppress(Killed):
            await work
        await self.crash()

    async def crash(self) -> None:
        """Nothing of any session is ended or written any more; then they are opened again."""
        for session in self.sessions:
            self.state(session).dead = True
            await session.workspace.background.close()
        cut_off = [task for task in asyncio.all_tasks() if _records(task)]
        for task in cut_off:
            task.cancel()
        await asyncio.gather(*cut_off, return_exceptions=True)
        for session in self.sessions:
            workspace = session.workspace
            await workspace.history.close()  # takes the sign of life away, as the system does
            await workspace.blobs.close()
            await workspace.local.close()
            await workspace.store.close()
        await self.open()
        for session in self.sessions:
            if session.live.stored:
                await session.worktree.catch_up()

    # Turns

    @asynccontextmanager
    async def turn(self, session: Session, words: str) -> AsyncIterator["RunningTurn"]:
        """A turn that runs as long as it lasts, and ends in good order unless it dies."""
        running = await self.begin(session, words)
        yield running
        await running.end()

    async def begin(self, session: Session, words: str) -> "RunningTurn":
        parts = (TextPart(words),)
        await store_session(session, said=parts)
        await keep_end(session)
        store, head = session.workspace.store, session.live.record.head
        parent = await store.turns.get(head) if head else None
        turn = Turn(
            id=new_id(),
            session_id=session.id,
            parent=parent.id if parent else None,
            index=parent.index + 1 if parent else 0,
            user=parts,
            started_at=now(),
            model=session.live.record.model or "local",
        )
        self.turns.append(turn.id)
        await store.turns.start(turn)
        session.change(head=turn.id, last_activity_at=turn.started_at)
        running = RunningTurn(session, turn)
        await running.opened()
        step = a_step(turn, 0, "Let me look.", a_request())
        await store.calls.add(a_call(step), step)
        return running


class RunningTurn:
    """What a turn's tools do, around which it is recorded."""

    def __init__(self, session: Session, turn: Turn) -> None:
        self._session = session
        self._turn = turn
        self._recording = Recording(session.worktree, turn, self._tell)
        self.told: list[str] = []

    async def _tell(self, words: str) -> None:
        self.told.append(words)

    async def opened(self) -> None:
        """Return when what lay there before is kept, as it is before a first command."""
        self._recording.begin()
        state, root = self._session.workspace.history, self._session.workspace.place.root
        async with asyncio.timeout(PATIENCE_S):
            while not await state.prepared(root, self._session.id):
                await asyncio.sleep(0.001)

    async def tool(self, path: Path, do: Callable[[], None]) -> None:
        """Let a tool write the path."""
        write = self._session.workspace.tools["write"]
        async with self._recording.guard(GuardedCall(write, [path], may_write=True)):
            do()

    @asynccontextmanager
    async def command(self) -> AsyncIterator[None]:
        """A command runs as long as it lasts."""
        shell = self._session.workspace.tools["shell"]
        async with self._recording.guard(GuardedCall(shell, [], may_write=True)):
            yield

    async def end(self) -> None:
        store, moment = self._session.workspace.store, now()
        await store.turns.end(TurnEnd(self._turn.id, TurnStatus.FINISHED, "Done.", moment))
        ended = replace(self._turn, status=TurnStatus.FINISHED, ended_at=moment)
        await self._recording.end(ended, usage=Usage(), cost_usd=0.0)
        # On a machine that has much to do, the user hears what a tool waits for.
        assert set(self.told) <= {LOOKED_AT, SHELVED}


async def settled(session: Session) -> None:
    """Return when every turn that ended has its version."""
    await session.worktree.recorder.settle()


def _records(task: "asyncio.Task[Any]") -> bool:
    """Whether the task is one of those that find out what became of the folder."""
    coroutine = task.get_coro()
    return isinstance(coroutine, CoroutineType) and VERSIONS in coroutine.cr_code.co_filename
