"""The parts of a program, as values, and their text."""

from typing import TypeAlias

from msgspec import Struct


class Spot(Struct, frozen=True, gc=False):
    """Where something begins in the text, both counted from 1."""

    line: int = 0
    column: int = 0


class Constant(Struct, frozen=True, gc=False):
    """A text, a number, `null`, `true` or `false`."""

    value: str | int | float | bool | None
    at: Spot = Spot()

    def __str__(self) -> str:
        match self.value:
            case str(text):
                escaped = text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n")
                return f"'{escaped}'"
            case None:
                return "null"
            case bool(value):
                return "true" if value else "false"
            case number:
                return str(number)


class RegisterPath(Struct, frozen=True, gc=False):
    """`$NAME`, or `$NAME.field.field`."""

    name: str
    fields: tuple[str, ...] = ()
    at: Spot = Spot()

    def __str__(self) -> str:
        return ".".join((f"${self.name}", *self.fields))


class LabelName(Struct, frozen=True, gc=False):
    """A label as an operand."""

    name: str
    at: Spot = Spot()

    def __str__(self) -> str:
        return self.name


class FunctionCall(Struct, frozen=True, gc=False):
    """`NAME()`."""

    name: str
    at: Spot = Spot()

    def __str__(self) -> str:
        return f"{self.name}()"


class ObjectOperand(Struct, frozen=True, gc=False):
    """`{key: operand, ...}`."""

    entries: "tuple[tuple[str, Operand], ...]" = ()
    at: Spot = Spot()

    def __str__(self) -> str:
        return "{" + ", ".join(f"{key}: {value}" for key, value in self.entries) + "}"


class ListOperand(Struct, frozen=True, gc=False):
    """`[operand, ...]`."""

    items: "tuple[Operand, ...]" = ()
    at: Spot = Spot()

    def __str__(self) -> str:
        return "[" + ", ".join(map(str, self.items)) + "]"


Operand: TypeAlias = Constant | RegisterPath | LabelName | FunctionCall | ObjectOperand | ListOperand


class Directive(Struct, frozen=True, gc=False):
    """`.name value`."""

    name: str
    value: str = ""
    at: Spot = Spot()

    def __str__(self) -> str:
        return f".{self.name} {self.value}".rstrip()


class LabelLine(Struct, frozen=True, gc=False):
    """`label:` alone on a line."""

    name: str
    at: Spot = Spot()

    def __str__(self) -> str:
        return f"{self.name}:"


class Instruction(Struct, frozen=True, gc=False):
    """An operation with its operands."""

    operation: str
    operands: tuple[Operand, ...] = ()
    at: Spot = Spot()

    def __str__(self) -> str:
        return f"    {self.operation} {', '.join(map(str, self.operands))}".rstrip()


Statement: TypeAlias = Directive | LabelLine | Instruction


class Fault(Struct, frozen=True, gc=False):
    """What is wrong at a place of the text, or worth knowing."""

    at: Spot
    message: str

    def place_in(self, source: str) -> str:
        """Return `FILE:LINE:COLUMN`, or just the file if the whole text is meant."""
        return f"{source}:{self.at.line}:{self.at.column}" if self.at.line else source

    def __str__(self) -> str:
        return (
            f"line {self.at.line}, column {self.at.column}: {self.message}" if self.at.line else self.message
        )


def registers_in(operand: Operand) -> set[str]:
    """Yield the names of the registers that are read for the operand's value."""
    match operand:
        case RegisterPath(name):
            return {name}
        case ObjectOperand(entries):
            return {name for _, value in entries for name in registers_in(value)}
        case ListOperand(items):
            return {name for value in items for name in registers_in(value)}
        case _:
            return set()


def calls_function(operand: Operand, name: str) -> bool:
    """Whether the operand's value contains a call of the function."""
    match operand:
        case FunctionCall(called):
            return called == name
        case ObjectOperand(entries):
            return any(calls_function(value, name) for _, value in entries)
        case ListOperand(items):
            return any(calls_function(value, name) for value in items)
        case _:
            return False
