"""The to-do list, between the conversation and the prompt."""

from collections.abc import Sequence

from textual import events
from textual.content import Content

from ragforge.domain.printable import one_line
from ragforge.domain.turns import TodoItem, Todos, TodoState
from ragforge.tui.widgets.panel import Panel

COMPACT_ROWS_MAX = 5
"""How many items are shown of a list that nobody opened."""
_MARKS = {
    TodoState.PENDING: ("·", "$foreground-muted"),
    TodoState.ACTIVE: ("▸", "$text-primary"),
    TodoState.DONE: ("✓", "$text-success"),
}


class TodoPanel(Panel):
    """Shown while something is still to do, until the user closes it; Ctrl+T or a click opens all of it.

    It takes a quarter of the screen at most, and half of it if the user opened it.
    """

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._todos = Todos()
        self._wanted: bool | None = None
        """Whether the user opened or closed it; None if they did neither."""

    @property
    def todos(self) -> Todos:
        """The list, shown or not."""
        return self._todos

    def show(self, todos: Todos) -> None:
        """Show this list."""
        if not (self._todos.is_open and todos.is_open):
            self._wanted = None  # another list, or none any more
        self._todos = todos
        self._draw()

    def toggle(self) -> None:
        """Close it if it is shown, else open all of it."""
        self._wanted = not self.is_shown
        self._draw()

    def on_click(self, event: events.Click) -> None:
        """Open all of it, or show what fits again: if it were closed, there would be nothing to click."""
        event.stop()
        self._wanted = None if self._wanted else True
        self._draw()

    def on_resize(self) -> None:
        self._draw()

    def _draw(self) -> None:
        is_shown = bool(self._todos.items) and (self._todos.is_open if self._wanted is None else self._wanted)
        self.set_class(is_shown, "-shown")
        if is_shown:
            self.update(todo_content(self._todos, rows_max=self._rows_max))

    @property
    def _rows_max(self) -> int:
        height = self.screen.size.height
        return max(3, height // 2) if self._wanted else max(2, min(COMPACT_ROWS_MAX, height // 4))


def todo_content(todos: Todos, *, rows_max: int) -> Content:
    """Return the head and the items that fit, the active one included; the others are counted."""
    shown, first = _window(todos.items, rows_max - 1)
    hidden = [
        f"{count} more {where}"
        for count, where in ((first, "above"), (len(todos.items) - first - len(shown), "below"))
        if count
    ]
    head = " · ".join(["To do", todos.counted, *hidden])
    return Content("\n").join([Content.styled(head, "$foreground-muted"), *map(_line, shown)])


def _window(items: Sequence[TodoItem], count: int) -> tuple[Sequence[TodoItem], int]:
    """Return so many neighbouring items, and the index of the first."""
    states = [item.state for item in items]
    following = next((at for at, state in enumerate(states) if state is not TodoState.DONE), len(items))
    at = states.index(TodoState.ACTIVE) if TodoState.ACTIVE in states else following
    first = max(0, min(at - (count - 1) // 2, len(items) - count))
    return items[first : first + count], first


def _line(item: TodoItem) -> Content:
    mark, style = _MARKS[item.state]
    text_style = {TodoState.ACTIVE: "bold", TodoState.DONE: "$foreground-muted"}.get(item.state, "")
    return Content.assemble((f"{mark} ", style), (one_line(item.text), text_style))
