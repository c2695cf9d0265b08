"""The plan of a restore, complete before it starts, and its journal while it runs.

The plan says what is at each path, where that is a conflict, and what should be there. The journal lets
another process finish it after a crash.
"""

import asyncio
import json
import os
from collections.abc import Collection, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct, field

from ragforge.domain.errors import StoreDamaged, StoreNewer, UsageError
from ragforge.domain.ids import new_id
from ragforge.domain.json import JsonObject
from ragforge.domain.moves import ConflictChoice
from ragforge.domain.printable import escaped
from ragforge.domain.versions import Node, NodeKind
from ragforge.files.open import size, why
from ragforge.store.base import Blobs
from ragforge.store.json_text import to_json
from ragforge.versions.merge.diff3 import merge3
from ragforge.versions.restore.reach import OutOfReach, PathState, parents, reaching, same
from ragforge.versions.tree import WantedFile

KEPT_BYTES_MAX = 256 * 1024 * 1024
"""A changed file that is larger is never overwritten, because it would have to fit in memory."""

NAMED_MAX = 10
"""How many paths a sentence names; the others are only counted."""
FORMAT = 1
"""The version of the journal's format."""


class FileConflict(Struct, frozen=True):
    """A path with another content than expected.

    found: None also for a folder that is implied by its files.
    """

    path: str
    expected: Node | None
    wanted: Node | None
    found: Node | None


class Looked(Struct, frozen=True):
    """A wanted path and its current content; or why that is unknown."""

    wanted: WantedFile
    found: PathState = field(default_factory=PathState)
    why: str = ""

    @property
    def is_reached(self) -> bool:
        """Whether there is nothing to do."""
        wanted = self.wanted.wanted
        if wanted is not None and wanted.kind is NodeKind.FOLDER and self.found.filled:
            return self.found.mode == wanted.mode
        return same(self.found.node, wanted)

    @property
    def is_conflict(self) -> bool:
        """Whether somebody changed it since."""
        return not self.why and not self.is_reached and not same(self.found.node, self.wanted.expected)


async def find_conflicts(root: Path, wanted: Sequence[WantedFile]) -> list[FileConflict]:
    """Return the paths for which a choice has to be made, in the given order.

    Raises OSError if the root cannot be opened.
    """
    return [
        FileConflict(each.wanted.path, each.wanted.expected, each.wanted.wanted, each.found.node)
        for each in await asyncio.to_thread(look_at, root, wanted)
        if each.is_conflict
    ]


def look_at(root: Path, wanted: Sequence[WantedFile]) -> list[Looked]:
    """Return the current contents of the wanted paths, in their order; blocks."""
    looked: list[Looked] = []
    with reaching(root, [each.path for each in wanted]) as reach:
        for each in wanted:
            try:
                looked.append(Looked(each, reach.look(each.path)))
            except OutOfReach as error:
                looked.append(Looked(each, why=str(error)))
            except OSError as error:
                looked.append(Looked(each, why=why(error)))
    return looked


def cannot_merge(looked: Looked, missing: Collection[str]) -> str:
    """Return why the three cannot be merged, in a few words; empty if they can.

    missing: digests of contents that are not available.
    """
    ours = looked.found.node
    if ours is None or ours.kind is not NodeKind.FILE:
        return "it is no longer a file"
    for base, theirs in looked.wanted.steps:
        if theirs is None:
            return "it would be removed"
        if theirs.kind is not NodeKind.FILE or (base is not None and base.kind is not NodeKind.FILE):
            return "it was not a file before"
        if theirs.digest in missing or (base is not None and base.digest in missing):
            return "an earlier content of it is not on this machine"
    return ""


class PlanStep(Struct, frozen=True):
    """The current and the wanted content of a path; None stands for nothing."""

    path: str
    found: Node | None
    target: Node | None


class Skipped(NamedTuple):
    """A path that stays as it is although another content was wanted, and why, in a few words."""

    path: str
    why: str


class Plan(Struct, frozen=True):
    """A restore that has not started.

    then: what its caller stores afterwards, such as the new heads; opaque here.
    skipped: paths left out from the beginning, except conflicts that were kept by choice.
    marked: merged paths with conflicts left, between markers.
    """

    id: str
    root: Path
    steps: tuple[PlanStep, ...]
    title: str
    then: dict[str, Any]  # a JsonObject, in a type that can be decoded
    skipped: tuple[Skipped, ...] = ()
    marked: tuple[str, ...] = ()


class _Decided(Struct, frozen=True):
    """What to do with a path; why: for the user, if it is kept without having been asked about."""

    target: Node | None = None
    conflicts: int = 0
    is_kept: bool = False
    why: str = ""


async def make_plan(
    root: Path,
    wanted: Sequence[WantedFile],
    choices: Mapping[str, ConflictChoice],
    blobs: Blobs,
    *,
    title: str,
    then: JsonObject | None = None,
) -> Plan:
    """Return what has to be done, with nothing done yet; merged contents are in the blob store already.

    choices: of the paths in conflict; without one a path is kept. title: such as "undo of turn 3".
    Raises UsageError if contents are missing, OSError if the root cannot be opened, StoreError.
    """
    looked = await asyncio.to_thread(look_at, root, wanted)
    steps: list[PlanStep] = []
    skipped: list[Skipped] = []
    marked: list[str] = []
    for each in looked:
        decided = await _decided(root, each, choices.get(each.wanted.path), blobs)
        if decided.why:
            skipped.append(Skipped(each.wanted.path, decided.why))
        if decided.conflicts:
            marked.append(each.wanted.path)
        if not decided.is_kept and not same(each.found.node, decided.target):
            steps.append(PlanStep(each.wanted.path, each.found.node, decided.target))
    # A folder that is already as wanted is named only if it would be removed with its contents.
    reached = {each.wanted.path for each in looked if not each.why and each.is_reached}
    emptied = {folder for step in steps if step.target is None for folder in parents(step.path)}
    steps = [step for step in steps if step.path not in reached or step.path in emptied]
    plan = Plan(new_id(), root, tuple(steps), title, then or {}, tuple(skipped), tuple(marked))
    await check_contents(plan, blobs)
    return plan


async def check_contents(plan: Plan, blobs: Blobs) -> None:
    """Raise UsageError, naming the paths, if contents that the plan needs are not in the blob store."""
    needed = {step.target.digest: step.path for step in plan.steps if step.target and needs_content(step)}
    missing = set(await blobs.missing(sorted(needed)))
    if not missing:
        return
    paths = [step.path for step in plan.steps if step.target and step.target.digest in missing]
    raise UsageError(
        f"{plan.title}: nothing was changed, because contents are not on this machine: {named(paths)}. "
        "They were recorded on another machine, or were removed or lost on this one. Do it there; undo, redo "
        "and checkout with --chat move only the conversation."
    )


def needs_content(step: PlanStep) -> bool:
    """Whether a content has to be written: for files and links, unless only the mode differs."""
    if step.target is None or step.target.kind is NodeKind.FOLDER:
        return False
    return not only_mode(step)


def only_mode(step: PlanStep) -> bool:
    """Whether only the mode differs."""
    found, target = step.found, step.target
    if found is None or target is None or found.kind is not target.kind:
        return False
    return found.kind is not NodeKind.LINK and found.digest == target.digest


def named(paths: Sequence[str]) -> str:
    """Return the first paths, as part of a sentence, and how many others there are."""
    shown = ", ".join(escaped(path) for path in paths[:NAMED_MAX])
    return shown if len(paths) <= NAMED_MAX else f"{shown} and {len(paths) - NAMED_MAX} more"


async def _decided(root: Path, looked: Looked, choice: ConflictChoice | None, blobs: Blobs) -> _Decided:
    if looked.why:
        return _Decided(is_kept=True, why=looked.why)
    if not looked.is_conflict:
        return _Decided(looked.wanted.wanted)
    found = looked.found.node
    if found is not None and found.size > KEPT_BYTES_MAX and choice is not ConflictChoice.KEEP:
        return _Decided(is_kept=True, why=f"it is too large ({size(found.size)}) to be saved first")
    match choice:
        case None:
            return _Decided(is_kept=True, why="it has changed since then and is kept")
        case ConflictChoice.KEEP:
            return _Decided(is_kept=True)
        case ConflictChoice.RESTORE:
            return _Decided(looked.wanted.wanted)
        case ConflictChoice.MERGE:
            try:
                return await _merged(root, looked, blobs)
            except OutOfReach as error:
                return _Decided(is_kept=True, why=f"it cannot be merged and is kept: {error}")
            except OSError as error:
                return _Decided(is_kept=True, why=f"it cannot be merged and is kept: {why(error)}")


async def _merged(root: Path, looked: Looked, blobs: Blobs) -> _Decided:
    """Merge the three, step after step. Raises OutOfReach if that is impossible, OSError."""
    found = looked.found.node
    reason = cannot_merge(looked, await blobs.missing(_digests(looked.wanted)))
    if reason or found is None:
        raise OutOfReach(reason)
    ours = await asyncio.to_thread(_read, root, looked.wanted.path, found)
    mode, conflicts = found.mode, 0
    for base, theirs in looked.wanted.steps:
        if theirs is None:
            raise OutOfReach("it would be removed")
        old = b"" if base is None else await blobs.get(base.digest)
        new = await blobs.get(theirs.digest)
        merged = await asyncio.to_thread(merge3, old, ours, new, labels=("now on disk", "restored"))
        if merged.binary:
            raise OutOfReach("it is not text")
        ours, conflicts = merged.content, conflicts + merged.conflicts
        if base is None or base.mode != theirs.mode:
            mode = theirs.mode
    digest = await blobs.put(ours)
    return _Decided(Node(NodeKind.FILE, digest, mode, len(ours)), conflicts)


def _digests(wanted: WantedFile) -> list[str]:
    return sorted({node.digest for step in wanted.steps for node in step if node is not None and node.digest})


def _read(root: Path, path: str, node: Node) -> bytes:
    with reaching(root, [path]) as reach:
        return reach.read(path, node)


class Phase(StrEnum):
    """The phase of a restore."""

    STAGING = "staging"
    """Temporary files are being written; the project is not touched."""
    STAGED = "staged"
    """Every content is staged beside its place: from here it is finished."""
    APPLIED = "applied"
    """The files are as planned; what the caller has to store may be missing."""


class Temporary(Struct, frozen=True):
    """A temporary file of ours: its folder within the root, and its name."""

    folder: str
    name: str

    @property
    def path(self) -> str:
        """Its path within the root."""
        return f"{self.folder}/{self.name}" if self.folder else self.name


class Task(Struct, frozen=True):
    """A plan in progress.

    token: the common part of its temporary files' names.
    stage_in: for each step, the folder with its staged content; None if there is none to write.
    may_vanish: folders to remove once they are empty, and their modes.
    missing: folders that did not exist. modes: of folders that are created again.
    because: empty; on a rollback, what went wrong.
    """

    plan: Plan
    token: str
    stage_in: tuple[str | None, ...]
    may_vanish: Mapping[str, int] = field(default_factory=dict[str, int])
    missing: tuple[str, ...] = ()
    modes: Mapping[str, int] = field(default_factory=dict[str, int])
    because: str = ""

    def temporary(self, index: int) -> Temporary | None:
        """The path of a step's staged content."""
        folder = self.stage_in[index]
        return None if folder is None else Temporary(folder, f".{self.token}{index:08x}.ragforge-tmp")

    @property
    def temporaries(self) -> tuple[Temporary, ...]:
        """All of them, present or not."""
        found = (self.temporary(index) for index in range(len(self.stage_in)))
        return tuple(each for each in found if each is not None)


class Journal(Struct, frozen=True):
    """A task and its phase.

    leftover: temporary files of another task, which was abandoned for this one or was to follow it.
    """

    phase: Phase
    task: Task
    leftover: tuple[Temporary, ...] = ()
    done: tuple[str, ...] = ()
    skipped: tuple[Skipped, ...] = ()

    def to_bytes(self) -> bytes:
        """Return it for `journal_from`."""
        values: dict[str, Any] = msgspec.to_builtins(self, enc_hook=str)
        return to_json({"format": FORMAT, **values}).encode()


def journal_from(content: bytes, root: Path) -> Journal:
    """Return the journal for the folder's current path. Raises StoreDamaged or StoreNewer."""
    try:
        values: dict[str, Any] = json.loads(content)
        written = values.pop("format")
        if written == FORMAT:
            values["task"]["plan"]["root"] = os.fspath(root)
            return msgspec.convert(values, Journal, dec_hook=lambda _, value: Path(value))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise StoreDamaged(
            f"A restore in {root} was interrupted, and its journal cannot be read. Look for files named "
            ".*.ragforge-tmp there, and compare the project with a version of yours."
        ) from error
    raise StoreNewer(
        f"A restore in {root} was interrupted in a newer version of ragforge. Start that version once to "
        "finish it."
    )
