"""Restoring files: planned, written down, staged beside their places, renamed; finished or taken back later.

Whoever restores holds the folder's lock from the scan before it until the journal is cleared:
`find_conflicts`, `make_plan`, `apply`, then what the plan says under `then`, then `state.clear_journal`.
`recover` comes before anything else is done in a folder.
"""

import asyncio
from threading import Event

from msgspec import Struct

from ragforge.domain.printable import escaped
from ragforge.files.open import why
from ragforge.store.base import Blobs
from ragforge.versions.restore.completion import RestoreFailed, RestoreStopped, finish
from ragforge.versions.restore.conflicts import ConflictChoice, FileConflict, find_conflicts
from ragforge.versions.restore.journal import Journal, Phase, Task
from ragforge.versions.restore.plan import Plan, PlanStep, Skipped, check_contents, make_plan
from ragforge.versions.restore.recovery import Recovered, recover
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
)
from ragforge.versions.state import HistoryState

__all__ = [
    "Applied",
    "ConflictChoice",
    "FileConflict",
    "Plan",
    "PlanStep",
    "Recovered",
    "RestoreFailed",
    "RestoreStopped",
    "Skipped",
    "apply",
    "find_conflicts",
    "make_plan",
    "recover",
]


class Applied(Struct, frozen=True):
    """What came of a plan's steps: the paths that are now as planned, and those that were left, and why.

    What the plan itself left out is not named again.
    """

    done: tuple[str, ...]
    skipped: tuple[Skipped, ...] = ()


async def apply(plan: Plan, state: HistoryState, blobs: Blobs, *, told: Told = silent) -> Applied:
    """Bring the files to where the plan wants them; the caller then does what `plan.then` says.

    The journal is kept until the caller clears it: if it dies before, `recover` returns `then` again.
    Files that changed since the plan was made are left and named. When cancelled before a file was touched
    everything is taken back; later it comes to its end first.
    told: hears of each thing that is about to be done.
    Raises RestoreFailed where the disk refuses something: nothing is changed then; RestoreStopped where it
    stands half way; UsageError where contents are missing; StoreError.
    """
    stop = Event()
    return await to_its_end(_apply(plan, state, blobs, told, stop), stop)


async def _apply(plan: Plan, state: HistoryState, blobs: Blobs, told: Told, stop: Event) -> Applied:
    if await state.journal(plan.root) is not None:
        raise RestoreStopped(
            f"{plan.title}: nothing was changed, because an earlier restore in {plan.root} has not come to "
            "its end. Start ragforge in this folder: it goes on from there."
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
    journal = await finish(task, state, blobs, told)
    return Applied(journal.done, journal.skipped)


async def _staged(task: Task, state: HistoryState, blobs: Blobs, told: Told, stop: Event) -> None:
    """All contents beside their places; or nothing at all, and an error that says why."""
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
        f"{plan.title}: nothing was changed, because the disk refuses to change "
        f"{escaped(failure.path)}: {why(failure.error)}."
    )
