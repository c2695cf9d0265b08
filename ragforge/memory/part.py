"""An optional part of the one call about a turn: asked, read and kept beside its summary and its memories.

A part is a file in `derive/` with a `PART`. It shares the call, so it costs what it adds to the answer.
"""

from collections.abc import Awaitable, Callable
from typing import Any, Generic, TypeAlias, TypeVar

from msgspec import Struct

from ragforge.domain.discovery import discover
from ragforge.domain.json import JsonObject, JsonValue
from ragforge.domain.redact import Redactor
from ragforge.domain.summaries import Summary
from ragforge.memory.material import Material
from ragforge.providers.base import Provider
from ragforge.store.base import Store

T = TypeVar("T")

OWN_TOKENS = 2_000
"""What the answer about one turn may take without optional parts."""


class AnswerPart(Struct, Generic[T], frozen=True):
    """Something that is asked about each turn."""

    name: str
    """Its key in the answer."""
    schema: JsonObject | None
    """None for what rules alone find: no model is asked for it."""
    asks: str
    """What the instructions say of it."""
    tokens_max: int
    """What it may take of the answer about one turn."""
    read: Callable[[Material, JsonValue], T | None]
    """From the answer; None where nothing of it can be read."""
    without: Callable[[Material], T | None]
    """By rules, where no model was asked for it or its answer could not be read; None for nothing."""
    keep: Callable[[Store, Redactor, Summary, T], Awaitable[None]]
    """Store it, free of secrets; doing it again changes nothing. It comes before the turn's summary, which
    takes the turn off the list. Raises StoreError."""


AnyPart: TypeAlias = AnswerPart[Any]


def find_parts() -> list[AnyPart]:
    """All there are, by the names of their modules."""
    found: dict[str, AnyPart] = discover("ragforge.memory.derive", "PART", AnswerPart)
    return list(found.values())


async def parts_for(provider: Provider, turns: int) -> list[AnyPart]:
    """Those for which the answer about so many turns has room, the first ones first. Raises ModelError."""
    chosen: list[AnyPart] = []
    if parts := [part for part in find_parts() if part.schema is not None]:
        room = (await provider.limits()).output_tokens_max // turns - OWN_TOKENS
        for part in parts:
            if part.tokens_max <= room:
                chosen.append(part)
                room -= part.tokens_max
    return chosen
