"""A move of the heads and its result: first the files on disk, then the heads.

A move interrupted by a crash is finished by the next process.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from ragforge.domain.errors import StoreError, UsageError
from ragforge.domain.ids import new_id, now
from ragforge.domain.json import JsonObject
from ragforge.domain.memories import Memory
from ragforge.domain.moves import ConflictChoice
from ragforge.domain.turns import Turn
from ragforge.domain.versions import (
    MERGE,
    RESTORE,
    USER,
    Branch,
    Change,
    CheckoutLog,
    MoveAction,
    Node,
    NodeKind,
    Provenance,
    Version,
)
from ragforge.files.open import NotAFile
from ragforge.store.base import Store
from ragforge.store.base_versions import Versions
from ragforge.versions.assembly import with_lines
from ragforge.versions.project_files import ProjectFiles
from ragforge.versions.restore.operation import apply, recover
from ragforge.versions.restore.plan import FileConflict, Plan, Skipped, find_conflicts, make_plan
from ragforge.versions.restore.reach import parents, same
from ragforge.versions.scan.changes import Manifest, TrackRules, scan
from ragforge.versions.scan.nodes import node_at
from ragforge.versions.state import Head
from ragforge.versions.tree import WantedFile, between, is_folder_let_go, way_between, with_usual_modes

LOOKS_MAX = 3
LINE_FIRST = 64
"""How many versions of each line are read first; four times as many whenever they have not met."""


class Ground(Struct, frozen=True):
    """A folder whose heads may move now.

    head_before: the files' head before the disk was scanned for this move.
    """

    files: ProjectFiles
    track_rules: TrackRules
    head_before: str = ""

    @property
    def root(self) -> Path:
        """The project's folder."""
        return self.track_rules.root


class Move(CheckoutLog, frozen=True, kw_only=True):
    """A move of the log, complete before it starts, so that any process can finish it.

    target: the version to move to; "" is the beginning. version_id: of the version that is made if the files
    then differ from it. branch: the current one afterwards.
    merged: the second parent of the new version, if the move is a merge.
    """

    id: str = field(default_factory=new_id)
    at: datetime = field(default_factory=now)
    from_version: str = field(name="head")
    target: str
    title: str
    branch: str = ""
    merged: str = ""
    version_id: str = field(default_factory=new_id)

    def to_json(self) -> JsonObject:
        """Return it for the journal of its restore."""
        return msgspec.to_builtins(self)

    @classmethod
    def from_json(cls, values: JsonObject) -> "Move":
        """Return the move."""
        return msgspec.convert(values, cls)


class ChatHead(Struct):
    """The head of a session's conversation, which moves with the files.

    turn: its newest one; "" is the beginning. follow: called after a move was stored.
    """

    session_id: str
    turn: str
    follow: Callable[[str], Awaitable[None]]

    async def go_to(self, turn: str) -> None:
        """Set the head."""
        if self.turn != turn:
            self.turn = turn
            await self.follow(turn)


class FilesInConflict(UsageError):
    """Files at `paths` have another content than expected, and nobody has decided about them."""

    def __init__(self, paths: Sequence[str]) -> None:
        super().__init__(
            f"Changed since: {', '.join(paths)}. Choose what should happen to them: keep, restore or merge."
        )
        self.paths = tuple(paths)


class Choices(Struct, frozen=True):
    """What to do with files in conflict: with some by path, and with all others.

    ask: nothing is decided yet: if the first step of a move meets a conflict, it raises FilesInConflict
    before anything is changed. Later steps, which cannot be reverted, use the choices.
    """

    otherwise: ConflictChoice = ConflictChoice.KEEP
    of: Mapping[str, ConflictChoice] = field(default_factory=dict[str, ConflictChoice])
    ask: bool = False

    def for_path(self, path: str) -> ConflictChoice:
        """Return what to do with this one."""
        return self.of.get(path, self.otherwise)


class FilesMoved(Struct, frozen=True):
    """The result of a move on disk.

    version: the files' head now; "" is the beginning. restored: paths that were written; removed: those that
    were removed.
    conflicts: paths with another content than expected; marked: those of them that contain conflict markers
    now.
    """

    version: str
    restored: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    conflicts: tuple[str, ...] = ()
    marked: tuple[str, ...] = ()
    skipped: tuple[Skipped, ...] = ()


class Landing(Struct, frozen=True):
    """Where the head is after a move.

    parent: the version itself if `changes` is empty, or else the parent of a new one with these changes. ""
    stands for the beginning, before the first version.
    """

    parent: str
    changes: tuple[Change, ...] = ()


async def carry_out(ground: Ground, move: Move, wanted: Sequence[WantedFile], choices: Choices) -> FilesMoved:
    """Move the files and the heads; the caller holds the folder's lock.

    The disk and the files' head must agree before. Raises UsageError if contents are missing and
    FilesInConflict if requested, before anything is changed; StoreError.
    """
    lines = await lines_of(ground.files.store.versions, move.from_version, move.target)
    told = set(differing(*lines))
    asked, wanted = wanted, await _with_usual_modes(ground, wanted, told)
    conflicts = await find_conflicts(ground.root, wanted)
    if choices.ask and conflicts:
        raise FilesInConflict([conflict.path for conflict in conflicts])
    chosen = {conflict.path: choices.for_path(conflict.path) for conflict in conflicts}
    touched = {each.path for each in wanted} - told
    aside = await asyncio.to_thread(_nodes_at, ground.root, sorted(touched))
    # An empty folder that something comes into is no path of its own any more.
    above = {folder for each in wanted if each.wanted for folder in parents(each.path)} - told - touched
    folders = await asyncio.to_thread(_nodes_at, ground.root, sorted(above))
    aside |= {path: node for path, node in folders.items() if node and node.kind is NodeKind.FOLDER}
    plan = await make_plan(ground.root, wanted, chosen, ground.files.blobs, title=move.title)
    kept = {**(move.kept or {}), **_kept(plan, asked, conflicts)}
    move = replace(move, aside=aside, kept=kept)
    applied = await apply(replace(plan, then=move.to_json()), ground.files.state, ground.files.blobs)
    version = await finish(ground, move)
    gone = {step.path for step in plan.steps if step.target is None}
    return FilesMoved(
        version,
        restored=tuple(path for path in applied.done if path not in gone),
        removed=tuple(path for path in applied.done if path in gone),
        conflicts=tuple(conflict.path for conflict in conflicts),
        marked=tuple(path for path in plan.marked if path in applied.done),
        skipped=(*plan.skipped, *applied.skipped),
    )


async def finish(ground: Ground, move: Move) -> str:
    """Move the heads to where the files are now, and return the files' head. Repeating it changes nothing."""
    versions = ground.files.store.versions
    head_line, target_line = await lines_of(versions, move.from_version, move.target)
    paths = {*differing(head_line, target_line), *move.aside}
    manifest, disk = await _disk_now(ground, sorted(paths))
    landed = landing(
        head_line,
        target_line,
        disk=disk,
        before=move.aside,
        ours=lambda version: is_ours(version, move),
        provenance=Provenance.MERGE if move.merged else Provenance.RESTORE,
    )
    version = await _keep_version(ground, move, landed)
    await ground.files.state.set_head(ground.root, Head(version, move.branch), manifest=manifest.to_bytes())
    await keep_chat(ground.files.store, move)
    await versions.add_move(replace(move, to_version=version))
    await ground.files.state.clear_journal(ground.root)
    return version


async def end_restore(ground: Ground) -> str:
    """Finish or revert a restore interrupted by a crash; the caller holds the lock. Return what to tell the
    user.

    Empty if there was none. Raises RestoreStopped if it can neither be finished nor reverted, StoreError.
    """
    recovered = await recover(ground.root, ground.files.state, ground.files.blobs)
    if recovered is None:
        return ""
    if recovered.then is not None:
        await finish(ground, Move.from_json(recovered.then))
    return recovered.text


async def keep_chat(store: Store, move: Move) -> None:
    """Store the new head of the conversation."""
    if move.session_id and move.is_of_chat:
        await store.sessions.set_head(move.session_id, move.to_turn or None)


async def move_chat(store: Store, move: Move) -> None:
    """Move only the conversation."""
    await keep_chat(store, move)
    await store.versions.add_move(replace(move, to_version=move.from_version))


def is_ours(version: Version, move: Move) -> bool:
    """Whether the move may leave the version behind without leaving somebody else's work."""
    if version.by == USER:
        return True
    if version.session_id != move.session_id:
        return False
    if move.action in (MoveAction.CHECKOUT, MoveAction.TAKE):
        return True
    return version.by == RESTORE or version.turn_id in move.turns


async def lines_of(versions: Versions, one: str, other: str) -> tuple[list[Version], list[Version]]:
    """Return both versions' lines, newest first, down to their common version or to the root."""
    limit = LINE_FIRST
    while True:
        first = await versions.line(one, limit=limit) if one else []
        second = await versions.line(other, limit=limit) if other else []
        ids = {version.id for version in second}
        met = any(version.id in ids for version in first)
        if met or (len(first) < limit and len(second) < limit):
            return first, second
        limit *= 4


async def down_from(versions: Versions, version_id: str) -> AsyncGenerator[Version]:
    """Yield the version and its first parents, newest first, read in parts as needed."""
    while version_id:
        part = await versions.line(version_id, limit=LINE_FIRST)
        for version in part:
            yield version
        version_id = part[-1].parents[0] if part and part[-1].parents else ""


def edited_since(ground: Ground, head_line: Sequence[Version]) -> dict[str, Node | None]:
    """Return the contents of the paths that the user edited since the last scan before this move."""
    found: dict[str, Node | None] = {}
    for version in head_line:
        if version.id == ground.head_before:
            break
        if version.by == USER:
            found |= {change.path: change.before for change in version.changes}
    return found


async def _with_usual_modes(
    ground: Ground, wanted: Sequence[WantedFile], told: set[str]
) -> Sequence[WantedFile]:
    """Like `with_usual_modes`; told: the paths that differ between the head and the target."""
    kept = await ground.files.state.manifest(ground.root) if any(map(is_folder_let_go, wanted)) else None
    if not kept:
        return wanted
    came_or_goes = {*told, *(each.path for each in wanted)}

    def read() -> list[WantedFile]:
        return with_usual_modes(wanted, Manifest.from_bytes(kept).entries.keys() - came_or_goes)

    return await asyncio.to_thread(read)


async def _disk_now(ground: Ground, paths: Sequence[str]) -> tuple[Manifest, dict[str, Node | None]]:
    """Return the state of the folder, with these paths scanned again, and store their contents.

    The contents are available unless somebody edited a file between a crash and the end of the interrupted
    move.
    """
    kept = await ground.files.state.manifest(ground.root)
    last = Manifest.from_bytes(kept) if kept else Manifest()

    def look() -> tuple[Manifest, dict[str, Node | None]]:
        manifest = scan(ground.track_rules, last, paths=paths).manifest
        # What is tracked was read by the scan just now.
        return manifest, {path: manifest.node(path) or _read_at(ground.root / path) for path in paths}

    for _ in range(LOOKS_MAX):
        manifest, nodes = await asyncio.to_thread(look)
        digests = {path: node.digest for path, node in nodes.items() if node and node.digest}
        missing = set(await ground.files.blobs.missing(sorted(set(digests.values()))))
        lacking = [path for path, digest in digests.items() if digest in missing]
        if not lacking:
            return manifest, nodes
        # One that changes just now has another content then: looked at again.
        await ground.files.blobs.put_files([ground.root / path for path in lacking])
    return await asyncio.to_thread(look)


def _kept(
    plan: Plan, wanted: Sequence[WantedFile], conflicts: Sequence[FileConflict]
) -> dict[str, Node | None]:
    """Return the content of the paths that the plan leaves unchanged, as far as it could be read."""
    changed = {step.path for step in plan.steps if not same(step.found, step.target)}
    unknown = {skipped.path for skipped in plan.skipped}
    found = {conflict.path: conflict.found for conflict in conflicts}
    return {
        each.path: found.get(each.path, each.wanted)
        for each in wanted
        if each.path not in changed and (each.path in found or each.path not in unknown)
    }


def _nodes_at(root: Path, paths: Sequence[str]) -> dict[str, Node | None]:
    return {path: _read_at(root / path) for path in paths}


def _read_at(path: Path) -> Node | None:
    """Like `node_at`; what cannot be read counts as gone, as for a scan: it must not hold up a move."""
    try:
        return node_at(path)
    except (OSError, NotAFile):
        return None


async def _keep_version(ground: Ground, move: Move, landed: Landing) -> str:
    """Return the version at the head, made if there is none yet; the current branch follows a new one."""
    versions = ground.files.store.versions
    if not landed.changes and not move.merged:
        if move.branch and move.action is MoveAction.MERGE:
            await versions.set_branch(Branch(move.project_id, move.branch, landed.parent, move.at))
        return landed.parent
    parents = tuple(parent for parent in (landed.parent, move.merged) if parent)
    made = Version(
        id=move.version_id,
        project_id=move.project_id,
        parents=parents,
        at=move.at,
        by=MERGE if move.merged else RESTORE,
        changes=landed.changes,
        session_id=move.session_id,
        title=move.title,
    )
    await versions.add(await with_lines(made, ground.files.blobs, ground.files.redactor))
    if move.branch:
        await versions.set_branch(Branch(move.project_id, move.branch, made.id, move.at))
    return made.id


def differing(head_line: Sequence[Version], target_line: Sequence[Version]) -> list[str]:
    """Return the paths whose content on disk `landing` needs to know."""
    return [wanted.path for wanted in between(head_line, target_line)]


def landing(
    head_line: Sequence[Version],
    target_line: Sequence[Version],
    *,
    disk: Mapping[str, Node | None],
    before: Mapping[str, Node | None],
    ours: Callable[[Version], bool],
    provenance: Provenance = Provenance.RESTORE,
) -> Landing:
    """Return where the head is after a move towards the target.

    The lines are newest first and reach down to their common version or the root; an empty one is the
    beginning. disk: the current content of all paths that differ between the two or were touched.
    before: the content of the touched paths before the move, when disk and head agreed.
    ours: whether a version on the way may be left behind: those of the turns that are undone or redone, the
    user's own, and restores of this session. Otherwise the work of others stays in the line.
    """
    head, target = _newest_id(head_line), _newest_id(target_line)
    at_head, at_target = dict(before), dict(before)
    for wanted in between(head_line, target_line):
        at_head[wanted.path], at_target[wanted.path] = wanted.expected, wanted.wanted
    from_target = _changes(at_target, disk, provenance)
    way = way_between(head_line, target_line)
    if not from_target or all(ours(version) for version in (*way.up, *way.down)):
        return Landing(target, from_target)
    return Landing(head, _changes(at_head, disk, provenance))


def _newest_id(line: Sequence[Version]) -> str:
    return line[0].id if line else ""


def _changes(
    before: Mapping[str, Node | None], disk: Mapping[str, Node | None], provenance: Provenance
) -> tuple[Change, ...]:
    """Return the changes from one state to the other."""
    return tuple(
        Change(path, before[path], disk[path], provenance)
        for path in sorted(before)
        if not same(before[path], disk[path])
    )


class MoveResult(Struct, frozen=True):
    """The result of a move.

    turns: those undone, newest first, or redone, oldest first. restored: paths that were written; removed:
    those that were removed.
    kept: paths in conflict that were not changed; merged: those where both changes were combined, and
    `marked` those of them that contain conflict markers now. skipped: paths that could not be written, and
    why.
    draft: the message that returns to the prompt. notes: what else to tell the user.
    chat: whether the conversation moved. doubted: a merge was taken in spite of an objection.
    memories_inactive, memories_active: the texts of memories that are now based only on abandoned turns, or
    no longer are, by their ids.
    """

    action: MoveAction
    turns: tuple[Turn, ...] = ()
    version: str = ""
    restored: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    merged: tuple[str, ...] = ()
    marked: tuple[str, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    draft: str = ""
    chat: bool = False
    notes: tuple[str, ...] = ()
    memories_inactive: Mapping[str, str] = {}
    memories_active: Mapping[str, str] = {}
    doubted: bool = False


class MemoryChanges(Struct):
    """The texts of memories that became inactive with their turns, or active again, by their ids.

    Replaced and forgotten memories do not count, because they were inactive before.
    """

    inactive: dict[str, str] = field(default_factory=dict[str, str])
    active: dict[str, str] = field(default_factory=dict[str, str])

    @asynccontextmanager
    async def of_move(self, store: Store, turns: Sequence[str]) -> AsyncGenerator[None]:
        """Compare the memories of the turns before and after, as far as they can be read."""
        before = await _that_count(store, turns)
        yield
        for id, memory in (await _that_count(store, turns if before else ())).items():
            if id in before and memory.abandoned != before[id].abandoned:
                both = (self.active, self.inactive)
                lost, gained = both if memory.abandoned else reversed(both)
                gained[id] = memory.content
                lost.pop(id, None)


async def _that_count(store: Store, turns: Sequence[str]) -> dict[str, Memory]:
    """Return the memories of the turns that are neither forgotten nor replaced, by their ids."""
    try:
        memories = await store.memories.of_turns(turns) if turns else []
    except StoreError:
        return {}
    return {each.id: each for each in memories if not (each.forgotten_at or each.replaced)}


class Sum(Struct):
    """The combined result of the steps of a move so far."""

    choices: Choices
    version: str = ""
    restored: dict[str, None] = field(default_factory=dict[str, None])
    removed: dict[str, None] = field(default_factory=dict[str, None])
    kept: dict[str, None] = field(default_factory=dict[str, None])
    merged: dict[str, None] = field(default_factory=dict[str, None])
    marked: dict[str, None] = field(default_factory=dict[str, None])
    skipped: list[Skipped] = field(default_factory=list[Skipped])
    notes: list[str] = field(default_factory=list[str])
    memories: MemoryChanges = field(default_factory=MemoryChanges)

    def add(self, moved: FilesMoved) -> None:
        """Add the result of a step."""
        self.version = moved.version
        self.choices = replace(self.choices, ask=False)
        self.skipped += moved.skipped
        out = {skipped.path for skipped in moved.skipped}
        by_choice = {
            ConflictChoice.KEEP: self.kept,
            ConflictChoice.MERGE: self.merged,
            ConflictChoice.RESTORE: self.restored,
        }
        paths = dict.fromkeys(moved.restored, self.restored)
        paths |= {path: by_choice[self.choices.for_path(path)] for path in moved.conflicts}
        paths |= dict.fromkeys(moved.marked, self.marked)
        paths |= dict.fromkeys(moved.removed, self.removed)
        for path, which in paths.items():
            if path not in out:
                # A later step may write what an earlier one removed, and the other way round.
                self.restored.pop(path, None)
                self.removed.pop(path, None)
                which[path] = None

    def moved(self, action: MoveAction, turns: Sequence[Turn], *, draft: str, chat: bool) -> MoveResult:
        """Return the combined result."""
        return MoveResult(
            action,
            tuple(turns),
            self.version,
            tuple(self.restored),
            tuple(self.removed),
            tuple(self.kept),
            tuple(self.merged),
            tuple(self.marked),
            tuple(self.skipped),
            draft,
            chat,
            tuple(self.notes),
            self.memories.inactive,
            self.memories.active,
        )
