"""Telling, once a run, that what is kept takes more room than it may."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from ragforge.domain.errors import RagforgeError

if TYPE_CHECKING:  # the chat imports the module that imports this one
    from ragforge.tui.screens.chat_frame import ChatFrame


def start(chat: ChatFrame) -> None:
    """Look, beside whatever the person does."""
    chat.run_worker(_look(chat), group="room")


async def _look(chat: ChatFrame) -> None:
    from ragforge.session.storage import room_warning

    with suppress(RagforgeError):  # a store that is away is told of elsewhere
        warning = await room_warning(chat.ready().workspace)
        if warning and chat.is_drawn:
            chat.say(warning)
