"""What is asked about the folder: is it meant, are its instructions trusted, is its repository read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ragforge.commands.base import Option
from ragforge.domain.ids import new_id
from ragforge.domain.printable import escaped
from ragforge.session.foreign_git import unread_repository, unread_words
from ragforge.session.project import describe_project, last_use, new_project
from ragforge.tui import terminal
from ragforge.tui.screens.confirm import ConfirmScreen
from ragforge.tui.textual_types import app_of

if TYPE_CHECKING:  # the session loads it when it is needed
    from ragforge.session.conversation import Conversation
    from ragforge.session.trust import FileTrust
    from ragforge.tui.chat.frame import ChatFrame

APART = "apart"
ASKED_MAX = 8
"""Projects among which the user chooses by a digit; `ragforge project join` knows all."""
READ_REPOSITORY = "Read the repository that .git leads to?"
WHY_UNREAD = (
    "It does not know this folder, neither as its work tree nor as its submodule, so it may be anybody's. "
    "Yes lets git show the model its commits and files, and is remembered for this repository. "
    "After a no, every git command asks."
)


async def folder_is_meant(chat: ChatFrame) -> bool:
    """Ask about a folder that is an unlikely project, and about one that may be of a known one."""
    conversation = chat.ready()
    workspace = conversation.workspace
    if await conversation.needs_confirmation():
        question = f"Work in {workspace.place.root} itself? Everything below it is then this project."
        if not await chat.confirmed(question):
            return False
        await conversation.confirm_folder()
    for former in workspace.former:
        question = f"Is this folder the project {former.project.name}, which was at {former.path}?"
        detail = (
            "Yes: its sessions, versions, memories and rules apply here. No: it stays a separate project."
        )
        answer = await chat.ask(ConfirmScreen(question, detail=detail))
        if answer:
            await conversation.join(former.project)
            break
        if answer is not None:
            await conversation.decline(former)
    if len(workspace.alike) > 1:
        await _ask_which(chat, conversation)
        return True
    for other in workspace.alike:
        question = f"This folder shares its origin with the project {other.name}. Is it the same project?"
        known = await describe_project(workspace.store, other)
        if await chat.confirmed(question, detail=f"Yes: its history is found from here too. It is {known}."):
            await conversation.join(other)
    return True


async def _ask_which(chat: ChatFrame, conversation: Conversation) -> None:
    """Ask which of the projects with its origin the folder is; no answer leaves it open."""
    from ragforge.tui.screens.choose import ChooseScreen  # most starts need no question

    workspace = conversation.workspace
    known = {each.id: each for each in workspace.alike[:ASKED_MAX]}
    options = [
        *[Option(each.name, await last_use(workspace.store, each), id) for id, each in known.items()],
        Option("another one", "a project of its own, which shares nothing with these", APART),
    ]
    question = "Several projects share their origin with this folder. Which one is it?"
    detail = "Its sessions, versions, memories and rules apply here from now on."
    answer = await chat.ask(ChooseScreen(question, detail, options))
    if answer == APART:
        apart = new_project(workspace.place, new_id())
        await workspace.store.projects.add(apart)  # or it would be asked about again
        await conversation.join(apart)
    elif answer:
        await conversation.join(known[answer])


async def ask_about_repositories(chat: ChatFrame) -> None:
    """Ask about each that does not know the folder, and remember a yes.

    Raises StoreError when that cannot be kept.
    """
    conversation = chat.ready()
    while repository := unread_repository(conversation.session):
        detail = f"{escaped(str(repository))}\n\n{WHY_UNREAD}"
        if not await chat.confirmed(READ_REPOSITORY, detail=detail):
            chat.say(unread_words(repository))
            return
        await conversation.read_repository()


async def ask_about_person(chat: ChatFrame) -> None:
    """Ask whether the user is whom the store knows by their address. Raises StoreError."""
    conversation = chat.ready()
    person = conversation.workspace.person
    if not person.elsewhere:
        return
    question = f"Are you {escaped(person.id)}, who uses this store on {escaped(person.elsewhere)}?"
    detail = "Yes: what that user is and prefers is yours here too. No: you are somebody else in this store."
    if await chat.ask(ConfirmScreen(question, detail=detail)) is False:
        await conversation.be_somebody_else()


def let_turns_ask(chat: ChatFrame, conversation: Conversation) -> None:
    """Let turns ask here about instruction files, and say here which are left out."""

    async def ask(files: Sequence[FileTrust]) -> bool:
        from ragforge.tui.screens.trust import TrustAnswer, TrustScreen  # most starts need no question

        chat.call_user("waits for you")
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
    """Ask about the folder's instruction files where nobody was asked yet; False on leaving."""
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
