"""The days that a statement names for its beginning and its end."""

from datetime import UTC, date, datetime, timedelta

import pytest
from msgspec.structs import replace

from ragforge.domain.memories import MemorySource, MemoryType
from ragforge.domain.words import day_words
from ragforge.memory.memories import new_memory
from ragforge.memory.period_words import stated_period
from ragforge.memory.periods import has_run_out, with_due_day
from ragforge.memory.recall.request import Around, InjectLimits
from ragforge.memory.recall.sources.memories import may_be_injected

SAID = datetime(2026, 10, 14, 12, tzinfo=UTC)  # a Wednesday, and over


@pytest.mark.parametrize(
    ("words", "first", "last"),
    [
        ("Deploys are frozen until next Friday.", None, date(2026, 10, 16)),
        ("We freeze deploys until 3 March", None, date(2027, 3, 3)),
        ("The old key is valid until 2026-11-01.", None, date(2026, 11, 1)),
        ("Starting November 2nd we use uv until the end of December", date(2026, 11, 2), date(2026, 12, 31)),
        ("As of 1 October the port is 9443", date(2026, 10, 1), None),
        ("From Monday on we use uv", date(2026, 10, 19), None),
        ("On garde MySQL jusqu'au 3 mars 2027.", None, date(2027, 3, 3)),
        ("À partir de lundi, on utilise uv", date(2026, 10, 19), None),
        ("Jusqu'à vendredi, on gèle les déploiements", None, date(2026, 10, 16)),
        # No day, no such day, one that is over, another number, a condition, and what goes on after it.
        ("We wait until the tests pass", None, None),
        ("It is frozen until 31 February", None, None),
        ("It was frozen until 3 March 2020", None, None),
        ("It is frozen until 9999-12-31", None, None),
        ("A request takes up to 30 seconds", None, None),
        ("The port goes from 8443 to 9443", None, None),
        ("Keep it off until may be done with", None, None),
        ("We use MySQL until 3 March, then PostgreSQL", None, None),
    ],
)
def test_the_days_are_those_that_the_words_name(words: str, first: date | None, last: date | None):
    period = stated_period(words, MemoryType.FACT, SAID)
    assert (period.valid_from.date() if period.valid_from else None) == first
    assert ((period.valid_to - timedelta(days=1)).date() if period.valid_to else None) == last


@pytest.mark.parametrize(
    ("words", "last"),
    [
        ("Send the invoice by Friday", date(2026, 10, 16)),
        ("I have to show the map tomorrow", date(2026, 10, 15)),
        ("renew the certificate before 1 December", date(2026, 12, 1)),
        ("rendre le rapport pour lundi", date(2026, 10, 19)),
        ("appeler la mairie demain", date(2026, 10, 15)),
        ("tidy the maps next week", None),
        ("fix what broke yesterday", None),
    ],
)
def test_what_is_to_do_ends_with_the_day_by_which_it_is_due(words: str, last: date | None) -> None:
    for type in (MemoryType.TODO, MemoryType.GOAL):
        end = stated_period(words, type, SAID).valid_to
        assert ((end - timedelta(days=1)).date() if end else None) == last
    assert stated_period(words, MemoryType.FACT, SAID).valid_to is None


def test_a_memory_runs_out_with_the_last_day_that_its_words_name_and_an_event_never():
    frozen = new_memory(
        "Deploys are frozen until Friday.",
        MemoryType.FACT,
        project_id="p",
        at=SAID,
        source=MemorySource.USER,
    )
    assert frozen.valid_from == SAID
    assert [has_run_out(frozen, SAID + timedelta(days=days)) for days in (1, 4)] == [False, True]
    assert not may_be_injected(frozen, Around("p", ""), InjectLimits())
    # An end that another memory put is for that one to take back.
    assert not has_run_out(replace(frozen, content="Deploys are frozen."), SAID + timedelta(days=4))
    assert stated_period(frozen.content, MemoryType.EVENT, SAID).valid_to is None


@pytest.mark.parametrize(
    ("words", "type", "is_left"),
    [
        ("Send the invoice by Friday", MemoryType.TODO, True),
        ("Send the invoice by Friday", MemoryType.GOAL, False),
        ("Watch the queue until Friday", MemoryType.TODO, False),
    ],
)
def test_a_todo_that_was_due_is_still_to_do(words: str, type: MemoryType, is_left: bool) -> None:
    todo = new_memory(words, type, project_id="p", at=SAID, source=MemorySource.USER)
    before, after = SAID + timedelta(days=1), SAID + timedelta(days=4)
    assert [has_run_out(todo, at) for at in (before, after)] == [False, not is_left]
    assert with_due_day(todo, "the invoice", before) == "the invoice"
    mark = f" (was due {day_words(SAID + timedelta(days=2))})" if is_left else ""
    assert with_due_day(todo, "the invoice", after) == f"the invoice{mark}"
    assert may_be_injected(todo, Around("p", ""), InjectLimits()) == is_left
