"""What a person typed: a message, a slash command, or a shell command of their own."""

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Say:
    """A message for the model."""

    text: str


@dataclass(frozen=True, slots=True)
class Slash:
    """`/name args`."""

    name: str
    args: str


@dataclass(frozen=True, slots=True)
class Shell:
    """`!command`: run by the person, not by the model."""

    command: str


Input: TypeAlias = Say | Slash | Shell


def parse_input(text: str) -> Input:
    """What the text is. A path such as `/etc/hosts is odd` or a lone `/` or `!` is a message."""
    stripped = text.strip()
    if stripped.startswith("!") and stripped[1:].strip():
        return Shell(stripped[1:].strip())
    if stripped.startswith("/") and "\n" not in stripped.split(" ", 1)[0]:
        name, _, args = stripped[1:].partition(" ")
        if name and all(char.isalpha() or char == "-" for char in name):
            return Slash(name.lower(), args.strip())
    return Say(text)
