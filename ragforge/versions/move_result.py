"""What a move of the heads came to, for whoever asked for it."""

from collections.abc import Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from ragforge.domain.moves import ConflictChoice
from ragforge.domain.turns import Turn
from ragforge.domain.versions import MoveAction
from ragforge.versions.head_move import Choices, FilesMoved
from ragforge.versions.restore.plan import Skipped


class MoveResult(Struct, frozen=True):
    """What a move came to.

    turns: those undone, newest first, or redone, oldest first. restored: paths that were written;
    removed: those that were taken away.
    kept: paths that were in conflict and were left as they are; merged: those where both went together, and
    `marked` those of them that hold conflict markers now. skipped: paths that could not be written, and why.
    draft: the message that returns to the prompt. notes: what else the user must hear.
    chat: whether the conversation moved. doubted: a merge was taken although something speaks against it.
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
    doubted: bool = False


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
        )
