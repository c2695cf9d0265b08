"""The line mode: messages, commands and questions in one conversation, a line at a time."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator, Coroutine, Generator
from contextlib import aclosing, contextmanager, suppress
from time import monotonic
from typing import TYPE_CHECKING, Any

from ragforge.cli.edge import as_called, tell
from ragforge.cli.lines.commands import LineCommands
from ragforge.cli.lines.line_editor import LineEditor
from ragforge.cli.lines.printer import LinePrinter
from ragforge.cli.lines.questions import Questions
from ragforge.cli.lines.reader import LineReader, Typed
from ragforge.cli.options import Options, run_async
from ragforge.cli.start import open_for_interface
from ragforge.domain.approvals import Mode
from ragforge.domain.commands import without_screens
from ragforge.domain.errors import RagforgeError, SessionBusy, UsageError
from ragforge.domain.events import AgentEvent, TurnEnded, TurnStarted
from ragforge.domain.go_ahead import goes_ahead
from ragforge.domain.inputs import Say, Shell, Slash, parse_input
from ragforge.domain.messages import typed_in
from ragforge.domain.turns import Turn, TurnStatus
from ragforge.tui.launch import NotOpened, OpenedChat
from ragforge.tui.mentions import parts_of
from ragforge.tui.widgets.history import ListHistory

if TYPE_CHECKING:
    from ragforge.session.conversation import Conversation

TWICE_S_MAX = 2.0
"""A second Ctrl+C that comes later counts as a first one."""
UNSENT_CHARS_SHOWN = 2_000
"""How much of returned words is shown; all of them are kept."""
GOES_ON = (TurnStatus.FINISHED, TurnStatus.CONTINUED)
HELLO = "Type a message, or /help for commands. Ctrl+C interrupts, Ctrl+D quits."


def run_line_mode(options: Options) -> tuple[int, bool]:
    """Run it; return the exit code, and whether an incognito run follows. Raises RagforgeError."""
    mode = LineMode(options)
    code = run_async(mode.run)
    return code, mode.incognito_next


class LineMode:
    """One conversation in one terminal."""

    def __init__(self, options: Options) -> None:
        self.incognito_next = False
        self._options = options
        self._printer = LinePrinter()
        self._questions = Questions(self._printer, self._edit)
        self._typed: asyncio.Queue[Typed | None] = asyncio.Queue()
        self._before = ListHistory()
        self._editor = LineEditor(
            self._printer.typed, lambda: () if self._questions.is_open else self._before.entries()
        )
        self._conversation: Conversation | None = None
        self._exit_code: int | None = None
        self._stop_shell: asyncio.Event | None = None
        self._following: asyncio.Future[Turn | None] | None = None
        self._interrupted_s = 0.0

    @property
    def conversation(self) -> Conversation:
        """The session in front. Raises RuntimeError before it is open."""
        if self._conversation is None:
            raise RuntimeError("The conversation is not open yet.")
        return self._conversation

    async def run(self) -> int:
        """Open what was requested, converse until the user leaves, and close it. Raises RagforgeError."""
        without_screens()
        opened = await open_for_interface(self._options)
        if isinstance(opened, NotOpened):
            raise opened.failure
        self._conversation = opened.conversation
        self._reader = LineReader(sys.stdin.fileno(), self._editor, self._take)
        self._commands = LineCommands(self, self._printer, self._questions)
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGINT, self._interrupt)
        for number in (signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, self.leave, 128 + number)
        loop.add_signal_handler(signal.SIGTSTP, self._suspend)
        self._reader.start()
        try:
            await self._converse(opened)
        finally:
            self._reader.stop()
            if unsent := self._editor.clear().strip():
                await self.keep_unsent(unsent)
            closed = await self.conversation.close()
            if self._following is not None:
                await asyncio.wait({self._following})
        if command := self.conversation.resume_command:
            self._printer.line(f"Resume this session with: {as_called(command)}")
        if closed.waits:
            tell(closed.waits)
        return self._exit_code or 0

    # Input

    def _take(self, typed: Typed | None) -> None:
        if not self._questions.take(typed):
            self._typed.put_nowait(typed)

    def _interrupt(self) -> None:
        """Ctrl+C: interrupt what runs; if nothing does, leave at the second one."""
        self._printer.end_line()
        if self._stop_shell is not None:
            self._stop_shell.set()
        elif self.conversation.session.busy:
            self._soon(self.conversation.interrupt())
        elif self._questions.cancel():
            pass
        elif cleared := self._editor.clear():
            self._soon(self._remember(cleared))
            self._show_prompt()
        else:
            before_s, self._interrupted_s = self._interrupted_s, monotonic()
            if self._interrupted_s - before_s < TWICE_S_MAX:
                self.leave()
            else:
                self._printer.line("Press Ctrl+C again, or Ctrl+D, to quit.")
                self._show_prompt()

    def leave(self, code: int = 0) -> None:
        """Leave, once what runs has ended; its end is stored."""
        if self._exit_code is None:
            self._exit_code = code
            self._questions.cancel()
            self._typed.put_nowait(None)
            if self._stop_shell is not None:
                self._stop_shell.set()

    def _suspend(self) -> None:
        """Ctrl+Z: stop until the shell continues the program."""
        self._printer.end_line()
        with self._reader.lent():
            os.kill(os.getpid(), signal.SIGSTOP)
        self._show_prompt()

    async def _remember(self, text: str) -> None:
        """Save what was sent or cleared, for Up to find."""
        self._before.add(text)
        with suppress(RagforgeError):
            await self.conversation.remember_prompt(text)

    def _soon(self, doing: Coroutine[Any, Any, None]) -> None:
        self._doing = asyncio.ensure_future(doing)

    def _show_prompt(self) -> None:
        mode = self.conversation.session.live.consent.mode
        self._editor.prompt = "> " if mode is Mode.ASK else f"{mode}> "
        self._printer.part(f"{self._editor.prompt}{self._editor.line}")

    # The conversation

    async def _converse(self, opened: OpenedChat) -> None:
        for notice in opened.notices:
            self._printer.line(notice)
        trust = self.conversation.workspace.trust
        trust.ask, trust.tell = self._questions.trusts, self._printer.line
        self._before = ListHistory(await self.conversation.prompts())
        if not await self._bring(opened):
            return
        self._preparing = asyncio.ensure_future(self._attempt(self.conversation.prepare()))
        if opened.message:
            await self._attempt(self._do(opened.message))
        while self._exit_code is None:
            if lost := self.conversation.notice_loss():
                self._printer.line(lost)
            self._show_prompt()
            typed = await self._typed.get()
            if typed is None:
                return
            if typed.text.strip():
                await self._attempt(self._do(typed.text))

    async def _bring(self, opened: OpenedChat) -> bool:
        """Open what was requested in front; return False if the user does not want this folder."""
        from ragforge.session.folder_questions import folder_is_meant
        from ragforge.session.instructions import answer_instructions, new_instructions

        conversation = self.conversation
        if not await folder_is_meant(conversation, self._questions):
            return False
        resume = opened.resume or (await conversation.newest_id() if opened.newest else "")
        waits = False
        if resume:
            waits = await self.go_to(resume, fork=opened.fork, at=opened.at)
        else:
            self._printer.line(
                f"{conversation.session.live.record.model or 'No model yet: /model NAME'}. {HELLO}"
            )
            if draft := await conversation.folder_draft():
                self._printer.line(f"Not sent yet: {draft}")
            if opened.show_list and await conversation.sessions():
                self._printer.line("/sessions lists earlier sessions.")
        files = await new_instructions(conversation.session)
        if files:
            trusted = await self._questions.trusts(files)
            await answer_instructions(conversation.session, files, trusted=trusted)
        if waits:
            await self.follow(conversation.retry(self._questions.approve))
        return True

    async def go_to(self, session_id: str, *, fork: bool = False, at: int | None = None) -> bool:
        """Open that session in front; return whether a call in it waits for consent."""
        conversation = self.conversation
        try:
            shown = (
                await conversation.fork(session_id, at=at) if fork else await conversation.resume(session_id)
            )
        except SessionBusy as busy:
            question = "Another ragforge has this session open. Continue in a fork, a separate session?"
            if not await self._questions.confirmed(question, f"{busy.holder}."):
                raise UsageError("The session remains open there.") from busy
            shown = await conversation.fork(session_id)
        for notice in shown.notices:
            self._printer.line(notice)
        self._printer.line(f"Session: {shown.session.live.record.title or 'without a title'}.")
        if answer := await conversation.last_answer():
            self._printer.line(f"Its newest answer:\n{answer}")
        if shown.draft:
            self._printer.line(f"Not sent yet: {shown.draft}")
        return shown.waits

    async def _attempt(self, doing: Coroutine[Any, Any, None]) -> None:
        try:
            await doing
        except RagforgeError as error:
            self._printer.line(str(error))

    async def _do(self, text: str) -> None:
        """Process the input. Raises RagforgeError."""
        await self._remember(text)
        match parse_input(text):
            case Say(said) if self._is_in_plan_mode and goes_ahead(said):
                await self._commands.run("do", "")
            case Say(said):
                if not await self._commands.asked_to_forget(said):
                    await self.say(said)
            case Slash(name, args):
                await self._commands.run(name, args)
            case Shell(command, for_model):
                await self._run_shell(command, for_model=for_model)

    @property
    def _is_in_plan_mode(self) -> bool:
        return self.conversation.session.live.consent.mode is Mode.PLAN

    async def say(self, text: str) -> None:
        """Send a message and follow its turn. Raises RagforgeError, with the message saved as the draft."""
        conversation = self.conversation
        question = conversation.question_before(text)
        if question and not await self._questions.confirmed(question):
            await self.keep_unsent(text)
            return
        try:
            parts = await parts_of(text, conversation.mention_folders, conversation.workspace.blobs.put)
            await self.follow(conversation.submit(parts, self._questions.approve))
        except RagforgeError:
            await self.keep_unsent(text)
            raise

    async def keep_unsent(self, text: str) -> None:
        """Keep words that were not sent, and say so."""
        with suppress(RagforgeError):
            await self.conversation.keep_draft(text)
        left_out = len(text) - UNSENT_CHARS_SHOWN
        more = f" ... and {left_out:,} more characters, kept as the draft" if left_out > 0 else ""
        self._printer.line(f"Not sent: {text[:UNSENT_CHARS_SHOWN]}{more}")

    async def follow(self, turn: AsyncGenerator[AgentEvent, None]) -> None:
        """Print the turn and those of messages typed meanwhile. Raises RagforgeError."""
        conversation = self.conversation
        ended = await self._beside(turn)
        while ended and ended.status in GOES_ON and conversation.session.live.queue:
            ended = await self._beside(conversation.submit_queue(self._questions.approve))

    async def _beside(self, turn: AsyncGenerator[AgentEvent, None]) -> Turn | None:
        """Print the turn, and queue what is typed meanwhile."""
        self._following = following = asyncio.ensure_future(self._print(turn))
        while not following.done():
            typing = asyncio.ensure_future(self._typed.get())
            await asyncio.wait({following, typing}, return_when=asyncio.FIRST_COMPLETED)
            if not typing.done():
                typing.cancel()
                continue
            typed = typing.result()
            if typed is None:
                self.leave()
                return None  # closing ends the turn, and keeps a question that waits
            if typed.text.strip():
                await self._attempt(self._queue(typed.text))
        return await following

    async def _queue(self, text: str) -> None:
        conversation = self.conversation
        match parse_input(text):
            case Slash(name, args):
                await self._commands.run(name, args)
            case Shell():
                self._printer.line(
                    "Shell commands cannot run during a turn. Run it again when the turn has ended."
                )
            case Say():
                parts = await parts_of(text, conversation.mention_folders, conversation.workspace.blobs.put)
                if not await conversation.join_turn(parts):
                    await conversation.enqueue(parts)
                self._printer.line("Queued until the turn ends.")

    async def _print(self, turn: AsyncGenerator[AgentEvent, None]) -> Turn | None:
        ended: Turn | None = None
        async with aclosing(turn) as events:
            async for event in events:
                self._printer.show(event)
                match event:
                    case TurnStarted():
                        await self.conversation.forget_folder_draft()
                    case TurnEnded(ended):
                        if event.came_to_nothing:
                            await self.keep_unsent(typed_in(ended.user))
                    case _:
                        pass
        return ended

    async def _run_shell(self, command: str, *, for_model: bool) -> None:
        """Run a command of the user's, its output shown as it arrives."""
        from ragforge.session.shell_commands import needs_terminal, run_shell

        conversation = self.conversation
        if needs_terminal(command):
            self._hand_over(command)
            return
        self._stop_shell = asyncio.Event()
        try:
            ended = await run_shell(
                conversation.session,
                command,
                on_output=self._printer.part,
                stop=self._stop_shell,
                for_model=for_model,
            )
        except (OSError, ValueError) as error:
            self._printer.line(f"{command} could not be run: {error}")
        else:
            self._printer.line(ended.text.rpartition("\n")[2])
        finally:
            self._stop_shell = None

    async def _edit(self, text: str, name: str) -> str:
        """Return the text as edited in the user's editor; unchanged without an editor."""
        from ragforge.tui.editor import edit_file  # most approvals are not edited

        env = self.conversation.workspace.child_env
        with self._lent_terminal():
            edited = await asyncio.to_thread(edit_file, text, env, name)
        if edited.notice:
            self._printer.line(edited.notice)
        return text if edited.text is None else edited.text

    @contextmanager
    def _lent_terminal(self) -> Generator[None]:
        """Another program has the terminal, and Ctrl+C is for it."""
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGINT, lambda: None)
        try:
            with self._reader.lent():
                yield
        finally:
            loop.add_signal_handler(signal.SIGINT, self._interrupt)

    def _hand_over(self, command: str) -> None:
        """Give the terminal to a program that asks for keys itself."""
        conversation = self.conversation
        env = dict(conversation.workspace.child_env)
        try:
            with self._lent_terminal():
                shell = env.get("SHELL") or "/bin/sh"
                code = subprocess.run(
                    [shell, "-c", command], cwd=conversation.session.cwd, env=env, check=False
                ).returncode
        except OSError as error:
            self._printer.line(f"{command} could not be run: {error.strerror}.")
        else:
            self._printer.line(f"exit {code}")
