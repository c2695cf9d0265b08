"""The parts of the chat that are loaded and mounted after its first frame, which is the prompt alone.

Importing this module loads them all: half of what the interface takes to load.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from ragforge.tui import chat_opening, mentions, outcomes, own_shell, turns
from ragforge.tui.widgets.approval import ApprovalDock
from ragforge.tui.widgets.hint_line import HintLine
from ragforge.tui.widgets.queue_list import QueueList
from ragforge.tui.widgets.start_list import StartList
from ragforge.tui.widgets.status_line import StatusLine
from ragforge.tui.widgets.transcript import Transcript

if TYPE_CHECKING:  # the chat imports this module
    from ragforge.tui.screens.chat_frame import ChatFrame

__all__ = ["ChatParts", "chat_opening", "mentions", "mount_parts", "outcomes", "own_shell", "turns"]

START_HINT = "Enter resumes · Down chooses · type to narrow, or for a new session"


class ChatParts(Struct, frozen=True):
    """The widgets around the prompt."""

    transcript: Transcript
    approval: ApprovalDock
    queue: QueueList
    hint: HintLine
    start_list: StartList
    status: StatusLine


async def mount_parts(chat: ChatFrame) -> ChatParts:
    """The widgets, mounted above and below the prompt in place of what kept their room."""
    parts = ChatParts(
        Transcript(load_before=chat.load_before, load_output=chat.load_output, id="transcript"),
        ApprovalDock(on_reason_left=chat.put_back, id="approval"),
        QueueList(id="queue"),
        HintLine(),
        StartList(hint=START_HINT, id="start-list"),
        StatusLine(id="status"),
    )
    async with chat.batch():
        await chat.query(".room").remove()
        await chat.mount(parts.transcript, parts.approval, parts.queue, before=0)
        await chat.mount(parts.hint, parts.start_list, parts.status, after=chat.prompt)
    return parts
