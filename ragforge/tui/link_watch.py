"""Watching, once a second and without asking anybody: are server and session still ours, do files move."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from ragforge.domain import timeouts

if TYPE_CHECKING:  # the chat imports the module that imports this one
    from ragforge.tui.screens.chat_frame import ChatFrame


def start(chat: ChatFrame) -> None:
    """Look from now on, until the chat goes."""
    chat.set_interval(timeouts.LINK_LOOK_EVERY_S, lambda: look(chat))


def look(chat: ChatFrame) -> None:
    """Show what changed; where nothing has, nothing is drawn."""
    if chat.conversation is None or not chat.is_drawn:
        return
    from ragforge.session.link import held_words  # as below
    from ragforge.tui.outcomes import lasting  # that module loads the screens

    link, status = chat.conversation.link, chat.status.status
    held = held_words(link)
    told = replace(
        status,
        away=bool(link.away),
        waiting=link.waiting,
        held=bool(held),
        notice=lasting(chat.conversation),
    )
    if told != status:
        chat.status.status = told
    if held and not status.held:
        chat.say(f"{held}.")
    if lost := chat.conversation.notice_loss():
        chat.say(lost)
        chat.show_status()
