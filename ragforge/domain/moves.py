"""What is chosen for a move between versions: what moves, and what becomes of files in conflict."""

from enum import StrEnum


class Part(StrEnum):
    """What moves."""

    BOTH = "both"
    FILES = "files"
    CHAT = "chat"


class ConflictChoice(StrEnum):
    """What shall become of a file that was changed since."""

    KEEP = "keep"
    RESTORE = "restore"
    MERGE = "merge"


class Side(StrEnum):
    """What becomes of a file that both lines changed in the same place."""

    MARKERS = "markers"
    """Both stand in it, between conflict markers; what is not text stays ours."""
    OURS = "ours"
    THEIRS = "theirs"


class MergeMode(StrEnum):
    """How a model is asked; BEST asks in both ways, and the better result is taken."""

    BEST = "best"
    COMBINE_BEST = "combine_best"
    RESOLVE_CONFLICTS = "resolve_conflicts"
