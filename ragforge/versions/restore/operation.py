"""Restore files: plan, journal, stage beside their places, rename; finish or roll back later.

The caller holds the folder's lock from the scan before it until the journal is cleared:
`find_conflicts`, `make_plan`, `apply`, then what the plan says under `then`, then `state.clear_journal`.
`recover` comes before anything else is done in a folder.
"""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from threading import Event
from typing import NoReturn

from msgspec import Struct
from msgspec.structs import replace

from ragforge.domain.errors import RagforgeError, StoreError
from ragforge.domain.json import JsonObject
from ragforge.domain.printable import escaped
from ragforge.domain.words import counted
from ragforge.files.open import why
from ragforge.store.base import Blobs
from ragforge.versions.restore.execution import carry_out
from ragforge.versions.restore.plan import (
    Journal,
    Phase,
    Plan,
    PlanStep,
    Skipped,
    Task,
    Temporary,
    check_contents,
    journal_from,
    named,
)
from ragforge.versions.restore.stage import (
    StepFailed,
    Stopped,
    Told,
    keep_found,
    prepare,
    silent,
    stage,
    to_its_end,
    unstage,
    unstaged,
)
from ragforge.versions.state import HistoryState


class RestoreFailed(RagforgeError):
    """A restore failed, and the files are as they were before it."""


class RestoreStopped(RagforgeError):
    """A restore is incomplete, and can be neither finished nor rolled back at the moment."""


class Applied(Struct, frozen=True):
    """The result of a plan: the paths that are now as planned, and those left unchanged, and why.

    Paths that the plan itself left out are not named again.
    """

    done: tuple[str, ...]
    skipped: tuple[Skipped, ...] = ()


class Recovered(Struct, frozen=True):
    """The result of an interrupted restore.

    finished: the files are as it wanted them; else they are as they were before it.
    text: the same, in a sentence for the user.
    then: of a finished one, what its caller still has to do before clearing the journal.
    """

    finished: bool
    title: str
    text: str
    then: JsonObject | None = None
    done: tuple[str, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    """Including the paths that the plan left out: they were not reported yet."""


async def apply(plan: Plan, state: HistoryState, blobs: Blobs, *, told: Told = silent) -> Applied:
    """Restore the files as planned; the caller then does what `plan.then` says.

    The journal is kept until the caller clears it: if it dies before, `recover` returns `then` again.
    Files that changed since the plan was made are not touched, but named. If cancelled before a file was
    touched, everything is rolled back; later it is finished first.
    told: called with each action about to be taken.
    Raises RestoreFailed if the disk refuses something, with nothing changed; RestoreStopped if it is
    incomplete; UsageError if contents are missing; StoreError.
    """
    stop = Event()
    return await to_its_end(_apply(plan, state, blobs, told, stop), stop)


async def _apply(plan: Plan, state: HistoryState, blobs: Blobs, told: Told, stop: Event) -> Applied:
    if await state.journal(plan.root) is not None:
        raise RestoreStopped(
            f"{plan.title}: nothing was changed, because an earlier restore in {plan.root} has not finished. "
            "Start ragforge in this folder: it continues from there."
        )
    await check_contents(plan, blobs)
    try:
        task = await asyncio.to_thread(prepare, plan)
    except StepFailed as failure:
        raise _refused(plan, failure) from failure
    await keep_found(plan, blobs)
    told("journal: staging")
    await state.set_journal(plan.root, Journal(Phase.STAGING, task).to_bytes())
    await _staged(task, state, blobs, told, stop)
    journal = await _finish(task, state, blobs, told)
    return Applied(journal.done, journal.skipped)


async def _staged(task: Task, state: HistoryState, blobs: Blobs, told: Told, stop: Event) -> None:
    """Stage all contents beside their places; or nothing at all, and raise the reason."""
    plan = task.plan
    try:
        await stage(task, range(len(plan.steps)), blobs, told, stop)
        if stop.is_set():
            raise Stopped
        told("journal: staged")
        await state.set_journal(plan.root, Journal(Phase.STAGED, task).to_bytes())
    except BaseException as error:
        await asyncio.to_thread(unstage, task.temporaries, plan, told)
        await state.clear_journal(plan.root)
        if isinstance(error, StepFailed):
            raise _refused(plan, error) from error
        raise


def _refused(plan: Plan, failure: StepFailed) -> RestoreFailed:
    return RestoreFailed(
        f"{plan.title}: nothing was changed, because the disk does not allow changing "
        f"{escaped(failure.path)}: {why(failure.error)}."
    )


async def recover(root: Path, state: HistoryState, blobs: Blobs, *, told: Told = silent) -> Recovered | None:
    """Finish or roll back the folder's interrupted restore; return its result, None if there was none.

    The caller holds the folder's lock, because a running restore of another process looks interrupted.
    The journal of a finished one is kept until the caller has done `then` and clears it.
    Raises RestoreStopped if neither is possible, StoreError (StoreNewer, StoreDamaged).
    """
    return await to_its_end(_recover(root, state, blobs, told))


async def _recover(root: Path, state: HistoryState, blobs: Blobs, told: Told) -> Recovered | None:
    content = await state.journal(root)
    if content is None:
        return None
    journal = journal_from(content, root)
    plan = journal.task.plan
    await asyncio.to_thread(unstage, journal.leftover, plan, told)
    match journal.phase:
        case Phase.STAGING:
            await asyncio.to_thread(unstage, journal.task.temporaries, plan, told)
            told("journal: taken back")
            await state.clear_journal(root)
            return Recovered(
                False,
                plan.title,
                f"{plan.title} was interrupted before it changed a file, and was undone.",
            )
        case Phase.STAGED:
            try:
                journal = await _finish_cut_off(journal, state, blobs, told)
            except RestoreFailed as error:
                return Recovered(False, plan.title, f"After an interruption: {error}")
        case Phase.APPLIED:
            pass
    skipped = (*plan.skipped, *journal.skipped)
    left = f", {len(skipped)} left as they are" if skipped else ""
    done = counted(len(journal.done), "path")
    text = f"{plan.title} was interrupted and is now complete: {done} restored{left}."
    return Recovered(True, plan.title, text, plan.then, journal.done, skipped)


async def _finish_cut_off(journal: Journal, state: HistoryState, blobs: Blobs, told: Told) -> Journal:
    task, lacking = await asyncio.to_thread(unstaged, journal.task)
    try:
        if task != journal.task:
            told("journal: staging again")
            await state.set_journal(task.plan.root, replace(journal, task=task).to_bytes())
        await stage(task, lacking, blobs, told, Event())
    except (StepFailed, Stopped) as error:
        cause = f"{escaped(error.path)}: {why(error.error)}" if isinstance(error, StepFailed) else "cancelled"
        raise RestoreStopped(
            f"{task.plan.title} was interrupted and cannot be completed: {cause}. Fix this and start "
            "ragforge again."
        ) from error
    return await _finish(task, state, blobs, told, journal.leftover)


async def _finish(
    task: Task, state: HistoryState, blobs: Blobs, told: Told, leftover: Sequence[Temporary] = ()
) -> Journal:
    """Execute the staged task; return its journal as stored now.

    leftover: temporary files of another task, to be removed with its own.
    Raises RestoreFailed if the disk refused a step and everything was rolled back, RestoreStopped if
    that was impossible too, StoreError.
    """
    try:
        outcome = await asyncio.to_thread(carry_out, task, told)
    except StepFailed as failure:
        await _take_back(task, failure, state, blobs, told)
    stay = await asyncio.to_thread(unstage, (*task.temporaries, *leftover), task.plan, told)
    journal = Journal(Phase.APPLIED, task, done=outcome.paths(task), skipped=outcome.left(task))
    if not task.because:
        told("journal: applied")
        await state.set_journal(task.plan.root, journal.to_bytes())
        return journal
    told("journal: taken back")
    await state.clear_journal(task.plan.root)
    raise RestoreFailed(task.because + _not_put_back(journal.skipped, stay))


async def _take_back(
    task: Task, failure: StepFailed, state: HistoryState, blobs: Blobs, told: Told
) -> NoReturn:
    title, root = task.plan.title, task.plan.root
    cause = f"{escaped(failure.path)}: {why(failure.error)}"
    stopped = RestoreStopped(
        f"{title} is half done: {cause}. The changes so far could not be undone. Fix this, then start "
        "ragforge in this folder to continue."
    )
    if task.because:
        raise stopped from failure
    because = f"{title}: nothing was changed, because of a disk error at {cause}."
    told("go back")
    try:
        await asyncio.to_thread(unstage, task.temporaries, task.plan, told)
        back, lacking = await asyncio.to_thread(_way_back, task, failure.begun, because)
        told("journal: about to go back")
        await state.set_journal(root, Journal(Phase.STAGED, task, back.temporaries).to_bytes())
        await stage(back, lacking, blobs, told, Event())
        told("journal: going back")
        await state.set_journal(root, Journal(Phase.STAGED, back, task.temporaries).to_bytes())
    except (StepFailed, Stopped, StoreError, OSError) as error:
        raise stopped from error
    await _finish(back, state, blobs, told, task.temporaries)
    raise AssertionError("a way back never ends in a return")


def _way_back(task: Task, begun: frozenset[int], because: str) -> tuple[Task, list[int]]:
    """Return the task that rolls back what was started, and which of its contents must be staged."""
    steps = tuple(
        PlanStep(step.path, step.target, step.found)
        for index, step in enumerate(task.plan.steps)
        if index in begun
    )
    back = prepare(replace(task.plan, steps=steps, skipped=(), marked=()))
    may_vanish = dict.fromkeys(task.missing, 0o777)
    return unstaged(replace(back, may_vanish=may_vanish, modes=task.may_vanish, because=because))


def _not_put_back(skipped: Sequence[Skipped], stay: Sequence[str]) -> str:
    text = ""
    if skipped:
        paths = named([each.path for each in skipped])
        text += f" Changed by someone else in the meantime, and therefore not restored: {paths}."
    if stay:
        text += f" Temporary files that could not be removed: {named(stay)}."
    return text
