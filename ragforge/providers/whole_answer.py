"""An answer of a model that is read to its end before anything is done with it."""

from contextlib import aclosing

from msgspec import Struct

from ragforge.domain.events import AnswerEnded, FinishReason, TextDelta, UsageSeen
from ragforge.domain.usage import Usage
from ragforge.providers.base import ModelRequest, Provider


class WholeAnswer(Struct, frozen=True):
    """The text, as far as it came, what it cost, and why it ended; detail: in the service's own words."""

    text: str
    usage: Usage
    finish: FinishReason = FinishReason.STOP
    detail: str = ""


async def read_whole(provider: Provider, request: ModelRequest) -> WholeAnswer:
    """Ask, and return the answer once it has ended. Raises ModelError."""
    pieces: list[str] = []
    usage, finish, detail = Usage(), FinishReason.STOP, ""
    async with aclosing(provider.stream(request)) as events:
        async for event in events:
            match event:
                case TextDelta(text):
                    pieces.append(text)
                case UsageSeen(seen):
                    usage = seen
                case AnswerEnded(_, reason, words):
                    finish, detail = reason, words
                case _:
                    pass
    return WholeAnswer("".join(pieces), usage, finish, detail)
