"""The mounted part of the conversation: a window of turns that scrolls and stays where one reads."""

from collections.abc import Callable, Sequence

from textual.containers import VerticalScroll
from textual.geometry import Region, Size
from textual.layout import DockArrangeResult
from textual.message import Message
from textual.widget import Widget

from ragforge.tui.textual_types import app_of, set_scroll_y
from ragforge.tui.widgets.tool_line import LoadOutput
from ragforge.tui.widgets.turn_record import TurnRecord
from ragforge.tui.widgets.turn_view import TurnView

FIRST_TURNS = 4
"""Turns that are mounted at first; more follow until there is a screenful above the visible part."""
BATCH_TURNS_MAX = 8
KEPT_SCREENS = 2
"""Turns further away than this are unmounted: each mounted one costs time with every word that arrives."""
EXTEND_EVERY_S = 0.05


class TurnList(VerticalScroll, can_focus=False):
    """All turns are known as records; those around the visible part are mounted.

    While `following`, the end stays in view whatever grows. Otherwise the first visible turn keeps its
    position on the screen, whatever is mounted, unmounted or grows above it. Both are done in `arrange`,
    before anything is drawn, so that nothing jumps.
    """

    class Moved(Message):
        """The reader scrolled, or the window changed: older turns may be needed, the end may be visible."""

    def __init__(self, *, load_output: LoadOutput | None) -> None:
        super().__init__()
        self._load_output = load_output
        self._records: list[TurnRecord] = []
        self._views: list[TurnView] = []
        self._first = 0
        """Index of the first mounted record."""
        self._following = True
        self._held: tuple[Widget, int] | None = None
        """The turn that keeps its position, and the distance of its top from the top of the screen."""
        self._placed: dict[Widget, Region] = {}
        """The positions of the turns at the last layout, from the top of the first."""
        self._extending = False

    @property
    def records(self) -> Sequence[TurnRecord]:
        """All known turns, oldest first."""
        return self._records

    @property
    def views(self) -> Sequence[TurnView]:
        """The mounted turns."""
        return self._views

    @property
    def following(self) -> bool:
        """Whether the view stays at the end."""
        return self._following

    @property
    def near_top(self) -> bool:
        """Whether older turns would soon be visible, and all known ones are mounted."""
        return self._first == 0 and self.scroll_y < self.size.height

    def view_of(self, record: TurnRecord) -> TurnView | None:
        """Return the record's view, if it is mounted."""
        return next((view for view in reversed(self._views) if view.record is record), None)

    async def show_newest(self, records: Sequence[TurnRecord] | None = None) -> None:
        """Mount the newest turns and follow; with `records`, replace all turns by these."""
        if records is not None:
            self._records = list(records)
        first = max(0, len(self._records) - FIRST_TURNS)
        if records is not None or self._last < len(self._records):
            old, self._views = self._views, [self._view(record) for record in self._records[first:]]
            self._first = first
            with app_of(self).batch_update():
                await self.remove_children(old)
                await self.mount_all(self._views)
        self._follow()

    def append(self, record: TurnRecord) -> None:
        """Add the newest turn; it is mounted if it will soon be visible."""
        at_end = self._last == len(self._records)
        self._records.append(record)
        if at_end and (self._following or self.max_scroll_y - self.scroll_y < self.size.height):
            view = self._view(record)
            self._views.append(view)
            self.mount(view)
            self.call_after_refresh(self._trim)

    def prepend(self, records: Sequence[TurnRecord]) -> None:
        """Add older turns; they are mounted when the reader comes near."""
        self._records[:0] = records
        self._first += len(records)
        self.extend()

    def hold(self) -> None:
        """Stay at the visible part, until the reader goes to the end."""
        self._following = False
        self._hold_first_visible()

    def follow_at_end(self) -> bool:
        """Follow if the end is in view, although it was held. Return whether the view follows."""
        if self.scroll_y >= self.max_scroll_y and self._last == len(self._records):
            self._following, self._held = True, None
        return self._following

    def scroll_by(self, rows: int) -> None:
        """Scroll at once: delayed scrolls, from keys in quick succession, would become one."""
        self.scroll_to(y=self.scroll_y + rows, animate=False, immediate=True)

    def extend(self) -> None:
        """Mount more turns above or below if the reader comes near the edge of the window."""
        if self._extending or not self.is_attached:
            return
        if app_of(self).animator.is_being_animated(self, "scroll_y"):
            # The animation would take the view back to where it was before the window moved.
            self.set_timer(EXTEND_EVERY_S, self.extend)
            return
        if self.scroll_y < self.size.height and self._first > 0:
            self._extend(self._extend_up)
        elif self.max_scroll_y - self.scroll_y < self.size.height and self._last < len(self._records):
            self._extend(self._extend_down)

    @property
    def _last(self) -> int:
        """Index after the last mounted record."""
        return self._first + len(self._views)

    def _view(self, record: TurnRecord) -> TurnView:
        return TurnView(record, load_output=self._load_output)

    def _extend(self, step: Callable[[], None]) -> None:
        self._extending = True
        step()
        self.call_after_refresh(self._extended)

    def _extended(self) -> None:
        self._extending = False
        self._trim()
        self.post_message(self.Moved())
        self.extend()

    def _extend_up(self) -> None:
        first = max(0, self._first - self._batch())
        views = [self._view(record) for record in self._records[first : self._first]]
        self._first = first
        self._views[:0] = views
        self.mount_all(views, before=0 if self.children else None)

    def _extend_down(self) -> None:
        until = self._last + self._batch()
        views = [self._view(record) for record in self._records[self._last : until]]
        self._views.extend(views)
        self.mount_all(views)

    def _batch(self) -> int:
        """Return how many turns make half a screen, if they are like the mounted ones."""
        heights = [region.height for region in self._placed.values()]
        rows = max(1.0, sum(heights) / max(1, len(heights)))
        return max(1, min(BATCH_TURNS_MAX, round(self.size.height / 2 / rows)))

    def _trim(self) -> None:
        """Unmount what is far from the visible part."""
        kept = KEPT_SCREENS * self.size.height
        above, below = self.scroll_y - kept, self.scroll_y + self.size.height + kept
        while len(self._views) > 1 and 0 < self._bottom_of(self._views[0]) < above:
            self._views.pop(0).remove()
            self._first += 1
        while not self._following and len(self._views) > 1 and self._top_of(self._views[-1]) > below:
            self._views.pop().remove()

    def _top_of(self, view: TurnView) -> int:
        return self._placed.get(view, Region()).y

    def _bottom_of(self, view: TurnView) -> int:
        return self._placed.get(view, Region()).bottom

    def _follow(self) -> None:
        self._following, self._held = True, None
        self.scroll_end(animate=False)
        self.post_message(self.Moved())

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Follow again if the reader scrolled to the very end, else hold the visible part."""
        super().watch_scroll_y(old_value, new_value)
        self._following = new_value >= self.max_scroll_y and self._last == len(self._records)
        self._hold_first_visible()
        self.extend()
        self.post_message(self.Moved())

    def _hold_first_visible(self) -> None:
        self._held = None
        if self._following:
            return
        for view in self._views:
            region = self._placed.get(view, Region())
            if region.height and region.bottom > self.scroll_y:
                self._held = (view, region.y - round(self.scroll_y))
                return

    def arrange(self, size: Size, optimal: bool = False) -> DockArrangeResult:
        """Lay out the turns, and scroll so that the end, or the visible part, keeps its position.

        Textual reads the scroll offset after this call, so nothing is ever drawn at the wrong place.
        """
        result = super().arrange(size, optimal)
        self._placed = {item.widget: item.region for item in result.placements}
        wanted = self._wanted_scroll(size, result)
        if wanted is not None and wanted != self.scroll_y:
            # Without watchers: the reader did not scroll, and watchers would request another layout.
            set_scroll_y(self, float(wanted))
        return result

    def _wanted_scroll(self, size: Size, result: DockArrangeResult) -> int | None:
        if self._following:
            return max(0, result.total_region.bottom - size.height)
        if self._held is None:
            return None
        held, distance = self._held
        return max(0, self._placed[held].y - distance) if held in self._placed else None
