"""A conversation's to-do list, as it is stored and written."""

from collections.abc import Sequence

from ragforge.domain.derivations import DerivedKind
from ragforge.domain.printable import one_line
from ragforge.domain.turns import TodoItem, Todos, TodoState

ITEMS_MAX = 100
ITEM_CHARS_MAX = 500

KIND = DerivedKind("TodoList", Todos)
"""A list is stored with the turn that changed it, so it is undone and redone with that turn."""

MARKS = {TodoState.PENDING: "[ ]", TodoState.ACTIVE: "[>]", TodoState.DONE: "[x]"}


def todo_lines(items: Sequence[TodoItem]) -> list[str]:
    """Return one line per item, as plain text."""
    return [f"{MARKS[item.state]} {one_line(item.text)}" for item in items]
