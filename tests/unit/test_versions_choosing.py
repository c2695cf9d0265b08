"""Which turns an undo takes and in how many steps, and which undos of files alone a redo restores."""

from datetime import UTC, datetime

import pytest

from ragforge.domain.errors import UsageError
from ragforge.domain.messages import TextPart
from ragforge.domain.turns import Turn
from ragforge.domain.versions import (
    Change,
    CheckoutLog,
    MoveAction,
    Node,
    NodeKind,
    Provenance,
    Version,
)
from ragforge.domain.words import first_words
from ragforge.versions.turn_choice import runs_of, turns_to_undo, undone_files

AT = datetime(2026, 11, 21, tzinfo=UTC)


def path_of(*ids: str, session: str = "s") -> list[Turn]:
    """Turns in a row, each the parent of the next."""
    return [
        Turn(id, session, ids[place - 1] if place else None, place, (TextPart(f"do {id}"),), AT)
        for place, id in enumerate(ids)
    ]


def node(text: str) -> Node:
    return Node(NodeKind.FILE, text, 0o644, len(text))


def version(turn: str, *changes: tuple[str, str, str], kind: Provenance = Provenance.TOOL) -> Version:
    made = tuple(Change(path, node(before), node(after), kind) for path, before, after in changes)
    return Version(f"v{turn}", "p", (), AT, "model", made, session_id="s", turn_id=turn)


def ids(turns: list[Turn]) -> list[str]:
    return [turn.id for turn in turns]


def test_the_newest_turns_are_undone():
    path = path_of("a", "b", "c")
    assert ids(turns_to_undo(path, "s", 1, empty=())) == ["c"]
    assert ids(turns_to_undo(path, "s", 3, empty=())) == ["c", "b", "a"]


def test_turns_that_came_to_nothing_go_along_and_do_not_count():
    path = path_of("a", "b", "c", "d")
    assert ids(turns_to_undo(path, "s", 1, empty={"d"})) == ["d", "c"]
    assert ids(turns_to_undo(path, "s", 2, empty={"b"})) == ["d", "c"]
    assert ids(turns_to_undo(path, "s", 3, empty={"b"})) == ["d", "c", "b", "a"]
    with pytest.raises(UsageError, match="Only 3 turns of this session can be undone, not 4"):
        turns_to_undo(path, "s", 4, empty={"b"})
    with pytest.raises(UsageError, match="nothing to undo"):
        turns_to_undo(path, "s", 1, empty={"a", "b", "c", "d"})


def test_turns_of_the_session_that_this_one_was_forked_from_stay():
    path = [*path_of("a", "b", session="other"), *path_of("a", "b", "c")[2:]]
    assert ids(turns_to_undo(path, "s", 1, empty=())) == ["c"]
    with pytest.raises(UsageError, match="Only 1 turn of this session can be undone, not 2"):
        turns_to_undo(path, "s", 2, empty=())
    with pytest.raises(UsageError, match="before the fork"):
        turns_to_undo(path[:2], "s", 1, empty=())


def test_one_run_where_nobody_else_changed_anything_between():
    newest_first = path_of("a", "b", "c")[::-1]
    versions = [
        version("a", ("x", "0", "1")),
        version("b", ("y", "0", "1")),
        version("c", ("x", "1", "2"), ("y", "1", "2")),
    ]
    assert [ids(run) for run in runs_of(newest_first, versions)] == [["c", "b", "a"]]


def test_a_run_ends_where_somebody_else_changed_a_file_between_two_turns():
    newest_first = path_of("a", "b", "c")[::-1]
    versions = [
        version("a", ("x", "0", "1")),
        version("b", ("x", "edited", "2")),
        version("c", ("x", "2", "3")),
    ]
    assert [ids(run) for run in runs_of(newest_first, versions)] == [["c", "b"], ["a"]]


def test_what_is_not_the_sessions_own_ends_no_run():
    newest_first = path_of("a", "b")[::-1]
    versions = [
        version("a", ("x", "0", "1")),
        version("b", ("x", "theirs", "2"), kind=Provenance.OUTSIDE),
    ]
    assert [ids(run) for run in runs_of(newest_first, versions)] == [["b", "a"]]


def test_several_changes_of_a_file_within_a_turn_end_no_run():
    newest_first = path_of("a", "b")[::-1]
    versions = [
        version("a", ("x", "0", "1"), ("x", "1", "2")),
        version("b", ("x", "2", "3"), ("x", "3", "4")),
    ]
    assert [ids(run) for run in runs_of(newest_first, versions)] == [["b", "a"]]


def files_moved(id: str, action: MoveAction, *, at: str = "b", undoes: str = "") -> CheckoutLog:
    return CheckoutLog(id, "p", "s", action, AT, from_turn=at, to_turn=at, undoes=undoes)


UNDO, REDO = MoveAction.UNDO, MoveAction.REDO


def undone(*oldest_first: CheckoutLog) -> list[str]:
    return [move.id for move in undone_files(oldest_first[::-1], "b")]


def test_files_undone_alone_are_redone_once_and_the_newest_first():
    one, two = files_moved("1", UNDO), files_moved("2", MoveAction.REWIND)
    assert undone(one, two) == ["2", "1"]
    assert undone(one, two, files_moved("3", REDO, undoes="2")) == ["1"]
    assert undone(one, two, files_moved("3", REDO, undoes="1")) == ["2"]
    assert undone(one, two, files_moved("3", REDO, undoes="of a turn")) == ["2", "1"]


def test_a_redo_that_does_not_say_what_it_undid_undid_the_newest():
    one, two = files_moved("1", UNDO), files_moved("2", UNDO)
    assert undone(one, two, files_moved("3", REDO)) == ["1"]
    assert undone(one, files_moved("2", REDO), files_moved("3", UNDO)) == ["3"]
    assert undone(one, two, files_moved("3", REDO), files_moved("4", REDO)) == []


@pytest.mark.parametrize(
    "between",
    [
        files_moved("2", UNDO, at="a"),
        files_moved("2", MoveAction.CHECKOUT),
        CheckoutLog("2", "p", "s", UNDO, AT, from_turn="c", to_turn="b", turns=("c",)),
    ],
)
def test_files_undone_alone_are_not_redone_after_another_move(between: CheckoutLog):
    assert undone(files_moved("1", UNDO), between) == []


def test_first_words_are_one_line():
    assert first_words(" a\n b\tc ") == "a b c"
    assert first_words("abcdef", 4) == "abc…"
