"""A line that says that there is more, and requests it."""

from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.selection import Selection

from ragforge.tui.widgets.plain import PlainText


class MoreLine(PlainText, can_focus=True):
    """`… 120 more lines`: a click, or Enter when focused, posts `Pressed`."""

    ALLOW_SELECT = False
    FOCUS_ON_CLICK = False
    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "press", "Show", show=False)]

    class Pressed(Message):
        """Show it."""

        def __init__(self, line: "MoreLine") -> None:
            super().__init__()
            self.line = line

        @property
        def control(self) -> "MoreLine":
            """The line that was pressed."""
            return self.line

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """Nothing: it is a label."""
        return None

    def action_press(self) -> None:
        """Request the rest."""
        self.post_message(self.Pressed(self))

    def on_click(self, event: events.Click) -> None:
        """Request the rest."""
        event.stop()
        self.action_press()
