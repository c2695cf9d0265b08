"""`/model`: talk to another model."""

from ragforge.commands.base import Command, Open, Outcome, Tell
from ragforge.domain.errors import ModelError, UsageError
from ragforge.session.model import choose_model
from ragforge.session.state import Session


async def _run(session: Session, args: str) -> Outcome:
    if not args:
        return Open("model")
    try:
        name = await choose_model(session, args)
    except ModelError as error:
        raise UsageError(f"{error} The model stays as it was.") from error
    return Tell(f"From the next message on this session talks to **{name}**. The history goes along.")


COMMAND = Command(
    "model",
    "Choose the model, or set up a key or an endpoint.",
    _run,
    usage="[PROVIDER:NAME]",
    while_running=False,
)
