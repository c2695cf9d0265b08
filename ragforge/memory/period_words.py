"""The days from and until which a statement is valid, as far as its own words name them."""

import re
from datetime import date, datetime, time, timedelta
from functools import lru_cache

from msgspec import Struct

from ragforge.domain.language.base import AnyOf, first_group, months
from ragforge.domain.memories import MemoryType
from ragforge.memory.sentences import with_dates

READ_MAX = 1_000
"""How many parsed statements are cached."""
PAST = frozenset({MemoryType.EVENT, MemoryType.OBSERVATION})
"""Types about the past, which stay true whatever day they name."""
DUE = frozenset({MemoryType.TODO, MemoryType.GOAL})
"""Types with a day by which they are done or missed."""

_UNTIL = AnyOf(lambda language: language.until)
_DUE = AnyOf(lambda language: language.due)
_SINCE = AnyOf(lambda language: language.since)


class StatedPeriod(Struct, frozen=True):
    """The beginning of the first day and the end of the last one; None for what is not said."""

    valid_from: datetime | None = None
    valid_to: datetime | None = None
    is_due: bool = False
    """Whether the end is the day by which something is to be done: it may still be to do afterwards."""


@lru_cache(READ_MAX)
def stated_period(content: str, type: MemoryType, at: datetime) -> StatedPeriod:
    """Return the days that the statement names, in the time zone of this machine.

    at: when it was said. A day without a year is the next one if something ends, and the nearest one if
    something begins. Days that contradict each other say nothing.
    """
    if type in PAST:
        return StatedPeriod()
    text, said = with_dates(content, at), at.date()
    until, since = _UNTIL.search(text), _SINCE.search(text)
    if until and until.start() > 0 and text[until.end() :].strip(" .!…)"):
        until = None  # "X until 3 March, then Y" does not end
    is_due = until is None and type in DUE
    if is_due:
        until = _DUE.search(text)
    begin = _days(first_group(since), said, is_end=False) if since else None
    end = _days(first_group(until), begin[0] if begin else said, is_end=True) if until else None
    if end and end[1] <= (begin[0] if begin else said):
        return StatedPeriod()
    return StatedPeriod(_midnight(begin[0]) if begin else None, _midnight(end[1]) if end else None, is_due)


def _days(words: str, said: date, *, is_end: bool) -> tuple[date, date] | None:
    """Return the first day of what is named and the one after its last; None if there is no such day."""
    low = words.lower()
    number, year = re.search(r"(?<!\d)\d{1,2}(?!\d)", low), re.search(r"\d{4}", low)
    try:
        if iso := re.fullmatch(r"(\d{4})-(\d\d)-(\d\d)", low):
            first = date(*map(int, iso.groups()))
            return first, first + timedelta(days=1)
        month = next(at for name, at in months().items() if re.search(rf"\b{name}\b", low))
        years = [int(year[0])] if year else [said.year - 1, said.year, said.year + 1]
        named = [_span(each, month, int(number[0]) if number else 0) for each in years]
    except (ValueError, OverflowError):
        return None
    if is_end:
        return next((each for each in named if each[1] > said), named[-1])
    return min(named, key=lambda each: abs((each[0] - said).days))


def _span(year: int, month: int, day: int) -> tuple[date, date]:
    """Return a day, or the whole month for 0. Raises ValueError, OverflowError."""
    if day:
        return date(year, month, day), date(year, month, day) + timedelta(days=1)
    return date(year, month, 1), date(year + month // 12, month % 12 + 1, 1)


def _midnight(day: date) -> datetime | None:
    try:
        return datetime.combine(day, time.min).astimezone()
    except (ValueError, OverflowError, OSError):  # at the limits of the calendar there is no time zone
        return None
