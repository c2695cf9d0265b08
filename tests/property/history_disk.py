"""The folder of `test_history_machine`: what lies there, what is done to it, and what must be true of it."""

import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

from hypothesis import strategies as st

from ragforge.domain.versions import Node, Version
from ragforge.versions.scan.nodes import node_at
from ragforge.versions.tree import state_of

# A path may be a file now and a folder with something in it later.
PATHS = ("a.txt", "b.txt", "x", "x/y", "x/z/deep", "ordner/数.bin", "ordner/Grüße", "\udcff.raw")
LINES = [f"line {number}\n".encode() for number in range(8)]
Disk = dict[str, Node]


def a_content(data: st.DataObject, number: int) -> bytes:
    """One that is nowhere else, or now and then one that may be; with lines that a merge can go by."""
    match data.draw(st.integers(0, 5)):
        case 0:
            return b""
        case 1:
            return b"the same\r\n"
        case 2:
            return b"\0binary %d" % number
        case _:
            lines = list(LINES)
            lines[data.draw(st.integers(0, len(lines) - 1))] = b"changed %d\n" % number
            return b"".join(lines)


def disk_of(root: Path) -> Disk:
    """Every file and link, and the folders that are paths of their own."""
    found: Disk = {}
    for path in root.rglob("*"):
        if (node := node_at(path)) is not None:
            found[str(path.relative_to(root))] = node
    return found


def change(root: Path, data: st.DataObject, content: Callable[[], bytes]) -> None:
    """Something that a user or a command does with paths."""
    path = root / data.draw(st.sampled_from(PATHS))
    match data.draw(st.integers(0, 7)) if is_free(root, path) else 7:
        case 0 if path.is_symlink() or path.is_file():
            path.unlink()
        case 1 if path.parent != root and path.parent.is_dir():
            shutil.rmtree(path.parent)
        case 2 if os.path.lexists(path):
            to = root / data.draw(st.sampled_from(PATHS))
            if not to.is_relative_to(path) and not path.is_relative_to(to):
                make_way(root, to)
                path.rename(to)
        case 3 if path.is_file() and not path.is_symlink():
            path.chmod(data.draw(st.sampled_from([0o600, 0o644, 0o755])))
        case 3 if (folder := path if path.is_dir() else path.parent) != root and is_folder(folder):
            folder.chmod(data.draw(st.sampled_from([0o700, 0o755, 0o777])))
        case 4:
            make_way(root, path)
            path.symlink_to(data.draw(st.sampled_from(["a.txt", "nowhere", ".."])))
        case 5:
            make_way(root, path)
            path.mkdir()
        case _:
            make_way(root, path)
            path.write_bytes(content())


def is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def is_free(root: Path, path: Path) -> bool:
    """Whether nothing but folders lies above it."""
    above = [root / each for each in path.relative_to(root).parents[:-1]]
    return all(each.is_dir() and not each.is_symlink() for each in above if os.path.lexists(each))


def make_way(root: Path, path: Path) -> None:
    """Remove what lies there, and files where folders have to be."""
    for above in reversed(path.relative_to(root).parents[:-1]):
        if (root / above).is_symlink() or (root / above).is_file():
            (root / above).unlink()
    if path.is_symlink() or path.is_file():
        path.unlink()
    elif path.is_dir():
        shutil.rmtree(path)
    path.parent.mkdir(parents=True, exist_ok=True)


def contents_of(disk: Mapping[str, Node]) -> set[tuple[str, str]]:
    """The contents of files and links, by their paths."""
    return {(path, node.digest) for path, node in disk.items() if node.digest}


def is_made_way(path: str, before: Disk, after: Disk) -> bool:
    """Whether a folder came or went because something else in it went or came."""
    nodes = [node for node in (before.get(path), after.get(path)) if node]
    return all(node.kind == "folder" for node in nodes)


def assert_no_cycle(versions: dict[str, Version]) -> None:
    left = dict(versions)
    while left:
        ready = [each.id for each in left.values() if not any(parent in left for parent in each.parents)]
        assert ready, left
        for each in ready:
            del left[each]
    assert {parent for each in versions.values() for parent in each.parents} <= set(versions)


def assert_head_is_disk(line: list[Version], root: Path, disk: Disk, baseline: Disk) -> None:
    state = state_of(line)
    for path, node in state.items():
        assert node == node_at(root / path), path
    assert {path: disk[path] for path in disk if path not in state} == {
        path: node for path, node in baseline.items() if path not in state
    }
