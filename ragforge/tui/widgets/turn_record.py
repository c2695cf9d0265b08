"""The contents of a turn, in the order in which they are shown; built from events or from the store."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TypeAlias, assert_never

from msgspec import Struct, field

from ragforge.domain.approvals import ConstraintHit
from ragforge.domain.context import ContextBlock
from ragforge.domain.events import (
    AgentEvent,
    ConstraintsMet,
    ContextBuilt,
    MessageJoined,
    Notice,
    RetryWaiting,
    StepEnded,
    StepStarted,
    TextDelta,
    ThoughtDelta,
    ToolEnded,
    ToolOutput,
    ToolStarted,
    TurnEnded,
    TurnStarted,
    UsageUpdated,
    WebSearched,
)
from ragforge.domain.ids import now
from ragforge.domain.json import JsonObject
from ragforge.domain.messages import CommandPart, Parts, WebSearch, commands_in
from ragforge.domain.turns import CallStatus, Step, ToolCall, Turn, TurnStatus
from ragforge.domain.versions import Version, files_touched

LIVE_OUTPUT_CHARS_MAX = 64_000
"""How much output of a running tool is kept for display; the whole arrives at its end."""

OWN = "!"
"""Instead of a tool's name: a command that the user ran."""

SHOWN_CHARS_MAX = 200_000
"""Of one answer or thought."""
SHOWN_LINES_MAX = 2_000
"""Each paragraph is a widget, each item of a list four: 20,000 of them took 3 GB."""


class Said(Struct):
    """A piece of the answer, as Markdown: its beginning, and how many more characters it has."""

    text: str
    more_chars: int = 0


class Thought(Struct):
    """The model's thoughts, as `Said`.

    `seconds` is None while it thinks, and if it was not measured.
    """

    text: str
    more_chars: int = 0
    started_s: float | None = None
    seconds: float | None = None


class Called(Struct):
    """A tool call: running while `call` is None and the turn has not interrupted it."""

    call_id: str
    name: str
    args: JsonObject
    summary: str = ""
    output: str = ""
    started_s: float = 0.0
    call: ToolCall | None = None
    cut_off: bool = False
    is_asked: bool = False
    """Whether it waits for the user's answer."""

    @property
    def is_own(self) -> bool:
        """Whether the user ran it."""
        return self.name == OWN

    def take(self, text: str) -> None:
        """Add output of a running call."""
        self.output = (self.output + text)[-LIVE_OUTPUT_CHARS_MAX:]


class Noted(Struct):
    """A line that is not part of the conversation."""

    text: str


class Told(Struct):
    """The answer of a command, as Markdown; not part of the conversation."""

    text: str


class Greeted(Struct):
    """The start of a new session: a first line, set off, and others."""

    title: str
    lines: Sequence[str]


class Remembered(Struct):
    """What the model was given from memory."""

    block: ContextBlock


class Against(Struct):
    """A call went against what the user said."""

    hit: ConstraintHit


class Searched(Struct):
    """The results of the provider's own search for the answer above."""

    search: WebSearch


class Changed(Struct):
    """What the turn changed in the files."""

    version: Version


class Otherwise(Struct):
    """How the turn differs from its prediction, in a few words."""

    turn_id: str
    words: str


FORGOTTEN = "Something in this turn was forgotten: it stays in the history, but is not sent to any model."

Entry: TypeAlias = (
    Said | Thought | Called | Noted | Told | Greeted | Remembered | Against | Searched | Changed | Otherwise
)


class StoredTurns(Struct, frozen=True):
    """Turns of one path, oldest first, with their steps and calls in any order."""

    turns: Sequence[Turn]
    steps: Sequence[Step] = ()
    calls: Sequence[ToolCall] = ()
    recalled: Mapping[str, ContextBlock] = field(default_factory=dict[str, ContextBlock])
    """By the turn's id, if it is still known."""
    forgotten: Collection[str] = ()
    """Ids of turns in which something was said that no model is given any more."""
    marked: Mapping[str, str] = field(default_factory=dict[str, str])
    """How turns differ from their prediction, by their ids."""


class TurnRecord(Struct):
    """A turn and its entries; without a turn, lines said before the first one."""

    turn: Turn | None
    entries: list[Entry] = field(default_factory=list[Entry])
    before: Sequence[Called] = ()
    """What the user ran before the message, unless it is shown above."""

    @property
    def running(self) -> bool:
        """Whether it is still running."""
        return self.turn is not None and self.turn.status is TurnStatus.RUNNING

    def apply(self, event: AgentEvent, *, now_s: float) -> Entry | None:
        """Apply the event. Return the entry that is new or has changed, if any."""
        if not isinstance(event, ThoughtDelta | UsageUpdated):
            self._end_thought(now_s)
        match event:
            case TurnStarted(turn) | MessageJoined(turn):
                self.turn = turn
                return None
            case TurnEnded(turn, version=version):
                self.turn = turn
                for entry in self.entries:
                    if isinstance(entry, Called):
                        entry.cut_off = entry.call is None
                changed = version and files_touched(version.changes)
                return self._add(Changed(version)) if version and changed else None
            case ContextBuilt(_, block):
                return self._add(Remembered(block)) if block.items or block.limited else None
            case TextDelta(text):
                return self._say(text)
            case ThoughtDelta(text):
                return self._think(text, now_s)
            case ToolStarted(call_id, name, args, summary):
                return self._add(Called(call_id, name, args, summary, started_s=now_s))
            case ToolOutput(call_id, text):
                return self._output(call_id, text)
            case ToolEnded(call):
                return self._ended(call, now_s)
            case Notice(text):
                return self._add(Noted(text))
            case ConstraintsMet(hits=hits, asked=False):
                for hit in hits[:-1]:
                    self._add(Against(hit))
                return self._add(Against(hits[-1]))
            case ConstraintsMet():
                return None
            case WebSearched(search):
                return self._add(Searched(search))
            case StepStarted() | StepEnded() | UsageUpdated() | RetryWaiting():
                return None
            case _:
                assert_never(event)

    def ask(self, call_id: str, *, is_asked: bool, now_s: float) -> Called | None:
        """Mark the call as waiting for the user's answer, or running; return it, None if unknown."""
        entry = self._called(call_id)
        if entry is not None:
            entry.is_asked, entry.started_s = is_asked, now_s
        return entry

    def index_of(self, entry: Entry) -> int:
        """Return its index among the entries."""
        for index in range(len(self.entries) - 1, -1, -1):
            if self.entries[index] is entry:
                return index
        raise ValueError("not an entry of this turn")

    def _add(self, entry: Entry) -> Entry:
        self.entries.append(entry)
        return entry

    def _say(self, text: str) -> Entry:
        # What the user looked up meanwhile must not split the answer, maybe within a list or code.
        last = next((entry for entry in reversed(self.entries) if not isinstance(entry, Told)), None)
        if isinstance(last, Said):
            return _grown(last, text)
        return self._add(_grown(Said(""), text))

    def _think(self, text: str, now_s: float) -> Entry:
        last = self.entries[-1] if self.entries else None
        if isinstance(last, Thought) and last.seconds is None:
            return _grown(last, text)
        return self._add(_grown(Thought("", started_s=now_s), text))

    def _end_thought(self, now_s: float) -> None:
        for entry in self.entries:  # not only the last: a notice may have come between
            if isinstance(entry, Thought) and entry.started_s is not None and entry.seconds is None:
                entry.seconds = now_s - entry.started_s

    def _called(self, call_id: str) -> Called | None:
        found = (e for e in reversed(self.entries) if isinstance(e, Called) and e.call_id == call_id)
        return next(found, None)

    def _output(self, call_id: str, text: str) -> Entry | None:
        entry = self._called(call_id)
        if entry is not None:
            entry.take(text)
        return entry

    def _ended(self, call: ToolCall, now_s: float) -> Entry:
        entry = self._called(call.id)
        if entry is None:
            entry = Called(call.id, call.name, call.args, started_s=now_s)
            self.entries.append(entry)
        if entry.args != call.args:  # the user edited it before it ran
            entry.args, entry.summary = call.args, ""
        entry.call, entry.output = call, ""
        return entry


def records_of(stored: StoredTurns) -> list[TurnRecord]:
    """Return the stored turns as records, in their order."""
    steps: dict[str, list[Step]] = {}
    calls: dict[str, list[ToolCall]] = {}
    for step in sorted(stored.steps, key=lambda step: step.index):
        steps.setdefault(step.turn_id, []).append(step)
    for call in stored.calls:
        calls.setdefault(call.turn_id, []).append(call)
    return [
        TurnRecord(
            turn,
            _entries(turn, steps.get(turn.id, []), calls.get(turn.id, []), block=stored.recalled.get(turn.id))
            + ([Otherwise(turn.id, words)] if (words := stored.marked.get(turn.id)) else [])
            + ([Noted(FORGOTTEN)] if turn.id in stored.forgotten else []),
            own_calls(turn.user),
        )
        for turn in stored.turns
    ]


def own_calls(parts: Parts) -> list[Called]:
    """Return what the user ran before a message, as it was shown when it ended."""
    return [
        Called(part.id, OWN, {"command": part.command}, call=own_call(part)) for part in commands_in(parts)
    ]


def own_call(part: CommandPart, *, status: CallStatus | None = None, took_ms: int = 0) -> ToolCall:
    """Return a user's command as a call. Without a status, its last line determines it."""
    told = (
        CallStatus.OK
        if part.output.rstrip().rpartition("\n")[2].startswith("[Exit code 0")
        else CallStatus.FAILED
    )
    return ToolCall(
        id=part.id,
        turn_id="",
        step_index=0,
        position=0,
        name=OWN,
        args={"command": part.command},
        status=status or told,
        result=part.output,
        started_at=now(),
        duration_ms=took_ms,
        result_chars=part.chars or len(part.output),
        result_blob=part.blob or None,
    )


def _entries(
    turn: Turn, steps: Sequence[Step], calls: Sequence[ToolCall], *, block: ContextBlock | None
) -> list[Entry]:
    entries: list[Entry] = [Remembered(block)] if block else []
    for step in steps:
        if step.message.thoughts:
            entries.append(_grown(Thought(""), step.message.thoughts))
        if step.message.text:
            entries.append(_grown(Said(""), step.message.text))
        if step.message.searched:
            entries.append(Searched(step.message.searched))
        entries.extend(_calls(call for call in calls if call.step_index == step.index))
    known = {step.index for step in steps}
    entries.extend(_calls(call for call in calls if call.step_index not in known))
    if turn.assistant and not any(isinstance(entry, Said) for entry in entries):
        entries.append(_grown(Said(""), turn.assistant))
    return entries


def _grown(entry: Said | Thought, text: str) -> Said | Thought:
    """Append the text to the entry and return it: what is too much to be shown is only counted."""
    shown = "" if entry.more_chars else text[: SHOWN_CHARS_MAX - len(entry.text)]
    lines_left = SHOWN_LINES_MAX - entry.text.count("\n")
    *lines, beyond = shown.split("\n", lines_left)
    shown = shown.removesuffix(beyond) if len(lines) == lines_left else shown
    entry.text += shown
    entry.more_chars += len(text) - len(shown)
    return entry


def _calls(calls: Iterable[ToolCall]) -> list[Called]:
    in_order = sorted(calls, key=lambda call: (call.step_index, call.position))
    return [Called(call.id, call.name, call.args, call=call) for call in in_order]
