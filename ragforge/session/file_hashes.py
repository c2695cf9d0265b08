"""Restore, after a restart, what the model has seen of files: the hashes were only in memory."""

import asyncio
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path

from ragforge.domain.errors import UsageError
from ragforge.domain.turns import CallStatus, ToolCall
from ragforge.files.atomic import hash_of
from ragforge.files.open import read_whole
from ragforge.session.agent_parts import tool_context
from ragforge.session.state import Session
from ragforge.tools.paths import resolve

CLOCK_SLACK = timedelta(milliseconds=10)
"""File systems use the time of the last clock tick."""


async def recall_seen_files(session: Session, calls: Sequence[ToolCall]) -> None:
    """Treat as seen what these calls read or wrote, in order, unless something has touched it since.

    Uses the inode's change time, which nobody can set back.
    """
    context = tool_context(session)
    for call in calls:
        path_text = call.args.get("path")
        if call.status is not CallStatus.OK or not isinstance(path_text, str):
            continue
        match call.name:
            case "read":
                seen_at = call.started_at - CLOCK_SLACK
            case "write" | "edit":
                seen_at = call.started_at + timedelta(milliseconds=call.duration_ms)
            case _:
                continue
        try:
            path = resolve(path_text, context)
            content = await asyncio.to_thread(_untouched, path, since=seen_at)
        except (OSError, UsageError):
            continue  # no longer there, or no file now: then it must be read again
        if content is not None:
            session.live.view.read_files.hashes.setdefault(path, hash_of(content))


def _untouched(path: Path, *, since: datetime) -> bytes | None:
    """Return the file's content, None if it was changed or moved there after that moment."""
    content = read_whole(path)
    return content if path.stat().st_ctime <= since.timestamp() else None
