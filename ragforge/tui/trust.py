"""The question whether instruction files are trusted: at the start, during a turn, and by `/trust`."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from ragforge.tui import terminal
from ragforge.tui.textual_types import app_of

if TYPE_CHECKING:  # the chat imports this module
    from collections.abc import Sequence

    from ragforge.session.conversation import Conversation
    from ragforge.session.trust import FileTrust
    from ragforge.tui.screens.chat import ChatScreen
    from ragforge.tui.screens.trust import TrustScreen


def watch(chat: ChatScreen, conversation: Conversation) -> None:
    """Let turns ask here about instruction files, and say here which are left out."""

    async def ask(files: Sequence[FileTrust]) -> bool:
        from ragforge.tui.screens.trust import TrustAnswer, TrustScreen  # most starts need no question

        chat.call_person("waits for you")
        try:
            return await _answer(chat, TrustScreen(files)) == TrustAnswer.TRUST
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

    answer = await _answer(chat, TrustScreen(files, can_leave=True))
    if answer == TrustAnswer.LEAVE:
        chat.sent_early = ""  # it stays a draft
        chat.leave()
        return False
    await answer_instructions(session, files, trusted=answer == TrustAnswer.TRUST)
    return True


async def ask_again(chat: ChatScreen) -> None:
    """Show every instruction file, and take another answer."""
    from ragforge.session.instructions import all_instructions, answer_instructions
    from ragforge.tui.screens.trust import TrustAgainScreen, TrustAnswer

    session = chat.ready().session
    files = await all_instructions(session)
    answer = await _answer(chat, TrustAgainScreen(files))
    if answer is not None:
        trusted = answer == TrustAnswer.TRUST
        await answer_instructions(session, files, trusted=trusted)
        chat.say(
            "The model reads them from the next message on." if trusted else "The model no longer reads them."
        )


async def _answer(chat: ChatScreen, screen: TrustScreen) -> str | None:
    """The answer. What was being typed when the question came up stays in the prompt.

    A turn asks from a task of its own, which may be cancelled: the question goes then.
    """
    answered: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()

    def take(answer: str | None) -> None:
        if not answered.done():
            answered.set_result(answer)

    await app_of(chat).push_screen(screen, take)
    try:
        return await answered
    except asyncio.CancelledError:
        if screen.is_current:
            screen.dismiss(None)
        raise
    finally:
        if screen.typed_meanwhile:
            chat.prompt.set_draft(chat.prompt.draft + screen.typed_meanwhile)
