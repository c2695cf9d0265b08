"""The question whether instruction files are trusted: at the start and during a turn."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ragforge.tui import terminal
from ragforge.tui.textual_types import app_of

if TYPE_CHECKING:  # the chat imports this module
    from collections.abc import Sequence

    from ragforge.session.conversation import Conversation
    from ragforge.session.trust import FileTrust
    from ragforge.tui.screens.chat import ChatScreen


def watch(chat: ChatScreen, conversation: Conversation) -> None:
    """Let turns ask here about instruction files, and say here which are left out."""

    async def ask(files: Sequence[FileTrust]) -> bool:
        from ragforge.tui.screens.trust import TrustAnswer, TrustScreen  # most starts need no question

        chat.call_person("waits for you")
        try:
            return await chat.ask(TrustScreen(files)) == TrustAnswer.TRUST
        finally:
            terminal.set_title(app_of(chat), "ragforge")

    def tell(text: str) -> None:
        if chat.is_drawn:
            chat.say(text)

    conversation.workspace.trust.ask = ask
    conversation.workspace.trust.tell = tell


async def may_stay(chat: ChatScreen, conversation: Conversation) -> bool:
    """Ask about the folder's instruction files where nobody was asked yet; False on leaving."""
    from ragforge.session.instructions import answer_instructions, new_instructions  # the session loads it

    session = conversation.session
    files = await new_instructions(session)
    if not files:
        return True
    from ragforge.tui.screens.trust import TrustAnswer, TrustScreen

    answer = await chat.ask(TrustScreen(files, can_leave=True))
    if answer == TrustAnswer.LEAVE:
        chat.sent_early = ""  # it stays a draft
        chat.leave()
        return False
    await answer_instructions(session, files, trusted=answer == TrustAnswer.TRUST)
    return True
