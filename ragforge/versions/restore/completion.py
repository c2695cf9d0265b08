"""Taking a staged task to its end: forward, or back to where it began when the disk refuses a step."""

import asyncio
from collections.abc import Sequence
from threading import Event
from typing import NoReturn

from msgspec.structs import replace

from ragforge.domain.errors import RagforgeError, StoreError
from ragforge.domain.printable import escaped
from ragforge.files.open import why
from ragforge.store.base import Blobs
from ragforge.versions.restore.execution import carry_out
from ragforge.versions.restore.journal import Journal, Phase, Task, Temporary
from ragforge.versions.restore.plan import PlanStep, Skipped, named
from ragforge.versions.restore.stage import StepFailed, Stopped, Told, prepare, stage, unstage, unstaged
from ragforge.versions.state import HistoryState


class RestoreFailed(RagforgeError):
    """A restore could not be done, and the files are as they were before it."""


class RestoreStopped(RagforgeError):
    """A restore stands half way, because neither going on nor going back is possible just now."""


async def finish(
    task: Task, state: HistoryState, blobs: Blobs, told: Told, leftover: Sequence[Temporary] = ()
) -> Journal:
    """Carry the staged task out; its journal as it is kept now.

    leftover: temporary files of another task, to be removed with its own.
    Raises RestoreFailed where the disk refused a step and everything was put back, RestoreStopped where
    that was not possible either, StoreError.
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
        f"{title} stands half way: {cause}. What is done could not be taken back just now. See to it, then "
        "start ragforge in this folder: it goes on from there."
    )
    if task.because:
        raise stopped from failure
    because = f"{title}: nothing was changed, because the disk refused it at {cause}."
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
    await finish(back, state, blobs, told, task.temporaries)
    raise AssertionError("a way back never ends in a return")


def _way_back(task: Task, begun: frozenset[int], because: str) -> tuple[Task, list[int]]:
    """The task that takes back what was begun, and which of its contents must be staged."""
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
        text += f" Changed by somebody meanwhile, and therefore not put back: {paths}."
    if stay:
        text += f" Temporary files that could not be removed: {named(stay)}."
    return text
