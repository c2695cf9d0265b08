"""Ending a restore that a crash cut off: finished where everything was staged, else taken back."""

import asyncio
from pathlib import Path
from threading import Event

from msgspec import Struct
from msgspec.structs import replace

from ragforge.domain.json import JsonObject
from ragforge.domain.printable import escaped
from ragforge.domain.words import counted
from ragforge.files.open import why
from ragforge.store.base import Blobs
from ragforge.versions.restore.completion import RestoreFailed, RestoreStopped, finish
from ragforge.versions.restore.journal import Journal, Phase, journal_from
from ragforge.versions.restore.plan import Skipped
from ragforge.versions.restore.stage import (
    StepFailed,
    Stopped,
    Told,
    silent,
    stage,
    to_its_end,
    unstage,
    unstaged,
)
from ragforge.versions.state import HistoryState


class Recovered(Struct, frozen=True):
    """What became of a restore that was cut off.

    finished: the files are as it wanted them; else they are as they were before it.
    text: that, in a sentence for the person.
    then: of a finished one what its caller still has to do, before clearing the journal.
    """

    finished: bool
    title: str
    text: str
    then: JsonObject | None = None
    done: tuple[str, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    """What the plan left out from the beginning included: nobody has heard of that yet."""


async def recover(root: Path, state: HistoryState, blobs: Blobs, *, told: Told = silent) -> Recovered | None:
    """What became of the restore that was cut off in this folder; None where none was.

    The folder's lock is held, else a restore that is under way elsewhere would look like one cut off.
    Of a finished one the journal is kept until the caller has done `then` and clears it.
    Raises RestoreStopped where it can go neither on nor back, StoreError (StoreNewer, StoreDamaged).
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
                f"{plan.title} was interrupted before it changed a file, and was taken back.",
            )
        case Phase.STAGED:
            try:
                journal = await _finished(journal, state, blobs, told)
            except RestoreFailed as error:
                return Recovered(False, plan.title, f"After an interruption: {error}")
        case Phase.APPLIED:
            pass
    skipped = (*plan.skipped, *journal.skipped)
    left = f", {len(skipped)} left as they are" if skipped else ""
    done = counted(len(journal.done), "path")
    text = f"{plan.title} was interrupted, and is now finished: {done} restored{left}."
    return Recovered(True, plan.title, text, plan.then, journal.done, skipped)


async def _finished(journal: Journal, state: HistoryState, blobs: Blobs, told: Told) -> Journal:
    task, lacking = await asyncio.to_thread(unstaged, journal.task)
    try:
        if task != journal.task:
            told("journal: staging again")
            await state.set_journal(task.plan.root, replace(journal, task=task).to_bytes())
        await stage(task, lacking, blobs, told, Event())
    except (StepFailed, Stopped) as error:
        cause = f"{escaped(error.path)}: {why(error.error)}" if isinstance(error, StepFailed) else "cancelled"
        raise RestoreStopped(
            f"{task.plan.title} was interrupted and cannot be finished: {cause}. See to it, and start again."
        ) from error
    return await finish(task, state, blobs, told, journal.leftover)
