"""`/store`: where conversations are kept, and connecting to a server."""

from ragforge.commands.base import Command, Open, Outcome
from ragforge.session.state import Session


async def _run(session: Session, args: str) -> Outcome:
    return Open("store", args)


COMMAND = Command(
    "store",
    "Show where conversations are kept; connect to a Neo4j server.",
    _run,
    usage="[URL]",
    while_running=False,
)
