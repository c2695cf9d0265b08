"""Precision and recall on the annotated set.

A line of the set is a turn: `lang`, `user`, `assistant`, `memories` (type, and words that its text must hold)
and `constraints` (what of the user's words is a demand). The rules were written with `tuned.jsonl` at hand.
`held_out.jsonl` was written when they were done, and nothing was changed for it: its figures are those to be
believed. Both come from the same hand, so real conversations may be further off.

Who changes the rules for a mistake in `held_out.jsonl` moves its lines to `tuned.jsonl` and writes new ones.
That was done three times: the first unseen turns gave a precision of .83 and a recall of .41, the second
.91 and .55, the third .88 and .72.
"""

from __future__ import annotations

import asyncio
import json
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from ragforge.domain.memories import Memory, MemoryType
from ragforge.domain.messages import TextPart
from ragforge.domain.turns import Turn, TurnStatus
from ragforge.memory.material import Material, Understanding
from ragforge.memory.summarise import understand, understand_offline
from ragforge.providers.base import Provider

HERE = Path(__file__).parent
SETS = ("tuned", "held_out")
NOON = datetime(2026, 3, 4, 12, tzinfo=UTC)
CONSTRAINTS = "constraint"
ALL = "all memories"
TURNS_PER_CALL = 4


@dataclass
class Counts:
    """How many were found rightly, how many were found, how many there are."""

    right: int = 0
    found: int = 0
    there: int = 0

    @property
    def precision(self) -> float:
        return self.right / self.found if self.found else 1.0

    @property
    def recall(self) -> float:
        return self.right / self.there if self.there else 1.0


@dataclass
class Measured:
    """Counts by type, with the mistakes in words."""

    of: dict[str, Counts] = field(default_factory=lambda: {})
    mistakes: list[str] = field(default_factory=lambda: [])

    def counts(self, name: str) -> Counts:
        return self.of.setdefault(name, Counts())

    def table(self) -> str:
        rows = [f"{'':14} precision  recall   right  found  there"]
        for name in [*MemoryType, ALL, CONSTRAINTS]:
            one = self.counts(name)
            rows.append(
                f"{name:14} {one.precision:9.2f} {one.recall:7.2f} {one.right:7} {one.found:6} {one.there:6}"
            )
        return "\n".join(rows)


def load(name: str) -> list[dict[str, Any]]:
    """The annotated turns of a part of the set."""
    return [json.loads(line) for line in (HERE / f"{name}.jsonl").read_text("utf-8").splitlines()]


def material(number: int, item: dict[str, Any]) -> Material:
    turn = Turn(
        f"turn-{number}",
        f"session-{number}",
        None,
        0,
        (TextPart(item["user"]),),
        NOON + timedelta(minutes=number),
        TurnStatus.FINISHED,
        item["assistant"],
    )
    return Material(turn, "project")


def measure_offline(items: Sequence[dict[str, Any]]) -> Measured:
    """What the rules find."""
    measured = Measured()
    for number, item in enumerate(items):
        _count(measured, item, understand_offline(material(number, item)))
    return measured


async def measure_model(provider: Provider, items: Sequence[dict[str, Any]]) -> Measured:
    """What a model finds; turns of which nothing could be read count as found empty."""
    measured = Measured()
    for start in range(0, len(items), TURNS_PER_CALL):
        batch = items[start : start + TURNS_PER_CALL]
        materials = [material(start + at, item) for at, item in enumerate(batch)]
        understood = (await understand(provider, materials)).of_turns
        for one, item in zip(materials, batch, strict=True):
            _count(measured, item, understood.get(one.turn.id))
        await asyncio.sleep(0)
    return measured


def _count(measured: Measured, item: dict[str, Any], understanding: Understanding | None) -> None:
    memories = list(understanding.memories) if understanding else []
    demands = list(understanding.summary.constraints) if understanding else []
    there = Counter(gold["type"] for gold in item["memories"])
    for type in MemoryType:
        found = [memory for memory in memories if memory.type is type and not _is_demand(memory, item)]
        right = _matches(measured, found, [gold for gold in item["memories"] if gold["type"] == type])
        for counts in (measured.counts(type), measured.counts(ALL)):
            counts.right += right
            counts.found += len(found)
            counts.there += there[type]
    open_demands = list(item["constraints"])
    counts = measured.counts(CONSTRAINTS)
    counts.found, counts.there = counts.found + len(demands), counts.there + len(open_demands)
    for demand in demands:
        hit = next((gold for gold in open_demands if gold in demand or demand in gold), None)
        if hit is None:
            measured.mistakes.append(f"- no constraint: {demand}")
        else:
            counts.right += 1
            open_demands.remove(hit)
    measured.mistakes += [f"- constraint missed: {demand}" for demand in open_demands]


def _is_demand(memory: Memory, item: dict[str, Any]) -> bool:
    """Whether it keeps a demand of the set and no memory of it: what binds is a preference too, and counts
    among the demands."""
    text = _plain(memory.content)
    expected = (gold["words"] for gold in item["memories"] if gold["type"] == memory.type)
    return (
        memory.type is MemoryType.PREFERENCE
        and any(_plain(quote) in text or text in _plain(quote) for quote in item["constraints"])
        and not any(all(_plain(word) in text for word in words) for words in expected)
    )


def _matches(measured: Measured, found: Sequence[Memory], golds: Sequence[dict[str, Any]]) -> int:
    """How many of what was found is in the set, each once."""
    open_golds = list(golds)
    for memory in found:
        text = _plain(memory.content)
        hit = next((gold for gold in open_golds if all(_plain(word) in text for word in gold["words"])), None)
        if hit is None:
            measured.mistakes.append(f"- no {memory.type}: {memory.content}")
        else:
            open_golds.remove(hit)
    measured.mistakes += [f"- {gold['type']} missed: {' '.join(gold['words'])}" for gold in open_golds]
    return len(golds) - len(open_golds)


def _plain(text: str) -> str:
    letters = unicodedata.normalize("NFKD", text).casefold()
    return "".join(c for c in letters if not unicodedata.combining(c))
