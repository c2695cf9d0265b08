"""What commands and lists need of the line mode."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Protocol

from ragforge.domain.events import AgentEvent
from ragforge.session.conversation import Conversation


class LineFace(Protocol):
    """What commands need of the line mode."""

    incognito_next: bool

    @property
    def conversation(self) -> Conversation: ...
    async def say(self, text: str) -> None: ...
    async def follow(self, turn: AsyncGenerator[AgentEvent, None]) -> None: ...
    async def go_to(self, session_id: str, *, fork: bool = False, at: int | None = None) -> bool: ...
    async def keep_unsent(self, text: str) -> None: ...
    def leave(self, code: int = 0) -> None: ...
