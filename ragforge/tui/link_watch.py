"""Watching, once a second and without asking anybody, whether the server and the session are still ours."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # the chat imports the module that imports this one
    from ragforge.tui.screens.chat_frame import ChatFrame

LOOK_EVERY_S = 1.0


def start(chat: ChatFrame) -> None:
    """Look from now on, until the chat goes."""
    chat.set_interval(LOOK_EVERY_S, lambda: look(chat))


def look(chat: ChatFrame) -> None:
    """Show what changed; where nothing has, nothing is drawn."""
    if chat.conversation is None or not chat.is_drawn:
        return
    link, status = chat.conversation.link, chat.status.status
    told = replace(status, away=bool(link.away), waiting=link.waiting)
    if told != status:
        chat.status.status = told
    if lost := chat.conversation.notice_loss():
        chat.say(lost)
        chat.show_status()
