"""Copies of the project: to whom they belong; creating, changing and removing them."""

import json
import posixpath
from collections.abc import Mapping, Sequence
from pathlib import Path
from threading import Event

import msgspec
from msgspec import Struct

from ragforge.config.store_address import bare_url
from ragforge.domain.cancellation import in_thread
from ragforge.domain.errors import UsageError
from ragforge.domain.printable import escaped
from ragforge.versions.copies.file_copies import Copied, Room, copy_project
from ragforge.versions.head_move import Ground
from ragforge.versions.restore.operation import apply
from ragforge.versions.restore.plan import make_plan
from ragforge.versions.scan.changes import scan
from ragforge.versions.scan.manifest import Manifest
from ragforge.versions.scan.track_rules import TrackRules
from ragforge.versions.state import Head, HistoryState
from ragforge.versions.tree import WantedFile, with_usual_modes

ABOUT = "about.json"
"""The file that says to whom copies belong, for recovery after a crash."""


class About(msgspec.Struct, frozen=True):
    """To whom these copies belong. head: the conversation's newest turn when they were made, or None.

    names: of the ways, in the order of the copies. own: paths in each copy that are not versioned.
    """

    project_id: str
    root: str
    store: str
    session_id: str
    head: str | None
    copies: list[str]
    names: list[str]
    own: list[str]
    excludes: str
    file_bytes_max: int

    def track_rules(self, copy: str) -> TrackRules:
        excludes = Path(self.excludes) if self.excludes else None
        return TrackRules(Path(copy), excludes, self.file_bytes_max, frozenset(self.own))


class Places(Struct, frozen=True):
    """The copies, and what to tell the user about them."""

    about: About
    copies: tuple[Copied, ...]

    @property
    def notes(self) -> list[str]:
        """The differences from the project, in sentences."""
        first = self.copies[0]
        notes = [_named("Not in the copies", first.missing)] if first.missing else []
        if first.links_out:
            notes.append(_named("Links that still point outside the copies", first.links_out))
        return notes


async def make_places(
    ground: Ground,
    room: Room,
    *,
    head: str,
    numbered: Mapping[int, str],
    session_id: str,
    turn: str | None,
) -> Places:
    """Make a copy for each numbered, named way; its head is the project's, whose lock is held.

    session_id, turn: the conversation that continues in them, and its newest turn.

    Raises UsageError if the disk cannot hold them, StoreError.
    """
    files, carry = ground.files, ground.files.settings.history.alternatives_carry
    content = await ground.files.state.manifest(ground.root)
    if content is None:
        raise UsageError(f"The contents of {ground.root} are not known yet. Try again.")
    manifest = await in_thread(lambda _: Manifest.from_bytes(content))
    targets = [room.folder / str(number) / (ground.root.name or "project") for number in numbered]
    track_rules = ground.track_rules
    about = About(
        files.project.id,
        str(ground.root),
        bare_url(files.store.url),
        session_id,
        turn,
        [str(target) for target in targets],
        list(numbered.values()),
        sorted({*track_rules.own, *_apart(carry, manifest)}),
        str(track_rules.excludes or ""),
        track_rules.file_bytes_max,
    )
    await in_thread(lambda _: (room.folder / ABOUT).write_text(json.dumps(msgspec.to_builtins(about))))
    copies: list[Copied] = []
    for target in targets:

        def copy(stop: Event, target: Path = target) -> Copied:
            return copy_project(ground.root, target, manifest, carry=carry, stop=stop)

        made = await in_thread(copy)
        await ground.files.state.set_head(made.root, Head(head), manifest=content)
        copies.append(made)
    return Places(about, tuple(copies))


async def bring_to(
    ground: Ground, places: Places, copy: Path, wanted: Sequence[WantedFile], *, head: str, title: str
) -> None:
    """Change the files of a copy, whose head is that version afterwards; nobody else changes it.

    Raises UsageError if a content is not on this machine or the disk refuses one, StoreError.
    """
    kept = await ground.files.state.manifest(copy)

    def what_lies_there() -> Manifest:
        return Manifest.from_bytes(kept) if kept else Manifest()

    last = await in_thread(lambda _: what_lies_there())
    wanted = with_usual_modes(wanted, last.entries.keys() - {each.path for each in wanted})
    plan = await make_plan(copy, wanted, {}, ground.files.blobs, title=title, then={})
    applied = await apply(plan, ground.files.state, ground.files.blobs)
    await ground.files.state.clear_journal(copy)
    if left := (*plan.skipped, *applied.skipped):
        raise UsageError(
            f"{title}: {escaped(left[0].path)} could not be written into a copy ({left[0].why})."
        )

    def look() -> Manifest:
        return scan(places.about.track_rules(str(copy)), last, paths=[each.path for each in wanted]).manifest

    manifest = await in_thread(lambda _: look())
    await ground.files.state.set_head(copy, Head(head), manifest=manifest.to_bytes())


async def remove_copies(state: HistoryState, room: Room) -> None:
    """Remove every trace of the copies from the room."""
    try:
        for root in await state.roots():
            if root.is_relative_to(room.folder):
                await state.forget(root)
    finally:
        await in_thread(lambda _: room.remove())


def env_in(child_env: Mapping[str, str], copy: Path) -> dict[str, str]:
    """Return the environment for commands in a copy."""
    # A repository that happens to be above the copies does not belong to them.
    return {**child_env, "GIT_CEILING_DIRECTORIES": str(copy.parent)}


def label_of(number: int, name: str, remarks: Sequence[str] = ()) -> str:
    """Return the label of a version that was made in the copy of this number."""
    return ", ".join([f"alternative {number} ({name})", *remarks])


def _apart(carry: Sequence[str], manifest: Manifest) -> list[str]:
    """Return the paths to carry with nothing tracked below them."""
    paths = [posixpath.normpath(path) for path in carry]
    return [
        path
        for path in paths
        if not any(tracked == path or tracked.startswith(f"{path}/") for tracked in manifest.entries)
    ]


def _named(what: str, paths: Sequence[str], most: int = 5) -> str:
    more = f" and {len(paths) - most} more" if len(paths) > most else ""
    return f"{what}: {', '.join(escaped(path) for path in paths[:most])}{more}."
