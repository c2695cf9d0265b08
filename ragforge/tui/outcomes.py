"""What the chat does with a command's outcome, and with a session that comes to the front."""

from __future__ import annotations

import asyncio
import os
from contextlib import aclosing
from typing import TYPE_CHECKING, TypeVar, assert_never

from msgspec import Struct
from msgspec.structs import replace

from ragforge.config.project import git_branch
from ragforge.domain.errors import SessionBusy, UsageError
from ragforge.tui import clipboard, keys, terminal, trust
from ragforge.tui.key_watch import KeyWatch
from ragforge.tui.launch import Leaving, OpenedChat
from ragforge.tui.screens.confirm import ConfirmScreen
from ragforge.tui.textual_types import app_of
from ragforge.tui.theme import theme_name
from ragforge.tui.widgets.status_line import Status

if TYPE_CHECKING:  # loaded after the first frame; and the chat imports this module
    from collections.abc import AsyncGenerator

    from ragforge.commands.base import HeadMoved, Outcome
    from ragforge.session.conversation import Conversation, Shown
    from ragforge.tui.screens.chat import ChatScreen
    from ragforge.tui.screens.dialog import Dialog

Result = TypeVar("Result")
START = "Type a message, or /help for commands and keys."


async def carry_out(chat: ChatScreen, name: str, outcome: Outcome) -> None:
    """Do what the command says. Runs in a worker, so it may wait for screens."""
    from ragforge.commands import base
    from ragforge.tui.screens.base import find_screens
    from ragforge.tui.screens.choose import ChooseScreen

    conversation = chat.ready()
    match outcome:
        case base.Tell(text):
            chat.tell(_with_keys_and_screens(conversation, text) if name == "help" else text)
        case base.Open(screen, args):
            await find_screens()[screen].open(_ChatOfScreen(chat), args)
        case base.Confirm(question, then, otherwise, command):
            screen = ConfirmScreen(question, command=command, no_counts=bool(otherwise))
            answer = await chat.ask(screen)
            if line := then if answer else otherwise if answer is False else "":
                await run_line(chat, line)
        case base.Choose(question, detail, options, diff):
            if line := await chat.ask(ChooseScreen(question, detail, options, diff=diff)):
                await run_line(chat, line)
        case base.Copy(text, what):
            chat.notify(f"{what}: {clipboard.copy(text, app_of(chat))}", markup=False)
        case base.StartNew():
            await conversation.keep_draft(chat.prompt.draft)
            shown = await conversation.start_new()
            await chat.show_session(draft=shown.draft)
            chat.say("A new session. The one before is kept; /sessions lists it.")
        case base.Fork(at):
            await conversation.keep_draft(chat.prompt.draft)
            await conversation.fork(conversation.session.id, at=at)
            await chat.show_session(draft=None)
            chat.say("A fork: a session of its own that goes on from here. /sessions lists the other.")
        case base.HeadMoved():
            await _show_moved(chat, outcome)
        case base.Follow(lines):
            await _follow(chat, name, lines)
        case base.ClearView():
            await chat.transcript.load((), (), ())
        case base.Retry():
            chat.retry()
        case base.Quit():
            chat.leave()
        case base.GoIncognito():
            chat.leave(incognito_next=True)
        case _:
            assert_never(outcome)


async def _show_moved(chat: ChatScreen, moved: HeadMoved) -> None:
    result = moved.result
    if result.chat:
        await chat.show_session(draft=None)
    for line in moved.lines:
        chat.say(line)
    if result.chat and not chat.prompt.bring_back(result.draft) and result.draft.strip():
        chat.say("What you are writing stays; Up brings the message that was taken back.")


async def _follow(chat: ChatScreen, name: str, lines: AsyncGenerator[str | Outcome, None]) -> None:
    """Say each line as it comes, and do what comes of it."""
    async with aclosing(lines) as told:
        async for line in told:
            if isinstance(line, str):
                chat.say(line)
            else:
                await carry_out(chat, name, line)


async def confirmed(chat: ChatScreen, question: str, *, detail: str = "") -> bool:
    """The person's yes or no. What was being typed when the question came up stays in the prompt."""
    return bool(await chat.ask(ConfirmScreen(question, detail=detail)))


class _ChatOfScreen(Struct, frozen=True):
    """The chat, for the screens that it opens."""

    chat: ChatScreen

    def ready(self) -> Conversation:
        return self.chat.ready()

    async def ask(self, dialog: Dialog[Result]) -> Result | None:
        return await self.chat.ask(dialog)

    async def go_to(self, session_id: str, turn: int | None = None) -> None:
        await front(self.chat, OpenedChat(self.ready(), resume=session_id, at=turn))

    async def run_line(self, line: str) -> None:
        await run_line(self.chat, line)

    def say(self, text: str) -> None:
        self.chat.say(text)


async def run_line(chat: ChatScreen, line: str) -> None:
    """Run a command, or open the screen that is one. Runs in a worker."""
    from ragforge.commands.base import Open
    from ragforge.tui.screens.base import screen_commands

    await asyncio.shield(asyncio.wrap_future(chat.commands))
    name, _, args = line.partition(" ")
    is_screen = any(screen.name == name for screen in screen_commands())
    await carry_out(chat, name, Open(name, args) if is_screen else await chat.ready().run(name, args))


async def front(chat: ChatScreen, opened: OpenedChat, *, first: bool = False) -> None:
    """Bring to the front what was asked for. Runs in a worker, so it may ask.

    first: at the start, when what is typed belongs to no session yet.
    """
    conversation = opened.conversation
    if opened.resume:
        await _resume(chat, opened, first=first)
        return
    if not await _folder_is_meant(chat, conversation):
        app_of(chat).exit(Leaving(draft=chat.prompt.draft))
        return
    if opened.newest and (newest := await _newest(chat, conversation)):
        await _resume(chat, replace(opened, resume=newest), first=first)
        return
    draft = await conversation.folder_draft()
    if draft and not chat.prompt.draft:
        chat.prompt.set_draft(draft)
    chat.show_status()
    if not conversation.session.live.record.model:
        from ragforge.tui.screens.model import ModelScreen

        told = await chat.ask(ModelScreen(conversation, first=True))
        chat.say(told or "No model yet: /model chooses one. Until then search answers from what is stored.")
        chat.show_status()
    if not await trust.may_stay(chat, conversation):
        return
    chat.say(START)
    if opened.show_list:
        await chat.show_start_list()


async def _newest(chat: ChatScreen, conversation: Conversation) -> str:
    """Return the id of the folder's newest session; empty, with a word about it, if there is none."""
    try:
        return await conversation.newest_id()
    except UsageError as error:
        chat.say(str(error))
        return ""


async def _resume(chat: ChatScreen, opened: OpenedChat, *, first: bool) -> None:
    conversation, before = opened.conversation, opened.conversation.session.id
    if chat.busy:
        chat.say("A turn is running here. Wait for it, or press Esc, before you change the session.")
        return
    if not first:
        await conversation.keep_draft(chat.prompt.draft)
    shown = await _shown(chat, opened)
    is_other = shown.session.id != before
    typed = chat.prompt.draft if first else ""
    await chat.show_session(draft=shown.draft if is_other else None, at=None if opened.fork else opened.at)
    if typed:
        chat.prompt.put_back(*filter(None, (shown.draft, typed)))
    for notice in shown.notices:
        chat.say(notice)
    if first and not await trust.may_stay(chat, conversation):
        return
    if shown.waits:
        chat.retry()


async def _shown(chat: ChatScreen, opened: OpenedChat) -> Shown:
    """The session, or what the person wants of one that another process writes."""
    conversation = opened.conversation
    try:
        if opened.fork:
            return await conversation.fork(opened.resume, at=opened.at)
        return await conversation.resume(opened.resume)
    except SessionBusy as busy:
        question = "Another ragforge has this session open. Go on in a fork, a session of your own?"
        detail = f"{busy.holder}. No shows the session here, to read only."
        if await confirmed(chat, question, detail=detail):
            return await conversation.fork(opened.resume)
        return await conversation.resume(opened.resume, read_only=True)


async def _folder_is_meant(chat: ChatScreen, conversation: Conversation) -> bool:
    """Ask about a folder that is an unlikely project, and about one that may be of a known one."""
    place = conversation.workspace.place
    if await conversation.needs_confirmation():
        question = f"Work in {place.root} itself? Everything below it is then this project."
        if not await confirmed(chat, question):
            return False
        await conversation.confirm_folder()
    for former in conversation.workspace.former:
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
    for other in conversation.workspace.alike:
        paths = await conversation.workspace.local.paths_of(other.id)
        known = f" It is known at {paths[0]}." if paths else ""
        question = f"This folder shares its origin with the project {other.name}. Is it the same project?"
        detail = f"Yes: its history is found from here too.{known}"
        if await confirmed(chat, question, detail=detail):
            await conversation.join(other)
            break
    return True


def adopt_settings(chat: ChatScreen, conversation: Conversation) -> None:
    """Let the person's keys, theme and mouse hold. Raises UsageError for keys that are none."""
    loaded = conversation.workspace.loaded
    settings = loaded.settings
    try:
        bound = keys.bindings(settings.keys)
    except UsageError as error:
        where = {str(source) for name, source in loaded.sources.items() if name.startswith("keys.")}
        raise UsageError(f"{', '.join(sorted(where))}: {error}") from error
    app = app_of(chat)
    app.set_keymap(keys.keymap(bound))
    chat.prompt.use(bound=bound, env=conversation.workspace.child_env)
    chat.parts.approval.use_keys(bound)
    chat.parts.hint.use_keys(bound)
    if isinstance(app, KeyWatch) and settings.theme != "auto":
        app.theme = theme_name(settings.theme, terminal_is_dark=None)
    if not settings.mouse:
        terminal.leave_mouse(app)


def status_of(conversation: Conversation, before: Status | None = None) -> Status:
    """What the status line tells. before: the one of the same session so far, which knows the window."""
    workspace, live = conversation.workspace, conversation.session.live
    root = workspace.place.root
    before = before or Status()
    return Status(
        model=live.record.model or "no model",
        folder=_home_as_tilde(live.record.cwd),
        # Read anew each time, which is one small file: a command may have changed it.
        git_branch=git_branch(root) if workspace.place.is_git else "",
        session=live.record.title,
        mode=live.mode,
        usage=live.usage,
        cost_usd=live.cost_usd,
        estimated=before.estimated,
        context_tokens=before.context_tokens,
        context_tokens_max=before.context_tokens_max,
        queued=len(live.queue),
        jobs=sum(job.exit_code is None for job in workspace.jobs.list()),
        away=before.away,
        waiting=before.waiting,
        background=before.background,
        background_note=before.background_note,
        background_usd=before.background_usd,
        notice=lasting(conversation),
    )


def lasting(conversation: Conversation) -> str:
    """What is to be kept in mind as long as it holds."""
    workspace = conversation.workspace
    marks = {
        "read only": conversation.session.live.read_only,
        "incognito": workspace.incognito,
        "no memory": not workspace.recalls,
        "moving files": conversation.session.live.moving,
    }
    return " · ".join(mark for mark, holds in marks.items() if holds)


def _home_as_tilde(folder: str) -> str:
    home = os.environ.get("HOME", "/")
    inside = folder == home or folder.startswith(home.rstrip("/") + "/")
    return "~" + folder[len(home) :] if inside and home != "/" else folder


def _with_keys_and_screens(conversation: Conversation, commands: str) -> str:
    """Return the table of commands behind that of the keys: the end is what is seen at once."""
    from ragforge.commands.help import BAR
    from ragforge.tui.screens.base import screen_commands

    rows = [
        f"| {shown} | {does} | {where} |"
        for where, shown, does in keys.help_rows(keys.bindings(conversation.workspace.settings.keys))
    ]
    screens = [
        f"| /{screen.name} {screen.usage.replace('|', BAR)} | {screen.help} |" for screen in screen_commands()
    ]
    return "\n".join(["| key | does | in |", "|---|---|---|", *rows, "", commands, *screens])
