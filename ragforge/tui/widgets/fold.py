"""Content that is one line until it is opened: by a click on the line, or Enter while the cursor is on it."""

from abc import abstractmethod
from typing import ClassVar, TypeAlias

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.selection import Selection
from textual.widget import Widget

from ragforge.tui.textual_types import AbstractMeta
from ragforge.tui.widgets.plain import PlainText

FoldState: TypeAlias = str | bool
"""How much of it is shown."""


class FoldHead(PlainText, can_focus=True):
    """The line of words, which the cursor can be on. A click does not move the focus."""

    FOCUS_ON_CLICK = False

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """Nothing: it is a label."""
        return None


class Fold(Widget, metaclass=AbstractMeta):
    """A line that opens. Its first child is the line."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "open_close", "Open or close", show=False)]

    class Toggled(Message):
        """It will be opened or closed: whoever scrolls holds still first, then calls `set_open`."""

        def __init__(self, fold: "Fold", *, by_key: bool) -> None:
            super().__init__()
            self.fold = fold
            self.by_key = by_key

    @property
    @abstractmethod
    def is_open(self) -> bool:
        """Whether more than the line is shown."""

    @abstractmethod
    def set_open(self, is_open: bool) -> None:
        """Show all of it, or only the line."""

    @property
    def is_whole(self) -> bool:
        """Whether there is nothing more to open."""
        return self.is_open

    @property
    def state(self) -> FoldState:
        """Return how much is shown now, for `restore`."""
        return self.is_open

    def restore(self, state: FoldState) -> None:
        """Show as much as when `state` was read."""
        if state != self.state:
            self.set_open(bool(state))

    def action_open_close(self) -> None:
        self.post_message(self.Toggled(self, by_key=True))

    def on_click(self, event: events.Click) -> None:
        """Open or close."""
        if event.widget is not None and event.widget.parent is self and event.widget is self.children[0]:
            event.stop()
            self.post_message(self.Toggled(self, by_key=False))


class BodyFold(Fold):
    """A fold whose line is above a body that is made when it is opened.

    A subclass returns the text of the line (`label`) and makes the body (`make_body`); it calls
    `draw_head` when the text of the line changes.
    """

    HEAD: ClassVar[type[FoldHead]] = FoldHead

    def __init__(self) -> None:
        super().__init__()
        self._head = self.HEAD()
        self._body: Widget | None = None

    @abstractmethod
    def label(self) -> str:
        """Return the text of the line, without its sign."""

    @abstractmethod
    def make_body(self) -> Widget:
        """What is shown below the line."""

    def opened(self) -> None:
        """The body is mounted now."""

    @property
    def is_open(self) -> bool:
        return self._body is not None

    def compose(self) -> ComposeResult:
        yield self._head

    def on_mount(self) -> None:
        self.draw_head()

    def draw_head(self) -> None:
        """Draw the line."""
        self._head.set_text(f"{'▾' if self.is_open else '▸'} {self.label()}")

    def set_open(self, is_open: bool) -> None:
        if is_open and self._body is None:
            self._body = self.make_body()
            self.mount(self._body)
            self.opened()
        elif not is_open and self._body is not None:
            self._body.remove()
            self._body = None
        self.draw_head()
