"""What the chat does with a command's outcome, a session that comes to the front, and a `!command`."""

from __future__ import annotations

import asyncio
import os
import subprocess
from typing import TYPE_CHECKING, assert_never

from textual.app import SuspendNotSupported

from ragforge.domain.errors import SessionBusy
from ragforge.tui import clipboard, keys
from ragforge.tui.opening import Leaving, Opened
from ragforge.tui.screens.confirm import ConfirmScreen
from ragforge.tui.typed import app_of

if TYPE_CHECKING:  # loaded after the first frame; and the chat imports this module
    from ragforge.session.commands.base import Outcome
    from ragforge.session.conversation import Conversation
    from ragforge.tui.screens.chat import ChatScreen


async def carry_out(chat: ChatScreen, name: str, outcome: Outcome) -> None:
    """Do what the command says. Runs in a worker, so it may wait for screens."""
    from ragforge.session.commands import base

    conversation = _conversation(chat)
    match outcome:
        case base.Tell(text):
            chat.tell(f"{text}\n\n{_keys_table()}" if name == "help" else text)
        case base.Open(screen, args):
            await _open_screen(chat, screen, args)
        case base.Confirm(question, then):
            if await app_of(chat).push_screen_wait(ConfirmScreen(question)):
                command, _, args = then.partition(" ")
                await carry_out(chat, command, await conversation.run(command, args))
        case base.Copy(text, what):
            chat.notify(f"{what}: {clipboard.copy(text, app_of(chat))}", markup=False)
        case base.StartNew():
            shown = await conversation.start_new()
            await chat.show_session(draft=shown.draft)
            chat.say("A new session. The one before is kept; /sessions lists it.")
        case base.ClearView():
            await chat.transcript.load((), (), ())
        case base.Retry():
            chat.retry()
        case base.Quit():
            chat.leave()
        case _:
            assert_never(outcome)


async def _open_screen(chat: ChatScreen, name: str, args: str) -> None:
    from ragforge.session.commands.base import ScreenName
    from ragforge.tui.screens.model import ModelScreen
    from ragforge.tui.screens.search import SearchScreen
    from ragforge.tui.screens.sessions import SessionsScreen

    conversation = _conversation(chat)
    match ScreenName(name):
        case ScreenName.SESSIONS:
            chosen = await app_of(chat).push_screen_wait(SessionsScreen(conversation, args))
            if chosen:
                await front(chat, Opened(conversation, resume=chosen))
        case ScreenName.SEARCH:
            found = await app_of(chat).push_screen_wait(SearchScreen(conversation, args))
            if found:
                await front(chat, Opened(conversation, resume=found.session_id, at=found.turn))
        case ScreenName.MODEL:
            told = await app_of(chat).push_screen_wait(ModelScreen(conversation))
            if told:
                chat.say(told)


async def front(chat: ChatScreen, opened: Opened) -> None:
    """Bring to the front what was asked for. Runs in a worker, so it may ask."""
    conversation = opened.conversation
    if opened.resume:
        await _resume(chat, opened)
        return
    if not await _folder_is_meant(chat, conversation):
        app_of(chat).exit(Leaving(draft=chat.prompt.draft))
        return
    draft = await conversation.folder_draft()
    if draft and not chat.prompt.draft:
        chat.prompt.set_draft(draft)
    chat.show_status()
    if not conversation.session.live.record.model:
        from ragforge.tui.screens.model import ModelScreen

        told = await app_of(chat).push_screen_wait(ModelScreen(conversation, first=True))
        chat.say(told or "No model yet: /model chooses one. Until then search answers from what is stored.")
        chat.show_status()
    listed = opened.show_list and await chat.show_start_list()
    if not listed:
        chat.say(f"ragforge in {conversation.workspace.place.cwd}. /help shows commands and keys.")


async def _resume(chat: ChatScreen, opened: Opened) -> None:
    conversation = opened.conversation
    if conversation.session.busy:
        chat.say("A turn is running here. Wait for it, or press Esc, before you change the session.")
        return
    try:
        shown = await (
            conversation.fork(opened.resume, at=opened.at)
            if opened.fork
            else conversation.resume(opened.resume)
        )
    except SessionBusy as busy:
        if await app_of(chat).push_screen_wait(
            ConfirmScreen(
                "Another ragforge writes this session. Fork it, and go on in a session of your own?",
                detail=f"{busy.holder}. No shows it here without writing.",
            )
        ):
            shown = await conversation.fork(opened.resume)
        else:
            shown = await conversation.resume(opened.resume, read_only=True)
    await chat.show_session(draft=shown.draft, at=None if opened.fork else opened.at)
    for notice in shown.notices:
        chat.say(notice)
    if shown.waits:
        chat.retry()


async def _folder_is_meant(chat: ChatScreen, conversation: Conversation) -> bool:
    """Ask about a folder that is an unlikely project, and about one that looks like a copy of a known one."""
    place = conversation.workspace.place
    if await conversation.needs_confirmation():
        question = f"Work in {place.root} itself? Everything below it is then this project."
        if not await app_of(chat).push_screen_wait(ConfirmScreen(question)):
            return False
        await conversation.confirm_folder()
    for other in conversation.workspace.alike:
        paths = await conversation.workspace.local.paths_of(other.id)
        known = f" It is known at {paths[0]}." if paths else ""
        question = f"This folder shares its origin with the project {other.name}. Is it the same project?"
        detail = f"Yes: its history is found from here too.{known}"
        if await app_of(chat).push_screen_wait(ConfirmScreen(question, detail=detail)):
            await conversation.join(other)
            break
    return True


async def run_shell(chat: ChatScreen, command: str) -> None:
    """Run the person's own command in the real terminal, then come back."""
    conversation = _conversation(chat)
    shell = os.environ.get("SHELL", "/bin/sh")

    def run() -> int:
        print(f"$ {command}", flush=True)  # noqa: T201 - the terminal is the person's now
        code = subprocess.run([shell, "-c", command], cwd=conversation.session.cwd, check=False).returncode
        input(f"[exit {code}] Enter returns to ragforge ")
        return code

    try:
        with app_of(chat).batch_update(), app_of(chat).suspend():
            code = await asyncio.to_thread(run)
    except SuspendNotSupported:
        chat.say("This terminal cannot be handed to a command.")
    except (OSError, EOFError) as error:
        chat.say(f"`{command}` could not be run: {error}")
    else:
        chat.say(f"! {command}  (exit {code})")


def _keys_table() -> str:
    rows = [f"| {shown} | {does} | {where} |" for where, shown, does in keys.help_rows(keys.bindings())]
    return "\n".join(["| key | does | in |", "|---|---|---|", *rows])


def _conversation(chat: ChatScreen) -> Conversation:
    if chat.conversation is None:
        raise RuntimeError("The conversation is not open yet.")
    return chat.conversation
