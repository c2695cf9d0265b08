"""The questions about the folder: is it meant, are its instructions trusted, is its repository read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ragforge.commands.base import Option
from ragforge.domain.printable import escaped
from ragforge.session.foreign_git import unread_repository, unread_words
from ragforge.tui import terminal
from ragforge.tui.screens.confirm import ConfirmScreen
from ragforge.tui.textual_types import app_of

if TYPE_CHECKING:  # the session loads it when needed
    from ragforge.session.conversation import Conversation
    from ragforge.session.trust import FileTrust
    from ragforge.tui.chat.frame import ChatFrame

READ_REPOSITORY = "Read the repository that .git leads to?"
WHY_UNREAD = (
    "This folder is neither its work tree nor its submodule, so the repository may belong to somebody "
    "else. Yes lets git show its commits and files to the model, and is remembered for this repository. If "
    "you say no, every git command asks."
)


class ChatAsks:
    """Asks in dialogs."""

    def __init__(self, chat: ChatFrame) -> None:
        self._chat = chat

    async def yes_or_no(self, question: str, detail: str = "") -> bool | None:
        """Return the answer; None for Esc."""
        return await self._chat.ask(ConfirmScreen(question, detail=detail))

    async def one_of(self, question: str, detail: str, options: Sequence[Option]) -> str | None:
        """Return the value of the chosen option; None for Esc."""
        from ragforge.tui.screens.choose import ChooseScreen  # most starts need no question

        return await self._chat.ask(ChooseScreen(question, detail, options))


async def ask_about_repositories(chat: ChatFrame) -> None:
    """Ask about each repository that does not know the folder, and save a yes.

    Raises StoreError if that cannot be saved.
    """
    conversation = chat.ready()
    while repository := unread_repository(conversation.session):
        detail = f"{escaped(str(repository))}\n\n{WHY_UNREAD}"
        if not await chat.confirmed(READ_REPOSITORY, detail=detail):
            chat.say(unread_words(repository))
            return
        await conversation.read_repository()


async def ask_about_person(chat: ChatFrame) -> None:
    """Ask whether the user is the one that the store knows by their address. Raises StoreError."""
    conversation = chat.ready()
    person = conversation.workspace.person
    if not person.elsewhere:
        return
    question = f"Are you the {escaped(person.id)} who uses this store on {escaped(person.elsewhere)}?"
    detail = (
        "Yes: that user's personal memories are yours here too. No: you are a different user in this store."
    )
    if await chat.ask(ConfirmScreen(question, detail=detail)) is False:
        await conversation.be_somebody_else()


def let_turns_ask(chat: ChatFrame, conversation: Conversation) -> None:
    """Let turns ask about instruction files here, and report here which are not read."""

    async def ask(files: Sequence[FileTrust]) -> bool:
        from ragforge.tui.screens.trust import TrustAnswer, TrustScreen  # most starts need no question

        chat.call_user("waiting for your answer")
        try:
            return await chat.ask(TrustScreen(files)) == TrustAnswer.TRUST
        finally:
            terminal.set_title(app_of(chat), "ragforge")

    def tell(text: str) -> None:
        if chat.is_drawn:
            chat.say(text)

    conversation.workspace.trust.ask = ask
    conversation.workspace.trust.tell = tell


async def may_stay(chat: ChatFrame) -> bool:
    """Ask about the folder's new instruction files; return False on leaving."""
    from ragforge.session.instructions import answer_instructions, new_instructions  # the session loads it

    session = chat.ready().session
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
