"""The window: the newest part of the conversation, which is sent to the model word for word and cut in steps.

Providers charge a tenth for a prefix that they have seen before. So the window only grows until it is too
large, and is then cut in one step. Its content depends only on the messages: a resumed session sends the same
prefix.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol, Self

from msgspec import Struct
from msgspec.structs import replace

from ragforge.domain.messages import CallResult, Message, ModelMessage, ToolMessage, UserMessage, text_of
from ragforge.domain.turns import Step, ToolCall, Turn
from ragforge.memory.context import message_tokens, with_references, without_images

TURNS_KEPT_MIN = 3
"""How many turns before the running one are never dropped."""

TURNS_BETWEEN_FRESH_STARTS = 200
"""Each turn whose index is a multiple of this starts with the least that a window contains. So no more turns
than this, and the few before them, are ever read to determine a window's content."""


class Cuts(Protocol):
    """Removes what the user has forgotten (`memory.forgotten`). Equal ones remove the same text."""

    def __bool__(self) -> bool: ...

    def message(self, message: Message, *, turn: str = "") -> Message:
        """Return the message without it, as it was said before."""
        ...

    def turn(self, turn: Turn) -> Turn:
        """Return the turn without it."""
        ...

    def step(self, step: Step, *, at: datetime, session: str = "") -> Step:
        """Return the step without it. at: the start of its turn, session: its session."""
        ...

    def call(self, call: ToolCall, *, session: str = "") -> ToolCall:
        """Return the call and its result without it."""
        ...


class WindowLimits(Struct, frozen=True):
    """When the window is cut, and to what size."""

    tokens_high: int = 40_000
    tokens_low: int = 15_000
    lean_chars: int | None = None
    """If set, only so many characters of earlier turns are sent, beyond the few that always are."""
    refers_images: bool = True
    """Whether images of turns before the last one become one-line references, once the window changes."""


class Dropped(Struct, frozen=True):
    """The result of one cut."""

    turns: int
    """The removed turns."""
    results: int
    """The results that were removed or replaced by one-line references."""
    tokens: int
    """The tokens before."""
    tokens_left: int


class _Entry(Struct, frozen=True):
    """A message and its size, and the same for its replacement once it is old."""

    message: Message
    tokens: int
    reference: ToolMessage | None = None
    reference_tokens: int = 0
    results: int = 0
    """The number of results that `reference` stands for."""
    imageless: Message | None = None
    imageless_tokens: int = 0
    is_reference: bool = False
    is_imageless: bool = False

    @property
    def sent(self) -> Message:
        if self.is_reference and self.reference:
            return self.reference
        return self.imageless if self.is_imageless and self.imageless else self.message

    @property
    def weight(self) -> int:
        if self.is_reference:
            return self.reference_tokens
        return self.imageless_tokens if self.is_imageless else self.tokens


class _Turn(Struct, frozen=True):
    """A turn in the window: the position of its first message, and its number of characters."""

    id: str
    start: int
    chars: int = 0


class Window:
    """The messages that are sent word for word. Turns and messages are added in order."""

    def __init__(self, limits: WindowLimits | None = None, forgotten: Cuts | None = None) -> None:
        self.limits = limits or WindowLimits()
        self.forgotten = forgotten or None
        """What has been cut out of the messages."""
        self._entries: list[_Entry] = []
        self._turns: list[_Turn] = []
        self.tokens = 0
        """The estimated tokens of what is sent."""
        self.dropped: list[Dropped] = []
        """The result of each cut since `copy`."""
        self.next_index = 0
        """The depth of the next turn."""
        self.compact_next = False
        """The user asked for a cut: it is made with the next message."""

    def copy(self) -> Self:
        """Return a copy to continue with; earlier cuts are not reported again."""
        other = type(self)(self.limits, self.forgotten)
        other._entries, other._turns = list(self._entries), list(self._turns)
        other.tokens, other.compact_next = self.tokens, self.compact_next
        other.next_index = self.next_index
        return other

    def begin(self, turn_id: str, index: int) -> None:
        """Start a turn, to which later messages belong; `index` is its depth in the tree."""
        if index and index % TURNS_BETWEEN_FRESH_STARTS == 0:
            self._start_fresh()
        elif self.limits.lean_chars is not None:
            self._slide(self.limits.lean_chars)
        self._turns.append(_Turn(turn_id, len(self._entries)))
        self.next_index = index + 1

    def add(self, message: Message) -> None:
        """Append a message; if a request follows, the window may be cut."""
        self._entries.append(_entry(message))
        self.tokens += self._entries[-1].tokens
        match message:
            case ToolMessage():
                pass
            case UserMessage(parts):
                self._count_chars(len(text_of(parts)))
            case ModelMessage():
                self._count_chars(len(message.text))
                return
        if self.tokens > self.limits.tokens_high or self.compact_next:
            self.compact_next = False
            self.drop()

    def extend(self, turn_id: str, index: int, messages: Sequence[Message]) -> None:
        """Add a complete turn."""
        self.begin(turn_id, index)
        for message in messages:
            self.add(message)

    def forget(self, forgotten: Cuts) -> None:
        """Remove forgotten text from all messages in the window."""
        self.forgotten = forgotten or None
        for turn, following in zip(self._turns, [*self._turns[1:], None], strict=True):
            for at in range(turn.start, following.start if following else len(self._entries)):
                entry = _entry(forgotten.message(self._entries[at].message, turn=turn.id))
                before = self._entries[at]
                self._entries[at] = replace(
                    entry, is_reference=before.is_reference, is_imageless=before.is_imageless
                )
        self.tokens = sum(entry.weight for entry in self._entries)

    def drop(self) -> Dropped | None:
        """Cut to the lower limit, as far as possible; None if nothing can be removed.

        Removes, in this order: old results before the last three turns, leaving references; the oldest turns;
        and, if that is by far not enough, results in the last turns, except the newest.
        """
        before, low = self.tokens, min(self.limits.tokens_low, self.limits.tokens_high)
        self._refer_images(until=self._turns[-2].start if len(self._turns) > 1 else 0)
        kept_from = self._turns[-(TURNS_KEPT_MIN + 1)].start if len(self._turns) > TURNS_KEPT_MIN else 0
        results = self._refer(until=kept_from, goal=low)
        turns, gone = self._drop_turns(goal=low)
        if self.tokens > (low + self.limits.tokens_high) // 2:
            results += self._refer(until=self._newest_results, goal=low)
        return self._note(Dropped(turns, results + gone, before, self.tokens))

    @property
    def messages(self) -> list[Message]:
        """The messages to send, oldest first."""
        return [entry.sent for entry in self._entries]

    @property
    def turn_ids(self) -> list[str]:
        """The turns in the window, oldest first."""
        return [turn.id for turn in self._turns]

    @property
    def newest_start(self) -> int:
        """The position in `messages` where the newest turn starts."""
        return self._turns[-1].start if self._turns else 0

    def result(self, call_id: str) -> CallResult | None:
        """Return the complete result behind a reference, as the model first received it."""
        for entry in self._entries:
            if isinstance(entry.message, ToolMessage):
                for result in entry.message.results:
                    if result.call_id == call_id:
                        return result
        return None

    @property
    def _newest_results(self) -> int:
        """Return the position of the results that the model has just asked for, or the end if it waits for
        none."""
        last = len(self._entries) - 1
        return last if self._entries and isinstance(self._entries[last].message, ToolMessage) else last + 1

    def _start_fresh(self) -> None:
        """Keep only the last turns, with references for their results."""
        before, results = self.tokens, 0
        turns, gone = self._drop_turns(goal=-1, kept=TURNS_KEPT_MIN)
        self._refer_images(until=self.newest_start)
        results = self._refer(until=len(self._entries), goal=-1)
        self._note(Dropped(turns, results + gone, before, self.tokens))

    def _slide(self, chars_max: int) -> None:
        """Keep the last turns, and as many more as fit within this many characters."""
        chars, kept = 0, 0
        for turn in reversed(self._turns):
            chars += turn.chars
            if kept >= TURNS_KEPT_MIN and chars > chars_max:
                break
            kept += 1
        self._drop_turns(goal=-1, kept=kept)
        self._refer_images(until=self.newest_start)
        if len(self._turns) > TURNS_KEPT_MIN:
            self._refer(until=self._turns[-TURNS_KEPT_MIN].start, goal=-1)

    def _refer(self, *, until: int, goal: int) -> int:
        """Replace the oldest results before a position with references; return how many."""
        count = 0
        for at in range(until):
            if self.tokens <= goal:
                break
            entry = self._entries[at]
            if entry.reference and not entry.is_reference:
                self._entries[at] = replace(entry, is_reference=True)
                self.tokens += entry.reference_tokens - entry.weight
                count += entry.results
        return count

    def _refer_images(self, *, until: int) -> None:
        """Replace the images before a position with one-line references."""
        for at, entry in enumerate(self._entries[:until] if self.limits.refers_images else ()):
            if entry.imageless and not entry.is_imageless:
                self._entries[at] = replace(entry, is_imageless=True)
                self.tokens += self._entries[at].weight - entry.weight

    def _drop_turns(self, *, goal: int, kept: int = TURNS_KEPT_MIN + 1) -> tuple[int, int]:
        """Remove the oldest turns, except the last; return how many, and how many complete results they
        contained."""
        gone = 0
        while len(self._turns) - gone > kept and self.tokens > goal:
            first, following = self._turns[gone], self._turns[gone + 1]
            self.tokens -= sum(entry.weight for entry in self._entries[first.start : following.start])
            gone += 1
        if not gone:
            return 0, 0
        start = self._turns[gone].start
        results = sum(entry.results for entry in self._entries[:start] if not entry.is_reference)
        del self._entries[:start]
        self._turns = [replace(turn, start=turn.start - start) for turn in self._turns[gone:]]
        return gone, results

    def _count_chars(self, chars: int) -> None:
        if self._turns:
            self._turns[-1] = replace(self._turns[-1], chars=self._turns[-1].chars + chars)

    def _note(self, dropped: Dropped) -> Dropped | None:
        if not (dropped.turns or dropped.results):
            return None
        self.dropped.append(dropped)
        return dropped


def _entry(message: Message) -> _Entry:
    entry = _Entry(message, message_tokens(message))
    imageless = without_images(message)
    if imageless is not message:
        entry = replace(entry, imageless=imageless, imageless_tokens=message_tokens(imageless))
    if isinstance(message, ToolMessage):
        reference, results = with_references(message)
        if results:
            tokens = message_tokens(reference)
            return replace(entry, reference=reference, reference_tokens=tokens, results=results)
    return entry
