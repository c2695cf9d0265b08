"""`/memory`: what is remembered, to look through, change and forget."""

from typing import TYPE_CHECKING, Annotated

from msgspec import Struct

from ragforge.commands.base import Open, Outcome, Verb
from ragforge.domain.arguments import rest

if TYPE_CHECKING:
    from ragforge.session.state import Session


class MemoryArguments(Struct, frozen=True):
    """What follows the name."""

    words: Annotated[str, rest("WORDS", "To filter by.")] = ""


async def _run(session: "Session", args: MemoryArguments) -> Outcome:
    return Open("memory", args.words)


VERB = Verb(
    "memory",
    "List what is remembered; filter, sort, edit, forget, and see what it rests on.",
    MemoryArguments,
    _run,
    while_running=False,
)
