"""Watching, once a second, what the background still has to do, and what it has cost when that changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from ragforge.domain import timeouts
from ragforge.domain.errors import RagforgeError
from ragforge.domain.words import counted

if TYPE_CHECKING:  # the chat imports the module that imports this one
    from ragforge.session.background import Progress
    from ragforge.tui.screens.chat_frame import ChatFrame


class _Watch(Struct):
    """What was seen last: the work done and to do, the session as it is kept, and whether a turn runs.

    What has begun and ended between two looks is seen too: a payment is counted, and a turn changes when
    something last happened in its session.
    """

    seen: tuple[object, ...] = ()


def start(chat: ChatFrame) -> None:
    """Look from now on, until the chat goes."""
    watch = _Watch()
    chat.set_interval(timeouts.MEMORY_LOOK_EVERY_S, lambda: _look(chat, watch))


def _look(chat: ChatFrame, watch: _Watch) -> None:
    """Show what changed; where nothing has, nothing is drawn and nobody is asked."""
    if chat.conversation is None or not chat.is_drawn:
        return
    progress = chat.conversation.workspace.background.progress
    told = replace(chat.status.status, background=progress_words(progress), background_note=progress.note)
    if told != chat.status.status:
        chat.status.status = told
    session = chat.conversation.session
    seen = (progress, session.live.record, session.busy)
    if seen != watch.seen:
        watch.seen = seen
        chat.run_worker(_show_cost(chat), group="memory-cost", exclusive=True)


async def _show_cost(chat: ChatFrame) -> None:
    try:
        cost_usd = await chat.ready().background_cost()
    except RagforgeError:
        return  # a store that is away is told of elsewhere, and the cost is not lost
    if chat.is_drawn:
        chat.status.status = replace(chat.status.status, background_usd=cost_usd)


def progress_words(progress: Progress) -> str:
    """What is left to do, in a few words; empty when all is done."""
    if progress.turns:
        return f"{counted(progress.turns, 'turn')} to summarise"
    return f"{counted(progress.vectors, 'text')} to embed" if progress.vectors else ""
