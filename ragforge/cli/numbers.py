"""Numbers on the command line; an error says what is expected."""

from collections.abc import Callable
from typing import TypeVar

import typer

Number = TypeVar("Number", int, float)


def whole(least: int, most: int | None = None) -> Callable[[str], int]:
    """What reads a whole number from `least` on, up to `most` where that is given."""
    return _reading(int, "whole number", least, most)


def amount(least: float) -> Callable[[str], float]:
    """What reads a number from `least` on."""
    return _reading(float, "number", least, None)


def _reading(
    kind: Callable[[str], Number], noun: str, least: Number, most: Number | None
) -> Callable[[str], Number]:
    upto = f"to {most:,}" if most is not None else "on"

    def number(text: str) -> Number:  # its name stands in the help
        try:
            value = kind(text)
        except ValueError:
            value = None
        # Turned round, because what is not a number compares as nothing.
        if value is None or not value >= least or (most is not None and value > most):
            raise typer.BadParameter(f"it takes a {noun} from {least} {upto}, and not {text!r}.")
        return value

    return number
