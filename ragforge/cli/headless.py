"""`ragforge -p`: one turn without the interface."""

import asyncio
import os
import re
import signal
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, aclosing, suppress
from typing import Any, TypeAlias

import msgspec
from msgspec import Struct, field

from ragforge.agent.parts import TurnLimits
from ragforge.cli.edge import FAILED, INTERRUPTED, for_the_shell, tell
from ragforge.cli.options import Options, OutputFormat
from ragforge.cli.output import answer_text, json_line
from ragforge.cli.start import open_for_run, open_session
from ragforge.domain import timeouts
from ragforge.domain.approvals import ApprovalAnswer, ApprovalRequest, ConsentAnswer, ToolApproval
from ragforge.domain.context import ContextBlock
from ragforge.domain.errors import ModelError, RagforgeError, StoreError, UsageError
from ragforge.domain.events import (
    AgentEvent,
    ConstraintsMet,
    ContextBuilt,
    Notice,
    RetryWaiting,
    StepEnded,
    StepStarted,
    TextDelta,
    ToolEnded,
    TurnEnded,
    UsageUpdated,
    WebSearched,
)
from ragforge.domain.inputs import Slash, parse_input
from ragforge.domain.memories import Memory
from ragforge.domain.messages import Parts, TextPart, WebSearch, text_of
from ragforge.domain.printable import fenced
from ragforge.domain.redact import Redactor
from ragforge.domain.text_pieces import TextPieces
from ragforge.domain.turns import CallStatus, ToolCall, Turn, TurnStatus
from ragforge.domain.usage import NO_MODEL, Usage, sum_costs
from ragforge.domain.versions import Version
from ragforge.session.context import prepare_recall
from ragforge.session.logs import start_log
from ragforge.session.memory_tools import memories_to_forget
from ragforge.session.model import memory_cost
from ragforge.session.open import close_session, close_workspace
from ragforge.session.state import Session, Workspace
from ragforge.session.turn import interrupt, retry, submit
from ragforge.versions.log import files_json

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
PIPED_BYTES_MAX = 10_000_000
SCHEMA_VERSION = 1
"""The version of the JSON output: increased when a field is renamed, removed or changes its meaning."""


class _RunResult(Struct):
    """The result of a run."""

    session_id: str | None = None
    model: str = ""
    said: TextPieces = field(default_factory=TextPieces)
    """The text of the newest step."""
    turn: Turn | None = None
    version: Version | None = None
    """What the turn changed in the files."""
    failure: RagforgeError | None = None
    interrupted: bool = False
    """An error before a turn started; a started one has its own."""
    usage: Usage = field(default_factory=Usage)
    cost_usd: float | None = 0.0
    memory_cost_usd: float | None = 0.0
    """The cost of memory in the session until the answer was there."""
    calls: list[ToolCall] = field(default_factory=list[ToolCall])
    warnings: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    """The constraints that calls violated."""
    searched: WebSearch = WebSearch()
    """What the provider's own search found."""
    recalled: ContextBlock = field(default_factory=ContextBlock)
    """What was recalled for the message."""
    command: str = ""
    """The slash command that ran instead of a turn."""
    printed: bool = False

    def as_json(self) -> dict[str, Any]:
        """Return the object that `--output-format json` prints."""
        error = str(self.failure) if self.failure else (self.turn.error if self.turn else "")
        return {
            "schema_version": SCHEMA_VERSION,
            "session": self.session_id,
            "turn": self.turn.id if self.turn else None,
            "status": self._status,
            "text": self.said.joined(),
            "model": self.model,
            "usage": msgspec.to_builtins(self.usage),
            "cost_usd": self.cost_usd,
            "memory_cost_usd": self.memory_cost_usd,
            "tools": [
                {
                    "name": call.name,
                    "args": call.args,
                    "ok": call.status is CallStatus.OK,
                    "duration_ms": call.duration_ms,
                }
                for call in self.calls
            ],
            "sources": [{"title": each.title, "url": each.url} for each in self.searched.sources],
            "warnings": self.warnings,
            "recalled": _recalled(self.recalled),
            **_changed(self.version),
            # A service may quote a key. The turn's error is redacted already, for the store.
            "error": for_the_shell(Redactor().text(error)) or None,
        }

    def exit_code(self) -> int:
        """Return 0 if the turn finished, else the documented code."""
        match self._status:
            case TurnStatus.FINISHED:
                return 0
            case TurnStatus.INTERRUPTED:
                return INTERRUPTED
            case TurnStatus.FAILED if self.failure:
                return self.failure.exit_code
            case _:
                return FAILED

    @property
    def _status(self) -> TurnStatus:
        if self.turn:
            return self.turn.status
        if self.command and not self.failure:
            return TurnStatus.FINISHED
        return TurnStatus.INTERRUPTED if self.interrupted else TurnStatus.FAILED


def run_headless(options: Options) -> int:
    """Run the prompt and return the exit code; only the answer goes to standard output."""
    answered = _RunResult()
    start_log(os.environ)
    try:
        options.check(headless=True)
        # Before the loop runs, in which Ctrl+C would not interrupt reading standard input.
        parts = _parts(options)
        asyncio.run(_answer(options, parts, answered))
    except RagforgeError as error:
        answered.failure = error
    except KeyboardInterrupt:
        answered.interrupted = True
    _print_result(options, answered)
    if error := answered.as_json()["error"]:
        tell(error)
    return answered.exit_code()


def _print_result(options: Options, answered: _RunResult) -> None:
    """Print the result of the run, once."""
    if answered.printed:
        return
    answered.printed = True
    if options.output_format is OutputFormat.TEXT:
        if text := answered.said.joined():
            _print(answer_text(text.strip()))
    elif options.output_format is OutputFormat.JSON:
        _print(_encoded(answered.as_json()))
    else:
        _print(_encoded({"type": "result", **answered.as_json()}))


async def _answer(options: Options, parts: Parts, answered: _RunResult) -> None:
    async with AsyncExitStack() as opened:
        workspace = await open_for_run(options)
        opened.push_async_callback(_close, workspace)
        workspace.trust.tell = tell
        if options.output_format is not OutputFormat.TEXT:
            workspace.recorders.end_wait_s = (
                timeouts.VERSION_END_S_MAX
            )  # a script is told the version of every turn
        session = await open_session(workspace, options, tell=tell)
        session.live.consent.ask_nobody()
        opened.push_async_callback(close_session, session)
        answered.session_id = session.id
        answered.model = session.live.record.model or "local"
        if options.output_format is OutputFormat.STREAM_JSON:
            _print(_encoded({"type": "run_started", "schema_version": SCHEMA_VERSION, "session": session.id}))
        events_of = await _begun(options, session, parts, answered)
        if events_of is None:
            return
        await prepare_recall(session)
        limits = TurnLimits(
            steps_max=workspace.settings.turn.steps_max,
            model_calls_max=options.model_calls_max,
            price_usd_max=workspace.settings.turn.price_usd_max,
        )
        with _Signals(session):
            async with aclosing(events_of(limits)) as events:
                await _follow(events, answered, stream=options.output_format is OutputFormat.STREAM_JSON)
        with suppress(StoreError):  # the answer is worth more than its cost
            answered.memory_cost_usd = await memory_cost(workspace.store, session.id)
        # Nobody waits for the answer longer than the model took.
        _print_result(options, answered)
        await workspace.background.finish(timeout_s=timeouts.HEADLESS_BACKGROUND_S_MAX)
        if await workspace.store.planned(timeout_s=timeouts.HEADLESS_PLANS_S_MAX):
            # What failed without an answer succeeds now.
            await workspace.background.finish(timeout_s=timeouts.HEADLESS_BACKGROUND_S_MAX)
        await workspace.background.end_calls(timeout_s=timeouts.HEADLESS_CALLS_S_MAX)


Begin: TypeAlias = Callable[[TurnLimits], AsyncGenerator[AgentEvent, None]]
"""Starts a turn within limits; returns its events."""


async def _begun(options: Options, session: Session, parts: Parts, answered: _RunResult) -> Begin | None:
    """Return what the prompt starts; None if it was a command, which is done. Raises RagforgeError."""
    match parse_input(options.prompt or ""):
        case Slash(name, args):
            return await _run_command(options, session, name, args, parts[1:], answered)
        case _:
            _check_model(session)
            await _check_forgetting(session, text_of(parts))
            message = (*parts, *await _images(options, session))
            return lambda limits: submit(session, message, deny, limits=limits)


async def _run_command(
    options: Options, session: Session, name: str, args: str, piped: Parts, answered: _RunResult
) -> Begin | None:
    """Run a slash command; return what to send after it, if anything."""
    from ragforge.cli.verbs import needs_interface, told_outcome  # most prompts are none
    from ragforge.commands.base import Retry, Send, name_here
    from ragforge.session.own_commands import SCREENS, run_typed

    if name in SCREENS:
        raise needs_interface(name)
    if name_here(name) == "config" and args:
        from ragforge.tui import keys  # only the interface knows them, and it is slow to load

        keys.check_config(args, beside=session.workspace.settings.keys)
    outcome = await run_typed(session, name, args)
    match outcome:
        case Send(text, typed, terms):
            if terms is None or not terms.model:
                _check_model(session)
            message = (TextPart(text, typed), *piped)
            return lambda limits: submit(session, message, deny, limits=limits, terms=terms)
        case Retry():
            _check_model(session)
            return lambda limits: retry(session, deny, limits=limits)
        case _:
            answered.command = name
            answered.said = TextPieces(await told_outcome(session, outcome, name=name))
            _print_result(options, answered)
            return None


async def _images(options: Options, session: Session) -> Parts:
    """Return the prompt with the images that it mentions; standard input mentions none."""
    from ragforge.tui.mentions import parts_of  # most prompts have none

    if "@" not in (options.prompt or ""):
        return ()
    return (await parts_of(options.prompt or "", (session.cwd,), session.workspace.blobs.put))[1:]


def _check_model(session: Session) -> None:
    """Raise ModelError where no model is chosen: an answer from what is stored has to be asked for.

    To go on without a model in the interface asks for it there only.
    """
    model = session.live.record.model
    if model == NO_MODEL and session.workspace.settings.model != NO_MODEL:
        raise ModelError(
            "This session was continued without a model. Add --model PROVIDER:NAME, as in "
            "--model gemini:gemini-3.8-flash. --model local answers with search results, as before."
        )
    if not model:
        raise ModelError(
            "No model is chosen. Add --model PROVIDER:NAME, as in --model gemini:gemini-3.8-flash, or set "
            "GEMINI_API_KEY. --model local answers with search results, without a model."
        )


async def _check_forgetting(session: Session, message: str) -> None:
    """Raise UsageError for a message that only asks to forget something: the interface would ask what."""
    found: list[Memory] = []
    with suppress(StoreError):  # the turn reports it better
        found = await memories_to_forget(session, message)
    if found:
        lines = [f"  ragforge memory forget {each.id[:8]}  {each.content}" for each in found]
        raise UsageError(
            "Nothing was sent. Say which memory to forget, or start the message with a space to send it.\n"
            + "\n".join(lines)
        )


async def _close(workspace: Workspace) -> None:
    if waits := await close_workspace(workspace):
        tell(waits)


async def _follow(events: AsyncGenerator[AgentEvent, None], answered: _RunResult, *, stream: bool) -> None:
    async for event in events:
        if stream and not isinstance(event, StepEnded):
            _print(_encoded({"type": _type_name(event), **_fields(event)}))
        match event:
            case StepStarted():
                answered.said = TextPieces()
            case StepEnded(text):
                answered.said = TextPieces(text)
            case TextDelta(text):
                answered.said.add(text)
            case WebSearched(search):
                answered.searched = answered.searched.joined(search)
            case ContextBuilt(_, block):
                answered.recalled = block
            case ToolEnded(call):
                answered.calls.append(call)
            case UsageUpdated(usage, cost_usd):
                answered.usage += usage
                answered.cost_usd = sum_costs((answered.cost_usd, cost_usd))
            case RetryWaiting(delay_s=delay_s):
                tell(event.words(delay_s))
            case ConstraintsMet():
                answered.warnings += _warnings(event)
                for hit in event.hits:
                    tell(f"{'not run' if event.stopped else 'run anyway'}: {hit.found}. {hit.words}")
            case Notice(text):
                tell(text)
            case TurnEnded(turn, failure, version=version):
                answered.turn, answered.failure, answered.version = turn, failure, version
            case _:
                pass


async def deny(request: ApprovalRequest) -> ApprovalAnswer:
    """Return the answer without a user; says which flag would have permitted it."""
    if not isinstance(request, ToolApproval):
        return ApprovalAnswer(ConsentAnswer.NO)
    wanted = f"{request.tool}: {request.summary}"
    rule = f" Add --allow '{request.rules[0]}' to permit it." if request.rules else ""
    tell(f"not allowed: {wanted}.{rule}")
    return ApprovalAnswer(
        ConsentAnswer.NO,
        "This run cannot ask for approval; only what was allowed beforehand can run.",
        by_user=False,
    )


class _Signals:
    """For the duration, the signals that end a program interrupt the turn, so that its end is stored."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._stopping: set[asyncio.Task[None]] = set()

    def __enter__(self) -> None:
        loop = asyncio.get_running_loop()
        for number in STOP_SIGNALS:
            loop.add_signal_handler(number, self._stop)

    def __exit__(self, *_: object) -> None:
        loop = asyncio.get_running_loop()
        for number in STOP_SIGNALS:
            loop.remove_signal_handler(number)

    def _stop(self) -> None:
        self._stopping.add(asyncio.ensure_future(interrupt(self._session)))


def _parts(options: Options) -> Parts:
    """Return the prompt, then standard input as a separate block, whose words are nobody's wish."""
    piped = "" if sys.stdin.isatty() else _read_piped()
    prompt = options.prompt or ""
    if prompt.strip() and piped.strip():
        piped = fenced(piped.rstrip("\n"))
    texts = [part for part in (prompt, piped) if part.strip()]
    if not texts:
        raise UsageError('Nothing to send. Add a prompt, for example:  ragforge -p "What does this do?"')
    if isinstance(parse_input(prompt), Slash):
        return tuple(map(TextPart, texts))
    return (TextPart("\n\n".join(texts)),)


def _read_piped() -> str:
    data = sys.stdin.buffer.read(PIPED_BYTES_MAX + 1)
    if len(data) > PIPED_BYTES_MAX:
        raise UsageError(
            f"The piped input is larger than {PIPED_BYTES_MAX:,} bytes. Send less, or name "
            "the file in the prompt."
        )
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(
            f"The piped input is not UTF-8 text (byte {error.start}). Convert it first, for example:  "
            "iconv -f latin1 -t utf-8 FILE | ragforge -p ..."
        ) from error


def _type_name(event: AgentEvent) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", type(event).__name__).lower()


def _fields(event: AgentEvent) -> dict[str, Any]:
    match event:
        case ConstraintsMet():
            return {"call_id": event.call_id, "asked": event.asked, "warnings": _warnings(event)}
        case TurnEnded(turn, version=version):
            return {"turn": msgspec.to_builtins(turn), **_changed(version)}
        case ContextBuilt(turn_id, block):
            # What was recalled may come from anywhere; `ragforge context` prints its words.
            items = [
                {
                    "section": item.section,
                    "kind": item.kind,
                    "id": item.id,
                    "turn": item.turn_id or None,
                    "tokens": item.tokens,
                    "reason": item.reason,
                }
                for item in block.items
            ]
            return {"turn_id": turn_id, **_recalled(block), "items": items}
        case _:
            pass
    return msgspec.to_builtins(event)


def _warnings(event: ConstraintsMet) -> list[dict[str, Any]]:
    """Print which constraint a call violated, and whether it ran."""
    return [
        {
            "call": event.call_id,
            "found": Redactor().text(hit.found),
            "said": hit.constraint.text,
            "at": hit.constraint.said_at.isoformat(),
            "strength": hit.constraint.strength,
            "memory": hit.constraint.id,
            "turn": hit.constraint.turn or None,
            "ran": not event.stopped,
        }
        for hit in event.hits
    ]


def _recalled(block: ContextBlock) -> dict[str, Any]:
    """Print how much was recalled, and why not everything could be searched."""
    return {
        "count": len(block.items),
        "tokens": block.tokens,
        "took_ms": round(block.took_ms, 1),
        "limited": block.limited or None,
    }


def _changed(version: Version | None) -> dict[str, Any]:
    """Print the version of the turn, and the files that it changed."""
    return {"version": version.id if version else None, "files": files_json(version)}


def _encoded(value: Any) -> str:
    return json_line(msgspec.to_builtins(value))


def _print(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.write("\n")
    sys.stdout.flush()
