"""Execute a task whose contents are staged: first removals, then writes, each compared right before.

The task can be repeated from wherever it was interrupted: completed steps are not repeated.
"""

import errno
import os
import stat
from collections.abc import Callable
from contextlib import suppress

from msgspec import Struct, field

from ragforge.domain.versions import FOLDER_MODE, Node, NodeKind
from ragforge.versions.restore.plan import PlanStep, Skipped, Task, only_mode
from ragforge.versions.restore.reach import (
    Blocked,
    OutOfReach,
    PathState,
    Reach,
    depth_order,
    parent,
    parents,
    reaching,
    same,
)
from ragforge.versions.restore.stage import StepFailed, Told, sync_all

TAKEN = frozenset({errno.ENOTEMPTY, errno.EEXIST, errno.EISDIR, errno.ENOTDIR})
"""Something was put there, or removed, between our check and our step."""

MADE_MODE = 0o700
"""The mode of a new folder, until it gets its own."""

CHANGED = "it has just changed and is kept"
OTHERS = "a folder with other files has this name"


class Outcome(Struct):
    """The result of the steps, by their position in the plan."""

    done: set[int] = field(default_factory=set[int])
    skipped: dict[int, str] = field(default_factory=dict[int, str])

    def paths(self, task: Task) -> tuple[str, ...]:
        """Those that are now as planned, in the plan's order."""
        return tuple(task.plan.steps[index].path for index in sorted(self.done))

    def left(self, task: Task) -> tuple[Skipped, ...]:
        """Those that are not, and why, in the plan's order."""
        return tuple(Skipped(task.plan.steps[index].path, why) for index, why in sorted(self.skipped.items()))


def carry_out(task: Task, told: Told) -> Outcome:
    """Execute the task; blocks. Raises StepFailed, with the steps started so far, if the disk refuses one."""
    steps = task.plan.steps
    try:
        with reaching(task.plan.root, [step.path for step in steps]) as reach:
            return _Work(task, reach, told).run()
    except OSError as error:
        raise StepFailed(str(task.plan.root), error) from error


class _Work:
    """One execution of a task."""

    def __init__(self, task: Task, reach: Reach, told: Told) -> None:
        self._task = task
        self._reach = reach
        self._told = told
        self._outcome = Outcome()
        self._begun: set[int] = set()
        self._touched: set[str] = set()
        self._may_vanish = set(task.may_vanish)
        steps = task.plan.steps
        self._needed = {each for step in steps if step.target is not None for each in parents(step.path)}
        self._emptied = {each for step in steps if step.target is None for each in parents(step.path)}

    def run(self) -> Outcome:
        """Do all of it, in the order that files replaced by folders and folders by files require."""
        order = sorted(enumerate(self._task.plan.steps), key=lambda each: depth_order(each[1].path))
        for index, step in reversed(order):
            if step.found is not None and (step.target is None or changes_kind(step)):
                self._attempt(index, step, self._clear)
        for folder in sorted(self._may_vanish, key=depth_order, reverse=True):
            self._remove_if_empty(folder)
        for index, step in order:
            if step.target is not None and index not in self._outcome.skipped:
                self._attempt(index, step, self._place)
        # Last, and innermost first: with some modes nothing can be put into a folder any more.
        for index, step in reversed(order):
            is_folder = _is_folder(step.found) or _is_folder(step.target)
            if is_folder and index not in self._outcome.skipped:
                self._attempt(index, step, self._set_mode)
        for folder, mode in self._task.modes.items():
            self._restore_mode(folder, mode)
        self._sync()
        return self._outcome

    def _attempt(self, index: int, step: PlanStep, act: Callable[[int, PlanStep, PathState], None]) -> None:
        self._begun.add(index)
        try:
            act(index, step, self._reach.look(step.path))
        except OutOfReach as error:
            self._skip(index, str(error))
        except OSError as error:
            if error.errno not in TAKEN:
                raise StepFailed(step.path, error, frozenset(self._begun)) from error
            self._skip(index, CHANGED)

    def _clear(self, index: int, step: PlanStep, now: PathState) -> None:
        """Remove what was found, so that nothing, or something of another kind, can take its place."""
        if now.node is None or self._is_begun(step, now.node):
            # Removed already, or a folder that is needed and contains files by now.
            if step.target is None:
                self._outcome.done.add(index)
            return
        is_half_made = _is_folder(step.found) and _is_folder(now.node) and now.mode & 0o777 == MADE_MODE
        if not is_half_made and not same(now.node, step.found):
            self._skip(index, CHANGED)
            return
        if now.node.kind is not NodeKind.FOLDER:
            self._in_folder(step.path, "remove", os.unlink)
        elif step.path not in self._needed:
            if now.filled:
                self._may_vanish.add(step.path)  # with folders that are not paths of their own
            else:
                self._in_folder(step.path, "remove", os.rmdir)
        if step.target is None:
            self._outcome.done.add(index)

    def _place(self, index: int, step: PlanStep, now: PathState) -> None:
        """Put the wanted content in place of what was found, or of nothing."""
        target = step.target
        assert target is not None
        is_folder = target.kind is NodeKind.FOLDER
        if _lies_there(now, target):
            self._outcome.done.add(index)
            return
        if now.otherwise_named and same(now.other, target):
            self._outcome.done.add(index)
            return
        if now.otherwise_named:
            self._skip(index, "the disk treats its name as another file's name, and that file is kept")
            return
        if now.filled and not is_folder:
            self._skip(index, OTHERS)
            return
        # If the kind changes, what was found has been removed already.
        expected = None if changes_kind(step) else step.found
        is_ours = is_folder and expected is None and self._is_ours(step.path, now.node)
        if not is_ours and not _lies_there(now, expected):
            self._skip(index, now.blocked or CHANGED)
            return
        self._make_folders(step.path)
        if is_folder:
            if now.node is None and not now.filled:
                self._in_folder(step.path, "make the folder", _make_private)
        elif only_mode(step):
            self._in_folder(step.path, "set the mode of", _setting(target))
        else:
            self._rename(index, step)
        self._outcome.done.add(index)

    def _set_mode(self, index: int, step: PlanStep, now: PathState) -> None:
        """Set the folder's mode, now that it is complete; do nothing if it does not exist."""
        if not now.filled and not _is_folder(now.node):
            return
        is_let_go = step.target is None and step.path in self._emptied and step.path not in self._needed
        if is_let_go and not self._task.because:
            # It was to be removed with its contents. Its new owner may want it as it is. On a rollback it
            # existed a moment ago, with its contents.
            self._outcome.done.discard(index)
            self._skip(index, OTHERS)
            return
        mode = step.target.mode if step.target is not None else FOLDER_MODE
        if now.mode != mode:
            self._in_folder(step.path, "set the mode of", _setting(Node(NodeKind.FOLDER, "", mode)))

    def _rename(self, index: int, step: PlanStep) -> None:
        temporary = self._task.temporary(index)
        assert temporary is not None
        name = step.path.rpartition("/")[2]
        with self._reach.folder(temporary.folder) as source, self._reach.folder(parent(step.path)) as folder:
            self._told(f"rename {step.path}")
            os.rename(temporary.name, name, src_dir_fd=source, dst_dir_fd=folder)
        self._touched |= {temporary.folder, parent(step.path)}

    def _make_folders(self, path: str) -> None:
        with suppress(FileNotFoundError), self._reach.folder(parent(path)):
            return
        for folder in parents(path):
            try:
                with self._reach.folder(folder):
                    continue
            except FileNotFoundError:
                self._in_folder(folder, "make the folder", os.mkdir)
                self._restore_mode(folder, FOLDER_MODE)  # regardless of the umask

    def _in_folder(self, path: str, what: str, act: Callable[..., object]) -> None:
        with self._reach.folder(parent(path)) as folder:
            self._told(f"{what} {path}")
            act(path.rpartition("/")[2], dir_fd=folder)
        self._touched.add(parent(path))

    def _remove_if_empty(self, folder: str) -> None:
        # A folder that is not empty stays, and so does a mount point. Nothing is lost either way.
        with suppress(OSError, Blocked):
            self._in_folder(folder, "remove the empty folder", os.rmdir)

    def _is_begun(self, step: PlanStep, node: Node) -> bool:
        """Whether it was removed before we were interrupted, and its replacement is there or staged."""
        if same(node, step.target):
            return True
        if node.kind is not NodeKind.FOLDER or same(node, step.found):
            return False
        return step.path in self._needed or (_is_folder(step.target) and self._is_ours(step.path, node))

    def _is_ours(self, path: str, node: Node | None) -> bool:
        """Whether it is a folder that we have just emptied, or created before we were interrupted."""
        if node is None or node.kind is not NodeKind.FOLDER:
            return False
        return path in self._emptied or node.mode & 0o777 == MADE_MODE

    def _restore_mode(self, folder: str, mode: int) -> None:
        with suppress(OSError, Blocked), self._reach.folder(folder) as descriptor:
            if stat.S_IMODE(os.fstat(descriptor).st_mode) != mode:
                self._in_folder(folder, "set the mode of", _setting(Node(NodeKind.FOLDER, "", mode)))

    def _skip(self, index: int, why: str) -> None:
        self._outcome.skipped[index] = why
        self._begun.discard(index)

    def _sync(self) -> None:
        self._told("sync the folders")
        sync_all(self._sync_folder, sorted(self._touched))

    def _sync_folder(self, path: str) -> None:
        # The contents are safe already; some network disks cannot sync a folder.
        with suppress(OSError, Blocked), self._reach.folder(path, listed=True) as folder:
            os.fsync(folder)


def changes_kind(step: PlanStep) -> bool:
    """Whether a folder becomes a file or link, or vice versa, which takes more than one step."""
    found, target = step.found, step.target
    if found is None or target is None:
        return False
    return (found.kind is NodeKind.FOLDER) is not (target.kind is NodeKind.FOLDER)


def _lies_there(now: PathState, node: Node | None) -> bool:
    """Whether it is this; of a folder with files only the mode counts, the usual one too."""
    if node is not None and _is_folder(node) and now.filled:
        return now.mode == node.mode
    return same(now.node, node)


def _is_folder(node: Node | None) -> bool:
    return node is not None and node.kind is NodeKind.FOLDER


def _make_private(name: str, *, dir_fd: int) -> None:
    os.mkdir(name, MADE_MODE, dir_fd=dir_fd)


def _setting(node: Node) -> Callable[..., None]:
    def set_mode(name: str, *, dir_fd: int) -> None:
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        descriptor = os.open(name, flags, dir_fd=dir_fd)
        try:
            os.fchmod(descriptor, node.mode)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    return set_mode
