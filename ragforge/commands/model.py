"""`/model`: use another model."""

from typing import TYPE_CHECKING, Annotated

from msgspec import Struct

from ragforge.commands.base import Open, Outcome, Tell, Verb
from ragforge.domain.arguments import rest
from ragforge.domain.errors import ModelError, UsageError

if TYPE_CHECKING:
    from ragforge.session.state import Session


class ModelArguments(Struct, frozen=True):
    """What follows the name."""

    name: Annotated[str, rest("PROVIDER:NAME", "The model to use.")] = ""


async def _run(session: "Session", args: ModelArguments) -> Outcome:
    from ragforge.session.model import choose_model

    if not args.name:
        return Open("model")
    try:
        name = await choose_model(session, args.name)
    except ModelError as error:
        raise UsageError(f"{error} The model was not changed.") from error
    return Tell(f"This session uses **{name}** from the next message on.")


VERB = Verb(
    "model",
    "Choose the model, or set up a key or an endpoint.",
    ModelArguments,
    _run,
    while_running=False,
)
