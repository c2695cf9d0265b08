"""The differences between two versions, or between a version and the current files."""

from msgspec import Struct

from ragforge.domain.versions import Change, Provenance, Version
from ragforge.versions.difference import Difference, differences
from ragforge.versions.head_move import down_from, lines_of
from ragforge.versions.names import find_state, shown
from ragforge.versions.record.recorder import Worktree
from ragforge.versions.tree import between

NOW = "the files as they are now"
BEGINNING = "the beginning"


class Compared(Struct, frozen=True):
    """The differences, and between what: `start` and `end` are words for a user."""

    start: str
    end: str
    files: tuple[Difference, ...]


async def compare(worktree: Worktree, start: str = "", end: str = "") -> Compared:
    """Return the differences from one version to another.

    Without `end`: to the current files. Without either: from before the newest turn to now. Edits that are in
    no version yet become one. Raises UsageError for an unknown version, and StoreError.
    """
    versions, project_id = worktree.files.store.versions, worktree.files.project.id
    is_tracked = await worktree.is_tracked()
    head = (await (worktree.catch_up() if is_tracked and not end else worktree.head())).version
    if start:
        first = await find_state(versions, project_id, start, head=head)
        start_id, words = (first.id, shown(first)) if first else ("", BEGINNING)
    else:
        start_id = await _before_newest_turn(worktree, head)
        words = await _words(worktree, start_id)
    if end:
        last = await find_state(versions, project_id, end, head=head)
        end_id, end_words = (last.id, shown(last)) if last else ("", BEGINNING)
    else:
        end_id, end_words = head, NOW
    return Compared(words, end_words, tuple(await _differences(worktree, start_id, end_id)))


async def changes_of_version(worktree: Worktree, version: Version) -> Compared:
    """Return what a version changed against its first parent."""
    files = await differences(version.changes, worktree.files.blobs)
    parent = version.parents[0] if version.parents else ""
    return Compared(await _words(worktree, parent), shown(version), tuple(files))


async def _differences(worktree: Worktree, start: str, end: str) -> list[Difference]:
    lines = await lines_of(worktree.files.store.versions, start, end)
    changes = [Change(each.path, each.expected, each.wanted, Provenance.RESTORE) for each in between(*lines)]
    return await differences(changes, worktree.files.blobs)


async def _before_newest_turn(worktree: Worktree, head: str) -> str:
    """Return the version before the newest one of a turn, or the beginning if there is none."""
    async for version in down_from(worktree.files.store.versions, head):
        if version.turn_id:
            return version.parents[0] if version.parents else ""
    return ""


async def _words(worktree: Worktree, version_id: str) -> str:
    found = await worktree.files.store.versions.get([version_id]) if version_id else []
    return shown(found[0]) if found else BEGINNING
