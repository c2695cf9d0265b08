"""What a scan has found so far: folders that are not as they were, and what is to be read."""

import os
from threading import Event

from msgspec import Struct

from ragforge.domain.versions import Node
from ragforge.versions.scan.coverage import Coverage
from ragforge.versions.scan.ignore_rules import hash_of_sources
from ragforge.versions.scan.manifest import UNTOLD, FolderSeen, IgnoreFileSeen, Left, Manifest, Seen, join
from ragforge.versions.scan.nodes import Unread, read_content

KEPT_BYTES_MAX = 1024 * 1024
"""The content of a larger file is not held in memory, but read once more when it is kept."""
BYTES_EACH = 100
"""What a content takes in memory besides its own bytes, roughly."""

_NOTHING = FolderSeen({}, {})


class Made(Struct):
    """A folder that is not as it was, while it is put together."""

    entries: dict[str, Seen]
    left: dict[str, Left]
    ignore: IgnoreFileSeen | None = None
    own_mode: int = UNTOLD
    why: str = ""


class ToRead(Struct, frozen=True):
    """A file or link that is new, or whose times differ; `then` is None where it was not covered."""

    folder: str
    name: str
    found: os.stat_result
    then: Seen | None
    was_unknown: bool


class Finding:
    """One scan under way. Its results stand in `differences`, `uncovered`, `read` and `folders()`.

    kept: folders that are as they were; made: those that are not. large: paths of what `read_some` read and
    did not hand out. stop: set from another thread where the scan shall end early.
    """

    def __init__(self, coverage: Coverage, last: Manifest, stop: Event, *, since_ns: int) -> None:
        self.stop = stop
        self.differences: dict[str, tuple[Node | None, Node | None]] = {}
        self.uncovered: dict[str, str] = {}
        self.read: dict[str, str] = {}
        self.large: list[str] = []
        self.sources = hash_of_sources(coverage)
        self.kept: dict[str, FolderSeen] = {}
        self.made: dict[str, Made] = {}
        self.to_read: list[ToRead] = []
        self._file_bytes_max = coverage.file_bytes_max
        self._root = str(coverage.root).rstrip("/")
        self._last = last
        self._since_ns = since_ns

    def read_all(self) -> None:
        """Read what is new or whose times differ."""
        while self.to_read and not self.stop.is_set():
            self._read_one(self.to_read.pop(), keep=False)

    def read_newest_first(self) -> None:
        """From now on: what was written last may be overwritten next, and what is large takes longest."""
        # The last of the list is read first.
        self.to_read.sort(key=lambda each: (each.found.st_size <= KEPT_BYTES_MAX, each.found.st_mtime_ns))

    def read_some(self, bytes_max: int) -> list[bytes]:
        """Read on, up to about so many bytes: the contents that are new; none at the end.

        Larger ones than KEPT_BYTES_MAX are read, and stand in `large` in place of being handed out.
        """
        contents: list[bytes] = []
        while self.to_read and bytes_max > 0 and not self.stop.is_set():
            data = self._read_one(self.to_read.pop(), keep=True)
            if data is not None:
                contents.append(data)
                bytes_max -= len(data) + BYTES_EACH
        return contents

    def folders(self) -> dict[str, FolderSeen]:
        """Every folder as it is now; those in which nothing changed are the very same as before."""
        return self.kept | {
            folder: FolderSeen(made.entries, made.left, made.ignore, made.own_mode, made.why)
            for folder, made in self.made.items()
        }

    def make(self, folder: str) -> Made:
        """The folder, to be changed; what it was stays as it is."""
        made = self.made.get(folder)
        if made is None:
            then = self._last.folders.get(folder, _NOTHING)
            made = Made(dict(then.entries), dict(then.left), then.ignore, then.own_mode, then.why)
            self.made[folder] = made
        return made

    def differs(self, path: str, before: Node | None, after: Node | None) -> None:
        """Something else lies there than did."""
        # Where a folder takes a file's place, or the other way round, both are found, each by itself.
        was, becomes = self.differences.get(path, (None, None))
        before, after = before or was, after or becomes
        if before != after:
            self.differences[path] = (before, after)

    def _read_one(self, each: ToRead, *, keep: bool) -> bytes | None:
        """Read what lies there; with `keep` its content, where that is new and not large."""
        path, then = join(each.folder, each.name), each.then
        limit = self._file_bytes_max
        is_large = each.found.st_size > KEPT_BYTES_MAX
        try:
            content = read_content(
                self.at(path),
                each.found,
                bytes_max=limit,
                since_ns=self._since_ns,
                keep=keep and not is_large,
            )
        except FileNotFoundError:
            self.make(each.folder).entries.pop(each.name, None)
            self.differs(path, then.node if then else None, None)
            return None
        except Unread as error:
            self._cannot_read(each, str(error))
            return None
        seen = content.seen
        self.make(each.folder).entries[each.name] = seen
        is_new = then is None or then.sha256 != seen.sha256
        if is_new:
            self.read[path] = seen.sha256.hex()
            if keep and is_large:
                self.large.append(path)
        if not each.was_unknown:
            self.differs(path, then.node if then else None, seen.node)
        else:
            left = self._last.folders.get(each.folder, _NOTHING).left.get(each.name)
            if left and (left.size, left.mtime_ns) != (each.found.st_size, each.found.st_mtime_ns):
                self.uncovered[path] = f"{left.why} before"
        return content.data if is_new else None

    def _cannot_read(self, each: ToRead, reason: str) -> None:
        then, found = each.then, each.found
        if then is None:
            left = Left(reason, size=found.st_size, mtime_ns=found.st_mtime_ns)
            before = self._last.folders.get(each.folder, _NOTHING).left.get(each.name)
            self.make(each.folder).left[each.name] = left
            if left != before:
                self.uncovered[join(each.folder, each.name)] = reason
            return
        was, now = (then.mtime_ns, then.size, then.inode), (found.st_mtime_ns, found.st_size, found.st_ino)
        if was != now or then.ctime_ns == 0:
            self.is_not_covered_any_more(each.folder, each.name, then, found, reason)
            return
        # Only the permission to read it was taken away: the content is taken for what it was.
        seen = Seen(found.st_mode, then.size, then.mtime_ns, found.st_ctime_ns, then.inode, then.sha256)
        self.make(each.folder).entries[each.name] = seen
        self.differs(join(each.folder, each.name), then.node, seen.node)

    def is_not_covered_any_more(
        self, folder: str, name: str, seen: Seen, found: os.stat_result, reason: str
    ) -> None:
        """It is there, and counts as gone from now on."""
        made, path = self.make(folder), join(folder, name)
        made.entries.pop(name, None)
        made.left[name] = Left(reason, size=found.st_size, mtime_ns=found.st_mtime_ns)
        self.differs(path, seen.node, None)
        self.uncovered[path] = reason

    def at(self, path: str) -> str:
        """Where on the disk it lies."""
        return f"{self._root}/{path}" if path else self._root or "/"
