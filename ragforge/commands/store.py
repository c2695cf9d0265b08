"""`/store`: where conversations are kept, and connecting to a server."""

from typing import TYPE_CHECKING, Annotated

from msgspec import Struct

from ragforge.commands.base import Open, Outcome, Verb
from ragforge.domain.arguments import rest

if TYPE_CHECKING:
    from ragforge.session.state import Session


class StoreArguments(Struct, frozen=True):
    """What follows the name."""

    url: Annotated[str, rest("URL", "Of a server.")] = ""


async def _run(session: "Session", args: StoreArguments) -> Outcome:
    return Open("store", args.url)


VERB = Verb(
    "store",
    "Show where conversations are kept; connect to a Neo4j server.",
    StoreArguments,
    _run,
    while_running=False,
)
