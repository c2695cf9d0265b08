"""Showing the events of turns in the chat. Words that were not kept, or came to nothing, return."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing
from time import monotonic
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ragforge.domain.errors import RagforgeError
from ragforge.domain.events import AgentEvent, TurnEnded, TurnStarted, UsageUpdated
from ragforge.domain.messages import Parts, text_of
from ragforge.domain.turns import Turn, TurnStatus
from ragforge.tui import terminal
from ragforge.tui.textual_types import app_of

if TYPE_CHECKING:  # the chat imports this module
    from ragforge.tui.screens.chat import ChatScreen

log = logging.getLogger(__name__)

CALLED_AFTER_S = 10.0
"""A turn that took longer than this rings when it ends: the person has looked away."""
GOES_ON = (TurnStatus.FINISHED, TurnStatus.CONTINUED)


async def run_turns(chat: ChatScreen, turn: AsyncGenerator[AgentEvent, None], text: str) -> None:
    """The turn, and after it what was queued in the very moment of its end.

    text: the words that return to the prompt where the turn cannot begin.
    """
    conversation = chat.ready()
    ended = await _follow(chat, turn, text)
    while ended and ended.status in GOES_ON and conversation.session.live.queue:
        parts = await taken_queue(chat)
        ended = await _follow(chat, conversation.submit(parts, chat.approve), text_of(parts))
    if chat.is_drawn:
        chat.show_queue()
        chat.show_status()


async def taken_queue(chat: ChatScreen) -> Parts:
    """All that waits, as one message. What cannot be written to the disk is taken all the same."""
    waiting = list(chat.ready().session.live.queue)
    await chat.attempt(chat.ready().take_back(last=False))
    return tuple(part for parts in waiting for part in parts)


async def _follow(chat: ChatScreen, turn: AsyncGenerator[AgentEvent, None], text: str) -> Turn | None:
    """Show the events; the turn as it ended last, or None where it could not be kept."""
    began_s = monotonic()
    running: Turn | None = None
    ended: Turn | None = None
    try:
        async with aclosing(turn) as stream:
            async for event in stream:
                if not chat.is_drawn:
                    continue
                chat.transcript.show(event)
                match event:
                    case TurnStarted(running):
                        _started(chat)
                    case UsageUpdated():
                        chat.status.status = chat.status.status.after(event)
                    case TurnEnded(ended):
                        running = None
                        if event.came_to_nothing:
                            chat.put_back(text_of(ended.user))
                        if monotonic() - began_s > CALLED_AFTER_S:
                            chat.call_person("done")
                    case _:
                        pass
    except RagforgeError as error:
        if not chat.is_drawn:
            log.error("The turn could not be kept: %s", error)
            return None
        if running:
            failed = replace(running, status=TurnStatus.FAILED, error=str(error))
            chat.transcript.show(TurnEnded(failed, error))
            text = text_of(running.user)
        else:
            chat.say(str(error))
        if running or not ended:
            chat.put_back(text)
        return None
    return ended


def _started(chat: ChatScreen) -> None:
    terminal.set_title(app_of(chat), "ragforge")
    chat.forget_folder_draft()
    chat.show_queue()
    chat.show_status()
