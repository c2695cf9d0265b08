"""An optional part of the call about a turn: asked, read and stored beside its summary and memories.

A part is a file in `derive/` with a `PART`. It shares the call, so it costs only what it adds to it.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

from msgspec import Struct

from ragforge.config.settings import Settings
from ragforge.domain.discovery import discover
from ragforge.domain.errors import ModelError
from ragforge.domain.foresight import TurnUnits
from ragforge.domain.json import JsonObject, JsonValue
from ragforge.domain.redact import Redactor
from ragforge.domain.summaries import Summary
from ragforge.domain.turns import Person, Turn
from ragforge.memory.context import text_tokens
from ragforge.memory.material import Material, PartInput
from ragforge.providers.base import Provider
from ragforge.store.base import Store

T = TypeVar("T")

log = logging.getLogger(__name__)

OWN_TOKENS = 2_000
"""The maximum tokens of the answer about one turn without optional parts."""


class PartHome(Protocol):
    """What a part may use when it adds input to a call: the project, as a session sees it."""

    @property
    def project_id(self) -> str: ...

    @property
    def person(self) -> Person: ...

    @property
    def store(self) -> Store: ...

    @property
    def settings(self) -> Settings: ...

    @property
    def foresees(self) -> bool: ...

    @property
    def measure(self) -> Callable[[Turn], Awaitable[TurnUnits | None]]: ...


class AnswerPart(Struct, Generic[T], frozen=True):
    """An additional question about each turn."""

    name: str
    """Its key in the answer."""
    schema: JsonObject | None
    """None for what only rules find: no model is asked for it."""
    asks: str
    """What the instructions say about it."""
    tokens_max: int
    """The maximum tokens for it in the answer about one turn."""
    read: Callable[[Material, JsonValue], T | None]
    """Reads it from the answer; None if none of it can be read."""
    without: Callable[[Material], T | None]
    """Derives it by rules, if no model was asked for it or its answer could not be read; None for nothing."""
    keep: Callable[[Store, Redactor, Summary, T], Awaitable[None]]
    """Stores it, free of secrets; repeating it changes nothing. It comes before the turn's summary, which
    removes the turn from the list. Raises StoreError."""
    bring: Callable[[PartHome, Turn], Awaitable[PartInput | None]] | None = None
    """Returns its input to the call about a turn. A part that has this is left out, including its rules, for
    a turn for which it returns None. Raises StoreError."""
    input_tokens_max: int = 0
    """The maximum tokens it may add to the input of one call, with what the instructions say about it."""
    kind: Any = Any
    """The type of what it reads, which is kept as JSON until the store has it; Any for JSON itself."""

    def is_for(self, material: Material) -> bool:
        """Whether it applies to the turn."""
        return self.bring is None or self.name in material.inputs


AnyPart: TypeAlias = AnswerPart[Any]


def find_parts() -> list[AnyPart]:
    """Return all parts, by the names of their modules."""
    found: dict[str, AnyPart] = discover("ragforge.memory.derive", "PART", AnswerPart)
    return list(found.values())


async def parts_for(provider: Provider, materials: Sequence[Material]) -> list[AnyPart]:
    """Return the parts that certainly fit in the answer about these turns, in order."""
    chosen: list[AnyPart] = []
    parts = [part for part in find_parts() if part.schema is not None and any(map(part.is_for, materials))]
    if parts:
        try:
            limits = await provider.limits()
        except ModelError as error:  # the call itself reports it again, if it matters
            log.info("Cannot determine the answer limit of %s: %s", provider.model, error)
            return []
        room = limits.output_tokens_max // len(materials) - OWN_TOKENS
        for part in parts:
            if part.tokens_max <= room:
                chosen.append(part)
                room -= part.tokens_max
    return chosen


async def inputs_of(home: PartHome, turn: Turn) -> dict[str, PartInput]:
    """Return the input of the parts for the turn, by their names. Raises StoreError."""
    brings = {part.name: part.bring(home, turn) for part in find_parts() if part.bring}
    # In parallel: with a distant server each answer takes its time.
    brought = dict(zip(brings, await asyncio.gather(*brings.values()), strict=True))
    return {name: each for name, each in brought.items() if each is not None}


def shown_inputs(materials: Sequence[Material], parts: Iterable[AnyPart]) -> list[dict[str, str]]:
    """Return the input of the parts for each turn, by their names, within their budgets."""
    shown: list[dict[str, str]] = [{} for _ in materials]
    for part in parts:
        brought = [
            (at, each.inputs[part.name]) for at, each in enumerate(materials) if part.name in each.inputs
        ]
        room = part.input_tokens_max - text_tokens(
            "\n".join([part.asks, *(each.head for _, each in brought)])
        )
        for at, each in reversed(brought):
            kept: list[str] = []
            for line in reversed(each.lines):
                room -= text_tokens(line)
                if room < 0:
                    break
                kept.append(line)
            shown[at][part.name] = "\n".join([each.head, *reversed(kept)])
    return shown
