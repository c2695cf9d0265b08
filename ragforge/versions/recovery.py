"""What is made good when a folder is opened: a restore that was cut off, turns that a crash ended."""

import logging
from typing import TYPE_CHECKING

from ragforge.domain.errors import RagforgeError
from ragforge.versions.attempts.leftovers import clear_left

if TYPE_CHECKING:  # opening a workspace calls this
    from ragforge.session.state import Workspace

log = logging.getLogger(__name__)


async def recover_folder(workspace: "Workspace") -> list[str]:
    """Finish or take back what was cut off in the folder or in copies of it; what the person should hear."""
    return [*await _recover(workspace), *await clear_left(workspace)]


async def _recover(workspace: "Workspace") -> list[str]:
    root, state = workspace.place.root, workspace.history
    try:
        journal = await state.journal(root)
        cut_off = [turn for turn in await state.open_turns(root) if not turn.pid_alive]
        if journal is None and not cut_off:
            return []
        return await workspace.recorders.of(root).recover(workspace.files)
    except (RagforgeError, OSError) as error:
        log.warning("What was cut off in %s could not be made good: %s", root, error, exc_info=error)
        return [f"What was cut off in {root} could not be made good yet: {error}"]
