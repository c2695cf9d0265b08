"""Foresight in the chat: the mark on an ended turn, and a suggestion in the hint line's row."""

from __future__ import annotations

import asyncio
import logging
from time import monotonic
from typing import TYPE_CHECKING

from ragforge.domain import timeouts
from ragforge.domain.errors import RagforgeError

if TYPE_CHECKING:  # loaded after the first frame
    from ragforge.domain.events import TurnEnded
    from ragforge.tui.chat.frame import ChatFrame

log = logging.getLogger(__name__)


class ChatForesight:
    """For the newest turn of the session in front. Any typing, even if deleted, ends a suggestion."""

    def __init__(self, chat: ChatFrame) -> None:
        self._chat = chat
        self._turn_id = ""
        """The turn after which something may be suggested; empty once that is over."""
        self._ended_at_s = 0.0
        self._is_shown = False

    def session_began(self) -> None:
        """Another session is in front: nothing is suggested in it before its next turn."""
        self._end()

    def turn_began(self) -> None:
        """The suggestion comes too late."""
        self._end()

    def turn_ended(self, ended: TurnEnded) -> None:
        """Mark the turn and suggest a message, in the background."""
        self._end()
        if not ended.came_to_nothing:
            self._turn_id, self._ended_at_s = ended.turn.id, monotonic()
            self._chat.run_worker(self._after(ended), group="foresight", exclusive=True)

    def prompt_changed(self) -> None:
        """After any typing, nothing is suggested until the next turn has ended."""
        if self._chat.prompt.text:
            self._end()

    def taken(self) -> None:
        """The user took the suggestion into the prompt."""
        from ragforge.session.suggestion import count_taken

        count_taken()

    def _end(self) -> None:
        self._turn_id = ""
        self._show("")

    def _show(self, message: str) -> None:
        if self._is_shown or message:
            self._is_shown = bool(message)
            self._chat.prompt.suggestion = message
            self._chat.hint.suggest(message)

    async def _after(self, ended: TurnEnded) -> None:
        await self._chat.mark([ended.turn])
        try:
            if message := await self._expected(ended.turn.id):
                await self._offer(ended.turn.id, message)
        except RagforgeError as error:
            log.warning("Nothing is suggested after the turn %s: %s", ended.turn.id, error)
        if self._turn_id == ended.turn.id and self._chat.is_drawn:
            self._end()

    def _is_due(self, turn_id: str) -> bool:
        """Whether something may still be suggested after the turn."""
        passed_s = monotonic() - self._ended_at_s
        return self._turn_id == turn_id and passed_s < timeouts.SUGGESTION_S_MAX and self._chat.is_drawn

    async def _expected(self, turn_id: str) -> str:
        """Return the predicted next message, once the record of the turn is made; empty if there is none."""
        from ragforge.session.suggestion import has_ended, next_message, suggests

        session = self._chat.ready().session
        if not suggests(session.workspace) or await has_ended(session.workspace):
            return ""
        await session.workspace.background.understood(timeout_s=timeouts.SUGGESTION_S_MAX)
        return await next_message(session, turn_id) if self._is_due(turn_id) else ""

    async def _offer(self, turn_id: str, message: str) -> None:
        """Show it while the row is free and the user is not busy, and until its time is over."""
        from ragforge.session.suggestion import count_shown

        is_counted = False
        while self._is_due(turn_id):
            is_free = self._is_free()
            self._show(message if is_free else "")
            if is_free and not is_counted:
                is_counted = True
                if said := await count_shown(self._chat.ready().workspace):
                    self._chat.say(said)
            await asyncio.sleep(timeouts.SUGGESTION_LOOK_EVERY_S)

    def _is_free(self) -> bool:
        """Whether the prompt is empty, the row names no command, nothing runs, and the chat is on top."""
        chat = self._chat
        return not (
            chat.prompt.text
            or chat.hint.command
            or chat.parts.live.display
            or chat.start_list.is_open
            or not chat.is_active
        )
