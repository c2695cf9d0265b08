"""The result of a move, in sentences for a user: the same in the interface and on the command line."""

from collections.abc import Sequence
from datetime import datetime

from ragforge.domain.commands import typed
from ragforge.domain.ids import short_id
from ragforge.domain.json import JsonObject
from ragforge.domain.messages import own_text
from ragforge.domain.printable import escaped
from ragforge.domain.versions import MoveAction
from ragforge.domain.words import age_words, counted, first_words
from ragforge.versions.branches import BranchRow
from ragforge.versions.comparison import Compared
from ragforge.versions.head_move import MoveResult
from ragforge.versions.names import shown
from ragforge.versions.turns import TurnRow, named

PATHS_SHOWN_MAX = 10

_DONE = {
    MoveAction.UNDO: "Undone",
    MoveAction.REDO: "Redone",
    MoveAction.REWIND: "Gone back to before",
    MoveAction.CHECKOUT: "Checked out",
    MoveAction.MERGE: "Merged",
    MoveAction.TAKE: "Taken",
}


def moved_lines(moved: MoveResult) -> list[str]:
    """Return what was done, what happened to the files, and anything else to know, a sentence each."""
    return [
        _what(moved),
        *_files("Restored", moved.restored),
        *_files("Removed", moved.removed),
        *_files(
            "Kept as it is, because it has changed since then" if len(moved.kept) == 1 else _KEPT, moved.kept
        ),
        *_files("Merged", moved.merged),
        *_files("With conflict markers to resolve", moved.marked),
        *(f"Not restored: {path} ({why})." for path, why in moved.skipped),
        *_memories(len(moved.memories_inactive), "inactive", moved, "the abandoned turns"),
        *_memories(len(moved.memories_active), "active again", moved, "the restored turns"),
        *moved.notes,
    ]


def moved_json(moved: MoveResult) -> JsonObject:
    """Return the same as an object; memories that became inactive or active again with their words."""
    memories = {"inactive": moved.memories_inactive, "active": moved.memories_active}
    return {
        "action": moved.action,
        "turns": [turn.id for turn in moved.turns],
        "version": moved.version,
        "restored": list(moved.restored),
        "removed": list(moved.removed),
        "kept": list(moved.kept),
        "merged": list(moved.merged),
        "marked": list(moved.marked),
        "skipped": [{"path": path, "why": why} for path, why in moved.skipped],
        "memories": {
            state: [{"id": id, "content": content} for id, content in found.items()]
            for state, found in memories.items()
        },
        "draft": moved.draft,
        "notes": list(moved.notes),
    }


_KEPT = "Kept as they are, because they have changed since then"


def _what(moved: MoveResult) -> str:
    done = _DONE[moved.action]
    if not moved.turns:
        is_there = moved.restored or moved.removed or moved.merged or moved.marked or not moved.kept
        if not is_there:
            done = "The files stay at"
        version = f" version {short_id(moved.version)}" if moved.version else " the beginning"
        return f"{done}{version}."
    if moved.action is MoveAction.REWIND:
        return f"{done} {named(moved.turns[-1])}"
    if len(moved.turns) == 1:
        return f"{done} {named(moved.turns[0])}"
    numbers = sorted(turn.index + 1 for turn in moved.turns)
    return f"{done}: turns {numbers[0]} to {numbers[-1]}."


def _files(what: str, paths: Sequence[str]) -> list[str]:
    if not paths:
        return []
    named_paths = ", ".join(escaped(path) for path in paths[:PATHS_SHOWN_MAX])
    more = f" and {len(paths) - PATHS_SHOWN_MAX} more" if len(paths) > PATHS_SHOWN_MAX else ""
    return [f"{what}: {named_paths}{more}."]


def _memories(count: int, state: str, moved: MoveResult, unnamed: str) -> list[str]:
    if not count:
        return []
    named_turns = "that turn" if len(moved.turns) == 1 else "those turns"
    turns = named_turns if moved.turns else unnamed
    verb = "is" if count == 1 else "are"
    return [f"{counted(count, 'memory')} from {turns} {verb} {state}."]


def row_words(row: TurnRow) -> str:
    """Return a turn's first words, and what it changed."""
    words = first_words(own_text(row.turn.user)) or "(no words)"
    if not row.recorded:
        return f"{words} · files not recorded"
    paths = list(dict.fromkeys(change.path for change in row.changes))
    if not paths:
        return f"{words} · no files"
    shown_paths = ", ".join(escaped(path) for path in paths[:3])
    more = f" and {len(paths) - 3} more" if len(paths) > 3 else ""
    lines = f" +{row.lines_added} -{row.lines_removed}" if row.lines_added or row.lines_removed else ""
    return f"{words} · {shown_paths}{more}{lines}"


def branch_words(row: BranchRow, moment: datetime) -> str:
    """Return a branch, the version it points to, and whether it is the current one."""
    here = " (current)" if row.current else ""
    if row.version is None:
        return f"{row.branch.name}{here}: {short_id(row.branch.version_id)}, which is not stored here"
    return f"{row.branch.name}{here}: {shown(row.version)}, {age_words(row.version.at, moment)}"


def branched_words(row: BranchRow) -> str:
    """Return that a branch was started."""
    assert row.version is not None
    where = f"The branch {row.branch.name} points to {shown(row.version)}."
    if row.current:
        return f"{where} It moves with each new version."
    return f"{where} `{typed(f'checkout {row.branch.name}')}` goes there."


def compared_words(compared: Compared, added: int, removed: int) -> str:
    """Return what was compared, and how much differs."""
    between = f"From {compared.start} to {compared.end}"
    if not compared.files:
        return f"{between}: nothing differs."
    return f"{between}: {counted(len(compared.files), 'file')}, +{added} -{removed}."
