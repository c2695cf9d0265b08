"""The choices for a move between versions: what moves, and what to do with files in conflict."""

from enum import StrEnum


class Part(StrEnum):
    """What moves."""

    BOTH = "both"
    FILES = "files"
    CHAT = "chat"


class ConflictChoice(StrEnum):
    """What to do with a file that has changed since."""

    KEEP = "keep"
    RESTORE = "restore"
    MERGE = "merge"


class Side(StrEnum):
    """What to do with a file that both lines changed in the same place."""

    MARKERS = "markers"
    """Both are kept, between conflict markers; files that are not text stay ours."""
    OURS = "ours"
    THEIRS = "theirs"


class MergeMode(StrEnum):
    """How a model is asked; BEST asks in both ways, and the better result is taken."""

    BEST = "best"
    COMBINE_BEST = "combine_best"
    RESOLVE_CONFLICTS = "resolve_conflicts"
