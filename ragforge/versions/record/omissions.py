"""What an undo does not change, for a user: untracked files, and changes that may be another session's."""

from collections.abc import Iterable, Sequence

from ragforge.domain.commands import typed
from ragforge.domain.printable import escaped
from ragforge.domain.versions import Untracked, Version
from ragforge.versions.scan.walk import REMOVED

NAMED_MAX = 5


def not_kept(untracked: Iterable[Untracked]) -> str:
    """What cannot be undone of a turn, by name."""
    return f"Not tracked, so it cannot be undone: {_named(untracked)}."


def not_back(versions: Sequence[Version]) -> list[str]:
    """Return what stays as it is when the turns of these versions are undone."""
    every = {each.path: each for version in versions for each in version.untracked if each.path != "."}
    gone = [each for each in every.values() if each.why.endswith(REMOVED)]
    others = [each for each in every.values() if not each.why.endswith(REMOVED)]
    told = [f"Not restored, because it is not tracked: {_named(gone)}."] if gone else []
    return told + ([f"Left as it is, because it is not tracked: {_named(others)}."] if others else [])


def unsure(versions: Sequence[Version]) -> list[str]:
    """Return what changed while another session was running too, so that it may be its change."""
    shared = sorted({change.path for version in versions for change in version.changes if change.shared})
    if not shared:
        return []
    return [
        "Not undone, because another session was working at the same time and may have changed it: "
        f"{', '.join(escaped(path) for path in shared)}. `{typed('checkout VERSION')}` restores any of them."
    ]


def _named(untracked: Iterable[Untracked]) -> str:
    every = sorted(untracked, key=lambda each: each.path)
    named = ", ".join(f"{escaped(each.path)} ({each.why})" for each in every[:NAMED_MAX])
    return named + (f" and {len(every) - NAMED_MAX} more" if len(every) > NAMED_MAX else "")
