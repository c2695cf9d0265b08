"""Precision and recall on a file of annotated messages.

A line is a message: `id`, `language`, `group`, `before` (what the assistant said just before, or null),
`user` and `expect`: each statement that is to be kept, with its possible `kinds`, `text` in one plain
sentence, and `span`, the words that it rests on. A kept memory counts for an expected statement when its type
is one of the kinds and it holds at least six tenths of the content words of the span or of the text. Each
memory counts for one statement at most.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from ragforge.domain.language.base import stop_words
from ragforge.domain.memories import Memory, MemoryType
from ragforge.memory.summarise import understand_offline
from tests.extraction.measure import Counts, material

SHARE_MIN = 0.6
ALL = "all"
_WORD = re.compile(r"[^\W_][\w.+#/-]*")


@dataclass
class Report:
    """Counts by language, group and kind, with the mistakes in words."""

    of: dict[tuple[str, str], Counts] = field(default_factory=lambda: {})
    """By ("language", "en"), ("group", "fact"), ("kind", "decision") and ("all", "all")."""
    mistakes: list[str] = field(default_factory=lambda: [])
    strength: Counts = field(default_factory=Counts)
    """Of the statements that are met: those whose strength is right, of those that have one."""
    applies_to: Counts = field(default_factory=Counts)
    """Of those that name something: those of which any is found."""

    def counts(self, what: str, name: str) -> Counts:
        return self.of.setdefault((what, name), Counts())

    def table(self) -> str:
        rows = [f"{'':24} precision  recall   right  found  there"]
        for (what, name), one in sorted(self.of.items(), key=lambda item: (item[0][0] != ALL, item[0])):
            label = name if what == ALL else f"{what} {name}"
            rows.append(
                f"{label:24} {one.precision:9.2f} {one.recall:7.2f} {one.right:7} {one.found:6} {one.there:6}"
            )
        for label, one in (("strength", self.strength), ("applies_to, any", self.applies_to)):
            share = f"{one.recall:.2f}" if one.there else "-"
            rows.append(f"{label:24} {share:>9} of those found {one.right:7} of {one.there}")
        return "\n".join(rows)


def read_statements(path: Path) -> list[dict[str, Any]]:
    """The lines of a file. Raises OSError, and ValueError for what has another form."""
    items: list[dict[str, Any]] = []
    for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
        try:
            item = json.loads(line)
            known = item["user"], item["language"], item["group"], item["before"]
            kinds = [kind for gold in item["expect"] for kind in (*gold["kinds"], gold["span"], gold["text"])]
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(f"{path}, line {number}: not an annotated message ({error!r})") from error
        if not all(isinstance(text, str) for text in (*known[:3], *kinds)):
            raise ValueError(f"{path}, line {number}: not an annotated message (a text is missing)")
        items.append(item)
    return items


def measure_statements(items: Sequence[Mapping[str, Any]]) -> Report:
    """What is kept of the messages without a model, held against what is expected."""
    report = Report()
    for number, item in enumerate(items):
        turn = material(number, {"user": item["user"], "assistant": ""})
        turn = replace(turn, before=item["before"] or "")
        _count(report, item, understand_offline(turn).memories)
    return report


def _count(report: Report, item: Mapping[str, Any], kept: Sequence[Memory]) -> None:
    expected: list[Mapping[str, Any]] = list(item["expect"])
    met = _pairs(kept, expected)
    places = [(ALL, ALL), ("language", item["language"]), ("group", item["group"])]
    for where in places:
        counts = report.counts(*where)
        counts.right += len(met)
        counts.found += len(kept)
        counts.there += len(expected)
    for at, place in met.items():
        _count_binding(report, item, kept[at], expected[place])
    for at, memory in enumerate(kept):
        counts = report.counts("kind", memory.type)
        counts.found += 1
        if at not in met:
            report.mistakes.append(f"- {item.get('id')} ({item['group']}) no {memory.type}: {memory.content}")
    found = {gold: kept[at].type for at, gold in met.items()}
    for at, gold in enumerate(expected):
        # Where several kinds are right, the statement is of the one that it was found as, else of the first.
        counts = report.counts("kind", found.get(at, MemoryType(gold["kinds"][0])))
        counts.there += 1
        counts.right += at in found
        if at not in found:
            kinds = "/".join(gold["kinds"])
            report.mistakes.append(f"- {item.get('id')} ({item['group']}) missed {kinds}: {gold['span']}")


def _count_binding(report: Report, item: Mapping[str, Any], memory: Memory, gold: Mapping[str, Any]) -> None:
    """Whether the memory binds as much as the statement, and is about one of the same things."""
    if wanted := gold.get("strength"):
        report.strength.there += 1
        report.strength.right += memory.strength == wanted
        if memory.strength != wanted:
            told = f"{memory.strength or 'nothing'}, not {wanted}"
            report.mistakes.append(f"- {item.get('id')} ({item['group']}) binds {told}: {memory.content}")
    if names := gold.get("applies_to"):
        right = bool({each.casefold() for each in memory.applies_to} & {each.casefold() for each in names})
        report.applies_to.there += 1
        report.applies_to.right += right
        if not right:
            told = f"{', '.join(memory.applies_to) or 'nothing'}, not {', '.join(names)}"
            report.mistakes.append(f"- {item.get('id')} ({item['group']}) is about {told}: {memory.content}")


def _pairs(kept: Sequence[Memory], expected: Sequence[Mapping[str, Any]]) -> dict[int, int]:
    """For each memory that counts the place of its statement, each of them once."""
    pairs: dict[int, int] = {}
    for at, memory in enumerate(kept):
        fits = (
            place
            for place, gold in enumerate(expected)
            if place not in pairs.values() and memory.type in gold["kinds"] and _holds(memory.content, gold)
        )
        if (place := next(fits, None)) is not None:
            pairs[at] = place
    return pairs


def _holds(content: str, gold: Mapping[str, Any]) -> bool:
    words = content_words(content)
    return any(_share(content_words(gold[name]), words) >= SHARE_MIN for name in ("span", "text"))


def _share(wanted: frozenset[str], there: Iterable[str]) -> float:
    return len(wanted.intersection(there)) / len(wanted) if wanted else 1.0


def content_words(text: str) -> frozenset[str]:
    """The words of the text that are no stop words of any language."""
    words = (found[0].rstrip(".-/") for found in _WORD.finditer(text.casefold().replace("’", "'")))
    return frozenset(words) - stop_words()
