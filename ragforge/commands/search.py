"""`/search`: find what was said and done, in every session of the project."""

from typing import TYPE_CHECKING, Annotated

from msgspec import Struct

from ragforge.commands.base import Open, Outcome, Verb
from ragforge.domain.arguments import rest

if TYPE_CHECKING:
    from ragforge.session.state import Session


class SearchArguments(Struct, frozen=True):
    """What follows the name."""

    words: Annotated[str, rest("WORDS", "What to look for.")] = ""


async def _run(session: "Session", args: SearchArguments) -> Outcome:
    return Open("search", args.words)


VERB = Verb(
    "search",
    "Search what was said, done and remembered in this project.",
    SearchArguments,
    _run,
    while_running=False,
)
