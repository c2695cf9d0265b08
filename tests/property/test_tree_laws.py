"""Laws of the version tree: what changes alone tell, beside a model that keeps each version's whole state."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import groupby

from hypothesis import given, settings
from hypothesis import strategies as st

from ragforge.domain.versions import USER, Change, Node, NodeKind, Provenance, Version
from ragforge.versions.tree import WantedFile, backward, between, foreign, forward, state_of

AT = datetime(2026, 11, 1, tzinfo=UTC)
PATHS = ("a", "b/gr\udce9n")  # few, so that they are changed again and again
NODES = (None, *(Node(NodeKind.FILE, letter, 0o644) for letter in "xy"))
MINE, THEIRS, NOBODY = "mine", "theirs", ""

State = dict[str, Node | None]


@dataclass
class Tree:
    """Versions, each one's first parent by index, and what lay at every path after it."""

    start: State
    versions: list[Version] = field(default_factory=list)
    parents: list[int | None] = field(default_factory=list)
    states: list[State] = field(default_factory=list)

    def grow(
        self, parent: int | None, session: str, edits: list[tuple[str, Node | None, bool, bool]]
    ) -> None:
        state = dict(self.start if parent is None else self.states[parent])
        changes: list[Change] = []
        for path, after, by_command, shared in edits:
            if session == NOBODY:
                of = Provenance.OUTSIDE
            else:
                of = Provenance.SHELL if by_command else Provenance.TOOL
            if state[path] != after:
                changes.append(Change(path, state[path], after, of, shared=by_command and shared))
                state[path] = after
        number = str(len(self.versions))
        above = () if parent is None else (self.versions[parent].id,)
        self.versions.append(
            Version(number, "p", above, AT, session or USER, tuple(changes), session_id=session)
        )
        self.parents.append(parent)
        self.states.append(state)

    def line(self, index: int) -> list[Version]:
        found: list[Version] = []
        at: int | None = index
        while at is not None:
            found.append(self.versions[at])
            at = self.parents[at]
        return found

    def below(self, index: int, count: int) -> State:
        """The state before the newest `count` versions of the line."""
        at: int | None = index
        for _ in range(count):
            assert at is not None
            at = self.parents[at]
        return self.start if at is None else self.states[at]


nodes = st.sampled_from(NODES)
edits = st.lists(st.tuples(st.sampled_from(PATHS), nodes, st.booleans(), st.booleans()), max_size=3)
sizes = st.integers(5, 10) | st.integers(1, 4)


@st.composite
def trees(draw: st.DrawFn) -> Tree:
    tree = Tree({path: draw(nodes) for path in PATHS})
    for number in range(draw(sizes)):
        # Mostly on from the newest: long lines tell more than bushes.
        parent = draw(st.sampled_from([number - 1, number - 1, number - 1, *range(-1, number)]))
        session = draw(st.sampled_from([MINE, MINE, THEIRS, NOBODY]))
        tree.grow(None if parent < 0 else parent, session, draw(edits))
    return tree


@st.composite
def lines(draw: st.DrawFn) -> tuple[Tree, int, int]:
    """A tree, a version of it, and how many versions from it on downwards are meant."""
    tree = draw(trees())
    head = len(tree.versions) - 1 - draw(st.integers(0, len(tree.versions) - 1))
    length = len(tree.line(head))
    return tree, head, length - draw(st.integers(0, length - 1))


@st.composite
def pairs(draw: st.DrawFn) -> tuple[Tree, int, int]:
    tree = draw(trees())
    last = len(tree.versions) - 1
    return tree, last - draw(st.integers(0, last)), draw(st.integers(0, last))


def applied(wanted: list[WantedFile], disk: State) -> State:
    """The disk after a restore that keeps what is in conflict and knows nothing of steps."""
    result = dict(disk)
    for each in wanted:
        if disk[each.path] == each.expected:
            result[each.path] = each.wanted
    return result


def of_mine(versions: Sequence[Version]) -> list[Version]:
    return [version for version in versions if version.session_id == MINE]


def owners(versions: list[Version]) -> dict[str, set[str]]:
    """Who changed each path; what a command changed beside another session is nobody's."""
    found: dict[str, set[str]] = {}
    for version in versions:
        for change in version.changes:
            found.setdefault(change.path, set()).add(NOBODY if change.shared else version.session_id)
    return found


@settings(max_examples=200)
@given(pairs())
def test_state_of_a_line_is_what_replaying_it_gives(case: tuple[Tree, int, int]) -> None:
    tree, head, _ = case
    state = state_of(tree.line(head))
    assert tree.start | state == tree.states[head]
    assert state.keys() == owners(tree.line(head)).keys()


@settings(max_examples=200)
@given(pairs())
def test_between_leads_exactly_from_state_to_state(case: tuple[Tree, int, int]) -> None:
    tree, head, target = case
    wanted = between(tree.line(head), tree.line(target))
    at_head, at_target = tree.states[head], tree.states[target]
    assert [each.path for each in wanted] == sorted(
        path for path in PATHS if at_head[path] != at_target[path]
    )
    assert all(each.expected == at_head[each.path] for each in wanted)
    assert applied(wanted, at_head) == at_target


@settings(max_examples=200)
@given(pairs())
def test_between_needs_nothing_below_the_common_version(case: tuple[Tree, int, int]) -> None:
    tree, head, target = case
    ours, theirs = tree.line(head), tree.line(target)
    ids = {version.id for version in theirs}
    shared = [version for version in ours if version.id in ids]
    below = {version.id for version in shared[1:]}
    cut = [[version for version in line if version.id not in below] for line in (ours, theirs)]
    assert between(*cut) == between(ours, theirs)


@settings(max_examples=200)
@given(pairs())
def test_foreign_are_the_paths_on_the_way_that_the_session_alone_did_not_change(
    case: tuple[Tree, int, int],
) -> None:
    tree, head, target = case
    ours, theirs = tree.line(head), tree.line(target)
    way = [version for version in ours if version not in theirs] + [
        version for version in theirs if version not in ours
    ]
    by_sessions = [version for version in way if version.session_id]
    expected = {path for path, whose in owners(by_sessions).items() if whose != {MINE}}
    assert foreign(ours, theirs, MINE) == expected
    # Where nothing is asked and nothing was edited by hand, only our own changes are moved.
    by_hand = owners([version for version in way if not version.session_id]).keys()
    for each in between(ours, theirs):
        if each.path not in expected | by_hand:
            assert owners(way)[each.path] == {MINE}


@given(lines())
def test_undo_of_what_nobody_else_touched_brings_back_the_state_before(case: tuple[Tree, int, int]) -> None:
    tree, head, count = case
    newest = tree.line(head)[:count]
    at_head, before = tree.states[head], tree.below(head, count)
    after = applied(backward(of_mine(newest)), at_head)
    for path in PATHS:
        whose = owners(newest).get(path, set())
        if whose == {MINE}:
            assert after[path] == before[path]
        if MINE not in whose:
            assert after[path] == at_head[path]


@given(lines())
def test_undo_then_redo_changes_nothing(case: tuple[Tree, int, int]) -> None:
    tree, head, count = case
    newest = tree.line(head)[:count]
    at_head = tree.states[head]
    undone = applied(backward(of_mine(newest)), at_head)
    taken_back = {path for path in PATHS if undone[path] != at_head[path]}
    redone = applied(forward(of_mine(newest[::-1])), undone)
    for path in taken_back:
        [whole] = [each for each in forward(of_mine(newest[::-1])) if each.path == path]
        if not whole.earlier:
            assert redone[path] == at_head[path]


@given(lines())
def test_redo_is_the_inverse_of_undo_step_by_step(case: tuple[Tree, int, int]) -> None:
    tree, head, count = case
    newest = tree.line(head)[:count]
    back, forth = backward(of_mine(newest)), forward(of_mine(newest[::-1]))
    assert [each.path for each in back] == [each.path for each in forth]
    for one, other in zip(back, forth, strict=True):
        assert one.steps == tuple((wanted, expected) for expected, wanted in reversed(other.steps))
        assert all(expected != wanted for expected, wanted in one.steps)


@given(lines())
def test_what_another_left_at_a_path_is_never_undone(case: tuple[Tree, int, int]) -> None:
    """A content that lies there by another's change stays, unless the session had put the very same there."""
    tree, head, count = case
    newest = tree.line(head)[:count]
    at_head = tree.states[head]
    after = applied(backward(of_mine(newest)), at_head)
    for path in PATHS:
        ours = {
            change.after
            for version in newest
            for change in version.changes
            if change.path == path and version.session_id == MINE and not change.shared
        }
        if at_head[path] not in ours:
            assert after[path] == at_head[path]


@given(st.lists(st.sampled_from([MINE, MINE, THEIRS, NOBODY]), max_size=8))
def test_each_stretch_of_own_changes_between_those_of_others_is_a_step(authors: list[str]) -> None:
    contents = [None, *(Node(NodeKind.FILE, str(number), 0o644) for number in range(len(authors)))]
    tree = Tree({"a": None})
    for number, author in enumerate(authors):
        tree.grow(number - 1 if number else None, author, [("a", contents[number + 1], False, False)])
    steps: list[tuple[Node | None, Node | None]] = []
    for author, stretch in groupby(range(len(authors)), key=authors.__getitem__):
        if author == MINE:
            places = list(stretch)
            steps.append((contents[places[0]], contents[places[-1] + 1]))
    back, forth = backward(of_mine(tree.versions[::-1])), forward(of_mine(tree.versions))
    assert [each.steps for each in forth] == [tuple(steps)] * bool(steps)
    assert [each.steps for each in back] == [tuple((new, old) for old, new in steps[::-1])] * bool(steps)
