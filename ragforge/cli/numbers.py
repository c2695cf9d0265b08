"""Numbers on the command line; an error says what is expected."""

from collections.abc import Callable
from typing import TypeVar

import typer

Number = TypeVar("Number", int, float)


def whole(least: int, most: int | None = None) -> Callable[[str], int]:
    """Return a parser of whole numbers from `least` to `most`."""
    return _reading(int, "whole number", least, most)


def amount(least: float) -> Callable[[str], float]:
    """Return a parser of numbers from `least` up."""
    return _reading(float, "number", least, None)


def _reading(
    kind: Callable[[str], Number], noun: str, least: Number, most: Number | None
) -> Callable[[str], Number]:
    range_ = f"from {least} to {most:,}" if most is not None else f"of at least {least}"

    def number(text: str) -> Number:  # its name stands in the help
        try:
            value = kind(text)
        except ValueError:
            value = None
        # `not value >= least` rather than `value < least`: comparisons with NaN are always false.
        if value is None or not value >= least or (most is not None and value > most):
            raise typer.BadParameter(f"must be a {noun} {range_}, not {text!r}.")
        return value

    return number
