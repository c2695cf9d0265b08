"""The grammar of arguments: what may be typed, what is said of the rest, what is written."""

from contextlib import suppress
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Meta, Struct

from ragforge.commands.alternatives import AlternativesArguments
from ragforge.commands.checkout import CheckoutArguments
from ragforge.commands.forget import ForgetArguments
from ragforge.commands.merge import MergeArguments
from ragforge.commands.redo import RedoArguments
from ragforge.commands.undo import UndoArguments
from ragforge.domain.arguments import Former, flags, modern, option, parse, rest, usage, word, written
from ragforge.domain.errors import UsageError
from ragforge.domain.memories import MemoryType
from ragforge.domain.moves import ConflictChoice, MergeMode, Part, Side


class RatedArguments(Struct, frozen=True):
    types: Annotated[tuple[MemoryType, ...], option("--type")] = ()
    rating: Annotated[float | None, option("--rating")] = None


@pytest.mark.parametrize(
    ("typed", "parsed"),
    [
        ("", UndoArguments()),
        ("3", UndoArguments(count=3)),
        ("  3   --files", UndoArguments(count=3, part=Part.FILES)),
        ("--files 3 --files", UndoArguments(count=3, part=Part.FILES)),
        ("--chat", UndoArguments(part=Part.CHAT)),
        ("--on-conflict merge", UndoArguments(on_conflict=ConflictChoice.MERGE)),
        ("--on-conflict=restore -- 2", UndoArguments(count=2, on_conflict=ConflictChoice.RESTORE)),
        ("2", RedoArguments(turns=2)),
        ("9999", RedoArguments(turns=9999)),
        ("12345", RedoArguments(turns="12345")),
        ("0af3", RedoArguments(turns="0af3")),
        ("'a b' --chat", CheckoutArguments(name="a b", part=Part.CHAT)),
        ('"it\'s"', CheckoutArguments(name="it's")),
        ("-- --x", CheckoutArguments(name="--x")),
        ("x --strategy best", MergeArguments(name="x", strategy=MergeMode.BEST)),
        ("--on-conflict ours x", MergeArguments(name="x", on_conflict=Side.OURS)),
        ("3 --models a,b do  it", AlternativesArguments(count=3, models=("a", "b"), prompt="do  it")),
        ("3 do --now", AlternativesArguments(count=3, prompt="do --now")),
        ("3 it's \"open", AlternativesArguments(count=3, prompt="it's \"open")),
        ("--undo 0af3", ForgetArguments(words="0af3", undo=True)),
        ("--rating 0.5", RatedArguments(rating=0.5)),
        ("--type fact,goal", RatedArguments(types=(MemoryType.FACT, MemoryType.GOAL))),
        # Behind the words too; what is no option of the verb, or not at the end, is a word.
        ("the old  port --everywhere --now", ForgetArguments("the old  port", everywhere=True, now=True)),
        ("--undo 0af3 --everywhere", ForgetArguments("0af3", undo=True, everywhere=True)),
        ("never --force", ForgetArguments("never --force")),
        ("why --now fails", ForgetArguments("why --now fails")),
        ("the rule -- --now", ForgetArguments("the rule -- --now")),
        ("-- say --now", ForgetArguments("say --now")),
        ("say '--now", ForgetArguments("say '--now")),
        ("2 do it --models a,b", AlternativesArguments(count=2, models=("a", "b"), prompt="do it")),
        ("2 do it --models=a", AlternativesArguments(count=2, models=("a",), prompt="do it")),
        ("2 what is --models", AlternativesArguments(count=2, prompt="what is --models")),
    ],
)
def test_words_and_options_in_any_order(typed: str, parsed: Struct) -> None:
    assert parse(type(parsed), typed, command="x") == parsed


@pytest.mark.parametrize(
    ("kind", "typed", "said"),
    [
        (UndoArguments, "1 2", "/undo takes no further argument: '2'."),
        (UndoArguments, "--files --chat", "/undo takes only one of --files and --chat."),
        (
            UndoArguments,
            "--hard",
            "/undo has no option --hard. Its options: --files | --chat, ",
        ),
        (UndoArguments, "-x", "/undo has no option -x."),
        (UndoArguments, "--files=yes", "/undo takes no value for --files: write only --files."),
        (
            UndoArguments,
            "--on-conflict",
            "/undo: --on-conflict must be keep, restore or merge, not ''.",
        ),
        (UndoArguments, "--on-conflict=", "must be keep, restore or merge, not ''."),
        (UndoArguments, "--on-conflict guess", "or merge, not 'guess'."),
        (RatedArguments, "--rating=", "/undo: --rating must be a number, not ''."),
        (RatedArguments, "--type fact,fib", "must be identity, goal, "),
        (UndoArguments, "'1", "/undo has an unclosed quote: '1. Close it or remove it."),
        (UndoArguments, "''", "/undo: N must be a whole number of at least 1, not ''."),
        (
            RedoArguments,
            "two",
            "N|ID must be a whole number of at least 1 or at least 4 characters of an id, not",
        ),
        (RedoArguments, "0", "an id, not '0'."),
        (CheckoutArguments, "", "/undo needs NAME|VERSION: A branch, a label, HEAD, or a part of an id."),
    ],
)
def test_what_it_does_not_know_is_said_with_what_it_takes(kind: type[Struct], typed: str, said: str) -> None:
    with pytest.raises(UsageError) as raised:
        parse(kind, typed, command="undo")
    assert said in str(raised.value)


@pytest.mark.parametrize("typed", ["0", "-1", "1.5", "x", "²", "1" * 5000])
def test_a_count_is_a_whole_number_from_1(typed: str) -> None:
    with pytest.raises(UsageError, match="a whole number of at least 1, not"):
        parse(UndoArguments, typed, command="undo")


def test_files_in_conflict_are_kept_unless_told() -> None:
    assert UndoArguments().choices.for_path("a") is ConflictChoice.KEEP
    assert UndoArguments(on_conflict=ConflictChoice.MERGE).choices.for_path("a") is ConflictChoice.MERGE


class Everything(Struct, frozen=True, kw_only=True):
    """An argument of each kind."""

    name: Annotated[str, word("NAME")]
    number: Annotated[int | None, Meta(ge=0, le=99), word("N")] = None
    side: Annotated[Side | None, option("--side", "-s")] = None
    part: Annotated[Part, flags(files="", chat="")] = Part.BOTH
    sure: Annotated[bool, option("--sure")] = False
    names: Annotated[tuple[str, ...], option("--names", metavar="A,B")] = ()
    text: Annotated[str, rest("TEXT")] = ""


WORDS = st.text(
    st.characters(exclude_categories=["Cs", "Cc", "Z"], exclude_characters='"')
) | st.sampled_from(["--sure", "a b", "it's", "x=y", "a --sure", "a --side b", "a -- --sure", "-- a"])


@given(
    st.builds(
        Everything,
        name=WORDS.filter(lambda text: text and not text.startswith("-")),
        number=st.integers(0, 99),
        side=st.none() | st.sampled_from(Side),
        part=st.sampled_from(Part),
        sure=st.booleans(),
        names=st.lists(st.text("abc:", min_size=1)).map(tuple),
        text=WORDS.map(str.strip),
    )
)
def test_what_is_written_is_parsed_again(args: Everything) -> None:
    assert parse(Everything, written(args), command="x") == args


@given(st.text())
def test_whatever_is_typed_is_taken_or_refused_with_words(text: str) -> None:
    for kind in (Everything, UndoArguments, MergeArguments, ForgetArguments):
        with suppress(UsageError):
            assert isinstance(parse(kind, text, command="x"), kind)


def test_the_usage_names_what_may_be_typed() -> None:
    assert usage(MergeArguments) == (
        "NAME|VERSION [--on-conflict markers|ours|theirs] [--strategy best|combine_best|resolve_conflicts]"
    )
    assert usage(Everything) == (
        "NAME [N [TEXT]] [--files | --chat] [--sure] [--side markers|ours|theirs] [--names A,B]"
    )


@pytest.mark.parametrize(
    ("words", "now", "notices"),
    [
        (["x", "--ours"], ["--on-conflict", "ours", "x"], ["--ours is now --on-conflict ours"]),
        (["--turn", "0af3", "--chat"], ["0af3", "--chat"], ["--turn ID is now ID"]),
        (["--turn=0af3"], ["0af3"], ["--turn ID is now ID"]),
        (["--chat", "--take", "2"], ["take", "2", "--chat"], ["--take K is now take K"]),
        (["--", "--ours"], ["--", "--ours"], []),
        (["x", "ours"], ["x", "ours"], []),
    ],
)
def test_spellings_of_before_are_taken_and_told(words: list[str], now: list[str], notices: list[str]) -> None:
    former = (Former("--ours", "--on-conflict ours"), Former("--turn ID", "ID"), Former("--take K", "take K"))
    said: list[Any] = []
    assert modern(words, former, tell=said.append) == now
    assert said == [f"{notice}; the old spelling works until the next release." for notice in notices]
