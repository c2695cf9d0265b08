"""The questions about which project a folder is, when a conversation opens in it."""

from collections.abc import Sequence
from typing import Protocol

from ragforge.commands.base import Option
from ragforge.domain.ids import new_id
from ragforge.domain.printable import one_line
from ragforge.domain.turns import Project
from ragforge.session.conversation import Conversation
from ragforge.session.project import describe_project, last_use, new_project
from ragforge.session.state import Workspace

APART = "apart"
ASKED_MAX = 8
"""How many projects the user can choose from by a digit; `ragforge project join` accepts all."""


class Asks(Protocol):
    """Asks the user questions."""

    async def yes_or_no(self, question: str, detail: str = "") -> bool | None:
        """Return the answer; None for none."""
        ...

    async def one_of(self, question: str, detail: str, options: Sequence[Option]) -> str | None:
        """Return the value of the chosen option; None for none."""
        ...


async def folder_is_meant(conversation: Conversation, asks: Asks) -> bool:
    """Ask about a folder that is an unlikely project, and about one that may belong to a known one."""
    workspace = conversation.workspace
    if await conversation.needs_confirmation():
        question = f"Work in {workspace.place.root} itself? Everything below it will belong to this project."
        if not await asks.yes_or_no(question):
            return False
        await conversation.confirm_folder()
    for former in workspace.former:
        question = f"Is this folder the project {former.project.name}, which was at {former.path}?"
        detail = (
            "Yes: its sessions, versions, memories and rules apply here. No: it stays a separate project."
        )
        answer = await asks.yes_or_no(question, detail)
        if answer:
            await conversation.join(former.project)
            break
        if answer is not None:
            await conversation.decline(former)
    if len(workspace.alike) > 1:
        await _ask_which(conversation, asks)
        return True
    for other in workspace.alike:
        shared = "remote" if _has_remote(other, workspace) else "first commit"
        question = f"The project {other.name} has the same {shared}. Is this folder part of it?"
        known = await describe_project(workspace.store, other)
        if await asks.yes_or_no(question, f"Yes: its history is available here too. It is {known}."):
            await conversation.join(other)
    return True


async def _ask_which(conversation: Conversation, asks: Asks) -> None:
    """Ask which of the projects with its remote or first commit the folder is; no answer leaves it open."""
    workspace = conversation.workspace
    known = {each.id: each for each in workspace.alike[:ASKED_MAX]}
    clones = [each for each in known.values() if _has_remote(each, workspace)]
    options: list[Option] = []
    for each in known.values():
        remote = "" if each in clones or not each.git_remote else f"{one_line(each.git_remote)}, "
        options.append(Option(each.name, remote + await last_use(workspace.store, each), each.id))
    options.append(Option("another one", "a separate project, which shares nothing with these", APART))
    shared = "remote" if len(clones) == len(known) else "remote or first commit" if clones else "first commit"
    question = f"Several projects have the same {shared} as this folder. Which one is it?"
    detail = "Its sessions, versions, memories and rules apply here from now on."
    answer = await asks.one_of(question, detail, options)
    if answer == APART:
        apart = new_project(workspace.place, new_id())
        await workspace.store.projects.add(apart)  # or it would be asked about again
        await conversation.join(apart)
    elif answer:
        await conversation.join(known[answer])


def _has_remote(project: Project, workspace: Workspace) -> bool:
    return project.git_remote == workspace.place.git_remote != ""
