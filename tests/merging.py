"""Versions of a project in a real store, written as the files that differ, and merges of them."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from ragforge.domain.ids import new_id
from ragforge.domain.turns import Project
from ragforge.domain.versions import Change, Node, NodeKind, Provenance, Version
from ragforge.store.base import Store
from ragforge.store.blobs import SqliteBlobs
from ragforge.store.open import open_store
from ragforge.versions.merge.three_way import MergeConflict, VersionMerge, merge_versions
from tests.contract.builders import NOON, a_project

Files = Mapping[str, "bytes | Node | None"]


@dataclass
class Tree:
    """Versions of a project, each written as the files that differ from its first parent's."""

    store: Store
    blobs: SqliteBlobs
    project: Project
    states: dict[str, dict[str, Node | None]] = field(default_factory=dict)
    count: int = 0

    async def node(self, content: "bytes | Node | None", mode: int = 0o644) -> Node | None:
        if not isinstance(content, bytes):
            return content
        return Node(NodeKind.FILE, await self.blobs.put(content), mode, len(content))

    async def link(self, target: bytes) -> Node:
        return Node(NodeKind.LINK, await self.blobs.put(target), 0, len(target))

    async def version(self, *parents: str, **files: "bytes | Node | None") -> str:
        return await self.version_of(parents, files)

    async def version_of(self, parents: tuple[str, ...], files: Files) -> str:
        state = dict(self.states[parents[0]]) if parents else {}
        changes: list[Change] = []
        for path, content in files.items():
            node = await self.node(content)
            changes.append(Change(path, state.get(path), node, Provenance.TOOL))
            state[path] = node
        self.count += 1
        at = NOON + timedelta(minutes=self.count)
        version = Version(new_id(), self.project.id, parents, at, "person", tuple(changes))
        await self.store.versions.add(version)
        self.states[version.id] = state
        return version.id

    async def merge(self, ours: str, theirs: str) -> VersionMerge:
        return await merge_versions(self.store.versions, self.blobs, ours, theirs)

    async def sides(self, base: Files, ours: Files, theirs: Files) -> VersionMerge:
        start = await self.version_of((), base)
        return await self.merge(
            await self.version_of((start,), ours), await self.version_of((start,), theirs)
        )

    async def result(self, merge: VersionMerge) -> dict[str, bytes]:
        """The contents after the merge; each wanted path must be expected as ours has it."""
        state = dict(self.states[merge.ours])
        for each in merge.wanted:
            assert each.expected == state.get(each.path)
            assert each.expected != each.wanted
            state[each.path] = each.wanted
        return {
            path: await self.blobs.get(node.digest)
            for path, node in state.items()
            if node and node.kind is not NodeKind.FOLDER
        }

    async def clean(self, base: Files, ours: Files, theirs: Files) -> dict[str, bytes]:
        merge = await self.sides(base, ours, theirs)
        assert merge.conflicts == ()
        return await self.result(merge)

    async def conflict(self, base: Files, ours: Files, theirs: Files) -> MergeConflict:
        """The only conflict; nothing else is wanted."""
        merge = await self.sides(base, ours, theirs)
        assert merge.wanted == ()
        [conflict] = merge.conflicts
        return conflict


@asynccontextmanager
async def open_tree(folder: Path) -> AsyncIterator[Tree]:
    """An empty one."""
    store = await open_store(f"sqlite://{folder / 'ragforge.db'}", machine_dir=folder)
    blobs = SqliteBlobs(folder / "merge-blobs.db")
    project = a_project()
    await store.projects.add(project)
    yield Tree(store, blobs, project)
    await blobs.close()
    await store.close()
