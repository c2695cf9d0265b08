"""The line above the prompt while anything runs: what, how long, how many tokens, how to end it."""

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from time import monotonic
from typing import ClassVar

from msgspec import Struct, field
from rich.cells import cell_len
from textual import events
from textual.content import Content
from textual.selection import Selection
from textual.timer import Timer
from textual.widget import Widget

from ragforge.domain import timeouts
from ragforge.domain.events import (
    AgentEvent,
    RetryWaiting,
    StepStarted,
    TextDelta,
    ThoughtDelta,
    ToolEnded,
    ToolStarted,
    TurnStarted,
    UsageUpdated,
)
from ragforge.domain.printable import one_line
from ragforge.tui import keys
from ragforge.tui.cells import fitting
from ragforge.tui.textual_types import app_of
from ragforge.tui.widgets.status_line import number_words
from ragforge.tui.widgets.tool_words import seconds_words

TICK_S = 1.0
CHARS_PER_TOKEN = 4
"""For the estimate while an answer streams; its end brings the number."""
_SIGNS = "✦✧"
_WHAT_CELLS_MIN = 16
"""Shorter text says nothing: the tokens give way first."""
_VERBS = {
    "shell": "running",
    "read": "reading",
    "edit": "editing",
    "write": "writing",
    "grep": "searching for",
    "glob": "looking for",
    "list": "listing",
}


class TurnWork(Struct):
    """The activity of the running turn."""

    began_s: float
    doing: str = "sending"
    calls: dict[str, str] = field(default_factory=dict[str, str])
    """The description of each running call, by its id."""
    retry: RetryWaiting | None = None
    retry_s: float = 0.0
    heard_s: float | None = None
    """When the model was last heard or asked, while it is its turn."""
    tokens: int = 0
    """Written in finished steps."""
    streamed_chars: int = 0
    """Written in the current step."""

    def apply(self, event: AgentEvent, *, now_s: float) -> None:
        """Process the event."""
        match event:
            case UsageUpdated(usage=usage):
                self.tokens += usage.output_tokens + usage.thought_tokens
                self.streamed_chars, self.heard_s = 0, None
                return
            case RetryWaiting():
                self.retry, self.retry_s, self.heard_s = event, now_s, None
                return
            case StepStarted():
                self.doing, self.heard_s = "thinking", now_s
            case ThoughtDelta(text) | TextDelta(text):
                self.doing = "answering" if isinstance(event, TextDelta) else "thinking"
                self.streamed_chars += len(text)
                self.heard_s = now_s
            case ToolStarted(call_id, name, _, summary):
                self.calls[call_id] = " ".join(filter(None, [_VERBS.get(name, name), one_line(summary)]))
                self.heard_s = None
            case ToolEnded(call):
                self.calls.pop(call.id, None)
            case TurnStarted():
                self.doing = "recalling"
            case _:
                return
        self.retry = None

    def what(self, now_s: float) -> str:
        """Return the current activity."""
        if self.retry is not None:
            return one_line(self.retry.words(self._wait_left_s(now_s)))
        if self.calls:
            first, *others = self.calls.values()
            return f"{first} and {len(others)} more" if others else first
        silent_s = self._silent_s(now_s)
        return f"no output from the model for {int(silent_s)} s" if silent_s else self.doing

    def brief(self, now_s: float) -> str:
        """The same in few words, for a narrow terminal; empty where there are none."""
        if self.retry is not None:
            return self.retry.when(self._wait_left_s(now_s))
        silent_s = 0.0 if self.calls else self._silent_s(now_s)
        return f"no output for {int(silent_s)} s" if silent_s else ""

    def _silent_s(self, now_s: float) -> float:
        """How long the model has been silent; 0 while that is not worth telling."""
        silent_s = now_s - self.heard_s if self.heard_s is not None else 0.0
        return silent_s if silent_s >= timeouts.MODEL_SILENT_TOLD_AFTER_S else 0.0

    def _wait_left_s(self, now_s: float) -> float:
        return self.retry.delay_s - (now_s - self.retry_s) if self.retry is not None else 0.0

    @property
    def token_words(self) -> str:
        """Return how much the model has written in this turn; an estimate while it writes."""
        number = self.tokens + self.streamed_chars // CHARS_PER_TOKEN
        return f"{'~' if self.streamed_chars else ''}{number_words(number)} tokens" if number else ""


class CommandWork(Struct):
    """A running command of the user's. ends_at_esc: whether Esc ends it now."""

    what: str
    began_s: float
    ends_at_esc: Callable[[], bool]


class LiveLine(Widget):
    """Shown while a turn or a command runs, and drawn once a second or when its activity changes.

    A command is shown once it has taken a second, and nothing while a question is asked. While the line is
    shown it replaces the blank one at the end of the conversation, so that nothing moves.
    """

    ALLOW_SELECT: ClassVar[bool] = False

    def __init__(
        self,
        *,
        on_shown: Callable[[bool], object] = lambda is_shown: None,
        clock: Callable[[], float] = monotonic,
        id: str | None = None,
    ) -> None:
        """on_shown: called when the line appears and disappears."""
        super().__init__(id=id)
        self._on_shown = on_shown
        self._clock = clock
        self._turn: TurnWork | None = None
        self._commands: list[CommandWork] = []
        self._asking = 0
        self._asked_s = 0.0
        """When somebody was first asked: sub-agents may ask at the same time."""
        self._what = ""
        self._interrupts = "escape"
        """The key, as Textual names it; empty for none."""
        self._timer: Timer | None = None
        self.display = False

    @property
    def in_turn(self) -> bool:
        """Whether a turn runs."""
        return self._turn is not None

    def on_mount(self) -> None:
        """The clock only runs while something does."""
        self._timer = self.set_interval(TICK_S, self.tick, pause=True)

    def use_keys(self, bound: Mapping[str, tuple[str, ...]]) -> None:
        """Show the bound key that interrupts."""
        self._interrupts = next(iter(bound["interrupt"]), "")

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """Nothing: it is gone in a moment."""
        return None

    def show(self, event: AgentEvent) -> None:
        """Process an event of a turn."""
        now_s = self._clock()
        if self._turn is not None:
            self._turn.apply(event, now_s=now_s)
        self._follow()

    def begin_turn(self) -> None:
        """A message is sent."""
        self._turn = TurnWork(self._clock())
        self._follow()

    def end_turn(self) -> None:
        """However it ended."""
        self._turn = None
        self._follow()

    @contextmanager
    def during(self, what: str, *, ends_at_esc: Callable[[], bool]) -> Generator[None]:
        """Show a command while it runs."""
        work = CommandWork(one_line(what), self._clock(), ends_at_esc)
        self._commands.append(work)
        self._follow()
        try:
            yield
        finally:
            self._commands = [each for each in self._commands if each is not work]
            self._follow()

    @contextmanager
    def asking(self) -> Generator[None]:
        """While the user is asked, nothing else is shown, and no time counts as work."""
        if not self._asking:
            self._asked_s = self._clock()
        self._asking += 1
        self._follow()
        try:
            yield
        finally:
            self._asking -= 1
            if not self._asking:
                self._leave_out(self._clock() - self._asked_s)
            self._follow()

    def _leave_out(self, waited_s: float) -> None:
        """Count so much less as work."""
        for work in filter(None, (self._turn, *self._commands)):
            work.began_s = min(work.began_s + waited_s, self._clock())

    def tick(self) -> None:
        """Update the time."""
        self._follow()
        self.refresh()

    def _follow(self) -> None:
        """Appear, disappear, or draw a change; the same words are redrawn only by the clock."""
        what = self._shown()
        if self._timer is not None:
            (self._timer.resume if self._turn or self._commands else self._timer.pause)()
        if bool(what) != self.display:
            self.display = bool(what)
            self._on_shown(bool(what))
        if what != self._what:
            self._what = what
            self.refresh()

    def _shown(self) -> str:
        """Return the subject of the line; empty if it is not shown."""
        if self._asking or not self.is_attached or not self.screen.is_current:
            return ""
        now_s = self._clock()
        if self._turn is not None:
            return self._turn.what(now_s)
        if not self.screen.is_active:
            return ""  # a command's dialog is in front: it waits for the user, and does nothing
        late = [each for each in self._commands if now_s - each.began_s >= TICK_S]
        return late[-1].what if late else ""

    def on_click(self, event: events.Click) -> None:
        """Interrupt, if the line shows the key for it."""
        words = self.words(self.content_size.width).plain
        at = event.get_content_offset(self)
        if at and " interrupts" in words and at.x >= cell_len(words.rpartition(" · ")[0]):
            app_of(self).simulate_key(self._interrupts)

    def render(self) -> Content:
        """The line, cut to the width."""
        return self.words(self.content_size.width)

    def words(self, width: int) -> Content:
        """Return what, how long, tokens, the key: what does not fit is cut, the tokens go first."""
        work = self._turn or next(reversed(self._commands), None)
        if work is None:
            return Content("")
        elapsed_s = self._clock() - work.began_s
        took = seconds_words(elapsed_s)
        ends = isinstance(work, TurnWork) or work.ends_at_esc()
        tokens = work.token_words if isinstance(work, TurnWork) else ""
        hint = f"{keys.shown(self._interrupts)} interrupts" if ends and self._interrupts else ""
        sign = _SIGNS[int(elapsed_s) % len(_SIGNS)]
        facts = [fact for fact in (took, tokens, hint) if fact]
        if tokens and width - 2 - _length(facts) < _WHAT_CELLS_MIN:
            facts.remove(tokens)
        what, room = self._what, width - 2 - _length(facts)
        if cell_len(what) > room and isinstance(work, TurnWork) and (brief := work.brief(self._clock())):
            what = brief
            if cell_len(brief) > room:  # the wait that is left says more than the time it took
                facts.remove(took)
        what = fitting(what, max(1, width - 2 - _length(facts)))
        tail = "".join(f" · {fact}" for fact in facts)
        return Content.assemble(
            (f"{sign} ", "$text-accent"), (what, "$foreground"), (tail, "$foreground-muted")
        )


def _length(facts: list[str]) -> int:
    return sum(cell_len(fact) + 3 for fact in facts)
