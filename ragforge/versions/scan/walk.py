"""The walk of a scan, folder by folder beside the last manifest, and its result."""

import os
import stat
from bisect import bisect_left
from collections.abc import Collection
from threading import Event

from msgspec import Struct

from ragforge.domain.versions import Node
from ragforge.files.open import KINDS, why
from ragforge.versions.scan.ignore_rules import (
    IGNORE_FILE,
    IgnoreRules,
    hash_of_sources,
    is_bare_repository,
    is_same,
    look_at_ignore_file,
)
from ragforge.versions.scan.manifest import (
    UNTOLD,
    FolderSeen,
    IgnoreFileSeen,
    Manifest,
    Seen,
    UntrackedPath,
    join,
)
from ragforge.versions.scan.nodes import (
    Listed,
    Unread,
    folder_node,
    list_folder,
    list_one,
    read_content,
    too_large,
)
from ragforge.versions.scan.track_rules import TrackRules, is_own_name, is_version_control

IGNORED = "ignored by git"
OWN = "ragforge's own"
GIT_INSIDE = "a git repository's own files"
VERSION_CONTROL = "version control's own"
REMOVED = ", removed"
"""Appended to the reason, if it was tracked and no longer exists."""

_NOTHING = FolderSeen({}, {})
_AFTER_SLASH = chr(ord("/") + 1)
KEPT_BYTES_MAX = 1024 * 1024
"""The content of a larger file is not held in memory, but read again when it is stored."""
BYTES_EACH = 100
"""The memory of a content besides its own bytes, roughly."""


class Made(Struct):
    """A changed folder while it is rebuilt."""

    entries: dict[str, Seen]
    untracked: dict[str, UntrackedPath]
    ignore: IgnoreFileSeen | None = None
    own_mode: int = UNTOLD
    why: str = ""


class ToRead(Struct, frozen=True):
    """A file or link that is new, or whose times differ; `then` is None if it was not tracked."""

    folder: str
    name: str
    found: os.stat_result
    then: Seen | None
    was_unknown: bool


class Finding:
    """A scan in progress. Its results are `differences`, `untracked`, `read` and `folders()`.

    kept: unchanged folders; made: changed ones. large: paths that `read_some` read and did not return.
    stop: set from another thread to end the scan early.
    """

    def __init__(self, track_rules: TrackRules, last: Manifest, stop: Event, *, since_ns: int) -> None:
        self.stop = stop
        self.differences: dict[str, tuple[Node | None, Node | None]] = {}
        self.untracked: dict[str, str] = {}
        self.read: dict[str, str] = {}
        self.large: list[str] = []
        self.sources = hash_of_sources(track_rules)
        self.kept: dict[str, FolderSeen] = {}
        self.made: dict[str, Made] = {}
        self.to_read: list[ToRead] = []
        self._file_bytes_max = track_rules.file_bytes_max
        self._root = str(track_rules.root).rstrip("/")
        self._last = last
        self._since_ns = since_ns

    def read_all(self) -> None:
        """Read what is new or whose times differ."""
        while self.to_read and not self.stop.is_set():
            self._read_one(self.to_read.pop(), keep=False)

    def read_newest_first(self) -> None:
        """Reverse the order: what was written last may be overwritten next, and large files take longest."""
        # The last of the list is read first.
        self.to_read.sort(key=lambda each: (each.found.st_size <= KEPT_BYTES_MAX, each.found.st_mtime_ns))

    def read_some(self, bytes_max: int) -> list[bytes]:
        """Read on, up to about so many bytes; return the new contents, none at the end.

        Those larger than KEPT_BYTES_MAX are read, and are in `large` instead of the result.
        """
        contents: list[bytes] = []
        while self.to_read and bytes_max > 0 and not self.stop.is_set():
            data = self._read_one(self.to_read.pop(), keep=True)
            if data is not None:
                contents.append(data)
                bytes_max -= len(data) + BYTES_EACH
        return contents

    def folders(self) -> dict[str, FolderSeen]:
        """Return every folder as it is now; unchanged ones are the same objects as before."""
        return self.kept | {
            folder: FolderSeen(made.entries, made.untracked, made.ignore, made.own_mode, made.why)
            for folder, made in self.made.items()
        }

    def make(self, folder: str) -> Made:
        """Return the folder, to be changed; the previous one stays as it is."""
        made = self.made.get(folder)
        if made is None:
            then = self._last.folders.get(folder, _NOTHING)
            made = Made(dict(then.entries), dict(then.untracked), then.ignore, then.own_mode, then.why)
            self.made[folder] = made
        return made

    def differs(self, path: str, before: Node | None, after: Node | None) -> None:
        """Record that something else is there than before."""
        # If a folder replaces a file, or vice versa, both are found, each by itself.
        was, becomes = self.differences.get(path, (None, None))
        before, after = before or was, after or becomes
        if before != after:
            self.differences[path] = (before, after)

    def _read_one(self, each: ToRead, *, keep: bool) -> bytes | None:
        """Read the content; with `keep`, return it if it is new and not large."""
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
            before = self._last.folders.get(each.folder, _NOTHING).untracked.get(each.name)
            if before and (before.size, before.mtime_ns) != (each.found.st_size, each.found.st_mtime_ns):
                self.untracked[path] = f"{before.why} before"
        return content.data if is_new else None

    def _cannot_read(self, each: ToRead, reason: str) -> None:
        then, found = each.then, each.found
        if then is None:
            now = UntrackedPath(reason, size=found.st_size, mtime_ns=found.st_mtime_ns)
            before = self._last.folders.get(each.folder, _NOTHING).untracked.get(each.name)
            self.make(each.folder).untracked[each.name] = now
            if now != before:
                self.untracked[join(each.folder, each.name)] = reason
            return
        was, now = (then.mtime_ns, then.size, then.inode), (found.st_mtime_ns, found.st_size, found.st_ino)
        if was != now or then.ctime_ns == 0:
            self.is_not_tracked_any_more(each.folder, each.name, then, found, reason)
            return
        # Only the permission to read it was removed: the content is assumed unchanged.
        seen = Seen(found.st_mode, then.size, then.mtime_ns, found.st_ctime_ns, then.inode, then.sha256)
        self.make(each.folder).entries[each.name] = seen
        self.differs(join(each.folder, each.name), then.node, seen.node)

    def is_not_tracked_any_more(
        self, folder: str, name: str, seen: Seen, found: os.stat_result, reason: str
    ) -> None:
        """It exists, and counts as removed from now on."""
        made, path = self.make(folder), join(folder, name)
        made.entries.pop(name, None)
        made.untracked[name] = UntrackedPath(reason, size=found.st_size, mtime_ns=found.st_mtime_ns)
        self.differs(path, seen.node, None)
        self.untracked[path] = reason

    def at(self, path: str) -> str:
        """Return its path on the disk."""
        return f"{self._root}/{path}" if path else self._root or "/"


class _Task(Struct, frozen=True):
    """A folder to scan.

    rules_changed: an ignore file above it, or its own, has changed.
    was_unknown: its earlier contents are unknown, except what the last manifest has of it.
    """

    folder: str
    rules_changed: bool
    was_unknown: bool


class Walking(Finding):
    """A scan that walks the folders itself."""

    def __init__(self, track_rules: TrackRules, last: Manifest, stop: Event, *, since_ns: int) -> None:
        super().__init__(track_rules, last, stop, since_ns=since_ns)
        self._track_rules = track_rules
        self._rules = IgnoreRules(track_rules)
        self._holding: set[str] | None = None
        self._known: list[str] | None = None
        """The folders of the last manifest, in order."""
        self._repositories: dict[str, bool] = {}
        """Whether folders that were new when a path in them was scanned are repositories."""
        self._gone: set[str] = set()
        """Paths scanned one by one, below which folders were known that no longer exist."""

    def walk_all(self) -> None:
        """Scan everything."""
        changed = self.sources != self._last.sources
        self._walk(_Task("", changed, not self._last.is_known))

    def walk_only(self, paths: Collection[str]) -> None:
        """Scan only these paths, and what is below them."""
        self.sources = self._last.sources
        self.kept = dict(self._last.folders)
        for path in sorted({path.strip("/") for path in paths}):
            parts = path.split("/")
            if not any(part in {"", ".", ".."} or is_own_name(part) for part in parts):
                self._look_at(parts)

    # Walking folders

    def _walk(self, task: _Task) -> None:
        waiting = [task]
        while waiting and not self.stop.is_set():
            waiting += self._look_into(waiting.pop())
        if self.stop.is_set():
            return
        for folder in self._below(task.folder):
            if folder not in self.kept and folder not in self.made:
                self._is_gone(folder)

    def _look_into(self, task: _Task) -> list[_Task]:
        """Scan a folder; return its subfolders to scan next."""
        folder, at = task.folder, self.at(task.folder)
        then = self._last.folders.get(folder)
        try:
            listed = list_folder(at, then)
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            self._cannot_look_into(folder, f"cannot be read: {why(error)}")
            return []
        if folder and not (then and then.entries) and is_bare_repository(listed.names()):
            self._cannot_look_into(folder, GIT_INSIDE)
            return []
        was_unknown = task.was_unknown or (then is not None and then.why != "" and not then.entries)
        rules_changed = self._compare_rules(folder, then, listed) or task.rules_changed
        if then is None or then.why:
            self.make(folder).why = ""
        else:
            self.kept[folder] = then
        deeper = self._compare(_Task(folder, rules_changed, was_unknown), listed)
        self._compare_itself(folder, is_empty=listed.is_empty, was_unknown=was_unknown)
        return deeper

    def _look_at(self, parts: list[str]) -> None:
        """Scan one path, given by its parts."""
        folder = ""
        deeper: list[_Task] = []
        for number, name in enumerate(parts, 1):
            then = self._last.folders.get(folder)
            path = join(folder, name)
            if path in self._gone:
                return
            try:
                listed = list_one(self.at(folder), name, then)
            except OSError as error:
                self._cannot_look_into(folder, f"cannot be read: {why(error)}")
                return
            untracked = (self.made.get(folder) or then or _NOTHING).untracked
            listed.others = {each: about for each, about in untracked.items() if each != name}
            task = _Task(folder, rules_changed=False, was_unknown=self._last.was_untracked(folder))
            deeper = self._compare(task, listed)
            if not listed.folders and (known := self._below(path)):
                self._gone.add(path)
                for below in known:
                    self._is_gone(below)
                    self.kept.pop(below, None)
                    self.made.pop(below, None)
            self._compare_itself(folder, is_empty=listed.is_empty, was_unknown=task.was_unknown)
            if not deeper:
                if number < len(parts) and listed.folders:
                    self.untracked["/".join(parts)] = self.make(folder).untracked[name].why
                return
            if number < len(parts) and self._is_repository(path):
                self.untracked["/".join(parts)] = GIT_INSIDE
                return
            folder = path
        for task in deeper:
            for known in self._below(task.folder):
                self.kept.pop(known, None)
            self._walk(task)

    def _is_repository(self, folder: str) -> bool:
        then = self._last.folders.get(folder)
        if then and then.entries:
            return False
        found = self._repositories.get(folder)
        if found is None:
            try:
                found = is_bare_repository(os.listdir(self.at(folder)))  # noqa: PTH208
            except OSError:
                found = False
            self._repositories[folder] = found
        return found

    def _compare_rules(self, folder: str, then: FolderSeen | None, listed: Listed) -> bool:
        """Whether the folder's own ignore file has changed."""
        was = then.ignore if then else None
        is_there = was is not None or (then is not None and IGNORE_FILE in then.entries)
        if not is_there and all(name != IGNORE_FILE for name, _ in listed.new):
            return False
        ignore = look_at_ignore_file(self.at(folder), was, since_ns=self._since_ns)
        if ignore is not was:
            self.make(folder).ignore = ignore
        return not is_same(ignore, was)

    def _compare(self, task: _Task, listed: Listed) -> list[_Task]:
        """Process the contents of a folder; return its subfolders to scan next."""
        folder = task.folder
        then = self._last.folders.get(folder, _NOTHING)
        deeper: list[_Task] = []
        untracked = listed.others
        for name in listed.folders:
            if is_own_name(name):
                if is_version_control(name):  # so that its coming and going can be reported
                    untracked[name] = UntrackedPath(VERSION_CONTROL, is_folder=True)
                continue
            if reason := self._why_not_into(task, then, name):
                untracked[name] = UntrackedPath(reason, is_folder=True)
            else:
                unknown = task.was_unknown or (name in then.untracked and then.untracked[name].is_folder)
                deeper.append(_Task(join(folder, name), task.rules_changed, unknown))
        for name, found in listed.new:
            if is_own_name(name):
                if is_version_control(name):
                    untracked[name] = UntrackedPath(VERSION_CONTROL)
                continue
            if reason := self._why_not(task, then, name, found):
                untracked[name] = UntrackedPath(reason, size=found.st_size, mtime_ns=found.st_mtime_ns)
            else:
                unknown = task.was_unknown or name in then.untracked
                self.to_read.append(ToRead(folder, name, found, None, unknown))
        for name, found, seen in listed.changed:
            if reason := self._why_no_longer(found):
                self.is_not_tracked_any_more(folder, name, seen, found, reason)
            else:
                self.to_read.append(ToRead(folder, name, found, seen, was_unknown=False))
        for name in listed.vanished:
            # A folder may be scanned twice: as itself, and because of a path in it.
            self.make(folder).entries.pop(name, None)
            self.differs(join(folder, name), then.entries[name].node, None)
        self._leave(folder, then, untracked)
        return deeper

    def _leave(self, folder: str, then: FolderSeen, untracked: dict[str, UntrackedPath]) -> None:
        """Record what of the folder is not tracked."""
        made = self.made.get(folder)
        # What was tracked before and no longer is, has been recorded already.
        known = (made or then).untracked
        added = {name: each for name, each in known.items() if name not in then.untracked}
        if untracked | added == known:
            return
        self.make(folder).untracked = untracked | added
        for name, each in untracked.items():
            if then.untracked.get(name) != each and each.why != OWN:
                self.untracked[join(folder, name)] = each.why
        self._name_gone(folder, then, but=untracked)

    def _name_gone(self, folder: str, then: FolderSeen, *, but: Collection[str] = ()) -> None:
        """Report untracked files that no longer exist: nothing of them is stored."""
        for name, each in then.untracked.items():
            path = join(folder, name)
            if name not in but and each.why != OWN and not os.path.lexists(self.at(path)):
                self.untracked[path] = each.why + REMOVED

    def _why_not_into(self, task: _Task, then: FolderSeen, name: str) -> str:
        """Return why a folder is not scanned; empty if it is."""
        path = join(task.folder, name)
        if path in self._track_rules.own:
            return OWN
        before = then.untracked.get(name)
        if before and before.is_folder and before.why == IGNORED and not task.rules_changed:
            return IGNORED
        if path in self._last.folders and not (task.rules_changed and not self._holds_tracked(path)):
            return ""
        if name in then.entries:  # it replaces a tracked file
            return ""
        return IGNORED if self._rules.ignores(task.folder, name, is_folder=True) else ""

    def _why_not(self, task: _Task, then: FolderSeen, name: str, found: os.stat_result) -> str:
        """Return why something that was not tracked, and is no folder, is not; empty if it is."""
        if self._track_rules.own and join(task.folder, name) in self._track_rules.own:
            return OWN
        before = then.untracked.get(name)
        if before and not before.is_folder and before.why == IGNORED and not task.rules_changed:
            return IGNORED
        takes_place = self._holds_tracked(join(task.folder, name))  # of a tracked folder
        if not takes_place and self._rules.ignores(task.folder, name, is_folder=False):
            return IGNORED
        return self._why_no_longer(found)

    def _why_no_longer(self, found: os.stat_result) -> str:
        """Return why something tracked no longer is, by its kind; empty if it is."""
        if kind := KINDS.get(stat.S_IFMT(found.st_mode)):
            return kind
        limit = self._track_rules.file_bytes_max
        return too_large(limit) if stat.S_ISREG(found.st_mode) and found.st_size > limit else ""

    def _compare_itself(self, folder: str, *, is_empty: bool, was_unknown: bool) -> None:
        """Return the folder as a path of its own, if it is or was one."""
        then = self._last.folders.get(folder, _NOTHING)
        mode = UNTOLD
        if folder:
            try:
                found = os.lstat(self.at(folder)).st_mode
            except OSError:
                return
            if folder_node(stat.S_IMODE(found), is_empty=is_empty):
                mode = found
        if mode == (self.made.get(folder) or then).own_mode:
            return
        self.make(folder).own_mode = mode
        before, after = then.own(), FolderSeen({}, {}, own_mode=mode).own()
        if before or not was_unknown:
            self.differs(folder, before.node if before else None, after.node if after else None)

    def _is_gone(self, folder: str) -> None:
        """Process a folder that no longer exists."""
        then = self._last.folders[folder]
        for name, seen in then.entries.items():
            self.differs(join(folder, name), seen.node, None)
        if own := then.own():
            self.differs(folder, own.node, None)
        self._name_gone(folder, then)
        if then.why and not os.path.lexists(self.at(folder)):
            self.untracked[folder] = then.why + REMOVED

    def _cannot_look_into(self, folder: str, reason: str) -> None:
        """Assume that the contents are unchanged: nothing is removed just because it is unreadable."""
        for path in self._below(folder):
            self.kept[path] = self._last.folders[path]
        then = self._last.folders.get(folder)
        if then is None or then.why != reason:
            self.make(folder).why = reason
            self.untracked[folder] = reason

    def _below(self, folder: str) -> list[str]:
        """Yield the folder and those below it, as far as they were known."""
        if self._known is None:
            self._known = sorted(self._last.folders)
        if not folder:
            return self._known
        first = bisect_left(self._known, f"{folder}/")
        below = self._known[first : bisect_left(self._known, f"{folder}{_AFTER_SLASH}")]
        return [folder, *below] if folder in self._last.folders else below

    def _holds_tracked(self, folder: str) -> bool:
        """Whether anything tracked was in the folder or below it."""
        if self._holding is None:
            holding: set[str] = set()
            for path, seen in self._last.folders.items():
                above = path if seen.entries or seen.own_mode != UNTOLD else ""
                while above and above not in holding:
                    holding.add(above)
                    above = above.rpartition("/")[0]
            self._holding = holding
        return folder in self._holding
