"""The list of what is to do in a conversation, as the model keeps it."""

from collections.abc import Sequence
from enum import StrEnum

from msgspec import Struct

from ragforge.domain.derivations import DerivedKind
from ragforge.domain.printable import one_line

ITEMS_MAX = 100
ITEM_CHARS_MAX = 500


class TodoState(StrEnum):
    """How one thing to do stands."""

    PENDING = "pending"
    ACTIVE = "active"
    DONE = "done"


class TodoItem(Struct, frozen=True):
    """One thing to do."""

    text: str
    state: TodoState = TodoState.PENDING


class Todos(Struct, frozen=True):
    """The whole list, in the model's order."""

    items: tuple[TodoItem, ...] = ()

    @property
    def done(self) -> int:
        """How many are done."""
        return sum(item.state is TodoState.DONE for item in self.items)

    @property
    def is_open(self) -> bool:
        """Whether something is still to do."""
        return self.done < len(self.items)

    @property
    def counted(self) -> str:
        """`1 of 4 done`."""
        return f"{self.done} of {len(self.items)} done"


class KeptTodos(Struct, frozen=True):
    """A list, and the turn that it was last changed in."""

    turn: str
    todos: Todos


KIND = DerivedKind("TodoList", Todos)
"""A list is kept with the turn that changed it, so it is undone and redone with that turn."""

MARKS = {TodoState.PENDING: "[ ]", TodoState.ACTIVE: "[>]", TodoState.DONE: "[x]"}


def todo_lines(items: Sequence[TodoItem]) -> list[str]:
    """Return one line an item, as plain text."""
    return [f"{MARKS[item.state]} {one_line(item.text)}" for item in items]
