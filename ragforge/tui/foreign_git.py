"""The question whether a repository is read that does not know the folder from which `.git` leads to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ragforge.domain.printable import escaped
from ragforge.session.foreign_git import unread_repository, unread_words
from ragforge.tui.screens.confirm import ConfirmScreen

if TYPE_CHECKING:  # the chat imports this module
    from ragforge.session.conversation import Conversation
    from ragforge.tui.screens.chat import ChatScreen

QUESTION = "Read the repository that .git leads to?"
WHY = (
    "It does not know this folder, neither as its work tree nor as its submodule, so it may be anybody's. "
    "Yes lets git show the model its commits and files, and is remembered for this repository. "
    "After a no, every git command asks."
)


async def ask(chat: ChatScreen, conversation: Conversation) -> None:
    """Ask about each that is unread, and remember a yes. Raises StoreError when that cannot be kept."""
    while repository := unread_repository(conversation.session):
        question = ConfirmScreen(QUESTION, detail=f"{escaped(str(repository))}\n\n{WHY}")
        if not await chat.ask(question):
            chat.say(unread_words(repository))
            return
        await conversation.read_repository()
