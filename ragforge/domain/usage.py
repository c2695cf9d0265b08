"""Tokens and money."""

from collections.abc import Iterable
from datetime import datetime
from enum import StrEnum

from msgspec import Struct

from ragforge.domain.records import Description, RecordKind

TOKENS_TOLD_MAX = 1_000_000_000
"""No model call takes more; a larger number is an error of the service, and sums must be storable."""


def tokens_told(value: object) -> int:
    """Return the number of tokens that a service reports: 0 for anything invalid, and at most the maximum."""
    if not isinstance(value, (int, float)) or not value > 0:
        return 0
    return int(min(value, TOKENS_TOLD_MAX))


NO_MODEL = "local"
"""The provider of steps without a model: none of them is a counted call."""


class Usage(Struct, frozen=True):
    """Tokens of one or more model calls.

    input_tokens includes the cached ones; output_tokens excludes thoughts (`thought_tokens` are separate and
    billed as output).
    """

    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    thought_tokens: int = 0

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            self.input_tokens + other.input_tokens,
            self.cached_tokens + other.cached_tokens,
            self.output_tokens + other.output_tokens,
            self.thought_tokens + other.thought_tokens,
        )

    @property
    def total_tokens(self) -> int:
        """All tokens read or written."""
        return self.input_tokens + self.output_tokens + self.thought_tokens


class Purpose(StrEnum):
    """What a model was called for. Chat, programs and background work are shown and limited separately."""

    CHAT = "chat"
    SUMMARY = "summary"
    """Summaries of turns, with their memories."""
    EMBEDDING = "embedding"
    RECALL = "recall"
    """The sub-conversation of `memory_recall`."""
    PROGRAM = "program"
    """A call of a program in the SPU language."""

    @property
    def is_memory(self) -> bool:
        """Whether it is background work."""
        return self not in (Purpose.CHAT, Purpose.PROGRAM)


class StatisticsGroup(StrEnum):
    """What statistics are grouped by."""

    USER = "user"
    MODEL = "model"
    PROJECT = "project"
    DAY = "day"


class Spent(Struct, frozen=True):
    """A model call that is not a step of a turn."""

    id: str
    project_id: str
    session_id: str
    """Empty if it belongs to no project in particular."""
    at: datetime
    model: str
    """As `provider:name`."""
    purpose: Purpose
    usage: Usage
    cost_usd: float | None
    """None where the price is unknown."""
    person: str = ""
    """The id of the user for whom it was made (see `Person`); empty where nobody knows."""


# Its project and session may be deleted.
SPENT = Description(
    RecordKind.SPENT,
    Spent,
    columns={"project_id": "project", "session_id": "session"},
    properties={"at": "timestamp"},
    later=("person",),
)


class Price(Struct, frozen=True):
    """USD per million tokens, and per web search by the provider's own tool."""

    input_usd: float
    output_usd: float
    cached_usd: float
    search_usd: float | None = None
    """None if the fee is unknown."""


def cost_usd(usage: Usage, price: Price | None, *, searches: int = 0) -> float | None:
    """Return the cost of the usage, or None if the price is unknown: never a silent 0."""
    if price is None or (searches and price.search_usd is None):
        return None
    fresh = max(0, usage.input_tokens - usage.cached_tokens)
    written = usage.output_tokens + usage.thought_tokens
    return (
        fresh * price.input_usd + usage.cached_tokens * price.cached_usd + written * price.output_usd
    ) / 1_000_000 + searches * (price.search_usd or 0.0)


def sum_costs(costs: Iterable[float | None]) -> float | None:
    """Return the sum, or None if any part is unknown."""
    total = 0.0
    for cost in costs:
        if cost is None:
            return None
        total += cost
    return total
