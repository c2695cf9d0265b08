"""A program run in a session: its models, what they cost, its limits, and what is kept of it."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime

from msgspec import Struct

from ragforge.domain.errors import AnswerUnusable, RagforgeError, UsageError
from ragforge.domain.ids import new_id, now
from ragforge.domain.messages import TextPart, UserMessage
from ragforge.domain.usage import Purpose, sum_costs
from ragforge.domain.words import cost_words
from ragforge.providers.base import ModelRequest, read_whole
from ragforge.providers.registry import ModelName, parse_model
from ragforge.session.background.model import spent_on
from ragforge.session.model import NO_MODEL, connect, model_of
from ragforge.session.present_changes import present_changes
from ragforge.session.state import Session
from ragforge.workflow.check import SpuProgram, assemble
from ragforge.workflow.machine import Machine, RunState, built_operations
from ragforge.workflow.operations.base import ProgramFault, RunOver
from ragforge.workflow.runs import ProgramCall, ProgramRun, RunBook

ANSWER_CHARS_MAX = 500_000


class Front(Struct, frozen=True):
    """The user's side of a run. tell: hears of each call, a line each."""

    display: Callable[[str], Awaitable[None]]
    read_input: Callable[[], Awaitable[str]]
    tell: Callable[[str], None]


class Execution:
    """One run of a program, new or resumed. price_usd_max: of this run, where the user gave one."""

    def __init__(
        self,
        session: Session,
        program: SpuProgram,
        run: ProgramRun,
        front: Front,
        *,
        price_usd_max: float | None,
    ) -> None:
        self.run = run
        self._session, self._program, self._front = session, program, front
        self._book = RunBook(session.workspace)
        self._waited_s = 0.0
        self._began = time.monotonic()
        self._calls_began = 0
        self._running = 0
        settings, limits = session.workspace.settings.programs, program.limits
        caps = (settings.price_usd_max, limits.get("cost_usd"), price_usd_max)
        self._price_usd_max = min(cap for cap in caps if cap is not None)
        self._calls_max = int(min(settings.calls_max, limits.get("calls", settings.calls_max)))
        self._seconds_max = min(settings.seconds_max, limits.get("seconds", settings.seconds_max))

    @property
    def waits_for_input(self) -> bool:
        """Whether the program asks its user something."""
        return any(each.operation == "WAIT_INPUT" for each in self._program.code)

    @property
    def cost_usd(self) -> float | None:
        """What it cost so far; None where a price is unknown."""
        return sum_costs(call.cost_usd for call in self.run.calls)

    async def go(self) -> None:
        """Run to the end. Raises RagforgeError; the run is kept however it ends."""
        run = self.run
        machine = Machine(
            self._program,
            self,
            run.state,
            steps_max=self._session.workspace.settings.programs.steps_max,
            save=self._keep,
        )
        try:
            async with asyncio.timeout(None) as clock:
                self._clock = clock
                self._set_clock()
                await machine.run()
            run.is_done = True
        except TimeoutError as error:
            raise self._ended(f"The run took longer than {self._seconds_max:g} s and was stopped.") from error
        except ProgramFault as error:
            raise self._ended(str(error)) from error
        finally:
            run.seconds += time.monotonic() - self._began - self._waited_s
            await self._book.keep(run)

    def _ended(self, why: str) -> ProgramFault:
        self.run.is_done, self.run.fault = True, why
        return ProgramFault(why)

    def _set_clock(self) -> None:
        left_s = self._seconds_max - self.run.seconds + self._waited_s
        self._clock.reschedule(asyncio.get_running_loop().time() + left_s - (time.monotonic() - self._began))

    async def _keep(self, state: RunState) -> None:
        self.run.state = state
        await self._book.keep(self.run)

    async def display(self, text: str) -> None:
        await self._front.display(text)

    async def read_input(self) -> str:
        began = time.monotonic()
        self._clock.reschedule(None)
        self._calls_began = len(self.run.calls)
        try:
            return await self._front.read_input()
        finally:
            self._waited_s += time.monotonic() - began
            self._set_clock()

    async def uncommitted_changes(self) -> str:
        return await present_changes(self._session)

    async def ask_model(self, role: str, instructions: str, message: str) -> str:
        name = model_for(self._session, role)
        await self._check_limits()
        self._running += 1
        began = time.monotonic()
        workspace = self._session.workspace
        try:
            provider = await connect(workspace, name)
            try:
                answer = await read_whole(
                    provider, ModelRequest(instructions, (UserMessage((TextPart(message),)),))
                )
            finally:
                await provider.close()
        finally:
            self._running -= 1
        spent = spent_on(workspace, name, answer.usage, Purpose.PROGRAM, session_id=self._spent_session)
        await workspace.store.usage.add(spent)
        call = ProgramCall(role, str(name), round(time.monotonic() - began, 2), spent.cost_usd)
        self.run.calls.append(call)
        self._front.tell(f"{role} ({call.model}): {call.seconds:.1f} s, {cost_words(call.cost_usd)}")
        if not answer.text.strip():
            raise AnswerUnusable(f"{name} gave no answer{f': {answer.detail}' if answer.detail else ''}.")
        if len(answer.text) > ANSWER_CHARS_MAX:
            raise AnswerUnusable(
                f"{name} gave {len(answer.text):,} characters; {ANSWER_CHARS_MAX:,} can be used."
            )
        return answer.text.strip()

    @property
    def _spent_session(self) -> str:
        return self._session.id if self._session.live.stored else ""

    async def _check_limits(self) -> None:
        """Raise ProgramFault where one more call is too much; calls that run now count."""
        calls = len(self.run.calls) - self._calls_began + self._running
        if calls >= self._calls_max:
            raise ProgramFault(f"The run may ask models {self._calls_max} times, and did.")
        spent = sum(call.cost_usd or 0.0 for call in self.run.calls)
        if self.run.calls and spent >= self._price_usd_max:
            raise RunOver(f"The run may cost ${self._price_usd_max:g}, and cost ${spent:.4f}.")
        if not self.run.calls and self._price_usd_max == 0:
            raise RunOver("The run may cost nothing, so no model is asked.")
        workspace = self._session.workspace
        whose = None if workspace.person.alone else workspace.person.id
        rows = await workspace.store.usage.by_model(since=_midnight(), person=whose)
        today = sum(row.cost_usd or 0.0 for row in rows if row.purpose is Purpose.PROGRAM)
        if today >= (cap := workspace.settings.programs.cost_usd_per_day_max):
            raise RunOver(f"Programs cost ${today:.4f} today, and programs.cost_usd_per_day_max is ${cap:g}.")


def _midnight() -> datetime:
    return now().replace(hour=0, minute=0, second=0, microsecond=0)


def model_for(session: Session, role: str) -> ModelName:
    """The model of a role: what `programs.models` says, else the session's. Raises UsageError."""
    settings = session.workspace.settings
    if mapped := settings.programs.models.get(role):
        return parse_model(mapped, endpoints=settings.endpoints)
    if ":" in role:
        return parse_model(role, endpoints=settings.endpoints)
    name = model_of(session)
    if name.provider == NO_MODEL:
        raise UsageError(f"No model stands for {role}: add --model, or set programs.models.{role}.")
    return name


def assembled(content: bytes, source: str) -> SpuProgram:
    """The program, ready to run. Raises UsageError with all that is wrong, a line each."""
    assembly = assemble(content, built=built_operations())
    if assembly.program is None:
        faults = "\n".join(
            f"{source}:{fault.at.line}:{fault.at.column}: {fault.message}" for fault in assembly.faults
        )
        raise UsageError(f"{source} cannot run.\n{faults}")
    return assembly.program


def new_run(program: SpuProgram, content: bytes, source: str, inputs: Mapping[str, str]) -> ProgramRun:
    """A run that begins with these inputs. Raises UsageError for one that is missing or unknown."""
    given = {name.lstrip("$").upper(): value for name, value in inputs.items()}
    for name in given:
        if name not in program.inputs:
            known = ", ".join(program.inputs) or "none"
            raise UsageError(f"{source} has no input {name}; its inputs: {known}.")
    missing = [
        f"{name} ({what})" if what else name for name, what in program.inputs.items() if name not in given
    ]
    if missing:
        raise UsageError(
            f"{source} needs --input {missing[0].partition(' ')[0]}=VALUE: {', '.join(missing)}."
        )
    state = RunState(registers=dict(given))
    return ProgramRun(new_id(), program.name, source, content.decode("utf-8-sig"), state)


async def resumed_run(session: Session, program: SpuProgram) -> tuple[ProgramRun, SpuProgram]:
    """The newest unfinished run of the program, and the program as it was then. Raises RagforgeError."""
    run = await RunBook(session.workspace).unfinished(program.name)
    try:
        return run, assembled(run.text.encode(), run.source)
    except UsageError as error:
        raise RagforgeError(f"The run cannot go on with this version of ragforge. {error}") from error
