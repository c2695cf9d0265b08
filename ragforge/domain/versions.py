"""Versions: states of a project's files, how each came about, and how the heads moved between them."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import StrEnum

from msgspec import Struct, field

from ragforge.domain.records import Description, RecordKind
from ragforge.domain.usage import Usage

USER = "person"
RESTORE = "restore"
MERGE = "merge"
"""Who made a version, where no model did: the user's own edits, undo and its kin, a merge."""

WORDS_CHARS_MAX = 20_000


FOLDER_MODE = 0o755
"""Of a folder that nothing is said of."""


class NodeKind(StrEnum):
    """What can lie at a path.

    Of a folder its files tell. It is a node of its own where it is empty or its mode is not FOLDER_MODE.
    """

    FILE = "file"
    LINK = "link"
    FOLDER = "folder"


class Node(Struct, frozen=True):
    """What lies at a path, whole: two equal nodes are the same to the last bit.

    digest: SHA-256 in hex of the content, of a link of its target's bytes; empty for a folder.
    mode: the permission bits (0o644); 0 for a link.
    """

    kind: NodeKind
    digest: str
    mode: int
    size: int = 0


class ChangeKind(StrEnum):
    """What became of a path."""

    ADDED = "added"
    CHANGED = "changed"
    REMOVED = "removed"
    RENAMED = "renamed"


class Provenance(StrEnum):
    """How it is known whose change it is."""

    TOOL = "tool"
    """A tool of ours wrote it: certain."""
    SHELL = "during-shell"
    """Found by scanning around a command."""
    OUTSIDE = "outside"
    """Found between turns: the user, or another program."""
    RESTORE = "restore"
    MERGE = "merge"


class Change(Struct, frozen=True):
    """What became of one path; `before` or `after` is None where nothing lay there.

    path: relative to the project's root, with `/`; a name that is not UTF-8 holds lone surrogates, as
    `os.fsdecode` makes them.
    renamed_from: of an added path, the removed one whose content it has; that is a change of its own.
    shared: another session of the folder was active meanwhile, so that it may be the other's.
    """

    path: str
    before: Node | None
    after: Node | None
    provenance: Provenance
    renamed_from: str = ""
    shared: bool = False

    @property
    def is_own(self) -> bool:
        """Whether it is certain to be the session's whose version holds it."""
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
    """How many files the changes are of; one that was renamed counts once, one that is as it was never."""
    sources = {change.renamed_from for change in changes if change.renamed_from}
    ends: dict[str, tuple[Node | None, Node | None]] = {}
    for change in changes:
        ends[change.path] = (ends.get(change.path, (change.before,))[0], change.after)
    return sum(
        before != after and (after is not None or path not in sources)
        for path, (before, after) in ends.items()
    )


class Untracked(Struct, frozen=True):
    """A path, or a folder with all below it, of which no content is kept, and why, in a few words."""

    path: str
    why: str


class Version(Struct, frozen=True):
    """A state of the files: that of the first parent with the changes made to it.

    parents: none for the first of a project, two for a merge (ours, theirs).
    changes: in the order in which they came about; a path stands among them again where its change is of
    another provenance, or over a content that lay there in between. `history.tree.summed` gives one a path.
    by: a model's name ("gemini:gemini-3.8-flash"), USER, RESTORE or MERGE.
    title: the first words of the turn's message, or what was done ("undo of turn 3").
    words: paths and changed lines, without secrets, cut at WORDS_CHARS_MAX: what search finds it by.
    note: anything the user should know of it, such as that it was found after a crash.
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
    """A move of the heads: of the files from version to version, of the chat from turn to turn.

    Where both are the same at either end, that head stayed where it was. A command may make several moves.

    turns: ids of the turns that were undone or left, newest first; of a redo, the turn that was redone.
    undoes: the id of the move whose turn or files a redo restores.
    kept: what was left in place at each path that the move did not change although the versions differ there;
        None if nothing was compared.
    aside: what lay, before the move, at paths that it was to change and that are the same in both versions.
    command_id: the same in all moves of one command.
    Moves of earlier releases have none of these but what a migration could tell.
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
        """Whether the chat moved too, and not the files alone."""
        return self.from_turn != self.to_turn


MOVE = Description(
    RecordKind.MOVE,
    CheckoutLog,
    refers={"project_id": RecordKind.PROJECT},  # sessions, versions and turns may go
    columns={"session_id": "session", "command_id": "command"},
    properties={"at": "timestamp"},
    later=("turns", "undoes", "kept", "aside", "command_id"),
)
