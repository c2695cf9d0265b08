"""What may be typed after /undo and its kin."""

import pytest

from ragforge.commands.move_arguments import Arguments, count_of, parse_arguments
from ragforge.domain.errors import UsageError
from ragforge.domain.moves import ConflictChoice, Part


@pytest.mark.parametrize(
    ("typed", "parsed"),
    [
        ("", Arguments()),
        ("3", Arguments(("3",))),
        ("  3   --files", Arguments(("3",), Part.FILES)),
        ("--chat x", Arguments(("x",), Part.CHAT)),
        ("--on-conflict merge", Arguments((), Part.BOTH, ConflictChoice.MERGE)),
        ("--on-conflict=restore x", Arguments(("x",), Part.BOTH, ConflictChoice.RESTORE)),
    ],
)
def test_words_and_options_in_any_order(typed: str, parsed: Arguments):
    assert parse_arguments("undo", typed, words_max=1) == parsed


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("1 2", "does not know what to do with '2'"),
        ("--files --chat", "give only one"),
        ("--hard", "/undo has no --hard"),
        ("--on-conflict", "takes one of: keep, restore, merge"),
        ("--on-conflict guess", "and not 'guess'"),
    ],
)
def test_what_it_does_not_know_is_said(typed: str, said: str):
    with pytest.raises(UsageError, match=said):
        parse_arguments("undo", typed, words_max=1)


def test_files_in_conflict_are_kept_unless_told():
    assert parse_arguments("undo", "", words_max=1).choices.for_path("a") is ConflictChoice.KEEP
    assert (
        parse_arguments("undo", "--on-conflict merge", words_max=1).choices.for_path("a")
        is ConflictChoice.MERGE
    )


@pytest.mark.parametrize("typed", ["0", "-1", "1.5", "x", "", "²", "10001", "99999999999999999999"])
def test_a_count_is_a_whole_number_from_1(typed: str):
    with pytest.raises(UsageError, match="a whole number from 1 to 10000"):
        count_of(typed, "The number")
    assert count_of("10000", "The number") == 10_000
