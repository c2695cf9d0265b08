"""Run one attempt: a turn in a copy, its version, and the check of its result."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import aclosing

from msgspec.structs import replace

from ragforge.domain.approvals import ApprovalAnswer, ApprovalRequest, ConsentAnswer
from ragforge.domain.cancellation import in_thread, undisturbed
from ragforge.domain.events import AgentEvent, Notice, RetryWaiting, ToolStarted, TurnEnded, TurnStarted
from ragforge.domain.messages import Parts
from ragforge.domain.printable import escaped
from ragforge.domain.turns import Turn, TurnStatus
from ragforge.domain.versions import Version, files_touched
from ragforge.session.model import leave_model
from ragforge.session.state import Session
from ragforge.session.turn import interrupt, submit
from ragforge.versions.attempts.alternatives import Alternative, alternative_of
from ragforge.versions.attempts.approaches import Way
from ragforge.versions.attempts.check_run import Checked, check
from ragforge.versions.attempts.copy_sessions import UNATTENDED
from ragforge.versions.copies.file_copies import Copied, remove_tree
from ragforge.versions.copies.project_copies import label_of
from ragforge.versions.log import files_words

Tell = Callable[[str], None]

_ENDS = {
    TurnStatus.FINISHED: "",
    TurnStatus.CONTINUED: "",
    TurnStatus.INTERRUPTED: "stopped",
    TurnStatus.STOPPED: "ended early",
}


class Run:
    """A running attempt. begun: set once its turn is stored, or never will be.

    session: the one in the copy. command: the check, if any. result: what is stored of it, once there is
    anything. is_lost: it started, and nothing of it could be stored, so its copy is kept for the next
    start.
    """

    def __init__(
        self, number: int, way: Way, session: Session, copy: Copied, parts: Parts, *, command: str = ""
    ) -> None:
        self.number, self.way, self.session = number, way, session
        self.begun = asyncio.Event()
        self.result: Alternative | None = None
        self.is_done = self.is_lost = False
        self._copy, self._parts, self._command = copy, parts, command
        self._stopped = False
        self._turn: Turn | None = None
        self._checking: asyncio.Task[Checked] | None = None

    @property
    def title(self) -> str:
        """Its name in a line of progress."""
        return f"{self.number} ({self.way.name})"

    async def work(self, tell: Tell) -> None:
        """Run it, to the version and the check; the copy is removed afterwards. Raises StoreError."""
        try:
            if not self._stopped:
                await self._converse(tell)
            await self._keep(tell)
        finally:
            self.is_lost = self._turn is not None and self.result is None
            await undisturbed(self._leave(), cancel_after=True)
            self.is_done = True
            self.begun.set()

    async def stop(self) -> None:
        """Stop it; its changes so far are kept."""
        self._stopped = True
        await interrupt(self.session)
        if self._checking:
            self._checking.cancel()

    async def _converse(self, tell: Tell) -> None:
        async with aclosing(submit(self.session, self._parts, _nobody)) as events:
            async for event in events:
                self._hear(event, tell)
                if self._stopped and isinstance(event, TurnStarted):
                    await interrupt(self.session)

    def _hear(self, event: AgentEvent, tell: Tell) -> None:
        match event:
            case TurnStarted(turn):
                self._turn = turn
                self.begun.set()
            case ToolStarted(_, name, _, summary):
                tell(f"{self.title}: {name} {escaped(summary)}")
            case RetryWaiting(delay_s=delay_s):
                tell(f"{self.title}: {event.words(delay_s)}")
            case Notice(text):
                tell(f"{self.title}: {text}")
            case TurnEnded(turn):
                self._turn = turn
            case _:
                pass

    async def _keep(self, tell: Tell) -> None:
        """Find the version of the turn, and set its label."""
        turn = self._turn
        if turn is None:
            return
        await self.session.worktree.recorder.settle()
        versions = await self.session.workspace.store.versions.of_turns([turn.id])
        if not versions:
            tell(
                f"{self.title}: its version could not be made yet. Its changes are in {self._copy.root}; "
                "the next start makes the version."
            )
            return
        ended = _ENDS.get(turn.status, str(turn.status))
        remarks = [ended] if ended else []
        await self._label(versions[-1], remarks)
        words = files_words(versions[-1], files_touched(versions[-1].changes))
        why = f" ({turn.error})" if turn.error else ""
        tell(f"{self.title}: {ended or 'finished'}{why}, {words}")
        if turn.status is TurnStatus.FINISHED and (checked := await self._check()):
            await self._label(versions[-1], [*remarks, checked.words])
            tell(f"{self.title}: {checked.told(self._command)}")

    async def _check(self) -> Checked | None:
        if not self._command or self._stopped:
            return None
        workspace = self.session.workspace
        checking = check(self._command, cwd=workspace.place.root, env=workspace.child_env)
        self._checking = asyncio.create_task(checking)
        try:
            return await self._checking
        except asyncio.CancelledError:
            if not self._stopped:
                raise
            return Checked(False, "check stopped", "ended")

    async def _label(self, version: Version, remarks: Sequence[str]) -> None:
        label = label_of(self.number, self.way.name, remarks)
        await self.session.workspace.store.versions.label(version.id, label)
        self.result = alternative_of(replace(version, label=label))

    async def _leave(self) -> None:
        workspace = self.session.workspace
        await leave_model(self.session)
        await workspace.jobs.stop_all()
        await workspace.recorders.close()
        if not self.is_lost:
            await in_thread(lambda _: remove_tree(self._copy.root))
            await workspace.history.forget(self._copy.root)


async def _nobody(request: ApprovalRequest) -> ApprovalAnswer:
    return ApprovalAnswer(ConsentAnswer.NO, UNATTENDED, by_user=False)
