"""Numbers and times in words for a user."""

import re
from collections.abc import Sequence
from datetime import datetime

from ragforge.domain.ids import now

MINUTE_S, HOUR_S, DAY_S = 60, 3_600, 86_400
_FENCE = re.compile(r"^[ \t]*`{3,}[\w+-]*[ \t]*$", re.MULTILINE)


def counted(number: int, noun: str) -> str:
    """`1 line`, `3 matches`, `2,000 summaries`."""
    return f"{number:,} {noun if number == 1 else _plural(noun)}"


def age_words(when: datetime, now: datetime | None) -> str:
    """Return how long ago, in few letters; the date if it is more than a week. Empty without a `now`."""
    if now is None:
        return ""
    seconds = max(0, int((now - when).total_seconds()))
    if seconds < MINUTE_S:
        return "just now"
    if seconds < HOUR_S:
        return f"{seconds // MINUTE_S} min ago"
    if seconds < DAY_S:
        return f"{seconds // HOUR_S} h ago"
    if seconds < 7 * DAY_S:
        return f"{seconds // DAY_S} d ago"
    return f"{when.astimezone():%Y-%m-%d}"


def day_words(when: datetime) -> str:
    """Return the local day: `3 Nov`, with the year if it is not the current one."""
    here = when.astimezone()
    return f"{here.day} {here:%b}" + ("" if here.year == now().astimezone().year else f" {here.year}")


def moment_words(when: datetime) -> str:
    """Return the local time: `2026-03-01 13:05`."""
    return f"{when.astimezone():%Y-%m-%d %H:%M}"


def _plural(noun: str) -> str:
    if noun.endswith("y") and noun[-2] not in "aeiou":
        return noun[:-1] + "ies"
    return noun + ("es" if noun.endswith(("s", "x", "ch", "sh")) else "s")


def first_words(text: str, chars_max: int = 60) -> str:
    """Return the beginning of a text, on one line, without code fences."""
    words = " ".join(_FENCE.sub("", text).split())
    return words if len(words) <= chars_max else words[: chars_max - 1] + "…"


def aligned(rows: Sequence[Sequence[str]], *, words: int) -> list[str]:
    """Return rows of cells as lines in columns, the first `words` of them left-aligned, figures right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if at < words else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def cost_words(cost_usd: float | None) -> str:
    """Return the cost for a user: never 0 if it is unknown."""
    return "price unknown" if cost_usd is None else f"${cost_usd:.4f}"
