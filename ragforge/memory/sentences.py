"""Split text into sentences, cut it, and resolve its words for days to dates."""

import re
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import cache, lru_cache

from ragforge.domain.language.base import AnyOf, counts, days, first_group, languages, weekdays
from ragforge.store.json_text import storable

SCANNED_CHARS_MAX = 40_000
"""A pasted log is no prose; what people say is at the beginning or the end."""
SPLIT_MAX = 64
"""How many split texts are cached: a recalled text is read in several ways at a time."""

FENCED = re.compile(r"^[ \t]*(```|~~~)(.*?)(?:^[ \t]*\1[^\n]*$|\Z)", re.MULTILINE | re.DOTALL)
"""A block of code; the second group is its content."""
# Quotes, code by indentation, logs, traces, shells, diffs, rows of tables: shown, not said.
_SHOWN = re.compile(
    r"[ \t]*>|\t| {4,}(?![-*•\d])|[ \t]*(?:\$|%|#!|>>>|\.\.\.|@@|\||\+\+\+|---|diff --git|Traceback|File \")"
    r"|[ \t]*(?:\[?\d{4}-\d\d-\d\d|\[?\d\d:\d\d:\d\d)"
    r"|[ \t]*\[?(?:DEBUG|INFO|WARN|WARNING|ERROR|FATAL|CRITICAL)\b[\]: ]"
    r"|[ \t]*\w*(?:Error|Exception|Warning): "
)
QUOTED = re.compile(
    r"`[^`\n]{0,300}`|\"[^\"\n]{0,300}\"|“[^”\n]{0,300}”|«[^»\n]{0,300}»|(?<!\w)'[^'\n]{2,300}'(?!\w)"
)
"""What is quoted within a line."""

_BULLET = re.compile(r"^[ \t]*(?:[-*•+]|\d{1,3}[.)]|#{1,6})[ \t]+")
_END = re.compile(r"(?<=[.!?…])[\"'»”)\]]*\s+(?=\S)")


@cache
def _no_end() -> re.Pattern[str]:
    """Return a pattern for what ends in a full stop but does not end a sentence."""
    words = [each.abbreviations for each in languages() if each.abbreviations]
    return re.compile(rf"(?:\b(?:{'|'.join(words)})|^\d+)\.$")


def one_line(text: str) -> str:
    """Return the text without line ends and doubled spaces, and without characters that cannot be stored."""
    return " ".join(storable(text).split())


def cut_words(text: str, chars_max: int) -> str:
    """Return the beginning of the text that fits, up to the end of a word if there is one."""
    if len(text) <= chars_max:
        return text
    head = text[: chars_max + 1]
    at = head.rfind(" ", chars_max // 2)
    return head[: at if at > 0 else chars_max].rstrip()


def cut_sentence(text: str, chars_max: int) -> str:
    """Return the beginning of the text that fits, up to the end of a sentence if there is one."""
    if len(text) <= chars_max:
        return text
    ends = [end.start() for end in _END.finditer(text, 0, chars_max + 1)]
    if ends and ends[-1] > chars_max // 3:
        return text[: ends[-1]].rstrip()
    return cut_words(text, chars_max - 1) + "…"


def prose(text: str) -> str:
    """Return the text without what is shown rather than said: code, quotes, output, traces."""
    if len(text) > SCANNED_CHARS_MAX:
        half = SCANNED_CHARS_MAX // 2
        text = f"{text[:half]}\n\n{text[-half:]}"
    lines = FENCED.sub("\n\n", text).splitlines()
    return "\n".join("" if _SHOWN.match(line) else line for line in lines)


def sentences(text: str) -> list[str]:
    """Return the sentences of its prose, each on one line and otherwise word for word."""
    return list(_sentences(text))


@lru_cache(SPLIT_MAX)
def _sentences(text: str) -> tuple[str, ...]:
    found: list[str] = []
    for paragraph in _paragraphs(prose(text)):
        start = 0
        # A quotation belongs to the sentence that quotes it, whatever full stops it contains.
        unquoted = QUOTED.sub(lambda found: "x" * len(found[0]), paragraph)
        for end in _END.finditer(unquoted):
            if not _no_end().search(paragraph[start : end.start()]):
                found.append(paragraph[start : end.end()].strip())
                start = end.end()
        found.append(paragraph[start:].strip())
    return tuple(sentence for sentence in found if any(map(str.isalnum, sentence)))


def _paragraphs(text: str) -> list[str]:
    """Return lines that belong together as one; a bullet or an empty line begins the next."""
    joined: list[str] = []
    open_ended = False
    for line in text.splitlines():
        words = one_line(_BULLET.sub("", line))
        # A line that continues in lower case was wrapped for its length, not by its writer.
        if open_ended and words[:1].islower() and not _BULLET.match(line):
            joined[-1] += f" {words}"
        elif words:
            joined.append(words)
        open_ended = bool(words) and words[-1] not in ".!?…:"
    return joined


@cache
def _day() -> re.Pattern[str]:
    words = "|".join(sorted(days(), key=len, reverse=True))
    return re.compile(rf"(?<![\w-])({words})(?![\w-]|,?\s*\(?\d{{4}}-)", re.IGNORECASE)


_COMING_DAY = AnyOf(lambda language: language.coming_day)
_PAST_DAY = AnyOf(lambda language: language.past_day)
_AWAY = {
    unit: AnyOf(lambda language, unit=unit: language.away.get(unit, ())) for unit in ("day", "week", "month")
}
_WHOLE = r"(?<![\w-])(?:{})(?![\w-]|,?\s*\(?\d{{4}}-)"


def with_dates(text: str, at: datetime) -> str:
    """Return the text with a date after each word for a day that depends on the moment: "today (2026-03-04)".

    "Next Friday" and "by Friday" are the first one after that moment, "next week" has the date of its Monday.
    """
    text = text.replace("aujourd’hui", "aujourd'hui")
    text = _dated(_day(), text, lambda found: _plus(at, days()[found[1].lower().replace("’", "'")]))
    text = _dated(
        _whole(_COMING_DAY), text, lambda found: _plus(at, (_weekday(found[0]) - at.weekday() - 1) % 7 + 1)
    )
    text = _dated(
        _whole(_PAST_DAY), text, lambda found: _plus(at, -((at.weekday() - _weekday(found[0]) - 1) % 7) - 1)
    )
    text = _dated(_whole(_AWAY["day"]), text, lambda found: _plus(at, _count(found)))
    text = _dated(_whole(_AWAY["week"]), text, lambda found: _in_weeks(at, found))
    return _dated(_whole(_AWAY["month"]), text, lambda found: _in_months(at, _count(found)))


def _dated(pattern: re.Pattern[str], text: str, day: Callable[[re.Match[str]], str]) -> str:
    """Return the text with the day after each match, if there is such a day."""

    def with_day(found: re.Match[str]) -> str:
        try:
            return f"{found[0]} ({day(found)})"
        except (OverflowError, ValueError):  # before the first or after the last day of the calendar
            return found[0]

    return pattern.sub(with_day, text)


@cache
def _whole(words: AnyOf) -> re.Pattern[str]:
    return re.compile(_WHOLE.format(words.pattern), re.IGNORECASE)


def _plus(at: datetime, days: int) -> str:
    return str(at.date() + timedelta(days=days))


def _weekday(phrase: str) -> int:
    return next(weekdays()[word] for word in phrase.lower().split() if word in weekdays())


def _count(found: re.Match[str]) -> int:
    number = first_group(found).lower()
    return int(number) if number.isdigit() else counts().get(number, 1)


def _in_weeks(at: datetime, found: re.Match[str]) -> str:
    """Return the date in so many weeks; for "next week", which names no day, the Monday."""
    return _plus(at, 7 * _count(found) if first_group(found) else 7 - at.weekday())


def _in_months(at: datetime, months: int) -> str:
    year, month = divmod(at.year * 12 + at.month - 1 + months, 12)
    if not 1 <= year <= 9999:
        raise ValueError(year)
    return f"{year:04}-{month + 1:02}"
