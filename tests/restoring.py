"""A folder to restore, with a state and a blob store of its own; what lies in it as a value."""

import hashlib
import json
import os
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import msgspec

from ragforge.domain.json import JsonObject
from ragforge.domain.moves import ConflictChoice
from ragforge.domain.versions import Node, NodeKind
from ragforge.store.blobs import SqliteBlobs
from ragforge.store.json_text import to_json
from ragforge.versions.restore.operation import Plan, Skipped, apply
from ragforge.versions.restore.plan import make_plan
from ragforge.versions.state import HistoryState, open_history_state
from ragforge.versions.tree import WantedFile, with_usual_modes

FILE_MODE, FOLDER_MODE = 0o644, 0o755


@dataclass(frozen=True)
class A:
    """What lies at a path: a file's content, a link's target, or a folder as a path of its own (None)."""

    content: bytes | None
    mode: int = FILE_MODE
    is_link: bool = False

    @property
    def node(self) -> Node:
        if self.content is None:
            return Node(NodeKind.FOLDER, "", self.mode)
        digest = hashlib.sha256(self.content).hexdigest()
        kind = NodeKind.LINK if self.is_link else NodeKind.FILE
        return Node(kind, digest, 0 if self.is_link else self.mode, len(self.content))


def a_file(content: bytes | str, mode: int = FILE_MODE) -> A:
    return A(content.encode() if isinstance(content, str) else content, mode)


def a_link(target: str) -> A:
    return A(os.fsencode(target), 0, is_link=True)


def a_folder(mode: int = FOLDER_MODE) -> A:
    return A(None, mode)


Tree: TypeAlias = Mapping[str, A]
"""A whole folder: files, links, and folders that are empty or have another mode than others, by path."""


def write_tree(root: Path, tree: Tree) -> None:
    """Put it there; the modes of all other folders are FOLDER_MODE."""
    root.mkdir(exist_ok=True)
    for path, what in sorted(tree.items()):
        place = root / path
        for folder in reversed(place.relative_to(root).parents[:-1]):
            if not (root / folder).exists():
                (root / folder).mkdir()
                (root / folder).chmod(FOLDER_MODE)
        if what.content is None:
            place.mkdir()
            place.chmod(what.mode)
        elif what.is_link:
            place.symlink_to(os.fsdecode(what.content))
        else:
            place.write_bytes(what.content)
            place.chmod(what.mode)


def read_tree(root: Path) -> dict[str, A]:
    """What lies there, whole."""
    found: dict[str, A] = {}
    for folder, names, files in os.walk(root):
        for name in [*names, *files]:
            place = Path(folder, name)
            mode = place.lstat().st_mode
            path = str(place.relative_to(root))
            if stat.S_ISLNK(mode):
                found[path] = A(os.fsencode(place.readlink()), 0, is_link=True)
            elif stat.S_ISREG(mode):
                found[path] = A(place.read_bytes(), stat.S_IMODE(mode))
            elif stat.S_ISDIR(mode):
                if not any(place.iterdir()) or stat.S_IMODE(mode) != FOLDER_MODE:
                    found[path] = A(None, stat.S_IMODE(mode))
            else:
                raise AssertionError(f"{path} is something else")
    return found


def wanted_between(before: Tree, after: Tree) -> list[WantedFile]:
    """What leads from the one state to the other."""
    wanted = [
        WantedFile(path, _node(before, path), _node(after, path))
        for path in sorted({*before, *after})
        if before.get(path) != after.get(path)
    ]
    return with_usual_modes(wanted, before.keys() & after.keys())


WANTED_NAME = "wanted.json"


def write_wanted(folder: Path, wanted: Sequence[WantedFile]) -> None:
    """For another process that restores there."""
    (folder / WANTED_NAME).write_text(to_json(msgspec.to_builtins(wanted)))


def read_wanted(folder: Path) -> list[WantedFile]:
    """The inverse of `write_wanted`."""
    return msgspec.convert(json.loads((folder / WANTED_NAME).read_text()), list[WantedFile])


def _node(tree: Tree, path: str) -> Node | None:
    return tree[path].node if path in tree else None


@dataclass(frozen=True)
class Restored:
    """What came of a restore, from its plan to its end."""

    done: tuple[str, ...]
    skipped: tuple[Skipped, ...]
    marked: tuple[str, ...]


@dataclass(frozen=True)
class Place:
    """A project's folder, and what ragforge keeps of it."""

    root: Path
    data_dir: Path
    state: HistoryState
    blobs: SqliteBlobs

    async def keep(self, *trees: Tree) -> None:
        """The contents are in the blob store."""
        contents = [what.content for tree in trees for what in tree.values()]
        await self.blobs.put_many([each for each in contents if each is not None])

    async def plan(
        self,
        wanted: Sequence[WantedFile],
        choices: Mapping[str, ConflictChoice] | None = None,
        then: JsonObject | None = None,
    ) -> Plan:
        return await make_plan(
            self.root, wanted, choices or {}, self.blobs, title="undo of turn 1", then=then or {}
        )

    async def restore(
        self, wanted: Sequence[WantedFile], choices: Mapping[str, ConflictChoice] | None = None
    ) -> Restored:
        """Plan and apply, and end it as a caller does."""
        plan = await self.plan(wanted, choices)
        applied = await apply(plan, self.state, self.blobs)
        await self.state.clear_journal(self.root)
        return Restored(applied.done, (*plan.skipped, *applied.skipped), plan.marked)

    async def close(self) -> None:
        await self.state.close()
        await self.blobs.close()


async def open_place(folder: Path) -> Place:
    """In an existing folder; the project lies in `project` below it."""
    root, data_dir = folder / "project", folder / "data"
    root.mkdir(exist_ok=True)
    data_dir.mkdir(exist_ok=True)
    state = await open_history_state(data_dir)
    return Place(root, data_dir, state, SqliteBlobs(data_dir / "blobs.db"))
