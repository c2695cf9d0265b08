"""What is known of a program without assembling it, and a run of it as it is shown."""

import re
from collections.abc import Mapping

from msgspec import Struct

SUFFIX = ".spu"
"""The extension of a program's file."""

PROGRAM_NAME = re.compile(r"[a-z][a-z0-9_-]{0,63}")
"""The value of `.program`, and so the allowed names of a program's file."""

PROGRAM_ORIGINS = ("shipped", "user", "project")
"""The places of program files, in order of precedence; `project:review` is the project's."""

_DESCRIPTION = re.compile(r"^[ \t]*\.description[ \t]+([^;\n]+)", re.MULTILINE)


def description_of(text: str) -> str:
    """The program's description of itself; empty if it has none."""
    found = _DESCRIPTION.search(text)
    return " ".join(found[1].split())[:200] if found else ""


class ProgramRow(Struct, frozen=True):
    """A label or an operation of a program. line: where it starts; 0 if the user has no such line."""

    line: int
    text: str
    is_label: bool = False


class CallsOfLine(Struct, frozen=True):
    """The model calls that an operation has made so far."""

    count: int
    model: str
    seconds: float
    cost_usd: float | None


class ProgramView(Struct, frozen=True):
    """The state of a run at one moment. present: the lines that run now. begun: those of them that are
    new, as text. done: those of long operations that have ended."""

    name: str
    rows: tuple[ProgramRow, ...]
    present: frozenset[int]
    calls: Mapping[int, CallsOfLine]
    """By line."""
    total: str
    """How many calls there were, and how much of the price limit they used."""
    begun: tuple[str, ...] = ()
    done: frozenset[int] = frozenset()
