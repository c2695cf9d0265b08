"""Numbers, times and commands in words, and names on one line."""

from contextvars import copy_context
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragforge.domain.commands import in_shell, typed
from ragforge.domain.printable import escaped, printable
from ragforge.domain.words import age_words, counted

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("number", "noun", "words"),
    [
        (1, "file", "1 file"),
        (0, "file", "0 files"),
        (2_000, "match", "2,000 matches"),
        (2, "entry", "2 entries"),
        (2, "key", "2 keys"),
        (3, "old version", "3 old versions"),
    ],
)
def test_what_is_counted_has_its_plural(number: int, noun: str, words: str) -> None:
    assert counted(number, noun) == words


@pytest.mark.parametrize(
    ("ago", "words"),
    [
        (timedelta(seconds=-5), "just now"),
        (timedelta(seconds=59), "just now"),
        (timedelta(minutes=1), "1 min ago"),
        (timedelta(minutes=59, seconds=59), "59 min ago"),
        (timedelta(hours=23), "23 h ago"),
        (timedelta(days=6, hours=23), "6 d ago"),
        (timedelta(days=8), "2026-02-21"),
    ],
)
def test_an_age_is_told_in_its_largest_unit_and_an_old_one_as_its_date(ago: timedelta, words: str) -> None:
    assert age_words(NOON - ago, NOON) == words


@given(st.text())
def test_a_name_is_one_line_in_which_nothing_hides(name: str) -> None:
    shown = escaped(name)
    assert len(shown.splitlines()) <= 1
    assert printable(shown) == shown
    assert escaped(shown) == shown


def test_a_command_is_named_as_the_reader_would_type_it() -> None:
    assert (typed("undo 2"), typed("redo ID", shell="redo --turn ID")) == ("/undo 2", "/redo ID")

    def on_the_command_line() -> tuple[str, str]:
        in_shell()
        return typed("undo 2"), typed("redo ID", shell="redo --turn ID")

    assert copy_context().run(on_the_command_line) == ("ragforge undo 2", "ragforge redo --turn ID")
