"""The contract of an operation: values in, a value out."""

from collections.abc import Awaitable, Callable, Mapping
from functools import cache
from typing import Any, Protocol, TypeAlias

from msgspec import Struct

from ragforge.domain.discovery import discover
from ragforge.domain.errors import RagforgeError

Value: TypeAlias = Any
"""What a register holds: what JSON can hold."""


class ProgramFault(RagforgeError):
    """An operation that cannot be done with its operands; the sentence says why."""


class RunOver(ProgramFault):
    """The run may not cost or last any more: it ends, also where the program waits for input."""


class InputEnded(RagforgeError):
    """Nobody will answer: the program ends here."""


class ProgramHost(Protocol):
    """What is around a program: its user, the models, the project."""

    async def display(self, text: str) -> None:
        """Show it to the user; Markdown."""
        ...

    async def read_input(self) -> str:
        """What the user says next. Raises InputEnded."""
        ...

    async def ask_model(self, role: str, instructions: str, message: str) -> str:
        """The answer of the model that the role stands for. Raises RagforgeError."""
        ...

    async def uncommitted_changes(self) -> str:
        """The diff of what is not committed yet. Raises RagforgeError."""
        ...


class Operation(Struct, frozen=True):
    """What an operation does.

    run: gets the values of the operands, without a register that is only written; what it returns goes into
    the first operand where that is a register. is_durable: it asks, shows or changes something outside, so
    the state is kept before and after it.
    """

    name: str
    run: Callable[[ProgramHost, tuple[Value, ...]], Awaitable[Value]]
    is_durable: bool = False


@cache
def find_operations() -> Mapping[str, Operation]:
    """Every one that can run, by its name."""
    found = discover(__name__.rpartition(".")[0], "OPERATION", Operation)
    return {operation.name: operation for operation in found.values()}


def shown(value: Value) -> str:
    """A value as a user reads it: a text as it is, all else as JSON."""
    import json

    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)


def as_count(value: Value, operation: str) -> int:
    """A number from 0 on, null being 0. Raises ProgramFault."""
    if value is None:
        return 0
    if isinstance(value, bool) or not isinstance(value, int | float) or value < 0 or value != int(value):
        raise ProgramFault(f"{operation} takes a whole number from 0 on, not {value!r}.")
    return int(value)


def as_list(value: Value, operation: str) -> list[Value]:
    """A list, null being an empty one. Raises ProgramFault."""
    if value is None:
        return []
    if not isinstance(value, list):
        raise ProgramFault(f"{operation} takes a list, not {type_words(value)}.")
    return value  # pyright: ignore[reportUnknownVariableType]


def type_words(value: Value) -> str:
    """What kind of value it is."""
    match value:
        case None:
            return "null"
        case bool():
            return "true or false"
        case str():
            return "a text"
        case int() | float():
            return "a number"
        case list():
            return "a list"
        case _:
            return "an object"
