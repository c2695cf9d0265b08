"""A move of the heads, and its result: the files on the disk first, then where the heads are.

A move that a crash cut off is finished by whoever comes next.
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
from ragforge.store.base import Store
from ragforge.store.base_versions import Versions
from ragforge.versions.assembly import with_lines
from ragforge.versions.project_files import ProjectFiles
from ragforge.versions.restore.operation import apply, recover
from ragforge.versions.restore.plan import FileConflict, Plan, Skipped, find_conflicts, make_plan
from ragforge.versions.restore.reach import parents, same
from ragforge.versions.scan.changes import Manifest, TrackRules, node_at, scan
from ragforge.versions.state import Head
from ragforge.versions.tree import WantedFile, between, is_folder_let_go, way_between, with_usual_modes

LOOKS_MAX = 3
LINE_FIRST = 64
"""How many versions of each line are read first; four times as many whenever they have not met."""


class Ground(Struct, frozen=True):
    """A folder whose heads may move now.

    head_before: the files' head before the disk was looked at for this move.
    """

    files: ProjectFiles
    track_rules: TrackRules
    head_before: str = ""

    @property
    def root(self) -> Path:
        """The project's folder."""
        return self.track_rules.root


class Move(CheckoutLog, frozen=True, kw_only=True):
    """A move of the log, whole before it begins, so that whoever finishes it needs nothing else.

    target: the version to go to; "" is the beginning. version_id: of the version that is made where the files
    come to lie beside it. branch: the one that is current afterwards.
    merged: the other parent of what is made, where the move is a merge.
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
        """For the journal of the restore that belongs to it."""
        return msgspec.to_builtins(self)

    @classmethod
    def from_json(cls, values: JsonObject) -> "Move":
        """The move again."""
        return msgspec.convert(values, cls)


class ChatHead(Struct):
    """Where the conversation of a session is, which moves with the files.

    turn: its newest one; "" is the beginning. follow: hears where it went, once that is kept.
    """

    session_id: str
    turn: str
    follow: Callable[[str], Awaitable[None]]

    async def go_to(self, turn: str) -> None:
        """Be at the turn from now on."""
        if self.turn != turn:
            self.turn = turn
            await self.follow(turn)


class FilesInConflict(UsageError):
    """Something else lies at `paths` than the move expects, and nobody has said what shall become of it."""

    def __init__(self, paths: Sequence[str]) -> None:
        super().__init__(
            f"Changed since: {', '.join(paths)}. Choose what should happen to them: keep, restore or merge."
        )
        self.paths = tuple(paths)


class Choices(Struct, frozen=True):
    """What shall become of files in conflict: of some by their paths, of all others.

    ask: of nothing is decided: the first step of a move that meets a conflict raises FilesInConflict, with
    nothing touched. Its further steps, which cannot be taken back any more, go by the choices.
    """

    otherwise: ConflictChoice = ConflictChoice.KEEP
    of: Mapping[str, ConflictChoice] = field(default_factory=dict[str, ConflictChoice])
    ask: bool = False

    def for_path(self, path: str) -> ConflictChoice:
        """What shall become of this one."""
        return self.of.get(path, self.otherwise)


class FilesMoved(Struct, frozen=True):
    """What a move came to on the disk.

    version: the files' head now; "" is the beginning. restored: paths that were written; removed: those that
    were taken away. conflicts: paths where something else lay than expected; marked: those of them that hold
    markers now.
    """

    version: str
    restored: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    conflicts: tuple[str, ...] = ()
    marked: tuple[str, ...] = ()
    skipped: tuple[Skipped, ...] = ()


class Landing(Struct, frozen=True):
    """Where the head is now.

    parent: the version that it is, where `changes` is empty; else the parent of a new one with these
    changes. "" stands for the beginning, before the first version.
    """

    parent: str
    changes: tuple[Change, ...] = ()


async def carry_out(ground: Ground, move: Move, wanted: Sequence[WantedFile], choices: Choices) -> FilesMoved:
    """Bring the files where they are wanted, and the heads with them; the folder's lock is held.

    The disk and the files' head agree before. Raises UsageError where contents are missing and
    FilesInConflict where that is wanted, with nothing touched; StoreError.
    """
    lines = await lines_of(ground.files.store.versions, move.from_version, move.target)
    told = set(differing(*lines))
    asked, wanted = wanted, await _with_usual_modes(ground, wanted, told)
    conflicts = await find_conflicts(ground.root, wanted, ground.files.blobs)
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
    """Put the heads where the files are now; the files' head. Doing it twice changes nothing."""
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
    """End a restore that a crash cut off in the folder, whose lock is held; what the user should hear.

    Empty where none was. Raises RestoreStopped where it can go neither on nor back, StoreError.
    """
    recovered = await recover(ground.root, ground.files.state, ground.files.blobs)
    if recovered is None:
        return ""
    if recovered.then is not None:
        await finish(ground, Move.from_json(recovered.then))
    return recovered.text


async def keep_chat(store: Store, move: Move) -> None:
    """Put the head of the chat where it goes."""
    if move.session_id and move.is_of_chat:
        await store.sessions.set_head(move.session_id, move.to_turn or None)


async def move_chat(store: Store, move: Move) -> None:
    """Move the chat alone; the files stay where they are."""
    await keep_chat(store, move)
    await store.versions.add_move(replace(move, to_version=move.from_version))


def is_ours(version: Version, move: Move) -> bool:
    """Whether the version may be left behind by the move, without leaving somebody else's work."""
    if version.by == USER:
        return True
    if version.session_id != move.session_id:
        return False
    if move.action in (MoveAction.CHECKOUT, MoveAction.TAKE):
        return True
    return version.by == RESTORE or version.turn_id in move.turns


async def lines_of(versions: Versions, one: str, other: str) -> tuple[list[Version], list[Version]]:
    """Both versions' lines, newest first, down to the version that they share or to the root."""
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
    """The version and its first parents, newest first; read in parts, as far as anybody asks."""
    while version_id:
        part = await versions.line(version_id, limit=LINE_FIRST)
        for version in part:
            yield version
        version_id = part[-1].parents[0] if part and part[-1].parents else ""


def edited_since(ground: Ground, head_line: Sequence[Version]) -> dict[str, Node | None]:
    """What lay at the paths that the user edited since the disk was last looked at before this move."""
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
    """As `with_usual_modes`; told: the paths that differ between the head and the target."""
    kept = await ground.files.state.manifest(ground.root) if any(map(is_folder_let_go, wanted)) else None
    if not kept:
        return wanted
    came_or_goes = {*told, *(each.path for each in wanted)}

    def read() -> list[WantedFile]:
        return with_usual_modes(wanted, Manifest.from_bytes(kept).entries.keys() - came_or_goes)

    return await asyncio.to_thread(read)


async def _disk_now(ground: Ground, paths: Sequence[str]) -> tuple[Manifest, dict[str, Node | None]]:
    """What lies in the folder, with these paths looked at anew, and its contents kept.

    They are at hand but where somebody edited a file between a crash and the end of the move that it cut off.
    """
    kept = await ground.files.state.manifest(ground.root)
    last = Manifest.from_bytes(kept) if kept else Manifest()

    def look() -> tuple[Manifest, dict[str, Node | None]]:
        manifest = scan(ground.track_rules, last, paths=paths).manifest
        # What is tracked was read by the scan just now.
        return manifest, {path: manifest.node(path) or node_at(ground.root / path) for path in paths}

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
    """What lies at the paths that the plan leaves as they are, where that could be told."""
    changed = {step.path for step in plan.steps if not same(step.found, step.target)}
    unknown = {skipped.path for skipped in plan.skipped}
    found = {conflict.path: conflict.found for conflict in conflicts}
    return {
        each.path: found.get(each.path, each.wanted)
        for each in wanted
        if each.path not in changed and (each.path in found or each.path not in unknown)
    }


def _nodes_at(root: Path, paths: Sequence[str]) -> dict[str, Node | None]:
    return {path: node_at(root / path) for path in paths}


async def _keep_version(ground: Ground, move: Move, landed: Landing) -> str:
    """The version that the head is, made where there is none yet; the current branch follows a new one."""
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
    """The paths of which the disk has to be known before `landing` can tell."""
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
    """Where the head is after a move from the head towards the target.

    The lines are newest first and reach down to their common version or the root; an empty one is the
    beginning. disk: what lies there now, of all paths that differ between the two and all that were touched.
    before: what lay at the touched paths before the move, when disk and head still agreed.
    ours: whether a version on the way may be left behind: those of the turns that are undone or redone, the
    user's own, restores of this session. Where others' lie on the way their work stays in the line.
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
    """What turns the one state into the other."""
    return tuple(
        Change(path, before[path], disk[path], provenance)
        for path in sorted(before)
        if not same(before[path], disk[path])
    )


class MoveResult(Struct, frozen=True):
    """What a move came to.

    turns: those undone, newest first, or redone, oldest first. restored: paths that were written;
    removed: those that were taken away.
    kept: paths that were in conflict and were left as they are; merged: those where both went together, and
    `marked` those of them that hold conflict markers now. skipped: paths that could not be written, and why.
    draft: the message that returns to the prompt. notes: what else the user must hear.
    chat: whether the conversation moved. doubted: a merge was taken although something speaks against it.
    memories_inactive, memories_active: the words of memories that rest on abandoned turns alone now, or no
    longer do, by their ids.
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
    """The words of memories that became inactive with the turns they rest on, or active again, by their ids.

    One that was replaced or forgotten is not counted: it was inactive before.
    """

    inactive: dict[str, str] = field(default_factory=dict[str, str])
    active: dict[str, str] = field(default_factory=dict[str, str])

    @asynccontextmanager
    async def of_move(self, store: Store, turns: Sequence[str]) -> AsyncGenerator[None]:
        """Compare the memories of the turns before and after; what cannot be read is not counted."""
        before = await _that_count(store, turns)
        yield
        for id, memory in (await _that_count(store, turns if before else ())).items():
            if id in before and memory.abandoned != before[id].abandoned:
                both = (self.active, self.inactive)
                lost, gained = both if memory.abandoned else reversed(both)
                gained[id] = memory.content
                lost.pop(id, None)


async def _that_count(store: Store, turns: Sequence[str]) -> dict[str, Memory]:
    """The memories of the turns that are neither forgotten nor replaced, by their ids."""
    try:
        memories = await store.memories.of_turns(turns) if turns else []
    except StoreError:
        return {}
    return {each.id: each for each in memories if not (each.forgotten_at or each.replaced)}


class Sum(Struct):
    """What the steps of a move have come to so far."""

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
        """What a step came to."""
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
        """All of it."""
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
