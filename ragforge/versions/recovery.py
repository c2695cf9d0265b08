"""Repairs when a folder is opened: an interrupted restore, and turns ended by a crash."""

import logging

from ragforge.domain.errors import RagforgeError
from ragforge.versions.copies.leftovers import clear_left
from ragforge.versions.record.recorder import Worktree

log = logging.getLogger(__name__)


async def recover_folder(worktree: Worktree) -> list[str]:
    """Finish or revert what was interrupted in the folder or in copies of it. Return what to tell the
    user."""
    return [*await _recover(worktree), *await clear_left(worktree.files)]


async def _recover(worktree: Worktree) -> list[str]:
    root, state = worktree.files.root, worktree.files.state
    try:
        journal = await state.journal(root)
        cut_off = [turn for turn in await state.open_turns(root) if not turn.pid_alive]
        if journal is None and not cut_off:
            return []
        return await worktree.recorder.recover(worktree.files)
    except (RagforgeError, OSError) as error:
        log.warning("What was cut off in %s could not be repaired: %s", root, error, exc_info=error)
        return [f"What was interrupted in {root} could not be repaired yet: {error}"]
