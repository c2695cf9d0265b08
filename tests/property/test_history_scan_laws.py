"""Whatever is done to a folder, a scan finds exactly what is different afterwards."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hypothesis import example, given, settings
from hypothesis import strategies as st

from ragforge.domain.versions import Node, NodeKind
from ragforge.versions.scan.changes import scan
from ragforge.versions.scan.manifest import Manifest
from ragforge.versions.scan.nodes import node_at
from ragforge.versions.scan.track_rules import TrackRules

NAMES = ("a", "b", "dir", "\udce9t\udce9", "line\nfeed")
PATHS = st.lists(st.sampled_from(NAMES), min_size=1, max_size=3).map("/".join)
CONTENTS = st.sampled_from((b"", b"one", b"two", b"x" * 50))
LIMIT = 40

ACTIONS = st.one_of(
    st.tuples(st.just("write"), PATHS, CONTENTS),
    st.tuples(st.just("link"), PATHS, CONTENTS.filter(bool)),
    st.tuples(st.just("folder"), PATHS, st.just(b"")),
    st.tuples(st.just("remove"), PATHS, st.just(b"")),
    st.tuples(st.just("mode"), PATHS, st.just(b"")),
    st.tuples(st.just("move"), PATHS, PATHS.map(os.fsencode)),
)
Action = tuple[str, str, bytes]


def act(root: Path, action: Action) -> None:
    """Do it as far as it can be done."""
    kind, path, content = action
    at = root / path
    try:
        if kind in {"write", "link", "folder"}:
            at.parent.mkdir(parents=True, exist_ok=True)
        match kind:
            case "write":
                at.write_bytes(content)
            case "link":
                at.symlink_to(os.fsdecode(content))
            case "folder":
                at.mkdir()
            case "remove" if at.is_dir() and not at.is_symlink():
                shutil.rmtree(at)
            case "remove":
                at.unlink()
            case "mode" if not at.is_symlink():
                at.chmod(at.stat().st_mode ^ 0o011)
            case "move":
                at.rename(root / os.fsdecode(content))
            case _:
                pass
    except OSError:
        pass


def state_of(root: Path) -> dict[str, Node]:
    """Every path that is tracked, read anew."""
    found: dict[str, Node] = {}
    for folder, folders, files in os.walk(root):
        for name in (*folders, *files, ""):
            at = Path(folder) / name
            node = node_at(at)
            if node and at != root and not (node.kind is NodeKind.FILE and node.size > LIMIT):
                found[str(at.relative_to(root))] = node
    return found


@contextmanager
def new_root() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        yield Path(name).resolve()


def oracle(before: dict[str, Node], after: dict[str, Node]) -> dict[str, tuple[Node | None, Node | None]]:
    paths = before.keys() | after.keys()
    return {p: (before.get(p), after.get(p)) for p in paths if before.get(p) != after.get(p)}


def tracked(manifest: Manifest) -> dict[str, Node]:
    return {path: seen.node for path, seen in manifest.entries.items()}


RULES = st.lists(st.sampled_from(("a\n", "dir/\n", "b\n!dir/b\n", "", "*\n!.gitignore\n")), min_size=4)
ROUNDS = st.lists(st.lists(ACTIONS, max_size=8), min_size=1, max_size=4)


@settings(max_examples=60)
@given(ROUNDS)
def test_a_scan_finds_exactly_what_differs(rounds: list[list[Action]]) -> None:
    with new_root() as root:
        track_rules = TrackRules(root, None, LIMIT)
        last = scan(track_rules, Manifest()).manifest
        large: set[str] = set()
        for actions in rounds:
            before = state_of(root)
            assert tracked(last) == before
            for action in actions:
                act(root, action)
            found = scan(track_rules, Manifest.from_bytes(last.to_bytes()))
            after = state_of(root)
            # What lay there while it was too large is not known.
            expected = {
                path: nodes
                for path, nodes in oracle(before, after).items()
                if not (nodes[0] is None and path in large)
            }
            assert found.differences == expected
            assert tracked(found.manifest) == after
            assert found.manifest == Manifest.from_bytes(found.manifest.to_bytes())
            fresh = scan(track_rules, Manifest()).manifest
            assert tracked(fresh) == after
            assert found.manifest.untracked == fresh.untracked
            assert {path: node.digest for path, node in after.items() if path in found.read} == found.read
            last, large = found.manifest, set(found.manifest.untracked)


@settings(max_examples=60)
@given(ROUNDS, st.lists(st.lists(PATHS, max_size=4), min_size=4, max_size=4))
def test_looking_at_some_paths_first_changes_nothing(
    rounds: list[list[Action]], some: list[list[str]]
) -> None:
    with new_root() as root:
        track_rules = TrackRules(root, None, LIMIT)
        last = scan(track_rules, Manifest()).manifest
        for actions, paths in zip(rounds, some, strict=False):
            for action in actions:
                act(root, action)
            whole = scan(track_rules, last)
            part = scan(track_rules, last, paths=paths)
            for path, nodes in whole.differences.items():
                asked = any(path == each or path.startswith(f"{each}/") for each in paths)
                if asked:
                    assert part.differences.get(path) == nodes, "a path is meant with all below it"
            rest = scan(track_rules, part.manifest)
            joined = dict(part.differences)
            for path, (before, after) in rest.differences.items():
                first = joined[path][0] if path in joined else before
                joined[path] = (first, after)
            assert {path: each for path, each in joined.items() if each[0] != each[1]} == whole.differences
            assert tracked(rest.manifest) == tracked(whole.manifest)
            assert rest.manifest.untracked == whole.manifest.untracked
            last = rest.manifest


@settings(max_examples=60)
@given(ROUNDS, RULES)
@example([[("folder", "a", b"")], [("remove", "a", b""), ("write", "a", b"")]], ["dir/\n", "a\n"])
@example([[("write", "a", b"")], [("remove", "a", b""), ("folder", "a", b"")]], ["dir/\n", "a\n"])
def test_what_is_tracked_stays_so_whatever_is_ignored(rounds: list[list[Action]], rules: list[str]) -> None:
    with new_root() as root:
        track_rules = TrackRules(root, None, LIMIT)
        last = scan(track_rules, Manifest()).manifest
        for actions, rule in zip(rounds, rules, strict=False):
            (root / ".gitignore").write_text(rule)
            for action in actions:
                act(root, action)
            found = scan(track_rules, last)
            there = state_of(root)
            for path in tracked(last):
                if path in there:
                    assert found.manifest.node(path) == there[path], "its last state can always be had"
                else:
                    assert path in found.differences
            assert set(tracked(found.manifest)) <= set(there)
            for before, after in found.differences.values():
                assert before or after
            last = found.manifest
