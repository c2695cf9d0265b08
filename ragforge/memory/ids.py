"""The ids that follow from what they stand for."""

import hashlib
from collections.abc import Sequence


def summary_id(level: int, covers: Sequence[str]) -> str:
    """The id of the summary that stands for these: whoever makes it, it is the same."""
    return hashlib.sha256("\n".join(["summary", str(level), *covers]).encode()).hexdigest()[:32]
