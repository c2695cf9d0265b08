"""False hits and violations found, through the whole way from the sentence to the hit.

A line of a file is a call: `rule` (the user's sentence), `strength`, `call` (`tool` is `shell` with
`command`, `write` with `path` and `content`, or `edit` with `path`, `old`, `new`) and `violates`.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ragforge.agent.call_effects import CallEffects, effects_of
from ragforge.agent.constraint_hits import hits_of
from ragforge.domain.approvals import ChangeFile, Constraint, RunCommand
from ragforge.domain.language.base import common_words, stop_words
from ragforge.domain.messages import TextPart
from ragforge.domain.turns import Turn, TurnStatus
from ragforge.files.diffs import unified
from ragforge.memory.constraints import constraint_of
from ragforge.memory.extract import memories_in
from ragforge.memory.likeness import content_words
from ragforge.memory.material import Material
from ragforge.tools.base import Effect, Preview

ROOT = Path("/project")
NOON = datetime(2026, 3, 4, 12, tzinfo=UTC)


@dataclass
class Report:
    """Counts, and what went wrong in words."""

    harmless: int = 0
    false_hits: list[str] = field(default_factory=lambda: [])
    violations: int = 0
    missed: list[str] = field(default_factory=lambda: [])
    named: int = 0
    """Violations whose rule names what the call does: a word of both."""
    missed_named: int = 0
    seconds: float = 0.0

    def lines(self) -> list[str]:
        found, found_named = self.violations - len(self.missed), self.named - self.missed_named
        calls = self.harmless + self.violations
        return [
            f"calls                      {calls}",
            f"false hits                 {counted(len(self.false_hits), self.harmless)}",
            f"violations found           {counted(found, self.violations)}",
            f"  where the rule names it  {counted(found_named, self.named)}",
            f"a call took                {1000 * self.seconds / max(1, calls):.2f} ms",
        ]


def counted(part: int, whole: int) -> str:
    return f"{part} of {whole}  {part / whole:.3f}" if whole else "0 of 0"


def constraints_from(rule: str) -> list[Constraint]:
    """What the extractor makes of the sentence."""
    turn = Turn("turn", "session", None, 0, (TextPart(rule),), NOON, TurnStatus.FINISHED)
    memories, _ = memories_in(Material(turn, "project"))
    return [constraint_of(each) for each in memories if each.strength]


def effects(call: dict[str, Any]) -> CallEffects:
    """What the call would do, by the preview that its tool would make."""
    if call["tool"] == "shell":
        return effects_of(Effect.SHELL, Preview(RunCommand(call["command"])), root=ROOT, cwd=ROOT)
    old, new = (call["old"], call["new"]) if call["tool"] == "edit" else (None, call["content"])
    change = ChangeFile(call["path"], unified(old, new, call["path"]))
    return effects_of(Effect.WRITE, Preview(change, (ROOT / call["path"],)), root=ROOT, cwd=ROOT)


def measure(items: list[dict[str, Any]]) -> Report:
    report = Report()
    for item in items:
        rules = constraints_from(item["rule"])
        began = time.perf_counter()
        hits = hits_of(rules, effects(item["call"]))
        report.seconds += time.perf_counter() - began
        told = f"{item['rule']}  <-  {shown(item['call'])}"
        if not item["violates"]:
            report.harmless += 1
            report.false_hits += [f"{told}  ({hits[0].found})"] if hits else []
            continue
        report.violations += 1
        named = names(item["rule"], item["call"])
        report.named += named
        if not hits:
            report.missed.append(f"{told}{'' if named else '  (not named)'}")
            report.missed_named += named
    return report


def names(rule: str, call: dict[str, Any]) -> bool:
    """Whether a word of the rule that says something stands in what the call writes or runs."""
    changed = " ".join(str(call.get(name, "")) for name in ("command", "path", "content", "new"))
    words = set(content_words(changed)) - set(content_words(str(call.get("old", ""))))
    said = {word for word in content_words(rule) if word not in stop_words() | common_words()}
    return bool(said & (words | set(content_words(call.get("path", "")))))


def shown(call: dict[str, Any]) -> str:
    if call["tool"] == "shell":
        return call["command"]
    return f"{call['tool']} {call['path']}: {call.get('new', call.get('content', ''))!r}"[:160]


def read_calls(path: Path) -> list[dict[str, Any]]:
    """Raises OSError and ValueError."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]
