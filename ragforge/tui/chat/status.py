"""The contents of the status line for a conversation."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ragforge.config.project import git_branch
from ragforge.tui.widgets.status_line import Status

if TYPE_CHECKING:  # loaded by opening it
    from ragforge.session.conversation import Conversation
    from ragforge.tui.launch import Known


def status_at_start(known: Known) -> Status:
    """The status before the session is open."""
    return Status(
        model=known.model,
        folder=_home_as_tilde(known.folder),
        git_branch=known.git_branch,
        mode=known.mode,
    )


def status_of(conversation: Conversation, before: Status | None = None) -> Status:
    """Return the status. before: the previous one of the same session, which knows the window."""
    workspace, live = conversation.workspace, conversation.session.live
    root = workspace.place.root
    before = before or Status()
    return Status(
        model=live.record.model or "no model",
        folder=_home_as_tilde(live.record.cwd),
        # Read each time, which is one small file: a command may have changed it.
        git_branch=git_branch(root) if workspace.place.is_git else "",
        session=live.record.title,
        mode=live.consent.mode,
        usage=live.spending.usage,
        cost_usd=live.spending.cost_usd,
        estimated=before.estimated,
        context_tokens=before.context_tokens,
        context_tokens_max=before.context_tokens_max,
        queued=len(live.queue),
        jobs=sum(job.exit_code is None for job in workspace.jobs.list()),
        hints=len(conversation.hints.open),
        vim=before.vim,
        away=before.away,
        waiting=before.waiting,
        background=before.background,
        background_note=before.background_note,
        background_usd=before.background_usd,
        notice=lasting(conversation),
    )


def lasting(conversation: Conversation) -> str:
    """Return a lasting notice."""
    workspace = conversation.workspace
    marks = {
        "read only": conversation.session.live.read_only,
        "incognito": workspace.incognito,
        "no memory": not workspace.recalls,
        "moving files": conversation.session.activity.moving,
    }
    return " · ".join(mark for mark, holds in marks.items() if holds)


def _home_as_tilde(folder: str) -> str:
    home = os.environ.get("HOME", "/")
    inside = folder == home or folder.startswith(home.rstrip("/") + "/")
    return "~" + folder[len(home) :] if inside and home != "/" else folder
