"""What was noted of a turn, put together: it says of every path what the notes say, and no more."""

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from ragforge.domain.versions import Change, Node, NodeKind, Provenance
from ragforge.versions.scan.changes import scan
from ragforge.versions.scan.manifest import Manifest, part_of, with_notes
from ragforge.versions.scan.nodes import node_at
from ragforge.versions.scan.track_rules import TrackRules
from ragforge.versions.tree import changes_of, merged, touches

PATHS = ("a", "b", "folder/c", "folder/deeper/d", "odd\udcff")
NODES = st.one_of(
    st.none(),
    st.builds(
        Node,
        st.just(NodeKind.FILE),
        st.sampled_from("abc").map(lambda char: char * 64),
        st.sampled_from((0o644, 0o755)),
        st.integers(0, 3),
    ),
    st.just(Node(NodeKind.LINK, "d" * 64, 0, 1)),
)


@st.composite
def notes_of(draw: st.DrawFn) -> list[Change]:
    """Notes as they are made: each begins with what lay there, but where somebody else was in between."""
    lying: dict[str, Node | None] = {}
    notes: list[Change] = []
    for _ in range(draw(st.integers(0, 12))):
        path, after = draw(st.sampled_from(PATHS)), draw(NODES)
        before = draw(NODES) if draw(st.booleans()) else lying.get(path)
        provenance = draw(st.sampled_from((Provenance.TOOL, Provenance.SHELL)))
        shared = provenance is Provenance.SHELL and draw(st.booleans())
        if before != after:
            notes.append(Change(path, before, after, provenance, shared=shared))
            lying[path] = after
    return notes


@given(notes_of())
def test_what_is_put_together_leads_from_where_the_notes_begin_to_where_they_end(notes: list[Change]) -> None:
    found = merged(notes)
    for path in PATHS:
        own = [note for note in notes if note.path == path]
        kept = [change for change in found if change.path == path]
        if kept:
            assert kept[-1].after == own[-1].after
        elif own:
            assert own[-1].after in {note.before for note in own}
    assert [change.path for change in found] == sorted(change.path for change in found)


@given(notes_of())
def test_without_anybody_between_a_path_goes_from_its_first_state_to_its_last(notes: list[Change]) -> None:
    for path in PATHS:
        own = [note for note in notes if note.path == path]
        chained = [
            replace(note, before=own[at - 1].after if at else note.before) for at, note in enumerate(own)
        ]
        kept = merged(chained)
        assert all(change.before != change.after for change in kept)
        steps = [(change.before, change.after) for change in kept]
        assert all(steps[at][1] == steps[at + 1][0] for at in range(len(steps) - 1))
        if kept:
            assert (steps[0][0], steps[-1][1]) == (chained[0].before, chained[-1].after)
        elif chained:
            assert chained[0].before == chained[-1].after


@given(notes_of())
def test_every_content_that_was_overwritten_is_named(notes: list[Change]) -> None:
    for path in PATHS:
        own = [note for note in notes if note.path == path]
        kept = [change for change in merged(notes) if change.path == path]
        named = digests_of(kept)
        if own:
            # What lay there at first and at last is told by what came before and lies there.
            assert digests_of(own) - named <= digests_of([replace(own[0], after=own[-1].after)])


def digests_of(changes: list[Change]) -> set[str]:
    return {node.digest for change in changes for node in (change.before, change.after) if node}


@given(notes_of())
def test_what_is_certain_is_never_put_together_with_what_may_be_anothers(notes: list[Change]) -> None:
    certain = {(note.path, note.before) for note in notes if note.is_own}
    for change in merged(notes):
        if change.is_own:
            assert (change.path, change.before) in certain


@given(notes_of(), notes_of())
def test_a_manifest_with_notes_holds_what_they_left(first: list[Change], second: list[Change]) -> None:
    manifest = with_notes(with_notes(Manifest(), first), second)
    state: dict[str, Node | None] = {}
    for note in (*first, *second):
        state[note.path] = note.after
    for path, node in state.items():
        assert manifest.node(path) == node
    assert {path: seen.node for path, seen in manifest.entries.items()} == {
        path: node for path, node in state.items() if node is not None
    }
    read_again = Manifest.from_bytes(manifest.to_bytes())
    assert read_again.entries == manifest.entries
    some = [path for path in state if path != "a"]
    assert set(part_of(manifest, some).entries) == {path for path in some if state[path] is not None}
    assert touches(first, second) == bool({note.path for note in first} & {note.path for note in second})


def test_a_scan_after_noted_changes_finds_nothing_new(tmp_path: Path) -> None:
    """As another process does, which knows the last manifest and the notes of a turn that runs."""
    track_rules = TrackRules(tmp_path, None, 1_000_000)
    (tmp_path / "kept").write_text("as it was")
    (tmp_path / "gone").mkdir()
    (tmp_path / "gone" / "file").write_text("x")
    (tmp_path / "empty").mkdir()
    first = scan(track_rules, Manifest()).manifest
    before = {
        path: node_at(tmp_path / path) for path in ("gone/file", "empty", "empty/new", "a/b/link", "hollow")
    }
    (tmp_path / "gone" / "file").unlink()
    (tmp_path / "gone").rmdir()
    (tmp_path / "empty" / "new").write_text("y")
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "link").symlink_to("../kept")
    (tmp_path / "hollow").mkdir(mode=0o700)
    found = scan(track_rules, first)
    notes = changes_of(found.differences, Provenance.TOOL)
    assert {note.path for note in notes} == set(before)
    again = scan(track_rules, with_notes(Manifest.from_bytes(first.to_bytes()), notes))
    assert again.differences == {}
    assert again.manifest.entries == found.manifest.entries
