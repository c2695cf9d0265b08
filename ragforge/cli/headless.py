"""`ragforge -p`: one turn without the interface."""

import asyncio
import os
import re
import signal
import sys
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass, field
from typing import Any

import msgspec

from ragforge.agent.parts import TurnLimits
from ragforge.cli.edge import FAILED, INTERRUPTED, tell
from ragforge.cli.opening import open_for_run, open_session
from ragforge.cli.options import Options, OutputFormat
from ragforge.cli.printing import answer_text, json_line
from ragforge.domain.approvals import Answer, ApprovalAnswer, ApprovalRequest, ToolApproval
from ragforge.domain.errors import RagforgeError, UsageError
from ragforge.domain.events import (
    AgentEvent,
    Notice,
    RetryWaiting,
    StepStarted,
    TextDelta,
    ToolEnded,
    TurnEnded,
    UsageUpdated,
)
from ragforge.domain.messages import Parts, TextPart
from ragforge.domain.turns import CallStatus, ToolCall, Turn, TurnStatus
from ragforge.domain.usage import Usage, sum_costs
from ragforge.session.logs import start_log
from ragforge.session.open import close_session, close_workspace
from ragforge.session.state import Session, Workspace
from ragforge.session.turn import interrupt, submit

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
PIPED_BYTES_MAX = 10_000_000


@dataclass(slots=True)
class _Answered:
    """What a run has come to."""

    session_id: str | None = None
    model: str = ""
    text: str = ""
    turn: Turn | None = None
    failure: RagforgeError | None = None
    interrupted: bool = False
    """Before a turn began; one that runs says so itself."""
    usage: Usage = field(default_factory=Usage)
    cost_usd: float | None = 0.0
    calls: list[ToolCall] = field(default_factory=list[ToolCall])

    def as_json(self) -> dict[str, Any]:
        """The object that `--output-format json` prints."""
        error = str(self.failure) if self.failure else (self.turn.error if self.turn else "")
        return {
            "session": self.session_id,
            "turn": self.turn.id if self.turn else None,
            "status": self._status,
            "text": self.text,
            "model": self.model,
            "usage": msgspec.to_builtins(self.usage),
            "cost_usd": self.cost_usd,
            "tools": [
                {
                    "name": call.name,
                    "args": call.args,
                    "ok": call.status is CallStatus.OK,
                    "duration_ms": call.duration_ms,
                }
                for call in self.calls
            ],
            "error": error or None,
        }

    def exit_code(self) -> int:
        """0 when the turn finished, else what stands in the documentation."""
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
        return TurnStatus.INTERRUPTED if self.interrupted else TurnStatus.FAILED


def run_headless(options: Options) -> int:
    """Run the prompt to its exit code; the answer goes to standard output, all else to standard error."""
    answered = _Answered()
    start_log(os.environ)
    try:
        options.check(headless=True)
        # Before the loop runs, which would keep Ctrl+C from ending a wait for what is piped in.
        parts = _parts(options)
        asyncio.run(_answer(options, parts, answered))
    except RagforgeError as error:
        answered.failure = error
    except KeyboardInterrupt:
        answered.interrupted = True
    if options.output_format is OutputFormat.TEXT:
        if answered.text:
            _print(answer_text(answered.text.strip()))
    elif options.output_format is OutputFormat.JSON:
        _print(_encoded(answered.as_json()))
    else:
        _print(_encoded({"type": "result", **answered.as_json()}))
    if error := answered.as_json()["error"]:
        tell(error)
    return answered.exit_code()


async def _answer(options: Options, parts: Parts, answered: _Answered) -> None:
    async with AsyncExitStack() as opened:
        workspace = await open_for_run(options)
        opened.push_async_callback(_close, workspace)
        session = await open_session(workspace, options, tell=tell)
        opened.push_async_callback(close_session, session)
        answered.session_id = session.id
        answered.model = session.live.record.model or "local"
        limits = TurnLimits(
            steps_max=workspace.settings.turn.steps_max,
            model_calls_max=options.model_calls_max,
            price_usd_max=workspace.settings.turn.price_usd_max,
        )
        with _Signals(session):
            async with aclosing(submit(session, parts, _approve, limits=limits)) as events:
                await _follow(events, answered, stream=options.output_format is OutputFormat.STREAM_JSON)


async def _close(workspace: Workspace) -> None:
    if waits := await close_workspace(workspace):
        tell(waits)


async def _follow(events: AsyncGenerator[AgentEvent, None], answered: _Answered, *, stream: bool) -> None:
    async for event in events:
        if stream:
            _print(_encoded({"type": _type_name(event), **_fields(event)}))
        match event:
            case StepStarted():
                answered.text = ""
            case TextDelta(text):
                answered.text += text
            case ToolEnded(call):
                answered.calls.append(call)
            case UsageUpdated(usage, cost_usd):
                answered.usage += usage
                answered.cost_usd = sum_costs((answered.cost_usd, cost_usd))
            case RetryWaiting(reason, delay_s, attempt, attempts_max):
                tell(f"{reason}, again in {delay_s:.0f} s, {attempt} of {attempts_max}")
            case Notice(text):
                tell(text)
            case TurnEnded(turn, failure):
                answered.turn, answered.failure = turn, failure
            case _:
                pass


async def _approve(request: ApprovalRequest) -> ApprovalAnswer:
    if not isinstance(request, ToolApproval):
        return ApprovalAnswer(Answer.NO)
    wanted = f"{request.tool}: {request.summary}"
    rule = f" Allow it with --allow '{request.rules[0]}'." if request.rules else ""
    tell(f"refused for want of consent: {wanted}.{rule}")
    return ApprovalAnswer(
        Answer.NO, "This run has no person to ask; only what was allowed beforehand can be done."
    )


class _Signals:
    """While it holds, the signals that end a program interrupt the turn, so that its end is kept."""

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
    """The message: the prompt, then what was piped in."""
    piped = "" if sys.stdin.isatty() else _read_piped()
    text = "\n\n".join(part for part in (options.prompt or "", piped) if part.strip())
    if not text:
        raise UsageError('There is nothing to send. Give a prompt, as in: ragforge -p "What does this do?"')
    return (TextPart(text),)


def _read_piped() -> str:
    data = sys.stdin.buffer.read(PIPED_BYTES_MAX + 1)
    if len(data) > PIPED_BYTES_MAX:
        raise UsageError(f"More than {PIPED_BYTES_MAX:,} bytes were piped in. Send less, or name the file.")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(
            f"What was piped in is not UTF-8 text (byte {error.start}). Convert it first, as in: "
            "iconv -f latin1 -t utf-8 FILE | ragforge -p ..."
        ) from error


def _type_name(event: AgentEvent) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", type(event).__name__).lower()


def _fields(event: AgentEvent) -> dict[str, Any]:
    if isinstance(event, TurnEnded):
        return {"turn": msgspec.to_builtins(event.turn)}
    return msgspec.to_builtins(event)


def _encoded(value: Any) -> str:
    return json_line(msgspec.to_builtins(value))


def _print(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()
