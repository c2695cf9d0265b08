"""The changes in a project's folder since the last scan.

What was tracked stays tracked until it is removed, whatever ignore files say later, as in git. So the rules
are applied only to new paths and, if an ignore file changed, to those that it excluded before.
"""

import os
from collections.abc import Collection, Mapping
from threading import Event

from msgspec import Struct

from ragforge.domain.errors import UsageError
from ragforge.domain.versions import Node, Untracked
from ragforge.files.open import why
from ragforge.versions.scan.manifest import Manifest
from ragforge.versions.scan.nodes import now_ns
from ragforge.versions.scan.track_rules import TrackRules
from ragforge.versions.scan.walk import Walking


class Scan(Struct, frozen=True):
    """The result of a scan.

    manifest: the current contents of the folder.
    differences: by path, the earlier and the current content, only where they differ. A path that was not
    tracked before is none, because its earlier content is unknown; so the first scan of a folder finds none.
    One that is no longer tracked (too large, unreadable) counts as removed: its last content can be restored.
    untracked: new or changed since, without a stored content.
    read: by path, the hash of each file and link with a new content, in hex.
    """

    manifest: Manifest
    differences: Mapping[str, tuple[Node | None, Node | None]]
    untracked: tuple[Untracked, ...]
    read: Mapping[str, str]


def scan(
    track_rules: TrackRules,
    last: Manifest,
    *,
    paths: Collection[str] | None = None,
    stop: Event | None = None,
) -> Scan:
    """Scan for changes. Accesses the disk: call it in a thread.

    paths: only these, relative to the root, and what is below them. stop: end early, with an empty result.
    Raises UsageError if the root itself cannot be read.
    """
    walking = begin_scan(track_rules, last, paths=paths, stop=stop)
    walking.read_all()
    return end_scan(walking, last)


def begin_scan(
    track_rules: TrackRules,
    last: Manifest,
    *,
    paths: Collection[str] | None = None,
    stop: Event | None = None,
) -> Walking:
    """Walk the folder until it is known which contents must be read, which is the caller's task."""
    root = str(track_rules.root)
    try:
        os.scandir(root).close()
    except OSError as error:
        raise UsageError(
            f"Cannot read {root}: {why(error)}. Make it readable, or start ragforge in another folder."
        ) from error
    walking = Walking(track_rules, last, stop or Event(), since_ns=now_ns())
    if paths is None or not last.is_known:
        walking.walk_all()
    else:
        walking.walk_only(paths)
    return walking


def end_scan(walking: Walking, last: Manifest) -> Scan:
    """Return the result of a walk of which everything was read."""
    if walking.stop.is_set():
        return Scan(last, {}, (), {})
    folders = walking.folders()
    return Scan(
        Manifest(folders, walking.sources),
        dict(sorted(walking.differences.items())),
        tuple(Untracked(path, reason) for path, reason in sorted(walking.untracked.items())),
        walking.read,
    )
