"""User input: a message, a slash command, or a shell command."""

from typing import TypeAlias

from msgspec import Struct

from ragforge.domain.programs import PROGRAM_ORIGINS


class Say(Struct, frozen=True):
    """A message for the model."""

    text: str


class Slash(Struct, frozen=True):
    """`/name args`."""

    name: str
    args: str


class Shell(Struct, frozen=True):
    """`!command`: run by the user, not by the model, which is told its output unless it is `!!command`."""

    command: str
    for_model: bool = True


Input: TypeAlias = Say | Slash | Shell


def parse_input(text: str) -> Input:
    """Classify the text. A path such as `/etc/hosts is odd`, or `/` or `!` alone, is a message.

    `/project:name` is the program `name` of that origin. A lone `?` asks for help, as in other assistants.
    """
    stripped = text.strip()
    if stripped == "?":
        return Slash("help", "")
    if stripped.startswith("!") and (command := stripped.removeprefix("!").removeprefix("!").strip()):
        return Shell(command, for_model=not stripped.startswith("!!"))
    if stripped.startswith("/") and "\n" not in stripped.split(" ", 1)[0]:
        name, _, args = stripped[1:].partition(" ")
        origin, colon, rest = name.partition(":")
        own = rest if colon and origin.lower() in PROGRAM_ORIGINS else name
        if own[:1].isalpha() and all(char.isalnum() or char in "-_" for char in own):
            return Slash(name.lower(), args.strip())
    return Say(text)
