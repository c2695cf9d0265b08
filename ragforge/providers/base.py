"""The contract of a provider."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing
from typing import Protocol

from msgspec import Struct, field

from ragforge.config.schema import BUILT_IN_ENDPOINTS, Endpoint
from ragforge.domain import timeouts
from ragforge.domain.events import AnswerEnded, FinishReason, ModelEvent, TextDelta, UsageSeen
from ragforge.domain.json import JsonObject
from ragforge.domain.messages import Message, ToolSpec
from ragforge.domain.search import Hit
from ragforge.domain.usage import Usage


class ModelRequest(Struct, frozen=True):
    """Everything that a model receives. The provider stores nothing of it."""

    system: str
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    json_schema: JsonObject | None = None
    """The answer must be one JSON object of this schema, as its text; requires that there are no tools."""


class ModelLimits(Struct, frozen=True):
    """The limits of a model, in tokens."""

    context_tokens_max: int
    output_tokens_max: int


LoadBlob = Callable[[str], Awaitable[bytes]]
"""The bytes of an image part by its hash."""


class Provider(Protocol):
    """A model that answers. Users name it `name:model`.

    Construction must be cheap: load whatever is slow to import or build in a thread on first use.
    """

    name: str
    model: str

    def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """Yield the answer as it arrives; the last event is `AnswerEnded`.

        Consecutive messages of the user's side (tool results, then a message) are merged as the provider's
        protocol requires. Closing or cancelling the generator ends the HTTP stream immediately.
        Raises ModelError (a subclass says which) before or within the answer.
        """
        ...

    async def limits(self) -> ModelLimits:
        """Return the model's limits, requested once. Raises ModelError."""
        ...

    async def prepare(self) -> None:
        """Load and open what the first call needs, without a request. Raises ModelError."""
        ...

    async def verify(self) -> None:
        """Check with one cheap request that key, endpoint and model work. Raises ModelError."""
        ...

    async def models(self) -> list[str]:
        """Return the names of the available models. Raises ModelError."""
        ...

    async def close(self) -> None:
        """Release connections."""
        ...


class WithoutService:
    """The part of a `Provider` that is the same for all that answer within this process."""

    model: str

    async def limits(self) -> ModelLimits:
        """Return limits that nothing reaches."""
        return ModelLimits(context_tokens_max=1_000_000, output_tokens_max=10_000)

    async def prepare(self) -> None:
        """Nothing to load."""

    async def verify(self) -> None:
        """Nothing to check."""

    async def models(self) -> list[str]:
        """Return the only model."""
        return [self.model]

    async def close(self) -> None:
        """Nothing to release."""


FindKey = Callable[[str], tuple[str, str] | None]
"""A provider's key and where it was found, or None."""

Search = Callable[[str, int], Awaitable[list[Hit]]]
"""Returns stored passages that match a text, best first, at most so many."""


class ProviderParts(Struct, frozen=True):
    """What providers are built from; each uses what it needs."""

    find_key: FindKey
    load_blob: LoadBlob
    search: Search
    endpoints: Mapping[str, Endpoint] = field(default_factory=lambda: BUILT_IN_ENDPOINTS)
    environ: Mapping[str, str] = field(default_factory=dict[str, str])
    thinking_level: str | None = None
    show_thoughts: bool = True
    attempts_max: int = 5
    delay_s_max: float = timeouts.RETRY_DELAY_S_MAX
    idle_timeout_s: float = 120.0
    web_search: bool = False
    """Whether the model may search the web with the service's own tool, if it has one."""


class OwnProtocol(Struct, frozen=True):
    """A provider with its own protocol: the `PROVIDER` of the module with its name.

    open: returns the provider of the model, not yet connected. Raises ModelRefusedKey if it has no key.
    searches: whether this model can search the web with the service's own tool, in addition to ours.
    """

    open: Callable[[str, ProviderParts], Provider]
    searches: Callable[[str], bool] = lambda model: False


class WholeAnswer(Struct, frozen=True):
    """The text so far, its cost, and why it ended; detail: in the service's own words."""

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
