"""Slash commands in the chat: running them, and handling their outcomes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Coroutine
from contextlib import aclosing, suppress
from typing import Any, TypeVar, assert_never

from msgspec import Struct, field

from ragforge.commands import base
from ragforge.commands.base import HeadMoved, Outcome
from ragforge.commands.forget import ask_what_to_forget
from ragforge.domain.errors import RagforgeError
from ragforge.domain.programs import ProgramView
from ragforge.session.conversation import Conversation
from ragforge.tui import clipboard, keys
from ragforge.tui.chat.frame import ChatFrame
from ragforge.tui.chat.opening import adopt_settings
from ragforge.tui.chat.sessions import Sessions
from ragforge.tui.chat.turns import Turns
from ragforge.tui.screens.ask import AskScreen
from ragforge.tui.screens.base import find_screens, interface_verbs
from ragforge.tui.screens.choose import ChooseScreen
from ragforge.tui.screens.confirm import ConfirmScreen
from ragforge.tui.screens.dialog import Dialog
from ragforge.tui.textual_types import app_of

Result = TypeVar("Result")

RETURNED = "The undone message is selected in the prompt: type to replace it, or press Right to edit it."
RETURNED_TO_HISTORY = "Your draft is kept; press Up for the message that was undone."


class ChatCommands(Struct, frozen=True):
    """Slash commands in the chat; and the chat as seen by the screens that they open."""

    chat: ChatFrame
    turns: Turns
    sessions: Sessions
    followed: set[asyncio.Task[Any]] = field(default_factory=set[asyncio.Task[Any]])
    """Commands that Esc ends."""
    one_at_a_time: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held by the one that works; the others wait, so that each finds the result of the one before."""

    def start(self, line: str) -> None:
        """Run a command line, without its slash, in a worker, and report errors."""
        self.chat.run_worker(self._run(line), group="command")

    async def _run(self, line: str) -> None:
        await self._do(f"/{line.strip()}", self.run_line(line))

    async def _do(self, what: str, doing: Coroutine[Any, Any, None]) -> None:
        transcript = self.chat.transcript
        await transcript.action_end()
        live = self.chat.parts.live
        with transcript.answering(), live.during(what, ends_at_esc=self._ends_at_esc):
            await self.chat.attempt(doing)
        with suppress(RagforgeError):  # /hints checks again
            # No more hints about what was forgotten, replaced or undone.
            await self.ready().hints.drop_outdated()
        self.chat.show_status()

    def start_forgetting(self, message: str) -> None:
        """Ask what to forget, in a worker; if nothing fits, send the message to the model."""
        self.chat.run_worker(self._forget_or_say(message), group="command")

    async def _forget_or_say(self, message: str) -> None:
        asked: Outcome | None = None
        with suppress(RagforgeError):
            asked = await ask_what_to_forget(self.ready().session, message)
        if asked is None:
            await self.turns.say(message)
        else:
            await self._do("/forget", self._carry_out("forget", asked))

    def _ends_at_esc(self) -> bool:
        return self.ready().session.busy or bool(self.followed)

    def stop(self) -> bool:
        """End the commands that Esc ends; return whether there were any."""
        for task in self.followed:
            task.cancel()
        return bool(self.followed)

    async def run_line(self, line: str) -> None:
        """Run a command. Raises RagforgeError."""
        await asyncio.shield(asyncio.wrap_future(self.chat.commands))
        name, _, args = line.partition(" ")
        here = base.name_here(name)
        if here == "config":
            keys.check_config(args, beside=self.ready().workspace.settings.keys)  # before it is written
        verbs = interface_verbs()
        work = self.ready().run(name, args, verbs)
        is_ours = any(name in (verb.name, *verb.aliases) for verb in verbs.values())
        # A command from a file may run shell commands first.
        outcome = await (work if is_ours else self._until_esc(work))
        if outcome is None:
            self.chat.say(f"/{name} was interrupted.")
            return
        if here == "config" and args.strip():
            await self.ready().reload_settings()
            adopt_settings(self.chat, self.ready())
        await self._carry_out(name, outcome)
        if name == "commands":  # whoever opens the list has changed some
            await self.chat.load_own_commands()

    async def _carry_out(self, name: str, outcome: Outcome) -> None:
        """Handle the outcome of a command."""
        chat = self.chat
        match outcome:
            case base.Tell(text):
                chat.tell(text)
            case base.Report():
                chat.tell(outcome.shown)
            case base.Open(screen, args):
                await find_screens()[screen].open(self, args)
            case base.Confirm(question, then, otherwise, command, detail):
                no_counts = bool(otherwise)
                asked = ConfirmScreen(question, detail=detail, command=command, no_counts=no_counts)
                answer = await chat.ask(asked)
                if line := then if answer else otherwise if answer is False else "":
                    await self.run_line(line)
            case base.Choose(question, detail, options, diff):
                if line := await chat.ask(ChooseScreen(question, detail, options, diff=diff)):
                    await self.run_line(line)
            case base.Copy(text, what):
                chat.notify(f"{what}: {clipboard.copy(text, app_of(chat))}", markup=False)
            case base.Send():
                await self.turns.send(outcome)
            case base.StartNew() | base.Fork():
                await self._begin(outcome)
            case base.HeadMoved():
                await self._show_moved(outcome)
            case base.Follow(lines, stopped):
                await (self._follow_until_esc(name, outcome) if stopped else self._follow(name, lines))
            case base.UserQuestion():
                with chat.parts.program.aside():
                    await self._answer(outcome)
            case base.Retry():
                self.turns.retry()
            case base.Quit():
                chat.leave()
            case base.GoIncognito():
                chat.leave(incognito_next=True)
            case _:
                assert_never(outcome)

    async def _answer(self, asked: base.UserQuestion) -> None:
        """Ask the user, and pass the answer to the continuing command."""
        with self.chat.parts.live.asking():
            await self._ask(asked)

    async def _ask(self, asked: base.UserQuestion) -> None:
        kinds = base.QuestionKind
        match asked.kind:
            case kinds.APPROVE if asked.request:
                asked.reply(await self.turns.approve(asked.request))
            case kinds.INPUT:
                asked.reply(await self.chat.ask(AskScreen(asked.text)))
            case kinds.STEP:
                asked.reply(await self.chat.ask(AskScreen(asked.text, may_be_empty=True)))
            case kinds.CONFIRM:
                options = (base.Option("Yes", "do it", "yes"), base.Option("No", "leave it as it is", "no"))
                answer = await self.chat.ask(ChooseScreen(asked.text, "", options, diff=asked.diff))
                asked.reply(answer == "yes")
            case _:
                numbered = [base.Option(words, "", str(at)) for at, words in enumerate(asked.options)]
                answer = await self.chat.ask(ChooseScreen(asked.text, "", numbered))
                asked.reply(int(answer) if answer else None)

    async def _begin(self, outcome: base.StartNew | base.Fork) -> None:
        """Leave this session for a new one, empty or a fork of it."""
        chat, conversation = self.chat, self.ready()
        await conversation.keep_draft(chat.prompt.draft)
        if isinstance(outcome, base.Fork):
            await conversation.fork(conversation.session.id, at=outcome.at)
            await chat.show_session(draft=None)
            chat.say("This is a fork, a separate session. /sessions lists the original.")
        else:
            shown = await conversation.start_new()
            await chat.show_session(draft=shown.draft)
            chat.say(f"A new session. {outcome.said}".rstrip())
            self.sessions.hints.session_began()

    async def _show_moved(self, moved: HeadMoved) -> None:
        chat, result = self.chat, moved.result
        if result.chat:
            if result.turns:
                await self.ready().commands_moved(result.turns, words_are_back=bool(result.draft))
            await chat.show_session(draft=None)
        for line in moved.lines:
            chat.say(line)
        if not result.chat:
            return
        is_shown = chat.prompt.bring_back(result.draft)
        if result.draft.strip():
            chat.say(RETURNED if is_shown else RETURNED_TO_HISTORY)

    async def _follow(self, name: str, lines: AsyncGenerator[base.Followed, None]) -> None:
        """Show each line as it arrives, and handle outcomes."""
        try:
            async with aclosing(lines) as told:
                async for line in told:
                    if isinstance(line, str):
                        self.chat.say(line)
                    elif isinstance(line, ProgramView):
                        self.chat.parts.program.show(line)
                    else:
                        await self._carry_out(name, line)
        finally:
            self.chat.parts.program.close()

    async def _follow_in_turn(self, name: str, lines: AsyncGenerator[base.Followed, None]) -> bool:
        async with self.one_at_a_time:
            await self._follow(name, lines)
        return True

    async def _follow_until_esc(self, name: str, outcome: base.Follow) -> None:
        if await self._until_esc(self._follow_in_turn(name, outcome.lines)) is None:
            self.chat.say(outcome.stopped)

    async def _until_esc(self, work: Coroutine[Any, Any, Result]) -> Result | None:
        """Return the result; None if Esc ended it. Raises what the command raises."""
        task = asyncio.ensure_future(work)
        self.followed.add(task)
        try:
            await asyncio.wait({task})
        finally:
            self.followed.discard(task)
            task.cancel()  # if the chat was left
        return None if task.cancelled() else task.result()

    # The chat as screens see it

    def ready(self) -> Conversation:
        return self.chat.ready()

    async def ask(self, dialog: Dialog[Result]) -> Result | None:
        """Show a dialog until it is answered; return None for no answer."""
        return await self.chat.ask(dialog)

    async def go_to(self, session_id: str, turn: int | None = None) -> None:
        """Open the session in front, at a turn counted from 1 if one is named."""
        await self.sessions.go_to(session_id, turn)

    def write(self, text: str) -> None:
        """Put a text into the prompt, before what is typed there; nothing is sent."""
        self.chat.prompt.put_back(text)

    def show_status(self) -> None:
        self.chat.show_status()

    def say(self, text: str) -> None:
        """Show a line in the conversation that is not part of it."""
        self.chat.say(text)
