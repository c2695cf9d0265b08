from datetime import UTC, datetime

from msgspec.structs import replace

from ragforge.domain.versions import USER, Change, Node, NodeKind, Provenance, Version
from ragforge.versions.tree import (
    WantedFile,
    backward,
    between,
    foreign,
    forward,
    own_changes,
    state_of,
    summed,
    way_between,
    with_usual_modes,
)

AT = datetime(2026, 11, 1, tzinfo=UTC)
TOOL, SHELL, OUTSIDE = Provenance.TOOL, Provenance.SHELL, Provenance.OUTSIDE


def node(content: str) -> Node:
    return Node(NodeKind.FILE, content, 0o644)


A, B, C, D, E = (node(letter) for letter in "ABCDE")


def change(path: str, before: Node | None, after: Node | None, of: Provenance = TOOL, **more: bool) -> Change:
    return Change(path, before, after, of, **more)


def version(name: str, *changes: Change, session: str = "mine", parent: str = "") -> Version:
    return Version(
        name,
        "project",
        (parent,) if parent else (),
        AT,
        by="gemini:x" if session else USER,
        changes=changes,
        session_id=session,
    )


def by_user(name: str, *changes: tuple[str, Node | None, Node | None]) -> Version:
    return version(name, *(change(*each, OUTSIDE) for each in changes), session="")


def test_the_newest_change_of_a_path_tells_its_state() -> None:
    line = [
        version("3", change("a", B, C), change("new", None, A), change("new", A, B)),
        by_user("2", ("gone", A, None), ("a", A, B)),
        version("1", change("a", None, A), change("b", A, B)),
    ]
    assert state_of(line) == {"a": C, "new": B, "gone": None, "b": B}
    assert state_of([]) == {}


def test_own_are_what_tools_wrote_and_commands_that_ran_alone() -> None:
    changes = [
        change("written", None, A),
        change("by our command", None, A, SHELL),
        change("by somebody's command", None, A, SHELL, shared=True),
        change("written beside others", None, A, shared=True),
        change("by hand", None, A, OUTSIDE),
        change("restored", None, A, Provenance.RESTORE),
        change("merged", None, A, Provenance.MERGE),
    ]
    assert own_changes([version("1", *changes)]) == [changes[0], changes[1], changes[3]]


def test_undo_goes_from_the_newest_content_to_the_oldest_and_redo_back() -> None:
    first = version("1", change("a", A, B), change("b", None, A), change("same", A, B))
    second = version("2", change("a", B, C), change("a", C, D), change("same", B, A))
    assert backward([second, first]) == [WantedFile("a", D, A), WantedFile("b", A, None)]
    assert forward([first, second]) == [WantedFile("a", A, D), WantedFile("b", None, A)]
    assert backward([second]) == [WantedFile("a", D, B), WantedFile("same", A, B)]


def test_undo_leaves_out_what_may_be_anothers() -> None:
    ours = version("1", change("a", A, B, SHELL, shared=True), change("b", A, B, OUTSIDE), change("c", A, B))
    assert backward([ours]) == [WantedFile("c", B, A)]
    assert forward([ours]) == [WantedFile("c", A, B)]


def test_an_edit_by_hand_between_two_turns_is_not_taken_back_with_them() -> None:
    """The demand: what the user edited since is kept; where both touched one file it is a conflict."""
    first, second = version("1", change("a", A, B)), version("3", change("a", C, D))
    line = [second, by_user("2", ("a", B, C)), first]
    [wanted] = backward(line)
    assert wanted == WantedFile("a", B, A, earlier=((D, C),))  # D lies there: a conflict
    assert wanted.steps == ((D, C), (B, A))
    [again] = forward(line[::-1])
    assert again.steps == ((A, B), (C, D))
    assert (again.expected, again.wanted) == (C, D)


def test_an_edit_by_hand_that_was_taken_back_by_hand_is_none() -> None:
    line = [
        version("4", change("a", B, C)),
        by_user("3", ("a", E, B)),
        by_user("2", ("a", B, E)),
        version("1", change("a", A, B)),
    ]
    assert backward(line) == [WantedFile("a", C, A)]


def test_what_comes_to_nothing_between_others_edits_joins_what_is_around_it() -> None:
    line = [
        version("4", change("a", B, C)),
        version("3", change("a", D, E), change("a", E, D)),
        version("1", change("a", A, B)),
    ]
    assert backward(line) == [WantedFile("a", C, A)]


def test_checkout_goes_up_to_the_common_version_and_down_again() -> None:
    root = version("root", change("a", None, A), change("kept", None, A))
    left = [version("l2", change("l", D, None)), version("l1", change("a", A, B), change("both", C, D)), root]
    right = [version("r1", change("a", A, C), change("r", None, A), change("both", C, D)), root]
    to_right = [WantedFile("a", B, C), WantedFile("l", None, D), WantedFile("r", None, A)]
    assert between(left, right) == to_right
    assert between(right, left) == [WantedFile(each.path, each.wanted, each.expected) for each in to_right]
    assert between(left, left) == []
    assert between(left, left[1:]) == [WantedFile("l", None, D)]
    assert between(left[1:], left) == [WantedFile("l", D, None)]
    assert between([], left[1:]) == [
        WantedFile("a", None, B),
        WantedFile("both", C, D),
        WantedFile("kept", None, A),
    ]


def test_the_way_is_named_in_the_order_in_which_it_is_gone() -> None:
    root = version("root")
    left, right = [version("l2"), version("l1"), root], [version("r2"), version("r1"), root]
    way = way_between(left, right)
    assert [each.id for each in way.up] == ["l2", "l1"]
    assert way.common == root
    assert [each.id for each in way.down] == ["r1", "r2"]
    assert way_between(left[:2], right[:2]).common is None


def test_checkout_asks_about_what_another_session_changed_on_the_way() -> None:
    root = version("root", change("below", None, A), session="other")
    ours = version("1", change("ours", None, A), change("perhaps", A, B, SHELL, shared=True))
    theirs = version("2", change("theirs", None, A), change("a", A, B, SHELL), session="other")
    found_by_them = version("3", change("by hand", None, A, OUTSIDE), session="other")
    left, right = [ours, root], [found_by_them, theirs, root]
    assert foreign(left, right, "mine") == {"perhaps", "theirs", "a"}
    assert foreign(right, left, "mine") == {"perhaps", "theirs", "a"}
    assert foreign(left, right, "other") == {"perhaps", "ours"}
    assert foreign(left, [root], "mine") == {"perhaps"}


def test_a_folder_let_go_has_the_usual_mode_where_something_stays_in_it() -> None:
    def folder(mode: int) -> Node:
        return Node(NodeKind.FOLDER, "", mode)

    closed, usual = folder(0o700), folder(0o755)
    wanted = [
        WantedFile("a", closed, None),
        WantedFile("a/b", closed, None),
        WantedFile("a/b/gone", A, None),
        WantedFile("ab", closed, None),
        WantedFile("c", closed, folder(0o711)),
        WantedFile("d", A, None),
        WantedFile("e", None, closed),
    ]
    given_back = with_usual_modes(wanted, ["a/b/stays", "c/stays", "d/stays", "e/stays"])
    assert given_back == [WantedFile("a", closed, usual), WantedFile("a/b", closed, usual), *wanted[2:]]
    assert with_usual_modes(wanted, ["a", "abc", "stays"]) == wanted


def test_a_path_that_changed_several_times_is_as_uncertain_as_the_least_certain_change() -> None:
    shared, own = change("a", A, B, SHELL, shared=True), change("a", B, C, SHELL)
    for changes in ((shared, own), (replace(own, before=A, after=B), replace(shared, before=B, after=C))):
        assert summed(changes) == [change("a", A, C, SHELL, shared=True)]
    assert summed((change("a", A, B), change("a", B, C, OUTSIDE))) == [change("a", A, C, OUTSIDE)]
    assert summed((change("a", A, B, OUTSIDE), change("a", B, C))) == [change("a", A, C, OUTSIDE)]
    assert summed((change("a", A, B), change("a", B, A), change("b", None, A))) == [change("b", None, A)]
