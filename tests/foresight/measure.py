"""How often the mark of foresight is right, on turns with what is stored of them.

A line of a file is a turn: `said` (the user's message), `expected` and `foreseen` (the prediction and its
files), `calls` (`tool` is `shell` with `command` and `result`, or a file tool with `path`; `failed`),
`changed`, `failing_before`, and `deserves`: whether a reviewer of the work wants it marked, and `why`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ragforge.domain.turns import CallStatus, ToolCall
from ragforge.memory.foresight_mark import TurnFacts, marks_of

TURNS = Path(__file__).parent / "turns.jsonl"
"""The rule was changed until it fitted them."""
HELD_OUT = Path(__file__).parent / "held_out.jsonl"
"""The rule was never changed for them."""
NOON = datetime(2026, 3, 4, 12, tzinfo=UTC)


@dataclass
class Report:
    """right, wrong, missed: turns in a few words."""

    turns: int = 0
    right: list[str] = field(default_factory=lambda: [])
    wrong: list[str] = field(default_factory=lambda: [])
    missed: list[str] = field(default_factory=lambda: [])

    @property
    def marked(self) -> int:
        return len(self.right) + len(self.wrong)

    @property
    def precision(self) -> float:
        return len(self.right) / max(1, self.marked)

    @property
    def recall(self) -> float:
        return len(self.right) / max(1, len(self.right) + len(self.missed))

    def lines(self) -> list[str]:
        return [
            f"turns      {self.turns}",
            f"marked     {self.marked}",
            f"precision  {self.precision:.2f}",
            f"recall     {self.recall:.2f}",
        ]


def facts_of(item: dict[str, Any]) -> TurnFacts:
    """What the rule is given."""
    return TurnFacts(
        item["said"],
        [_call(place, call) for place, call in enumerate(item["calls"])],
        item["expected"],
        item["foreseen"],
        item["changed"],
        frozenset(item["failing_before"]),
    )


def _call(place: int, call: dict[str, Any]) -> ToolCall:
    status = CallStatus.FAILED if call.get("failed") else CallStatus.OK
    args = {name: call[name] for name in ("command", "path") if name in call}
    return ToolCall("", "", place, 0, call["tool"], args, status, call.get("result", ""), NOON, 0)


def measure(items: list[dict[str, Any]]) -> Report:
    report = Report(len(items))
    for item in items:
        marks = marks_of(facts_of(item))
        told = f"{item['said']!r} ({'; '.join(mark.words for mark in marks) or item['why']})"
        if marks:
            (report.right if item["deserves"] else report.wrong).append(told)
        elif item["deserves"]:
            report.missed.append(told)
    return report


def read_turns(path: Path) -> list[dict[str, Any]]:
    """Raises OSError and ValueError."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]
