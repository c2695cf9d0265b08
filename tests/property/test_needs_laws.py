"""Whatever is given up, every version that is kept can be had again from every other."""

import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime

from hypothesis import given, settings
from hypothesis import strategies as st

from ragforge.domain.versions import Change, Node, NodeKind, Provenance, Version
from ragforge.versions.needs import all_contents, needed_contents
from ragforge.versions.tree import between, state_of

PATHS = ("a", "b", "c", "d")
AT = datetime(2026, 1, 1, tzinfo=UTC)


def node(content: str) -> Node:
    return Node(NodeKind.FILE, hashlib.sha256(content.encode()).hexdigest(), 0o644, len(content))


@dataclass(frozen=True)
class Tree:
    versions: list[Version]
    kept: frozenset[str]

    def line(self, version_id: str) -> list[Version]:
        by_id = {version.id: version for version in self.versions}
        found = [by_id[version_id]]
        while found[-1].parents:
            found.append(by_id[found[-1].parents[0]])
        return found


@st.composite
def trees(draw: st.DrawFn) -> Tree:
    """Versions whose changes begin with what lay there; of some paths something lay there at the root."""
    original = {path: node(f"{path} as it always was") for path in draw(st.sets(st.sampled_from(PATHS)))}
    versions: list[Version] = []
    states: dict[str, dict[str, Node | None]] = {"": {}}
    for number in range(draw(st.integers(1, 10))):
        parent = draw(st.sampled_from(["", *(version.id for version in versions)]))
        state = dict(states[parent])
        changes: list[Change] = []
        for path in draw(st.lists(st.sampled_from(PATHS), max_size=3)):
            before = state.get(path, original.get(path))
            after = draw(st.sampled_from((None, node(f"{path} {number}"), node("shared"))))
            changes.append(Change(path, before, after, Provenance.TOOL))
            state[path] = after
        name = str(number)
        states[name] = state
        versions.append(Version(name, "p", (parent,) if parent else (), AT, "person", changes=tuple(changes)))
    kept = draw(st.sets(st.sampled_from([version.id for version in versions])))
    return Tree(draw(st.permutations(versions)), frozenset(kept))


@settings(max_examples=300)
@given(trees())
def test_every_kept_version_can_be_had_from_every_other(tree: Tree) -> None:
    needed = needed_contents(tree.versions, tree.kept)
    assert needed <= all_contents(tree.versions)
    for here in tree.kept:
        own = all_contents(version for version in tree.versions if version.id == here)
        assert own <= needed, "its own changes can be undone and shown"
        state = state_of(tree.line(here))
        assert {each.digest for each in state.values() if each} <= needed
        for there in tree.kept:
            for each in between(tree.line(here), tree.line(there)):
                assert each.wanted is None or each.wanted.digest in needed
                assert each.expected is None or each.expected.digest in needed


@settings(max_examples=300)
@given(trees())
def test_what_lay_where_two_kept_ones_parted_is_there_for_a_merge(tree: Tree) -> None:
    needed = needed_contents(tree.versions, tree.kept)
    for one in tree.kept:
        for other in tree.kept:
            lines = [version.id for version in tree.line(other)]
            base = next((each for each in tree.line(one) if each.id in lines), None)
            if base:
                for each in between(tree.line(one), tree.line(base.id)):
                    assert each.wanted is None or each.wanted.digest in needed


@given(trees())
def test_all_kept_give_up_nothing_and_none_kept_need_nothing(tree: Tree) -> None:
    every = {version.id for version in tree.versions}
    assert needed_contents(tree.versions, every) == all_contents(tree.versions)
    assert needed_contents(tree.versions, set()) == set()


def test_what_only_old_versions_passed_through_is_given_up() -> None:
    contents = [node("x" * size) for size in range(1, 30)]
    versions = [
        Version(
            f"{number:02}",
            "p",
            (f"{number - 1:02}",) if number else (),
            AT,
            "person",
            changes=(Change("a", contents[number], contents[number + 1], Provenance.TOOL),),
        )
        for number in range(28)
    ]
    assert needed_contents(versions, {"27"}) == {contents[27].digest, contents[28].digest}
    assert needed_contents(versions, {"10", "27"}) == {contents[number].digest for number in (10, 11, 27, 28)}
