"""The daily backup, made in the background."""

import asyncio
import logging
from pathlib import Path
from threading import Event

from ragforge.domain import timeouts
from ragforge.domain.ids import now
from ragforge.session.state import Workspace
from ragforge.store.backup_copies import BackupStopped, make_backup
from ragforge.store.backups import BackupSet, Reason, due_at

log = logging.getLogger(__name__)


async def back_up_daily(workspace: Workspace) -> float | None:
    """Make the daily backup if it is due; return in how many seconds to check again, None for never.

    A cancelled one leaves nothing behind. Raises StoreError.
    """
    if workspace.incognito or not workspace.settings.backup.daily:
        return None
    folder, url = workspace.data_dir, workspace.store.url
    due = await asyncio.to_thread(due_at, folder, url, now())
    if due <= now():
        await stoppable_backup(folder, url, reason=Reason.DAILY)
        due = await asyncio.to_thread(due_at, folder, url, now())
    return max(timeouts.BACKUP_LOOK_EVERY_S_MIN, (due - now()).total_seconds())


async def stoppable_backup(folder: Path, url: str, *, reason: Reason) -> BackupSet | None:
    """As `make_backup`; when cancelled, its thread stops at its next step and removes what it has made."""
    stop = Event()
    making = asyncio.ensure_future(asyncio.to_thread(make_backup, folder, url, reason=reason, stop=stop))
    try:
        return await asyncio.shield(making)
    except asyncio.CancelledError:
        stop.set()
        (ended,) = await asyncio.gather(making, return_exceptions=True)
        if isinstance(ended, Exception) and not isinstance(ended, BackupStopped):
            log.warning("A backup failed as it was stopped: %s", ended)
        raise
