"""What the mouse does beside Textual's own: the wheel in lists, which presses click, what several select."""

import re
from typing import Protocol, TypeVar

from textual import events
from textual.app import App
from textual.geometry import Offset
from textual.screen import Screen
from textual.selection import SELECT_ALL, Selection

Result = TypeVar("Result")

LEFT = 1
SLIP_CELLS = 1
"""How far a click may slip to the side."""
_WORD = re.compile(r"\w+|[^\w\s]+")


class Steps(Protocol):
    """A list with a chosen row."""

    def step(self, by: int) -> object:
        """Choose another row, so many further down."""
        ...


class StepsByWheel:
    """Part of a list: the wheel goes through its rows. The first of the list's bases."""

    def on_mouse_scroll_down(self: Steps, event: events.MouseScrollDown) -> None:
        """Choose the next row."""
        event.stop()
        self.step(1)

    def on_mouse_scroll_up(self: Steps, event: events.MouseScrollUp) -> None:
        """Choose the previous row."""
        event.stop()
        self.step(-1)


class LeftClicks(App[Result]):
    """An app in which only the left button acts, and a drag does not click."""

    _pressed_at = Offset()

    async def on_event(self, event: events.Event) -> None:
        """Ignore other buttons, and prevent clicks at the end of a drag."""
        if isinstance(event, events.MouseDown | events.MouseUp) and not event.is_forwarded:
            if event.button != LEFT:
                return
            if isinstance(event, events.MouseDown):
                self._pressed_at = event.screen_offset
            elif was_dragged(event.screen_offset - self._pressed_at):
                self._mouse_down_widget = None  # from which Textual would make a click
        await super().on_event(event)


def was_dragged(by: Offset) -> bool:
    """Whether the button was released elsewhere than it was pressed."""
    return bool(by.y) or abs(by.x) > SLIP_CELLS


def select_clicked(screen: Screen[Result], event: events.Click) -> None:
    """Select the word at a double click, and the paragraph at a triple click: Textual selects far more.

    Between words a double click selects nothing.
    """
    if event.chain == 3 and event.widget is not None:
        event.widget.text_select_all()
    if event.chain != 2:
        return
    screen.clear_selection()
    widget, at = screen.get_widget_and_offset_at(int(event.screen_x), int(event.screen_y))
    whole = widget.get_selection(SELECT_ALL) if widget is not None and widget.allow_select else None
    if widget is None or at is None or whole is None:
        return
    lines = whole[0].split("\n")
    start, end = word_at(lines[at.y], at.x) if at.y < len(lines) else (0, 0)
    if end:
        screen.selections = {widget: Selection(Offset(start, at.y), Offset(end, at.y))}


def word_at(line: str, column: int) -> tuple[int, int]:
    """Return where the word at this column starts and ends; (0, 0) for none."""
    spans = (each.span() for each in _WORD.finditer(line))
    return next((span for span in spans if span[0] <= column < span[1]), (0, 0))
