"""Hints in the chat: a mark in the status line after an answer, and a line at the start of a session."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ragforge.domain import timeouts
from ragforge.domain.errors import RagforgeError
from ragforge.domain.printable import one_line
from ragforge.memory.sentences import cut_words
from ragforge.memory.todo_list import without_label

if TYPE_CHECKING:  # loaded after the first frame
    from ragforge.domain.events import TurnEnded
    from ragforge.domain.hints import ProactiveHint
    from ragforge.domain.memories import Memory
    from ragforge.tui.chat.frame import ChatFrame

log = logging.getLogger(__name__)

OPEN_SHOWN = 2
OPEN_CHARS_MAX = 80


class Hints:
    """Offers the hints of the session in front, never while the user types or a turn runs."""

    def __init__(self, chat: ChatFrame) -> None:
        self._chat = chat
        self._made: Sequence[ProactiveHint] = ()
        """The newest turn's, not offered yet."""
        self._runs = False
        """Whether a turn runs."""

    def session_began(self) -> None:
        """Show what was left open here, in the background."""
        self._made = ()
        self._chat.run_worker(self._tell_left_open(), group="hints", exclusive=True)

    def turn_began(self) -> None:
        """The hints of the turn before come too late."""
        self._runs, self._made = True, ()

    def turn_ended(self, ended: TurnEnded) -> None:
        """Make its hints in the background, and offer them when nobody types."""
        self._runs = False
        self._chat.run_worker(self._make(ended), group="hints", exclusive=True)

    def prompt_changed(self) -> None:
        """Offer waiting hints once the prompt was empty for a while: sending a message empties it too."""
        if self._made:
            self._chat.set_timer(timeouts.HINTS_QUIET_S, self._offer_if_quiet)

    def _offer_if_quiet(self) -> None:
        chat = self._chat
        if self._made and not self._runs and chat.is_drawn and not chat.prompt.draft.strip():
            chat.run_worker(self._offer(), group="hints offered")

    async def _make(self, ended: TurnEnded) -> None:
        conversation = self._chat.ready()
        try:
            made = await conversation.hints.after_turn(ended)
        except RagforgeError as error:
            log.warning("No hints after the turn %s: %s", ended.turn.id, error)
            return
        if not self._runs and ended.turn.id == conversation.session.live.record.head:
            self._made = made
            self._offer_if_quiet()

    async def _offer(self) -> None:
        made, self._made = self._made, ()
        try:
            await self._chat.ready().hints.offer(made)
        except RagforgeError as error:
            log.warning("Hints are not offered: %s", error)
        self._chat.show_status()

    async def _tell_left_open(self) -> None:
        hints = self._chat.ready().hints
        try:
            left = await hints.left_open()
            if left.due:
                await hints.offer(left.due, after_turn=False)
        except RagforgeError as error:
            log.warning("What was left open is not told: %s", error)
            return
        if self._chat.is_drawn and (words := left_open_words(left.due, left.intents)):
            self._chat.say(words)
            self._chat.show_status()


def left_open_words(due: Sequence[ProactiveHint], intents: Sequence[Memory]) -> str:
    """Return what was left open, in one line, postponed hints first; empty if there is nothing."""
    texts = [*(hint.message for hint in due), *map(without_label, intents)]
    if not texts:
        return ""
    shown = [cut_words(one_line(text).rstrip("."), OPEN_CHARS_MAX) for text in texts[:OPEN_SHOWN]]
    more = [f"{len(texts) - OPEN_SHOWN} more"] if len(texts) > OPEN_SHOWN else []
    where = "/hints" if due else "/memory"
    return f"Left open here: {' · '.join([*shown, *more])} ({where})"
