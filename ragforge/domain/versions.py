"""Versions: states of a project's files, how each was made, and how the heads moved between them."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import StrEnum

from msgspec import Struct, field

from ragforge.domain.records import Description, RecordKind
from ragforge.domain.usage import Usage

USER = "person"
RESTORE = "restore"
MERGE = "merge"
"""Who made a version, if no model did: the user's own edits, undo and related commands, a merge."""

WORDS_CHARS_MAX = 20_000


FOLDER_MODE = 0o755
"""The mode of a folder without a node."""


class NodeKind(StrEnum):
    """The kinds of path contents.

    A folder is implied by its files. It has its own node only if it is empty or its mode is not FOLDER_MODE.
    """

    FILE = "file"
    LINK = "link"
    FOLDER = "folder"


class Node(Struct, frozen=True):
    """The complete content of a path: two equal nodes are identical to the last bit.

    digest: SHA-256 in hexadecimal of the content, for a link of its target's bytes; empty for a folder.
    mode: the permission bits (0o644); 0 for a link.
    """

    kind: NodeKind
    digest: str
    mode: int
    size: int = 0


class ChangeKind(StrEnum):
    """How a path changed."""

    ADDED = "added"
    CHANGED = "changed"
    REMOVED = "removed"
    RENAMED = "renamed"


class Provenance(StrEnum):
    """How the author of a change is known."""

    TOOL = "tool"
    """A tool of ours wrote it: certain."""
    SHELL = "during-shell"
    """Found by scanning around a command."""
    OUTSIDE = "outside"
    """Found between turns: the user, or another program."""
    RESTORE = "restore"
    MERGE = "merge"


class Change(Struct, frozen=True):
    """The change of one path; `before` or `after` is None if nothing was there.

    path: relative to the project's root, with `/`; a name that is not UTF-8 contains lone surrogates, as
    `os.fsdecode` makes them.
    renamed_from: for an added path, the removed path with the same content, which is a separate change.
    shared: another session of the folder was active at the same time, so the change may be that session's.
    """

    path: str
    before: Node | None
    after: Node | None
    provenance: Provenance
    renamed_from: str = ""
    shared: bool = False

    @property
    def is_own(self) -> bool:
        """Whether it certainly belongs to the session of its version."""
        return self.provenance is Provenance.TOOL or (self.provenance is Provenance.SHELL and not self.shared)

    @property
    def kind(self) -> ChangeKind:
        """Added, changed, removed or renamed."""
        if self.renamed_from:
            return ChangeKind.RENAMED
        if self.before is None:
            return ChangeKind.ADDED
        return ChangeKind.REMOVED if self.after is None else ChangeKind.CHANGED


def files_touched(changes: Sequence[Change]) -> int:
    """Return how many files changed; a renamed file counts once, an unchanged one not at all."""
    sources = {change.renamed_from for change in changes if change.renamed_from}
    ends: dict[str, tuple[Node | None, Node | None]] = {}
    for change in changes:
        ends[change.path] = (ends.get(change.path, (change.before,))[0], change.after)
    return sum(
        before != after and (after is not None or path not in sources)
        for path, (before, after) in ends.items()
    )


class Untracked(Struct, frozen=True):
    """A path, or a folder with everything below it, whose content is not stored, and why, in a few words."""

    path: str
    why: str


class Version(Struct, frozen=True):
    """A state of the files: that of the first parent, with the changes applied.

    parents: none for the first version of a project, two for a merge (ours, theirs).
    changes: in the order in which they happened. A path can occur several times, if a change has another
    provenance or replaces a content that existed only in between. `history.tree.summed` returns one change
    per path.
    by: a model's name ("gemini:gemini-3.8-flash"), USER, RESTORE or MERGE.
    title: the first words of the turn's message, or what was done ("undo of turn 3").
    words: paths and changed lines, without secrets, truncated at WORDS_CHARS_MAX, for search.
    note: anything that the user should know about it, such as that it was made after a crash.
    """

    id: str
    project_id: str
    parents: tuple[str, ...]
    at: datetime
    by: str
    changes: tuple[Change, ...] = ()
    session_id: str = ""
    turn_id: str = ""
    title: str = ""
    label: str = ""
    note: str = ""
    words: str = ""
    untracked: tuple[Untracked, ...] = ()
    lines_added: int = 0
    lines_removed: int = 0
    usage: Usage = field(default_factory=Usage)
    cost_usd: float | None = 0.0
    duration_ms: int = 0


VERSION = Description(
    RecordKind.VERSION,
    Version,
    refers={
        **{"project_id": RecordKind.PROJECT, "session_id": RecordKind.SESSION, "turn_id": RecordKind.TURN},
        **{"parents": RecordKind.VERSION},
    },
    columns={"by": "author", "untracked": "uncovered"},
    properties={"at": "timestamp", "untracked": "uncovered"},
    line={"untracked": "uncovered"},
    signed=("duration_ms",),
    texts=("title", "label", "note", "words"),
)


class Branch(Struct, frozen=True):
    """A name for the newest version of a line of work; `name` is unique within a project."""

    project_id: str
    name: str
    version_id: str
    at: datetime


BRANCH = Description(
    RecordKind.BRANCH,
    Branch,
    key=("project_id", "name"),
    refers={"project_id": RecordKind.PROJECT, "version_id": RecordKind.VERSION},
    properties={"at": "timestamp"},
)


class MoveAction(StrEnum):
    """Why heads moved."""

    UNDO = "undo"
    REDO = "redo"
    CHECKOUT = "checkout"
    REWIND = "rewind"
    MERGE = "merge"
    TAKE = "take"
    """One of several alternatives was taken."""


class CheckoutLog(Struct, frozen=True):
    """A move of the heads: of the files from version to version, of the conversation from turn to turn.

    If both ends are the same, that head did not move. One command can make several moves.

    turns: ids of the turns that were undone or abandoned, newest first; for a redo, the turn that was redone.
    undoes: the id of the move whose turn or files a redo restores.
    kept: the content of each path that the move did not change although the versions differ there; None if
    nothing was compared.
    aside: the content before the move of paths that it had to change and that are the same in both versions.
    command_id: the same in all moves of one command. Moves of earlier releases have only those of these that
    a migration could determine.
    """

    id: str
    project_id: str
    session_id: str
    action: MoveAction
    at: datetime
    from_version: str = ""
    to_version: str = ""
    from_turn: str = ""
    to_turn: str = ""
    turns: tuple[str, ...] = ()
    undoes: str = ""
    kept: Mapping[str, Node | None] | None = None
    aside: Mapping[str, Node | None] = field(default_factory=dict[str, Node | None])
    command_id: str = ""

    @property
    def is_of_chat(self) -> bool:
        """Whether the conversation moved too, and not only the files."""
        return self.from_turn != self.to_turn


MOVE = Description(
    RecordKind.MOVE,
    CheckoutLog,
    refers={"project_id": RecordKind.PROJECT},  # sessions, versions and turns may go
    columns={"session_id": "session", "command_id": "command"},
    properties={"at": "timestamp"},
    later=("turns", "undoes", "kept", "aside", "command_id"),
)
