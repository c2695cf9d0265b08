"""`/help`: what can be typed."""

from typing import TYPE_CHECKING, Annotated

from msgspec import Struct

from ragforge.commands.base import Open, Outcome, Verb
from ragforge.domain.arguments import rest

if TYPE_CHECKING:
    from ragforge.session.state import Session


class HelpArguments(Struct, frozen=True):
    """What to look up."""

    words: Annotated[str, rest("WORDS", "To look up.")] = ""


async def _run(session: "Session", args: HelpArguments) -> Outcome:
    return Open("help", args.words)


VERB = Verb("help", "Look up commands and keys.", HelpArguments, _run)
