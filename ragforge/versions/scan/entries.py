"""What lies right in a folder, told apart by what the last scan saw there. Nothing is read."""

import os
import stat
from collections.abc import Iterable

from msgspec import Struct, field

from ragforge.versions.scan.manifest import FolderSeen, Left, Seen

_NOTHING = FolderSeen({}, {})


class Listed(Struct):
    """What was found in a folder.

    folders: names of folders. new: all else that was not covered. changed: what was, and has other times.
    vanished: names that were covered and are gone, or are folders now.
    others: what is not covered and has not been looked at now: it stays as it was.
    is_empty: whether nothing at all lies in the folder.
    """

    folders: list[str] = field(default_factory=list[str])
    new: list[tuple[str, os.stat_result]] = field(default_factory=list[tuple[str, os.stat_result]])
    changed: list[tuple[str, os.stat_result, Seen]] = field(
        default_factory=list[tuple[str, os.stat_result, Seen]]
    )
    vanished: list[str] = field(default_factory=list[str])
    others: dict[str, Left] = field(default_factory=dict[str, Left])
    is_empty: bool = False

    def names(self) -> Iterable[str]:
        """The names of folders and of what is new."""
        yield from self.folders
        yield from (name for name, _ in self.new)


def list_folder(at: str, then: FolderSeen | None) -> Listed:
    """All that lies in the folder. Raises OSError.

    This runs once a file in every scan, so that a file that has not changed costs little more than its stat.
    """
    known = (then or _NOTHING).entries
    get = known.get
    listed = Listed()
    same = 0
    with os.scandir(at) as items:
        entries = list(items)
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            listed.folders.append(entry.name)
            continue
        try:
            found = entry.stat(follow_symlinks=False)
        except FileNotFoundError:
            continue
        seen = get(entry.name)
        if seen is None:
            listed.new.append((entry.name, found))
        elif (
            found.st_mtime_ns == seen.mtime_ns
            and found.st_ctime_ns == seen.ctime_ns
            and found.st_size == seen.size
            and found.st_ino == seen.inode
            and found.st_mode == seen.mode
        ):
            same += 1
        else:
            listed.changed.append((entry.name, found, seen))
    if same + len(listed.changed) < len(known):
        there = {entry.name for entry in entries}.difference(listed.folders)
        listed.vanished = [name for name in known if name not in there]
    listed.is_empty = not entries
    return listed


def list_one(at: str, name: str, then: FolderSeen | None) -> Listed:
    """The same of one name in the folder alone. Raises OSError."""
    then = then or _NOTHING
    seen = then.entries.get(name)
    listed = Listed()
    try:
        found = os.lstat(f"{at}/{name}")
    except FileNotFoundError:
        found = None
    if found and stat.S_ISDIR(found.st_mode):
        listed.folders.append(name)
    elif found and seen:
        listed.changed.append((name, found, seen))
    elif found:
        listed.new.append((name, found))
    if seen and not listed.changed:
        listed.vanished.append(name)
    with os.scandir(at) as items:
        listed.is_empty = next(items, None) is None
    return listed
