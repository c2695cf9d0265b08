"""Tools and the assistant for programs: turns in separate sessions, with the usual consent."""

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing, nullcontext
from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from ragforge.agent.parts import TurnLimits
from ragforge.domain.approvals import Approve
from ragforge.domain.cancellation import undisturbed
from ragforge.domain.events import (
    AgentEvent,
    AnswerEnded,
    FinishReason,
    ModelEvent,
    StepEnded,
    ToolEnded,
    ToolStarted,
    TurnEnded,
    TurnStarted,
    UsageSeen,
    UsageUpdated,
)
from ragforge.domain.ids import new_id, short_id
from ragforge.domain.messages import CallRequest, CommandPart, ModelMessage, Parts, TextPart
from ragforge.domain.redact import Redactor
from ragforge.domain.turns import CallStatus, TurnStatus
from ragforge.domain.usage import Purpose, Usage, sum_costs
from ragforge.memory.window import Window
from ragforge.providers.base import ModelRequest, Provider, WithoutService
from ragforge.providers.local import MODEL
from ragforge.providers.registry import ModelName
from ragforge.session.history import window_limits
from ragforge.session.model import NO_MODEL
from ragforge.session.state import Live, ModelView, Session
from ragforge.session.sub_agents import READING, child_record, close_child, fewer_tools, keep_sub_agent
from ragforge.session.turn import submit
from ragforge.tools.base import AnyTool
from ragforge.versions.attempts.check_consent import check_command
from ragforge.versions.attempts.check_run import Checked, check
from ragforge.workflow.agent_copy import CopyResult, result_in_copy, session_in_copy, take_version
from ragforge.workflow.operation import Fields, ProgramFault

READING_TOOLS = frozenset(READING)


class AgentWork(Struct):
    """The assistant's result."""

    text: str = ""
    failed: bool = True
    seconds: float = 0.0
    cost_usd: float | None = 0.0
    tokens: int = 0
    status: TurnStatus = TurnStatus.FAILED
    error: str = ""
    turn_id: str = ""
    is_of_copy: bool = False
    made: CopyResult | None = None
    """Its result in a copy of the project; None for nothing."""


class Assistant:
    """The tools and the assistant of a run. What they change in the project is in turns of a listed session;
    one that can only read is archived, like a sub-agent's.

    A program never has more rights than its user: the mode and the rules are those of the session that it
    runs in, and such a session that is resumed later asks again, whatever was allowed in the run.
    """

    def __init__(self, session: Session, title: str, approve: Approve, tell: Callable[[str], None]) -> None:
        self._session, self._title, self._approve, self._tell = session, title, approve, tell
        self._lock = asyncio.Lock()
        """Held by what may change files: in a parallel block one works after the other."""
        self.session_ids: list[str] = []

    async def run_tool(self, name: str, args: Fields) -> Fields:
        """Return the result of the call. Raises ProgramFault if it was not allowed or is unknown."""
        if name not in self._session.workspace.tools:
            known = ", ".join(sorted(self._session.workspace.tools))
            raise ProgramFault(f"There is no tool {name!r}; there are {known}.")
        tools = self._session.workspace.tools
        one = {name: tools[name]}
        child = self._child(ModelName(NO_MODEL, ""), provider=_OneCall(name, args), tools=one)
        ended: ToolEnded | None = None
        async with self._lock:
            parts = (TextPart(f"{self._title}: {name}"),)
            async for event in self._events(child, parts, TurnLimits(steps_max=3)):
                if isinstance(event, ToolEnded):
                    ended = event
        if ended is None:
            raise ProgramFault(f"{name} was not run.")
        call = ended.call
        if call.status is CallStatus.DENIED:
            raise ProgramFault(f"{name} was not allowed: {call.result}")
        return {"text": call.result, "failed": call.status is not CallStatus.OK}

    async def run_agent(
        self,
        task: tuple[str, str],
        model: ModelName,
        *,
        steps_max: int,
        price_usd_max: float | None,
        only_reads: bool,
        block_began_at: datetime | None,
    ) -> AgentWork:
        """Return what the assistant does with the task, in a conversation of its own.

        task: the prompt, and the material, which is sent like the output of a command: the user did not say
        it, so nothing is remembered as theirs.
        only_reads: it has the tools that change nothing, and works in parallel to others.
        block_began_at: of its parallel block. There it recalls nothing newer, and if it may change files, it
        does so in a copy of the folder.
        """
        tools = fewer_tools(self._session.workspace.tools, may_write=not only_reads)
        child, parts = self._child(model, tools=tools, recalls_until=block_began_at), self._parts(*task)
        work, began = AgentWork(is_of_copy=block_began_at is not None and not only_reads), time.monotonic()
        limits = TurnLimits(steps_max=steps_max + 1, model_calls_max=steps_max, price_usd_max=price_usd_max)
        if work.is_of_copy:
            async with session_in_copy(self._session, child, parts, turns=self._lock) as inside:
                await self._hear(inside, parts, limits, work)
                if work.turn_id:
                    work.made = await result_in_copy(inside, work.turn_id, label=f"program {self._title}")
        else:
            async with nullcontext() if only_reads else self._lock:
                await self._hear(child, parts, limits, work)
        work.failed = work.status is not TurnStatus.FINISHED
        work.seconds = round(time.monotonic() - began, 2)
        return work

    async def _hear(self, child: Session, parts: Parts, limits: TurnLimits, work: AgentWork) -> None:
        """Run the turn, and record what the assistant does."""
        async for event in self._events(child, parts, limits):
            match event:
                case TurnStarted(turn):
                    work.turn_id = turn.id
                    await keep_sub_agent(self._session, child.id, f"program {self._title}", turn_id=turn.id)
                case StepEnded(text):
                    work.text = text or work.text
                case ToolStarted(_, name, _, summary):
                    self._tell(f"  {name} {summary}".rstrip())
                case UsageUpdated(usage, cost_usd):
                    work.tokens += usage.total_tokens
                    work.cost_usd = sum_costs((work.cost_usd, cost_usd))
                case TurnEnded(turn):
                    work.status, work.error = turn.status, turn.error
                case _:
                    pass

    async def take(self, version_id: str) -> None:
        """Change the project's files to the version. Raises RagforgeError."""
        async with self._lock:
            for line in await take_version(self._session, version_id):
                self._tell(line)

    async def run_check(self) -> Fields:
        """Run the check command on the project's files. Raises ProgramFault if none may run."""
        workspace = self._session.workspace
        allowed = await check_command(workspace)
        if not allowed.command:
            why = allowed.note or "Set history.check_command to the command that checks this project."
            raise ProgramFault(f"No check command can run. {why}")
        root = workspace.place.root
        async with self._lock:
            found = await check(allowed.command, cwd=root, env=workspace.child_env)
        self._tell(found.told(allowed.command))
        return check_fields(found, workspace.redactor)

    async def _events(
        self, child: Session, parts: Parts, limits: TurnLimits
    ) -> AsyncGenerator[AgentEvent, None]:
        """Yield the events of the turn in the session, which is closed then."""
        try:
            async with aclosing(submit(child, parts, self._approve, limits=limits)) as events:
                async for event in events:
                    yield event
        finally:
            await undisturbed(self._close(child), cancel_after=True)

    def _child(
        self,
        model: ModelName,
        *,
        provider: Provider | None = None,
        tools: Mapping[str, AnyTool],
        recalls_until: datetime | None = None,
    ) -> Session:
        """Return a new session in the same folder, with the same consent. Its cost is the program's."""
        session = self._session
        workspace, live = session.workspace, session.live
        record = replace(child_record(session, f"Program {self._title}"), model=str(model))
        view = ModelView(Window(window_limits(workspace.settings)), recalls_until=recalls_until)
        consent, purpose = live.consent, Purpose.PROGRAM
        return Session(
            replace(workspace, tools=tools),
            Live(record, stored=False, consent=consent, purpose=purpose, view=view, provider=provider),
        )

    def _parts(self, prompt: str, material: str) -> Parts:
        redactor = self._session.workspace.redactor
        given = CommandPart(new_id(), f"ragforge run {self._title}", redactor.text(material))
        return (given, TextPart(prompt)) if material else (TextPart(prompt),)

    async def _close(self, child: Session) -> None:
        await close_child(child, listed=not READING_TOOLS.issuperset(child.workspace.tools))
        if child.live.stored:
            self.session_ids.append(child.id)
            self._tell(f"  session {short_id(child.id)}")


def check_fields(checked: Checked, redactor: Redactor) -> Fields:
    """Return the result of a check, as a program reads it."""
    codes = (int(each) for each in checked.ended.split() if each.isdigit())
    code = 0 if checked.passed else next(codes, None)
    return {"passed": checked.passed, "exit_code": code, "tail": redactor.text(checked.output)}


class _OneCall(WithoutService):
    """Asks for one call of a tool, then ends: so it goes the way of every call."""

    name, model = NO_MODEL, MODEL

    def __init__(self, tool: str, args: Fields) -> None:
        self._call: CallRequest | None = CallRequest(new_id(), tool, args)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        call, self._call = self._call, None
        yield UsageSeen(Usage())
        message = ModelMessage(self.name, self.model, "" if call else "Done.", (call,) if call else ())
        yield AnswerEnded(message, FinishReason.CALLS if call else FinishReason.STOP)
