"""Make a model's output storable, whatever a service sends."""

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

from msgspec.structs import replace

from ragforge.domain.events import (
    AnswerEnded,
    CallSeen,
    ModelEvent,
    RetryWaiting,
    TextDelta,
    ThoughtDelta,
)
from ragforge.domain.json import JsonObject, NestedTooDeep, WellFormedStream, well_formed, well_formed_object
from ragforge.domain.messages import CallRequest, ModelMessage
from ragforge.providers.base import ModelLimits, ModelRequest, Provider


class WellFormedProvider:
    """A provider whose events contain only well-formed text and JSON. See `Provider` for the contract."""

    def __init__(self, provider: Provider) -> None:
        self.inner = provider
        self.name = provider.name
        self.model = provider.model

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """Yield the answer as it arrives; the last event is `AnswerEnded`. Raises ModelError."""
        pieces: tuple[tuple[WellFormedStream, Callable[[str], ModelEvent]], ...] = (
            (thoughts := WellFormedStream(), ThoughtDelta),
            (text := WellFormedStream(), TextDelta),
        )
        async with aclosing(self.inner.stream(request)) as events:
            async for event in events:
                match event:
                    case TextDelta(piece):
                        if shown := text.feed(piece):
                            yield TextDelta(shown)
                    case ThoughtDelta(piece):
                        if shown := thoughts.feed(piece):
                            yield ThoughtDelta(shown)
                    case CallSeen(call):
                        yield CallSeen(_call(call))
                    case AnswerEnded(message, _, detail):
                        for stream, delta in pieces:
                            if shown := stream.flush():
                                yield delta(shown)
                        yield replace(event, message=_message(message), detail=well_formed(detail))
                    case RetryWaiting(reason):
                        yield replace(event, reason=well_formed(reason))
                    case _:
                        yield event

    async def limits(self) -> ModelLimits:
        return await self.inner.limits()

    async def prepare(self) -> None:
        await self.inner.prepare()

    async def verify(self) -> None:
        await self.inner.verify()

    async def models(self) -> list[str]:
        return [well_formed(name) for name in await self.inner.models()]

    async def close(self) -> None:
        await self.inner.close()


def _message(message: ModelMessage) -> ModelMessage:
    """Return the message; its native form, including signatures, only if that is well-formed."""
    made = replace(
        message,
        text=well_formed(message.text),
        thoughts=well_formed(message.thoughts),
        calls=tuple(_call(call) for call in message.calls),
        searched=message.searched.mapped(well_formed),
    )
    return made if made == message and _is_well_formed(message.native) else replace(made, native=None)


def _call(call: CallRequest) -> CallRequest:
    try:
        args, malformed = well_formed_object(call.args), call.malformed
    except NestedTooDeep as error:
        args, malformed = {}, str(error)
    return replace(
        call,
        name=well_formed(call.name),
        args=args,
        provider_id=well_formed(call.provider_id),
        malformed=well_formed(malformed),
    )


def _is_well_formed(native: JsonObject | None) -> bool:
    try:
        return native is None or well_formed_object(native) == native
    except NestedTooDeep:
        return False
