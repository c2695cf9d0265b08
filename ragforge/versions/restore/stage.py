"""Write contents to temporary files beside their places, synced before any file is touched."""

import asyncio
import errno
import os
import secrets
import stat
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from threading import Event
from typing import Any, TypeAlias, TypeVar

from msgspec.structs import replace

from ragforge.domain.versions import FOLDER_MODE, NodeKind
from ragforge.store.base import Blobs
from ragforge.versions.restore.plan import Plan, PlanStep, Task, Temporary, needs_content
from ragforge.versions.restore.reach import Blocked, OutOfReach, Reach, parent, parents, reaching, same

T = TypeVar("T")

BATCH_FILES_MAX = 100
BATCH_BYTES_MAX = 32 * 1024 * 1024
"""How much is held in memory and open at once."""
SYNCS_AT_ONCE = 16

Told: TypeAlias = Callable[[str], None]
"""Called, on the working thread, with each action about to be taken on the disk."""


class StepFailed(Exception):
    """The disk refused something at the path. begun: steps of the task that may have been executed."""

    def __init__(self, path: str, error: OSError, begun: frozenset[int] = frozenset()) -> None:
        super().__init__(path)
        self.path = path
        self.error = error
        self.begun = begun


class Stopped(Exception):
    """It was cancelled before the project was touched."""


def silent(_: str) -> None:
    """Do nothing."""


def prepare(plan: Plan) -> Task:
    """Return the task: where each content is staged, which folders may be removed. Writes nothing; blocks.

    Raises StepFailed if a file could not be removed, or the root is missing.
    """
    needed = {folder for step in plan.steps if step.target is not None for folder in parents(step.path)}
    folders = (step for step in plan.steps if step.target and step.target.kind is NodeKind.FOLDER)
    kept = needed | {step.path for step in folders}
    may_vanish: dict[str, int] = {}
    missing: set[str] = set()
    stage_in: list[str | None] = []
    path = str(plan.root)
    try:
        with reaching(plan.root, [step.path for step in plan.steps]) as reach:
            for step in plan.steps:
                path = step.path
                nearest = reach.nearest_folder(path)
                stage_in.append(nearest if needs_content(step) else None)
                if step.target is not None:
                    missing.update(each for each in parents(path) if len(each) > len(nearest))
                    continue
                _check_removable(path, reach)
                for folder in parents(path):
                    # A folder with another mode is a path of its own: a step says if it is removed.
                    if folder not in kept and folder not in may_vanish:
                        mode = _mode_of(folder, reach)
                        may_vanish |= {folder: mode} if mode == FOLDER_MODE else {}
    except OSError as error:
        raise StepFailed(path, error) from error
    return Task(plan, secrets.token_hex(8), tuple(stage_in), may_vanish, tuple(sorted(missing)))


async def keep_found(plan: Plan, blobs: Blobs) -> None:
    """Ensure that what will be replaced or removed is in the blob store, and that no clean-up takes it."""
    steps = [step for step in plan.steps if step.found is not None and step.found.kind is not NodeKind.FOLDER]
    digests = sorted({step.found.digest for step in steps if step.found is not None})
    missing = set(await blobs.touch(digests))
    lacking = [step for step in steps if step.found is not None and step.found.digest in missing]
    for batch in _batches(lacking, lambda step: step.found.size if step.found else 0):
        await blobs.put_many(await asyncio.to_thread(_contents, plan, batch))


async def stage(task: Task, indexes: Iterable[int], blobs: Blobs, told: Told, stop: Event) -> None:
    """Write the contents of these steps, synced. Raises StepFailed, Stopped, StoreError."""
    steps = task.plan.steps
    waiting = [index for index in indexes if task.stage_in[index] is not None]
    for batch in _batches(waiting, lambda index: _size(steps[index])):
        if stop.is_set():
            raise Stopped
        digests = {target.digest for index in batch if (target := steps[index].target) is not None}
        contents = {digest: await blobs.get(digest) for digest in sorted(digests)}
        await asyncio.to_thread(_write_batch, task, batch, contents, told)


def sync_all(sync: Callable[[T], None], items: Sequence[T]) -> None:
    """Sync all, several at once: the disk then combines what would be many waits."""
    if len(items) < 2:
        for item in items:
            sync(item)
        return
    with ThreadPoolExecutor(min(SYNCS_AT_ONCE, len(items)), "ragforge-sync") as threads:
        for _ in threads.map(sync, items):
            pass


def unstage(temporaries: Sequence[Temporary], plan: Plan, told: Told) -> list[str]:
    """Remove the existing temporary files; blocks. Returns the paths of those that could not be removed."""
    left: list[str] = []
    try:
        with reaching(plan.root, ()) as reach:
            for each in temporaries:
                try:
                    _remove_temporary(each, reach, told)
                except OSError:
                    left.append(each.path)
    except OSError:  # of the root itself
        return [each.path for each in temporaries]
    return left


def _remove_temporary(temporary: Temporary, reach: Reach, told: Told) -> None:
    with suppress(FileNotFoundError, Blocked), reach.folder(temporary.folder) as folder:
        os.stat(temporary.name, dir_fd=folder, follow_symlinks=False)
        told(f"remove the temporary file of {temporary.path}")
        os.unlink(temporary.name, dir_fd=folder)


def unstaged(task: Task) -> tuple[Task, list[int]]:
    """Return the task with what must be staged, if some may be staged or done already; blocks.

    That is if neither the path nor its temporary file has the wanted content.
    """
    stage_in = list(task.stage_in)
    lacking: list[int] = []
    with reaching(task.plan.root, [step.path for step in task.plan.steps]) as reach:
        for index, step in enumerate(task.plan.steps):
            temporary = task.temporary(index)
            if temporary is None or _is_there(step.path, step, reach):
                continue
            if not _is_there(temporary.path, step, reach):
                stage_in[index] = reach.nearest_folder(step.path)
                lacking.append(index)
    return replace(task, stage_in=tuple(stage_in)), lacking


async def to_its_end(work: Coroutine[Any, Any, T], stop: Event | None = None) -> T:
    """Return the function's result. If cancelled, set `stop` and still wait for its end.

    A thread that continued alone would change files after the folder's lock was released.
    """
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        if stop is not None:
            stop.set()
        while not task.done():
            with suppress(asyncio.CancelledError):
                await asyncio.wait({task})
        if not task.cancelled():
            task.exception()  # retrieved, so that nothing reports it as never retrieved
        raise


def _is_there(path: str, step: PlanStep, reach: Reach) -> bool:
    try:
        return same(reach.look(path).node, step.target)
    except (OutOfReach, OSError):
        return False


def _write_batch(task: Task, batch: Sequence[int], contents: Mapping[str, bytes], told: Told) -> None:
    path = str(task.plan.root)
    try:
        with reaching(task.plan.root, ()) as reach, ExitStack() as opened:
            descriptors: list[int] = []
            for index in batch:
                path = task.plan.steps[index].path
                told(f"stage {path}")
                descriptor = _write(task, index, contents, reach, told)
                if descriptor is not None:
                    opened.callback(os.close, descriptor)
                    descriptors.append(descriptor)
            told("sync the contents")
            sync_all(os.fsync, descriptors)
    except OSError as error:
        raise StepFailed(path, error) from error
    except Blocked as error:
        raise StepFailed(path, NotADirectoryError(errno.ENOTDIR, str(error))) from error


def _write(task: Task, index: int, contents: Mapping[str, bytes], reach: Reach, told: Told) -> int | None:
    """Write one temporary file; return its descriptor, or None for a link, which cannot be synced."""
    step, temporary = task.plan.steps[index], task.temporary(index)
    assert step.target is not None
    assert temporary is not None
    content = contents[step.target.digest]
    with reach.folder(temporary.folder) as folder:
        try:
            descriptor = _created(temporary.name, step.target.kind, content, folder)
        except FileExistsError:
            # One that was half written before a crash.
            os.unlink(temporary.name, dir_fd=folder)
            descriptor = _created(temporary.name, step.target.kind, content, folder)
    if descriptor is None:
        return None
    try:
        told(f"write {step.path}")
        rest = memoryview(content)
        while rest:
            rest = rest[os.write(descriptor, rest) :]
        made, owner = os.fstat(descriptor), _owner(step, reach)
        if owner is not None and owner != (made.st_uid, made.st_gid):
            with suppress(PermissionError):
                os.fchown(descriptor, *owner)
        os.fchmod(descriptor, step.target.mode)  # after chown, which clears setuid
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _created(name: str, kind: NodeKind, content: bytes, folder: int) -> int | None:
    if kind is NodeKind.LINK:
        os.symlink(content, os.fsencode(name), dir_fd=folder)
        return None
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    return os.open(name, flags, 0o600, dir_fd=folder)


def _owner(step: PlanStep, reach: Reach) -> tuple[int, int] | None:
    """Return the owner of the file to be replaced, who remains the owner."""
    if step.found is None or step.found.kind is not NodeKind.FILE:
        return None
    try:
        with reach.folder(parent(step.path)) as folder:
            seen = os.stat(step.path.rpartition("/")[2], dir_fd=folder, follow_symlinks=False)
    except (OSError, Blocked):
        return None
    return (seen.st_uid, seen.st_gid) if stat.S_ISREG(seen.st_mode) else None


def _contents(plan: Plan, steps: Sequence[PlanStep]) -> list[bytes]:
    contents: list[bytes] = []
    with reaching(plan.root, ()) as reach:
        for step in steps:
            assert step.found is not None
            # A file that changed meanwhile is not lost: it will not be touched.
            with suppress(OutOfReach, OSError):
                contents.append(reach.read(step.path, step.found))
    return contents


def _check_removable(path: str, reach: Reach) -> None:
    try:
        with reach.folder(parent(path)) as folder:
            os.stat(path.rpartition("/")[2], dir_fd=folder, follow_symlinks=False)
            effective = os.access in os.supports_effective_ids
            if not os.access(".", os.W_OK | os.X_OK, dir_fd=folder, effective_ids=effective):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except (FileNotFoundError, Blocked):
        return


def _mode_of(folder: str, reach: Reach) -> int:
    try:
        with reach.folder(folder) as descriptor:
            return stat.S_IMODE(os.fstat(descriptor).st_mode)
    except (FileNotFoundError, Blocked):
        return FOLDER_MODE


def _size(step: PlanStep) -> int:
    return 0 if step.target is None else step.target.size


def _batches(items: Iterable[T], size: Callable[[T], int]) -> Iterator[list[T]]:
    batch: list[T] = []
    total = 0
    for item in items:
        if batch and (len(batch) == BATCH_FILES_MAX or total + size(item) > BATCH_BYTES_MAX):
            yield batch
            batch, total = [], 0
        batch.append(item)
        total += size(item)
    if batch:
        yield batch
