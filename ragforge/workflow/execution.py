"""A program run in a session: its models, their cost, its limits, and its stored records."""

import asyncio
import operator
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from typing import TypeVar

from msgspec import Struct, to_builtins

from ragforge.domain.approvals import ApprovalAnswer, ApprovalRequest, Approve, ConsentAnswer
from ragforge.domain.errors import AnswerUnusable, ModelRefusedKey, RagforgeError, UsageError
from ragforge.domain.ids import new_id, now
from ragforge.domain.messages import TextPart, UserMessage
from ragforge.domain.programs import ProgramView
from ragforge.domain.usage import Purpose, Usage, sum_costs
from ragforge.domain.words import cost_words
from ragforge.files.atomic import hash_of
from ragforge.memory.similar import find_similar
from ragforge.memory.window import Window
from ragforge.providers.base import ModelRequest, read_whole
from ragforge.providers.registry import ModelName
from ragforge.session.background.model import cost_of, spent_on
from ragforge.session.context import build_block
from ragforge.session.history import window_limits
from ragforge.session.model import connect
from ragforge.session.present_changes import present_changes
from ragforge.session.state import Session
from ragforge.versions.comparison import compare
from ragforge.versions.difference import as_text
from ragforge.workflow.assistant import Assistant, check_fields
from ragforge.workflow.check import SpuProgram, assemble
from ragforge.workflow.library import StoreLibrary
from ragforge.workflow.machine import Machine, RunState, built_operations
from ragforge.workflow.operation import Fields, ProgramFault, RunOver, Value, place_that_runs
from ragforge.workflow.roles import model_for, setting_words, unmapped_words
from ragforge.workflow.run_view import RunWatch
from ragforge.workflow.runs import ProgramCall, ProgramRun, RunBook
from ragforge.workflow.sure_answers import intent_of, understanding
from ragforge.workflow.syntax import Instruction
from ragforge.workflow.trace import AnsweredCall, RunTrace

T = TypeVar("T")

ANSWER_CHARS_MAX = 500_000
PATTERN = "pattern"
PATTERNS_MAX = 20
AGENT = "agent"
OPTIONAL = "(optional)"
"""The end of an optional input's description: its register is null if it is omitted."""


async def _deny(request: ApprovalRequest) -> ApprovalAnswer:
    return ApprovalAnswer(ConsentAnswer.NO, "This run cannot ask questions.", by_user=False)


async def _say_no(question: str, detail: str) -> bool:
    return False


async def _take_last(question: str, options: Sequence[str]) -> int:
    return len(options) - 1


class Front(Struct, frozen=True):
    """The user's side of a run. tell: receives a line for each call.

    confirm, choose, approve: ask the user; without them nobody can be asked. watch: receives the run whenever
    another line or call of it starts or ends. pause: awaited before each operation, with the state.
    """

    display: Callable[[str], Awaitable[None]]
    read_input: Callable[[], Awaitable[str]]
    tell: Callable[[str], None]
    confirm: Callable[[str, str], Awaitable[bool]] = _say_no
    choose: Callable[[str, Sequence[str]], Awaitable[int]] = _take_last
    approve: Approve = _deny
    watch: Callable[[ProgramView], None] = lambda _: None
    pause: Callable[[Instruction, RunState], Awaitable[None]] | None = None


class Execution:
    """One run of a program, new or resumed. price_usd_max: of this run, if the user gave one."""

    def __init__(
        self,
        session: Session,
        program: SpuProgram,
        run: ProgramRun,
        front: Front,
        *,
        price_usd_max: float | None,
        target: str = "",
        intent: str = "",
        book: RunBook | None = None,
    ) -> None:
        """target: the program that it is about. intent: what the user wants, if given. book: of a
        resumed run."""
        self.run = run
        self.library = StoreLibrary(session.workspace, run.id)
        self.program_name, self.target, self._intent = program.name, target, intent
        self.session_id, self.resuming = "", ""
        self.user_id, self.project_id = session.workspace.person.id, session.workspace.project.id
        self._assistant = Assistant(session, program.name, self._approve, front.tell)
        self._session, self._program, self._front = session, program, front
        self._book = book or RunBook(session.workspace)
        self._trace = RunTrace()
        self._watched = RunWatch(program)
        self._given = [
            value for name in program.inputs if isinstance(value := run.state.registers.get(name), str)
        ]
        self._is_whole = run.state.steps == 0 and run.state.waited_at is None  # a wait resets the steps
        self._waited_s = 0.0
        self._began = time.monotonic()
        self._calls_began = 0
        self._running = 0
        settings, limits = session.workspace.settings.programs, program.limits
        caps = (settings.price_usd_max, limits.get("cost_usd"), price_usd_max)
        self._price_usd_max = min(cap for cap in caps if cap is not None)
        self._is_price_given = price_usd_max is not None
        self._calls_max = int(min(settings.calls_max, limits.get("calls", settings.calls_max)))
        self._seconds_max = min(settings.seconds_max, limits.get("seconds", settings.seconds_max))

    @property
    def cost_usd(self) -> float | None:
        """Its cost so far; None if a price is unknown."""
        return sum_costs(call.cost_usd for call in self.run.calls)

    async def go(self) -> None:
        """Run to the end. Raises RagforgeError; the run is stored however it ends."""
        run = self.run
        if not self._is_whole:
            self._tell_where()
        elif told := unmapped_words(self._session, self._program):
            self._front.tell(f"{told} The run stops at ${self._price_usd_max:g}.")
        machine = Machine(
            self._program,
            self,
            run.state,
            steps_max=self._session.workspace.settings.programs.steps_max,
            save=self._keep,
            watch=self._watch,
            pause=self._pause if self._front.pause else None,
            run_id=run.id,
        )
        try:
            async with asyncio.timeout(None) as clock:
                self._clock = clock
                self._set_clock()
                await machine.run()
            run.is_done = True
            run.example = self._trace.example(self._given) if self._is_whole else ""
        except TimeoutError as error:
            raise self._ended(f"The run took longer than {self._seconds_max:g} s and was stopped.") from error
        except ProgramFault as error:
            raise self._ended(str(error)) from error
        finally:
            run.seconds += time.monotonic() - self._began - self._waited_s
            try:
                await self._book.keep(run)
            finally:
                self._book.end()

    def _tell_where(self) -> None:
        """Report where a resumed run continues, and what may be paid twice."""
        code, at = self._program.code, self.run.state.at
        if at < len(code):
            asks = not code[at].operation.startswith("WAIT_")
            risk = " What was in progress there runs again, and may be paid again." if asks else ""
            self._front.tell(f"Continuing at line {code[at].at.line}.{risk}")

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
        self._trace.displayed.append(text)
        await self._front.display(text)

    async def read_input(self) -> str:
        self._calls_began = len(self.run.calls)
        said = await self._waiting(self._front.read_input())
        self._trace.inputs.append(said)
        return said

    async def confirm(self, question: str, detail: str) -> bool:
        return await self._waiting(self._front.confirm(question, detail))

    async def choose(self, question: str, options: Sequence[str]) -> int:
        return await self._waiting(self._front.choose(question, options))

    async def _approve(self, request: ApprovalRequest) -> ApprovalAnswer:
        return await self._waiting(self._front.approve(request))

    async def _waiting(self, answer: Awaitable[T]) -> T:
        """Return the user's answer; the time that they take does not count."""
        began = time.monotonic()
        self._clock.reschedule(None)
        try:
            return await answer
        finally:
            self._waited_s += time.monotonic() - began
            self._set_clock()

    def _watch(self, places: tuple[int, ...] | None = None) -> None:
        self._front.watch(self._watched.view(places, self.run.calls, self._price_usd_max))

    async def _pause(self, instruction: Instruction) -> None:
        if self._front.pause:
            await self._waiting(self._front.pause(instruction, self.run.state))

    async def uncommitted_changes(self) -> str:
        return await present_changes(self._session)

    async def changes_between(self, one: str, other: str) -> str:
        worktree = self._session.worktree
        return as_text((await compare(worktree, one, other)).files)

    async def context_block(self, text: str) -> str:
        window = Window(window_limits(self._session.workspace.settings))
        block = await build_block(self._session, (TextPart(text),), window)
        return block.text

    async def similarity(self, text: str, others: Sequence[str]) -> list[float]:
        embedder = self._session.workspace.recall.embedder
        if embedder is None:
            return [_shared_words(text, other) for other in others]
        await embedder.prepare()
        wanted = await embedder.embed_query(text)
        found = await embedder.embed(others)
        return [(1 + sum(map(operator.mul, wanted, each))) / 2 for each in found]

    async def similar_problems(self, text: str) -> list[Fields]:
        workspace = self._session.workspace
        found = await find_similar(
            workspace.recall, text, project_id=workspace.project.id, person=workspace.person.id
        )
        redactor = workspace.redactor
        return [redactor.fields(to_builtins(each)) for each in found.found]

    async def load_patterns(self) -> list[Fields]:
        kept = await self.library.documents(PATTERN)
        # Any program may keep documents of this type.
        found = [each for each in kept if "text" in each and isinstance(each.get("support"), int)]
        found.sort(key=lambda each: -each["support"])
        return [{key: each.get(key) for key in ("kind", "text", "support")} for each in found[:PATTERNS_MAX]]

    async def run_tool(self, name: str, args: Fields) -> Fields:
        found = await self._assistant.run_tool(name, args)
        self._front.tell(f"{name}: {'failed' if found['failed'] else 'done'}")
        return found

    async def run_agent(
        self, prompt: str, role: str, steps_max: int, *, material: str, only_reads: bool
    ) -> Fields:
        model = model_for(self._session, role)
        await self._check_limits(model)
        # For a model without a known price only its steps are limited, as for a single call.
        left = self._price_usd_max - self._spent if self._has_price(model) else None
        self._running += 1
        try:
            work = await self._assistant.run_agent(
                (prompt, material),
                model,
                steps_max=steps_max,
                price_usd_max=left,
                only_reads=only_reads,
                block_began_at=place_that_runs.get().block_began_at,
            )
        finally:
            self._running -= 1
        self._count(role or AGENT, str(model), work.seconds, work.cost_usd, work.tokens)
        if work.failed and not work.text:
            raise ProgramFault(f"The assistant failed: {(work.error or work.status).rstrip('.')}.")
        found: Fields = {"text": work.text, "failed": work.failed, "error": work.error or None}
        if work.is_of_copy:
            made, redactor = work.made, self._session.workspace.redactor
            found |= {
                "version": made and made.version,
                "diff": redactor.text(made.diff) if made else "",
                "check": made and made.checked and check_fields(made.checked, redactor),
            }
        return found

    async def take_version(self, version_id: str) -> None:
        await self._assistant.take(version_id)

    async def run_check(self) -> Fields:
        return await self._assistant.run_check()

    def sure_answer(self, task: str, fields: Fields) -> Value:
        if task == "compress" and self._intent:
            return fields["text"]  # nobody is asked what was meant, so a rough extract is enough
        if task != "intent_classification":
            return None
        return understanding(self._intent) if self._intent else intent_of(str(fields.get("prompt") or ""))

    def remember(self, text: str, **facts: Value) -> None:
        key = hash_of(text.encode("utf-8", "replace"))
        self.run.answers[key] = {**self.run.answers.get(key, {}), **facts}

    def about(self, text: str) -> Fields:
        return dict(self.run.answers.get(hash_of(text.encode("utf-8", "replace")), {}))

    def calls_of_round(self) -> list[Fields]:
        return [
            {"model": call.model, "tokens": call.tokens, "seconds": call.seconds}
            for call in self.run.calls[self._calls_began :]
        ]

    async def ask_model(
        self, role: str, instructions: str, message: str, *, task: str = "", schema: Fields | None = None
    ) -> str:
        name = model_for(self._session, role)
        await self._check_limits(name)
        self._running += 1
        began = time.monotonic()
        workspace = self._session.workspace
        request = ModelRequest(instructions, (UserMessage((TextPart(message),)),), json_schema=schema)
        try:
            try:
                provider = await connect(workspace, name)
            except ModelRefusedKey as error:
                raise ProgramFault(f"{error}{setting_words(self._session, role)}") from error
            try:
                answer = await read_whole(provider, request)
            finally:
                await provider.close()
        finally:
            self._running -= 1
        spent = spent_on(workspace, name, answer.usage, Purpose.PROGRAM, session_id=self._spent_session)
        await workspace.store.usage.add(spent)
        seconds, tokens = round(time.monotonic() - began, 2), answer.usage.total_tokens
        self._count(role or task, str(name), seconds, spent.cost_usd, tokens)
        if not answer.text.strip():
            raise AnswerUnusable(f"{name} gave no answer{f': {answer.detail}' if answer.detail else ''}.")
        if len(answer.text) > ANSWER_CHARS_MAX:
            raise AnswerUnusable(
                f"{name} gave {len(answer.text):,} characters; {ANSWER_CHARS_MAX:,} can be used."
            )
        text = answer.text.strip()
        self._trace.calls.append(AnsweredCall(task, message, text))
        if not schema:
            self.remember(text, model=str(name), tokens=tokens, seconds=seconds)
        return text

    def _count(self, role: str, model: str, seconds: float, cost_usd: float | None, tokens: int) -> None:
        call = ProgramCall(role, model, seconds, cost_usd, tokens, place_that_runs.get().line)
        self.run.calls.append(call)
        self._watch()
        so_far = "" if self.cost_usd is None else f"; {cost_words(self.cost_usd)} of ${self._price_usd_max:g}"
        self._front.tell(
            f"{call.role} ({call.model}): {call.seconds:.1f} s, {cost_words(call.cost_usd)}{so_far}"
        )

    @property
    def _spent(self) -> float:
        return sum(call.cost_usd or 0.0 for call in self.run.calls)

    @property
    def _spent_session(self) -> str:
        return self._session.id if self._session.live.stored else ""

    def _has_price(self, model: ModelName) -> bool:
        return cost_of(self._session.workspace, model, Usage(input_tokens=1, output_tokens=1)) is not None

    async def _check_limits(self, model: ModelName) -> None:
        """Raise ProgramFault if one more model call is too many; running calls count."""
        if self._is_price_given and not self._has_price(model):
            raise RunOver(
                f"The price of {model} is unknown, so the limit of ${self._price_usd_max:g} cannot be "
                "enforced. Add its price to prices.toml next to your settings (0 for a model that you host), "
                "or run without --max-price."
            )
        calls = len(self.run.calls) - self._calls_began + self._running
        if calls >= self._calls_max:
            raise ProgramFault(f"The run has reached its limit of {self._calls_max} model calls.")
        spent = self._spent
        if self.run.calls and spent >= self._price_usd_max:
            raise RunOver(
                f"The run has reached its price limit of ${self._price_usd_max:g}: it cost ${spent:.4f}."
            )
        if not self.run.calls and self._price_usd_max == 0:
            raise RunOver("The run's price limit is 0, so no model is called.")
        workspace = self._session.workspace
        whose = None if workspace.person.alone else workspace.person.id
        rows = await workspace.store.usage.by_model(since=_midnight(), person=whose)
        today = sum(row.cost_usd or 0.0 for row in rows if row.purpose is Purpose.PROGRAM)
        if today >= (cap := workspace.settings.programs.cost_usd_per_day_max):
            raise RunOver(f"Programs cost ${today:.4f} today, and programs.cost_usd_per_day_max is ${cap:g}.")


def _shared_words(one: str, other: str) -> float:
    """Return how many of the words of either are in both, if there is no embedder."""
    words, others = set(one.lower().split()), set(other.lower().split())
    return len(words & others) / max(len(words | others), 1)


def _midnight() -> datetime:
    return now().replace(hour=0, minute=0, second=0, microsecond=0)


def assembled(content: bytes, source: str) -> SpuProgram:
    """Return the program, ready to run. Raises UsageError with all faults, a line each."""
    assembly = assemble(content, built=built_operations())
    if assembly.program is None:
        faults = "\n".join(f"{fault.place_in(source)}: {fault.message}" for fault in assembly.faults)
        raise UsageError(f"{source} cannot run.\n{faults}")
    return assembly.program


def new_run(program: SpuProgram, content: bytes, source: str, inputs: Mapping[str, str]) -> ProgramRun:
    """Return a run that starts with these inputs. Raises UsageError for a missing or unknown one."""
    given = {name.lstrip("$").upper(): value for name, value in inputs.items()}
    for name in given:
        if name not in program.inputs:
            known = ", ".join(program.inputs) or "none"
            raise UsageError(f"{source} has no input {name}; its inputs: {known}.")
    missing = [
        f"{name} ({what})" if what else name
        for name, what in program.inputs.items()
        if name not in given and not what.endswith(OPTIONAL)
    ]
    if missing:
        raise UsageError(
            f"{source} needs --input {missing[0].partition(' ')[0]}=VALUE: {', '.join(missing)}."
        )
    state = RunState(registers=dict(given))
    return ProgramRun(new_id(), program.name, source, content.decode("utf-8-sig"), state)


async def resumed_run(session: Session, program: SpuProgram) -> tuple[ProgramRun, SpuProgram, RunBook]:
    """Return the newest unfinished run of the program, the program as it was then, and its book.

    Raises RagforgeError.
    """
    book = RunBook(session.workspace)
    run = await book.unfinished(program.name)
    try:
        return run, assembled(run.text.encode(), run.source), book
    except UsageError as error:
        book.end()
        raise RagforgeError(f"The run cannot continue with this version of ragforge. {error}") from error
