"""The walk of a scan: folder by folder beside the last manifest, most of it one comparison a file."""

import os
import stat
from collections.abc import Collection
from threading import Event

from msgspec import Struct

from ragforge.files.open import KINDS, why
from ragforge.versions.scan.coverage import Coverage, is_own_name, is_version_control
from ragforge.versions.scan.entries import Listed, list_folder, list_one
from ragforge.versions.scan.findings import Finding, ToRead
from ragforge.versions.scan.ignore_rules import (
    IGNORE_FILE,
    IgnoreRules,
    is_bare_repository,
    is_same,
    look_at_ignore_file,
)
from ragforge.versions.scan.manifest import UNTOLD, FolderSeen, Left, Manifest, join
from ragforge.versions.scan.nodes import folder_node, too_large

IGNORED = "ignored by git"
OWN = "ragforge's own"
GIT_INSIDE = "a git repository's own files"
VERSION_CONTROL = "version control's own"
REMOVED = ", removed"
"""After the reason, where it was there and is gone."""
UNTOLD_WHEN_NEW = {OWN, VERSION_CONTROL}

_NOTHING = FolderSeen({}, {})


class _Task(Struct, frozen=True):
    """A folder to look into.

    rules_changed: an ignore file above it, or its own, is not what it was.
    was_unknown: nobody knows what lay in it, apart from what the last manifest holds of it.
    """

    folder: str
    rules_changed: bool
    was_unknown: bool


class Walking(Finding):
    """A scan that goes through the folders itself."""

    def __init__(self, coverage: Coverage, last: Manifest, stop: Event, *, since_ns: int) -> None:
        super().__init__(coverage, last, stop, since_ns=since_ns)
        self._coverage = coverage
        self._rules = IgnoreRules(coverage)
        self._covering: set[str] | None = None

    def walk_all(self) -> None:
        """Look at everything."""
        changed = self.sources != self._last.sources
        self._walk(_Task("", changed, not self._last.is_known))

    def walk_only(self, paths: Collection[str]) -> None:
        """Look at these paths alone, and at what is below them."""
        self.sources = self._last.sources
        self.kept = dict(self._last.folders)
        for path in sorted({path.strip("/") for path in paths}):
            parts = path.split("/")
            if not any(part in {"", ".", ".."} or is_own_name(part) for part in parts):
                self._look_at(parts)

    # Going through folders

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
        """Look into a folder; those in it that are to be looked into next."""
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
        """Look at one path, given by its parts."""
        folder = ""
        deeper: list[_Task] = []
        for number, name in enumerate(parts, 1):
            then = self._last.folders.get(folder)
            path = join(folder, name)
            try:
                listed = list_one(self.at(folder), name, then)
            except OSError as error:
                self._cannot_look_into(folder, f"cannot be read: {why(error)}")
                return
            left = (self.made.get(folder) or then or _NOTHING).left
            listed.others = {each: about for each, about in left.items() if each != name}
            task = _Task(folder, rules_changed=False, was_unknown=self._last.was_uncovered(folder))
            deeper = self._compare(task, listed)
            if not listed.folders:
                for below in self._below(path):
                    self._is_gone(below)
                    self.kept.pop(below, None)
                    self.made.pop(below, None)
            self._compare_itself(folder, is_empty=listed.is_empty, was_unknown=task.was_unknown)
            if not deeper:
                if number < len(parts) and listed.folders:
                    self.uncovered["/".join(parts)] = self.make(folder).left[name].why
                return
            if number < len(parts) and self._is_repository(path):
                self.uncovered["/".join(parts)] = GIT_INSIDE
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
        try:
            return is_bare_repository(os.listdir(self.at(folder)))  # noqa: PTH208
        except OSError:
            return False

    def _compare_rules(self, folder: str, then: FolderSeen | None, listed: Listed) -> bool:
        """Whether the folder's own ignore file is another one than it was."""
        was = then.ignore if then else None
        is_there = was is not None or (then is not None and IGNORE_FILE in then.entries)
        if not is_there and all(name != IGNORE_FILE for name, _ in listed.new):
            return False
        ignore = look_at_ignore_file(self.at(folder), was, since_ns=self._since_ns)
        if ignore is not was:
            self.make(folder).ignore = ignore
        return not is_same(ignore, was)

    def _compare(self, task: _Task, listed: Listed) -> list[_Task]:
        """Take up what was found in a folder; those in it that are to be looked into next."""
        folder = task.folder
        then = self._last.folders.get(folder, _NOTHING)
        deeper: list[_Task] = []
        left = listed.others
        for name in listed.folders:
            if is_own_name(name):
                if is_version_control(name):  # only so that it can be told when it is gone
                    left[name] = Left(VERSION_CONTROL, is_folder=True)
                continue
            if reason := self._why_not_into(task, then, name):
                left[name] = Left(reason, is_folder=True)
            else:
                unknown = task.was_unknown or (name in then.left and then.left[name].is_folder)
                deeper.append(_Task(join(folder, name), task.rules_changed, unknown))
        for name, found in listed.new:
            if is_own_name(name):
                if is_version_control(name):
                    left[name] = Left(VERSION_CONTROL)
                continue
            if reason := self._why_not(task, then, name, found):
                left[name] = Left(reason, size=found.st_size, mtime_ns=found.st_mtime_ns)
            else:
                unknown = task.was_unknown or name in then.left
                self.to_read.append(ToRead(folder, name, found, None, unknown))
        for name, found, seen in listed.changed:
            if reason := self._why_no_longer(found):
                self.is_not_covered_any_more(folder, name, seen, found, reason)
            else:
                self.to_read.append(ToRead(folder, name, found, seen, was_unknown=False))
        for name in listed.vanished:
            # A folder may be looked at twice: for its own sake, and for the sake of a path in it.
            self.make(folder).entries.pop(name, None)
            self.differs(join(folder, name), then.entries[name].node, None)
        self._leave(folder, then, left)
        return deeper

    def _leave(self, folder: str, then: FolderSeen, left: dict[str, Left]) -> None:
        """Keep what of the folder is not covered."""
        made = self.made.get(folder)
        # What was covered a moment ago and is not any more stands there already.
        added = {name: each for name, each in made.left.items() if name not in then.left} if made else {}
        if left | added == (made or then).left:
            return
        self.make(folder).left = left | added
        for name, each in left.items():
            if then.left.get(name) != each and each.why not in UNTOLD_WHEN_NEW:
                self.uncovered[join(folder, name)] = each.why
        self._name_gone(folder, then, but=left)

    def _name_gone(self, folder: str, then: FolderSeen, *, but: Collection[str] = ()) -> None:
        """Name what of the folder was not covered and is not there any more: nothing of it is kept."""
        for name, each in then.left.items():
            path = join(folder, name)
            if name not in but and each.why != OWN and not os.path.lexists(self.at(path)):
                self.uncovered[path] = each.why + REMOVED

    def _why_not_into(self, task: _Task, then: FolderSeen, name: str) -> str:
        """Why a folder is not looked into; empty where it is."""
        path = join(task.folder, name)
        if path in self._coverage.own:
            return OWN
        left = then.left.get(name)
        if left and left.is_folder and left.why == IGNORED and not task.rules_changed:
            return IGNORED
        if path in self._last.folders and not (task.rules_changed and not self._holds_covered(path)):
            return ""
        if name in then.entries:  # it takes the place of a file that is tracked
            return ""
        return IGNORED if self._rules.ignores(task.folder, name, is_folder=True) else ""

    def _why_not(self, task: _Task, then: FolderSeen, name: str, found: os.stat_result) -> str:
        """Why what was not covered, and is no folder, is not; empty where it is."""
        if self._coverage.own and join(task.folder, name) in self._coverage.own:
            return OWN
        left = then.left.get(name)
        if left and not left.is_folder and left.why == IGNORED and not task.rules_changed:
            return IGNORED
        takes_place = self._holds_covered(join(task.folder, name))  # of a folder that is tracked
        if not takes_place and self._rules.ignores(task.folder, name, is_folder=False):
            return IGNORED
        return self._why_no_longer(found)

    def _why_no_longer(self, found: os.stat_result) -> str:
        """Why what was covered is not, by what it is; empty where it is."""
        if kind := KINDS.get(stat.S_IFMT(found.st_mode)):
            return kind
        limit = self._coverage.file_bytes_max
        return too_large(limit) if stat.S_ISREG(found.st_mode) and found.st_size > limit else ""

    def _compare_itself(self, folder: str, *, is_empty: bool, was_unknown: bool) -> None:
        """The folder as a path of its own, where it is or was one."""
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
        """The folder itself is not there any more."""
        then = self._last.folders[folder]
        for name, seen in then.entries.items():
            self.differs(join(folder, name), seen.node, None)
        if own := then.own():
            self.differs(folder, own.node, None)
        self._name_gone(folder, then)
        if then.why and not os.path.lexists(self.at(folder)):
            self.uncovered[folder] = then.why + REMOVED

    def _cannot_look_into(self, folder: str, reason: str) -> None:
        """What is in the folder is taken for what it was: nothing is gone just because we cannot see it."""
        for path in self._below(folder):
            self.kept[path] = self._last.folders[path]
        then = self._last.folders.get(folder)
        if then is None or then.why != reason:
            self.make(folder).why = reason
            self.uncovered[folder] = reason

    def _below(self, folder: str) -> list[str]:
        """The folder and those below it, as far as they were known."""
        start = f"{folder}/" if folder else ""
        return [path for path in self._last.folders if path == folder or path.startswith(start)]

    def _holds_covered(self, folder: str) -> bool:
        """Whether anything covered lay in the folder or below it."""
        if self._covering is None:
            covering: set[str] = set()
            for path, seen in self._last.folders.items():
                above = path if seen.entries or seen.own_mode != UNTOLD else ""
                while above and above not in covering:
                    covering.add(above)
                    above = above.rpartition("/")[0]
            self._covering = covering
        return folder in self._covering
