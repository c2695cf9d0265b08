"""The conversation on the screen: shows the events of a turn, and stored turns."""

from collections.abc import Awaitable, Callable, Collection, Generator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from time import monotonic
from typing import ClassVar, TypeAlias
from weakref import WeakKeyDictionary

from msgspec import Struct
from textual import events, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.selection import Selection
from textual.timer import Timer
from textual.widget import Widget

from ragforge.domain.context import ContextBlock
from ragforge.domain.errors import RagforgeError
from ragforge.domain.events import (
    AgentEvent,
    Notice,
    RetryWaiting,
    StepEnded,
    StepStarted,
    TurnStarted,
    UsageUpdated,
)
from ragforge.domain.turns import Step, ToolCall, Turn
from ragforge.tui.keys import with_present_keys
from ragforge.tui.textual_types import changed_keys
from ragforge.tui.widgets.focus import FocusReturned
from ragforge.tui.widgets.fold import Fold, FoldState
from ragforge.tui.widgets.plain import PlainText
from ragforge.tui.widgets.tool_line import LoadOutput
from ragforge.tui.widgets.turn_list import TurnList
from ragforge.tui.widgets.turn_record import (
    Called,
    Greeted,
    Noted,
    Otherwise,
    StoredTurns,
    Told,
    TurnRecord,
    records_of,
)

FLUSH_S = 0.05
"""How often streamed text is drawn: nobody sees a higher rate, but keys become slower."""

LOAD_TURNS = 12
"""How many turns are requested from the store at once."""
_OVERLAP_ROWS = 2
"""The rows of the previous page that stay visible, for orientation."""

LoadBefore: TypeAlias = Callable[[str, int], Awaitable[StoredTurns]]
"""Returns the `count` turns before the one with this id, oldest first; none at the root."""

Line: TypeAlias = Noted | Told | Called | Greeted

_SAID_MEANWHILE: ContextVar[Sequence[Line]] = ContextVar("said_meanwhile", default=())
"""All lines said since the command of this task started."""


class NewBelow(PlainText):
    """Shown while there is something new below what is being read; a click goes there."""

    ALLOW_SELECT = False
    WORDS: ClassVar[str] = "↓ new output below · Ctrl+End"

    def on_show(self) -> None:
        """Show the key as it is bound now."""
        self.set_text(with_present_keys(self.WORDS, changed_keys(self), "show_newest"))

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """Return nothing: it is a label."""
        return None


class _Press(Struct, eq=False):
    """A press of the key that opens all folds in view. at_end: whether the view was at the end."""

    at_end: bool


class Transcript(Widget):
    """The conversation. Stays at the end if it is there, else where the reader is.

    load_before: returns older turns when the reader comes near the oldest known.
    load_output: returns the whole output of a call whose `result` was truncated.
    clock: a monotonic clock in seconds, for running times and countdowns.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("tab,down", "walk(1)", "Next fold", show=False),
        Binding("shift+tab,up", "walk(-1)", "Previous part", show=False),
    ]

    def __init__(
        self,
        *,
        load_before: LoadBefore | None = None,
        load_output: LoadOutput | None = None,
        clock: Callable[[], float] = monotonic,
        id: str | None = None,
    ) -> None:
        super().__init__(id=id)
        self._load_before = load_before
        self._clock = clock
        self._turns = TurnList(load_output=load_output)
        self._new_below = NewBelow(NewBelow.WORDS)
        self._live: TurnRecord | None = None
        self._changed: set[int] = set()
        self._flush_timer: Timer | None = None
        self._tick_timer: Timer | None = None
        self._has_older = load_before is not None
        self._opened: WeakKeyDictionary[Fold, tuple[_Press, FoldState]] = WeakKeyDictionary()
        """The folds that the key has opened: by which press, and the state before."""
        self._own_changed: list[Called | Greeted] = []
        self._meanwhile: list[list[Line]] = []
        """For each running command, the lines said since it started."""

    def compose(self) -> ComposeResult:
        """Yield the turns, and the line above them that appears when there is something new."""
        yield self._turns
        self._new_below.display = False
        yield self._new_below

    def on_mount(self) -> None:
        """Start the clock; it runs only while a turn does."""
        self._tick_timer = self.set_interval(1.0, self.tick, pause=True)

    @property
    def following(self) -> bool:
        """Whether the view stays at the end."""
        return self._turns.following

    @property
    def is_live(self) -> bool:
        """Whether a turn is running, or not yet completely drawn."""
        return self._live is not None

    @property
    def turns(self) -> TurnList:
        """The scrolling part."""
        return self._turns

    async def load(
        self,
        turns: Sequence[Turn],
        steps: Sequence[Step],
        calls: Sequence[ToolCall],
        recalled: Mapping[str, ContextBlock] | None = None,
        forgotten: Collection[str] = (),
    ) -> None:
        """Show stored turns, oldest first, instead of what is shown. None clears.

        Within `answering`, lines said since its start stay below them.
        recalled: what was recalled for them, by their ids. forgotten: ids of those in which something was
        said that is forgotten.
        """
        self._live = None
        self._changed.clear()
        self._has_older = self._load_before is not None and bool(turns)
        self._new_below.display = False
        records = records_of(StoredTurns(turns, steps, calls, recalled or {}, forgotten))
        if meanwhile := _SAID_MEANWHILE.get():
            if not records:
                records.append(TurnRecord(None))
            records[-1].entries.extend(meanwhile)
        await self._turns.show_newest(records)

    @contextmanager
    def answering(self) -> Generator[None]:
        """Keep the lines said while a command runs, by anybody, when it loads turns."""
        said: list[Line] = []
        self._meanwhile.append(said)
        token = _SAID_MEANWHILE.set(said)
        try:
            yield
        finally:
            _SAID_MEANWHILE.reset(token)
            self._meanwhile = [each for each in self._meanwhile if each is not said]

    def show(self, event: AgentEvent) -> None:
        """Apply an event. The screen follows within `FLUSH_S`."""
        now_s = self._clock()
        if isinstance(event, StepStarted | StepEnded | UsageUpdated | RetryWaiting):
            if self._live is not None:
                self._live.apply(event, now_s=now_s)
            return  # the live line and the status line show it
        if isinstance(event, TurnStarted):
            self._begin(event.turn)
            return
        if isinstance(event, Notice) and self._live is None:
            self.say(event.text)
        if self._live is None:
            return
        entry = self._live.apply(event, now_s=now_s)
        if entry is not None:
            self._changed.add(self._live.index_of(entry))
        self._changed.add(len(self._live.entries) - 2)  # a thought ends when the next entry begins
        if not self._live.running:
            self._changed.update(range(len(self._live.entries)))
        if not self._turns.follow_at_end():
            self._new_below.display = True
        self._flush_soon()

    @contextmanager
    def asking(self, call_id: str) -> Generator[None]:
        """Show in a call's line that the user is being asked, which does not count as running time."""
        self._ask(call_id, is_asked=True)
        try:
            yield
        finally:
            self._ask(call_id, is_asked=False)

    def _ask(self, call_id: str, *, is_asked: bool) -> None:
        if self._live is not None:
            entry = self._live.ask(call_id, is_asked=is_asked, now_s=self._clock())
            if entry is not None:
                self._changed.add(self._live.index_of(entry))
                self._flush_soon()

    def say(self, text: str) -> None:
        """Show a line that is not part of the conversation, at the end."""
        self._add(Noted(text))

    def tell(self, markdown: str) -> None:
        """Show a command's answer, at the end."""
        self._add(Told(markdown))

    def mark(self, marked: Mapping[str, str]) -> None:
        """Note below turns, by their ids, how they differ from their prediction; once for each."""
        for record in self._turns.records:
            turn = record.turn
            words = marked.get(turn.id) if turn else None
            if not turn or not words or any(isinstance(each, Otherwise) for each in record.entries):
                continue
            record.entries.append(Otherwise(turn.id, words))
            if view := self._turns.view_of(record):
                view.sync(now_s=None, changed=frozenset())

    def add_call(self, entry: Called) -> None:
        """Show a command of the user's, at the end; call `redraw_soon` after it has changed."""
        self._add(entry)

    def greet(self, entry: Greeted) -> None:
        """Show the start of a session; call `redraw_soon` after it has changed."""
        self._add(entry)

    def redraw_soon(self, entry: Called | Greeted) -> None:
        """Draw the changes of a line of ours within `FLUSH_S`."""
        if not self._own_changed and self.is_attached:
            self.set_timer(FLUSH_S, self._redraw)
        self._own_changed.append(entry)

    def _redraw(self) -> None:
        changed, self._own_changed = self._own_changed, []
        for record in self._turns.records:
            found = {at for at, one in enumerate(record.entries) if any(one is each for each in changed)}
            if found and (view := self._turns.view_of(record)):
                if not self._turns.follow_at_end():
                    self._new_below.display = True
                view.sync(now_s=None, changed=frozenset(found))

    def _add(self, entry: Line) -> None:
        for said in self._meanwhile:
            said.append(entry)
        if not self._turns.records:
            self._turns.append(TurnRecord(None))
        record = self._live or self._turns.records[-1]
        record.entries.append(entry)
        if not self._turns.follow_at_end():
            self._new_below.display = True
        if view := self._turns.view_of(record):
            view.sync(now_s=None, changed=frozenset())

    def give_room_to_live_line(self, is_shown: bool) -> None:
        """Remove the blank line at the end while the live line is shown in its place."""
        self.set_class(is_shown, "-live")

    def _begin(self, turn: Turn) -> None:
        self.flush()
        last = self._turns.records[-1] if self._turns.records else None
        if last is not None and last.turn is not None and last.turn.id == turn.id:
            # It continues after a wait or a failure: its previous entries are shown already.
            last.turn = turn
            last.entries.append(Noted("Continuing from here."))
            self._live = last
            self._changed.update(range(len(last.entries)))
            self._flush_soon()
        else:
            self._live = TurnRecord(turn)
            self._turns.append(self._live)
        if self._tick_timer is not None:
            self._tick_timer.resume()

    def _flush_soon(self) -> None:
        if self._flush_timer is None and self.is_attached:
            self._flush_timer = self.set_timer(FLUSH_S, self.flush)

    def flush(self) -> None:
        """Draw the changes so far."""
        if self._flush_timer is not None:
            self._flush_timer.stop()
            self._flush_timer = None
        if self._live is None:
            return
        changed, self._changed = frozenset(self._changed), set()
        view = self._turns.view_of(self._live)
        if view is not None:
            view.sync(now_s=self._clock(), changed=changed)
        if not self._live.running:
            self._live = None
            if self._tick_timer is not None:
                self._tick_timer.pause()

    def tick(self) -> None:
        """Update the times of what is running."""
        view = self._turns.view_of(self._live) if self._live is not None else None
        if view is not None:
            view.tick(now_s=self._clock())

    async def action_end(self) -> None:
        """Go to the newest output and follow it."""
        self._new_below.display = False
        await self._turns.show_newest()

    def action_home(self) -> None:
        """Go to the oldest mounted turn."""
        self._turns.scroll_home(animate=False, immediate=True)

    def action_page_up(self) -> None:
        """Go up a page."""
        self._turns.scroll_by(-self._turns.size.height + _OVERLAP_ROWS)

    def action_page_down(self) -> None:
        """Go down a page."""
        self._turns.scroll_by(self._turns.size.height - _OVERLAP_ROWS)

    def action_line_up(self) -> None:
        """Go up a line."""
        self._turns.scroll_by(-1)

    def action_line_down(self) -> None:
        """Go down a line."""
        self._turns.scroll_by(1)

    def walk_from_view(self) -> None:
        """Focus the last foldable part in view; if there is none, the last before it."""
        stops = self._stops()
        bottom = self._turns.region.bottom
        above = [each for each in stops if each.region and each.region.y < bottom]
        if stops:
            self.screen.set_focus((above or stops)[-1])

    def action_walk(self, by: int) -> None:
        """Focus the next foldable part, or the previous one; stop at the ends."""
        stops, focused = self._stops(), self.screen.focused
        if focused in stops:
            at = stops.index(focused) + by
            self.screen.set_focus(stops[max(0, min(at, len(stops) - 1))])

    def _stops(self) -> list[Widget]:
        """Return what can have the focus, from the top down."""
        return [each for each in self.screen.focus_chain if self in each.ancestors]

    async def action_toggle_in_view(self) -> None:
        """Open all folds in view; pressed again, restore each of them, and the position."""
        folds = [each for each in self._folds() if self._turns.region.overlaps(each.region)]
        presses = {self._opened[each][0] for each in folds if each in self._opened}
        press = _Press(self._turns.following)
        self._turns.hold()
        if presses:
            # Including folds that are out of view by now, because something above them was opened.
            for fold, (opener, before) in list(self._opened.items()):
                if opener in presses:
                    del self._opened[fold]
                    fold.restore(before)
            if all(earlier.at_end for earlier in presses):
                await self.action_end()
            return
        for fold in folds:
            if not fold.is_whole:
                self._opened[fold] = press, fold.state
                fold.set_open(True)

    def _folds(self) -> list[Fold]:
        return [fold for view in self._turns.views for fold in view.folds]

    def on_fold_toggled(self, event: Fold.Toggled) -> None:
        """Toggle a fold and keep its position. If a click closed it, the prompt gets the focus."""
        event.stop()
        self._turns.hold()
        self._opened.pop(event.fold, None)
        event.fold.set_open(not event.fold.is_open)
        if not event.fold.is_open and not event.by_key:
            self.post_message(FocusReturned())

    async def on_click(self, event: events.Click) -> None:
        """Go to the newest output."""
        if event.widget is self._new_below:
            event.stop()
            await self.action_end()

    def on_turn_list_moved(self, event: TurnList.Moved) -> None:
        """Load older turns when they will soon be visible; hide the hint once the end is visible."""
        event.stop()
        if self._turns.following:
            self._new_below.display = False
        if self._has_older and self._turns.near_top:
            self._load_older()

    @work(exclusive=True)
    async def _load_older(self) -> None:
        if self._load_before is None or not self._turns.records:
            return
        self._has_older = False  # until the store has answered
        oldest = self._turns.records[0].turn
        if oldest is None:
            return
        try:
            stored = await self._load_before(oldest.id, LOAD_TURNS)
        except (RagforgeError, OSError) as error:
            self.notify(f"Older turns cannot be read: {error}", severity="error", markup=False)
            return
        if self._turns.records and self._turns.records[0].turn is oldest and stored.turns:
            self._turns.prepend(records_of(stored))
            self._has_older = True
