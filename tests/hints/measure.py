"""What the engine offers on a day of turns, beside what would be worth offering.

A line of a file is a memory or a turn, in their order. A memory: `memory` (its name), `type`, `content`,
`topic`, `confidence` and `days` (how many ago it was said last). A turn: `user`, `assistant` and `worth`
(names of the memories that a hint would be worth giving about).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from ragforge.domain.hints import HintContext, HintPace, ProactiveHint
from ragforge.domain.memories import Memory, MemoryFilter, MemorySource, MemoryType
from ragforge.memory.hints import ProactiveHintEngine
from ragforge.memory.memories import new_memory
from ragforge.store.local.values import HintHistory

MORNING = datetime(2026, 11, 23, 9, tzinfo=UTC)
DAY = Path(__file__).parent / "day.jsonl"
MESSAGES = 5


@dataclass
class Report:
    """turns: the number of each that had hints, with whether each hint was worth giving."""

    turns: int = 0
    with_hints: dict[int, list[tuple[ProactiveHint, bool]]] = field(default_factory=lambda: {})
    worth: int = 0

    @property
    def offered(self) -> int:
        return sum(map(len, self.with_hints.values()))

    @property
    def right(self) -> int:
        return sum(is_worth for hints in self.with_hints.values() for _, is_worth in hints)

    def lines(self) -> list[str]:
        share = self.right / self.offered if self.offered else 0.0
        return [
            f"turns                   {self.turns}",
            f"  where one is worth it {self.worth}",
            f"  with hints            {len(self.with_hints)}",
            f"hints offered           {self.offered}",
            f"  worth giving          {self.right}  {share:.2f}",
        ]


@dataclass
class Day:
    """A day that goes on: the memories that are kept so far, and what was hinted at."""

    memories: list[Memory] = field(default_factory=lambda: [])
    histories: dict[str, HintHistory] = field(default_factory=lambda: {})

    async def find(self, wanted: MemoryFilter) -> list[Memory]:
        """As a store does."""
        return [memory for memory in self.memories if memory.type in wanted.types]

    async def told(self) -> Mapping[str, HintHistory]:
        return self.histories


async def measure(lines: list[dict[str, Any]]) -> Report:
    """Live through the day, offering what the engine chooses and answering nothing."""
    report, day, pace, names = Report(), Day(), HintPace(), dict[str, str]()
    engine = ProactiveHintEngine(day.find, day.told)
    messages: list[str] = []
    for line in lines:
        at = MORNING + timedelta(minutes=8 * report.turns)
        if "memory" in line:
            memory = _memory(line, at, said_in=f"turn {report.turns - 1}")
            names[memory.id] = line["memory"]
            day.memories.append(memory)
            continue
        report.turns += 1
        report.worth += bool(line["worth"])
        messages += [line["user"], line["assistant"]]
        if not pace.turn_ended():
            continue
        turns = frozenset(f"turn {report.turns - 1 - back}" for back in range(MESSAGES // 2 + 1))
        newest = tuple(messages[-MESSAGES:])
        context = HintContext("project", "session", line["user"], "local", newest, at, turns)
        hints = await engine.generate_hints("me", context)
        if hints:
            pace.offered()
            report.with_hints[report.turns] = [
                (hint, names[hint.source_preference_id] in line["worth"]) for hint in hints
            ]
        for hint in hints:
            id = hint.source_preference_id
            day.histories[id] = HintHistory(at, "session")
    return report


def read_day(path: Path) -> list[dict[str, Any]]:
    """The lines of a file. Raises OSError, ValueError."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def _memory(line: dict[str, Any], at: datetime, *, said_in: str) -> Memory:
    return new_memory(
        line["content"],
        MemoryType(line["type"]),
        project_id="project",
        at=at - timedelta(days=line["days"]),
        source=MemorySource.BACKGROUND,
        topic=line["topic"],
        confidence=line["confidence"],
        turns=[said_in],
        person="me",
    )
