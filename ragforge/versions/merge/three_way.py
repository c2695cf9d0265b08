"""A three-way merge of two versions: the changes to ours, and the conflicts to decide."""

import asyncio
from collections.abc import Mapping
from enum import StrEnum
from typing import TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from ragforge.domain.versions import Node, NodeKind
from ragforge.store.base import Blobs
from ragforge.store.base_versions import Versions
from ragforge.versions.merge.ancestors import State, Three, common_bases, three_states
from ragforge.versions.merge.bases import states_from_several
from ragforge.versions.merge.diff3 import LABELS, merge3
from ragforge.versions.merge.similarity import renamed
from ragforge.versions.tree import WantedFile, folders_above

Value = TypeVar("Value")

BYTES_MAX = 10 * 1024 * 1024
"""Larger files are not merged by lines: it would take minutes."""


class ConflictKind(StrEnum):
    """Why a file cannot be merged; its value completes "FILE: "."""

    CONTENT = "both changed the same lines"
    ADDED = "both added it, with different contents"
    REMOVED = "one removed it, the other changed or renamed it"
    BINARY = "both changed it, and it is not text"
    TOO_LARGE = "both changed it, and it is too large to merge"
    MISSING = "both changed it, and one of its contents is not on this machine"
    KIND = "both changed it, and it is a link or a folder on one side"
    MODE = "both changed its mode"
    RENAMED = "both renamed it, to different names"
    FOLDER = "a file on one side, a folder on the other"


class MergeConflict(Struct, frozen=True):
    """A file on which the sides disagree. Until that is decided it stays as ours.

    path: of ours, present or not. target: of the result; differs if theirs renamed it.
    theirs_path: of theirs. text: both in one, with markers unless they agree about the content; None
    if they are not text. clashes: how many conflicts it has between markers.
    """

    path: str
    kind: ConflictKind
    base: Node | None
    ours: Node | None
    theirs: Node | None
    target: str
    theirs_path: str
    text: bytes | None = None
    clashes: int = 0


class VersionMerge(Struct, frozen=True):
    """The result of merging theirs into ours.

    base: the nearest common ancestor, "" if there is none; `ours` if nothing happened there since,
    and `theirs` if ours already contains theirs. Of several, the newest, although the merge uses all.
    wanted: expects ours; merged contents are in the blob store. merged: paths with content of both,
    without a conflict.
    """

    base: str
    ours: str
    theirs: str
    wanted: tuple[WantedFile, ...] = ()
    conflicts: tuple[MergeConflict, ...] = ()
    merged: tuple[str, ...] = ()


async def merge_versions(
    versions: Versions, blobs: Blobs, ours: str, theirs: str, *, labels: tuple[str, str] = LABELS
) -> VersionMerge:
    """Merge theirs into ours without changing anything. The labels are put after conflict markers.

    Raises UsageError if one of them is not stored, StoreError.
    """
    ancestry, bases = await common_bases(versions, ours, theirs)
    base = bases[0] if bases else ""
    result = VersionMerge(base, ours, theirs)
    if base == theirs:
        return result

    async def join(states: Three) -> State:
        return await _joined(_Merging(states, blobs, labels))

    if len(bases) > 1:
        states = await states_from_several(versions, ancestry, bases, ours, theirs, join=join)
    else:
        states = await three_states(versions, base, ours, theirs)
    merging = _Merging(states, blobs, labels)
    await merging.run()
    wanted = tuple(merging.wanted.values())
    return replace(result, wanted=wanted, conflicts=tuple(merging.conflicts), merged=tuple(merging.merged))


async def _joined(merging: "_Merging") -> State:
    """Merge the states into one, as the base for others.

    Lines that both changed are there twice, between markers; other conflicts stay as in the base.
    """
    await merging.run()
    state = merging.states.ours | {path: each.wanted for path, each in merging.wanted.items()}
    for conflict in merging.conflicts:
        if conflict.text is None:
            state[conflict.path] = conflict.base
        else:
            wanted = await take_content(conflict, conflict.text, merging.blobs)
            state |= {each.path: each.wanted for each in wanted}
    return state


def take_theirs(conflict: MergeConflict) -> list[WantedFile]:
    """Return what makes the file theirs."""
    return _placed(conflict, conflict.theirs, conflict.theirs_path)


async def take_content(conflict: MergeConflict, content: bytes, blobs: Blobs) -> list[WantedFile]:
    """Return what gives the file this content, such as the text with markers. Puts it into the blob store."""
    like = conflict.ours or conflict.theirs
    mode = like.mode if like and like.kind is NodeKind.FILE else 0o644
    node = Node(NodeKind.FILE, await blobs.put(content), mode, len(content))
    return _placed(conflict, node, conflict.target)


def _placed(conflict: MergeConflict, node: Node | None, path: str) -> list[WantedFile]:
    """Remove ours from its path, unless the result goes there, and put the result at its own."""
    if path == conflict.path:
        return [] if node == conflict.ours else [WantedFile(path, conflict.ours, node)]
    moved = [WantedFile(conflict.path, conflict.ours, None)] if conflict.ours else []
    return [*moved, WantedFile(path, None, node)] if node else moved


class _Item(Struct, frozen=True):
    """One file in the three states, whatever its name in each."""

    base: Node | None
    ours: Node | None
    theirs: Node | None
    path: str
    our_path: str
    their_path: str

    @property
    def target(self) -> str:
        return self.their_path if self.our_path == self.path else self.our_path


class _Merging(Struct):
    """A merge in progress; `run` fills the other fields."""

    states: Three
    blobs: Blobs
    labels: tuple[str, str]
    wanted: dict[str, WantedFile] = field(default_factory=dict[str, WantedFile])
    sources: dict[str, str] = field(default_factory=dict[str, str])
    """Where ours has the files that theirs moved, by their new path."""
    conflicts: list[MergeConflict] = field(default_factory=list[MergeConflict])
    merged: list[str] = field(default_factory=list[str])

    async def run(self) -> None:
        for item in await self._items():
            await self._merge(item)
        self._hold_back_what_has_no_place()

    async def _items(self) -> list[_Item]:
        base, ours, theirs = self.states.base, self.states.ours, self.states.theirs
        our_names = await renamed(base, ours, theirs, self.blobs)
        their_names = await renamed(base, theirs, ours, self.blobs)
        # A name that the other side uses for something else is unsuitable: the file is removed and added.
        ours_only = _undisputed(our_names, their_names, theirs)
        theirs_only = _undisputed(their_names, our_names, ours)
        taken = {*ours_only.values(), *theirs_only.values()}
        items: list[_Item] = []
        for path in sorted({*base, *ours, *theirs} - taken):
            our_path, their_path = ours_only.get(path, path), theirs_only.get(path, path)
            items.append(
                _Item(
                    base.get(path),
                    ours.get(our_path),
                    theirs.get(their_path),
                    path,
                    our_path,
                    their_path,
                )
            )
        return items

    async def _merge(self, item: _Item) -> None:
        if item.path not in (item.our_path, item.their_path) and item.our_path != item.their_path:
            self.conflicts.append(await self._renamed_apart(item))
            return
        node = await self._node(item)
        if isinstance(node, MergeConflict):
            self.conflicts.append(node)
            return
        if item.our_path == item.target:
            if node != item.ours:
                self._want(item.target, item.ours, node)
        else:
            self._want(item.our_path, item.ours, None)
            self._want(item.target, None, node)
            self.sources[item.target] = item.our_path

    async def _node(self, item: _Item) -> Node | MergeConflict | None:
        """Merge the three states of a file."""
        base, ours, theirs = _solid(item.base), _solid(item.ours), _solid(item.theirs)
        if item.our_path != item.their_path and (ours is None or theirs is None):
            return _conflict(item, ConflictKind.REMOVED)
        if ours == theirs:
            return ours or _three_way(item.base, item.ours, item.theirs, item.ours)
        if theirs == base:
            return ours or item.ours
        if ours == base:
            return theirs or item.theirs
        if ours is None or theirs is None:
            return _conflict(item, ConflictKind.REMOVED)
        if {ours.kind, theirs.kind} != {NodeKind.FILE}:
            return _conflict(item, ConflictKind.KIND)
        return await self._file(item, base if base and base.kind is NodeKind.FILE else None, ours, theirs)

    async def _file(self, item: _Item, base: Node | None, ours: Node, theirs: Node) -> Node | MergeConflict:
        """Both sides have a file, with different contents."""
        kind: ConflictKind | None = None
        content, clashes = None, 0
        digests = (base.digest if base else None, ours.digest, theirs.digest)
        if digests[0] != digests[1] != digests[2] != digests[0]:
            content, clashes, kind = await self._content(base, ours, theirs)
            if content is None:
                return _conflict(item, kind or ConflictKind.BINARY)
            node = Node(NodeKind.FILE, await self.blobs.put(content), ours.mode, len(content))
        else:
            node = theirs if digests[0] == digests[1] else ours
        mode = _three_way(base.mode if base else None, ours.mode, theirs.mode, None)
        if mode is None and kind is None:
            kind = ConflictKind.MODE
        if kind:
            text = content if content is not None else await self._text(node)
            return _conflict(item, kind, text=text, clashes=clashes)
        if content is not None:
            self.merged.append(item.target)
        return Node(NodeKind.FILE, node.digest, ours.mode if mode is None else mode, node.size)

    async def _content(
        self, base: Node | None, ours: Node, theirs: Node
    ) -> tuple[bytes | None, int, ConflictKind | None]:
        """Return the merged content, its clashes, and the conflict that it is."""
        nodes = [node for node in (base, ours, theirs) if node]
        if max(node.size for node in nodes) > BYTES_MAX:
            return None, 0, ConflictKind.TOO_LARGE
        if await self.blobs.missing([node.digest for node in nodes]):
            return None, 0, ConflictKind.MISSING
        old = await self.blobs.get(base.digest) if base else b""
        mine, new = await self.blobs.get(ours.digest), await self.blobs.get(theirs.digest)
        merged = await asyncio.to_thread(merge3, old, mine, new, labels=self.labels)
        if merged.binary:
            return None, 0, ConflictKind.BINARY
        both = ConflictKind.CONTENT if base else ConflictKind.ADDED
        return merged.content, merged.conflicts, both if merged.conflicts else None

    async def _text(self, node: Node) -> bytes | None:
        missing = node.size > BYTES_MAX or await self.blobs.missing([node.digest])
        return None if missing else await self.blobs.get(node.digest)

    async def _renamed_apart(self, item: _Item) -> MergeConflict:
        node = await self._node(item)
        if isinstance(node, MergeConflict):
            return replace(node, kind=ConflictKind.RENAMED)
        text = await self._text(node) if node and node.kind is NodeKind.FILE else None
        return _conflict(item, ConflictKind.RENAMED, text=text)

    def _want(self, path: str, expected: Node | None, wanted: Node | None) -> None:
        self.wanted[path] = WantedFile(path, expected, wanted)

    def _hold_back_what_has_no_place(self) -> None:
        """Leave theirs out if a file of one side is in the way of a folder of the other."""
        while path := self._without_place():
            each = self.wanted.pop(path)
            source = self.sources.get(path, path)
            # A file that was to move there stays at our path, where it may be in the way of others.
            ours = self.wanted.pop(source).expected if source != path else each.expected
            self.conflicts.append(
                MergeConflict(source, ConflictKind.FOLDER, None, ours, each.wanted, path, path)
            )

    def _without_place(self) -> str | None:
        result = self.states.ours | {path: each.wanted for path, each in self.wanted.items()}
        files = {path for path, node in result.items() if _solid(node)}
        folders = {folder for path in files for folder in folders_above(path)}
        new = (
            path for path, each in self.wanted.items() if _solid(each.wanted) and not _solid(each.expected)
        )
        return next(
            (path for path in new if path in folders or not files.isdisjoint(folders_above(path))), None
        )


def _undisputed(
    names: Mapping[str, str], others: Mapping[str, str], other: Mapping[str, Node | None]
) -> dict[str, str]:
    """Return the renames whose new name the other side does not use, or uses for the same file."""
    return {
        old: new for old, new in names.items() if _solid(other.get(new)) is None or others.get(old) == new
    }


def _conflict(
    item: _Item,
    kind: ConflictKind,
    *,
    text: bytes | None = None,
    clashes: int = 0,
) -> MergeConflict:
    return MergeConflict(
        item.our_path,
        kind,
        item.base,
        item.ours,
        item.theirs,
        target=item.target,
        theirs_path=item.their_path,
        text=text,
        clashes=clashes,
    )


def _three_way(base: Value, ours: Value, theirs: Value, otherwise: Value) -> Value:
    """Return what only one side changed, or both alike; else the last."""
    if theirs in (ours, base):
        return ours
    return theirs if ours == base else otherwise


def _solid(node: Node | None) -> Node | None:
    """Return the node, unless it is an empty folder, which is only a place for files."""
    return None if node is None or node.kind is NodeKind.FOLDER else node
