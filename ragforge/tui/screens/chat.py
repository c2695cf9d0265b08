"""The chat: draws the events of turns, hands what is typed to the session, asks what it must ask."""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.timer import Timer
from textual.widgets import Static
from textual.worker import Worker

from ragforge.domain.errors import RagforgeError
from ragforge.tui import terminal
from ragforge.tui.key_watch import key_watch_of
from ragforge.tui.keys import Where, declared
from ragforge.tui.opening import Leaving, Opened
from ragforge.tui.project_files import Found, ProjectFiles
from ragforge.tui.prompt_history import StoredHistory
from ragforge.tui.typed import app_of
from ragforge.tui.widgets.completion import CommandRow, Completion
from ragforge.tui.widgets.prompt import Prompt

if TYPE_CHECKING:  # loaded after the first frame, by importing chat_parts
    import threading

    from ragforge.domain.approvals import ApprovalAnswer, ApprovalRequest
    from ragforge.domain.events import AgentEvent
    from ragforge.domain.turns import ToolCall
    from ragforge.session.conversation import Conversation
    from ragforge.tui.chat_parts import ChatParts
    from ragforge.tui.widgets.start_list import StartList
    from ragforge.tui.widgets.status_line import StatusLine
    from ragforge.tui.widgets.transcript import Transcript
    from ragforge.tui.widgets.turn_record import StoredTurns

TURNS_SHOWN = 25
OPENED_AFTER_S = 0.05
"""After the first frame: what was typed meanwhile is drawn before loading competes for the processor."""
DRAFT_KEPT_AFTER_S = 0.2
"""Typing is kept so long after the first key that was not: a crash costs a word at most."""


class ChatScreen(Screen[None]):
    """The conversation, the prompt, and between them whatever asks or waits.

    Its first frame is the prompt alone; the other parts are loaded and mounted when that has been drawn
    (`chat_parts`), and then the session is opened. Keys typed before that go into the prompt; a message sent
    before waits in it.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        *declared(Where.CHAT),
        Binding("down", "list_step", show=False),
    ]

    def __init__(
        self, open_session: Callable[[], Coroutine[Any, Any, Opened]], *, typed_before: str = ""
    ) -> None:
        super().__init__()
        self._open_session = open_session
        self._typed_before = typed_before
        self.conversation: Conversation | None = None
        self._parts: ChatParts | None = None
        self._files: ProjectFiles | None = None
        self._turn: Worker[None] | None = None
        self._draft_timer: Timer | None = None
        self._draft_is_kept = True
        self._shown_at: int | None = None
        self._is_closed = False

    def compose(self) -> ComposeResult:
        """The prompt, and room for what comes above and below it."""
        yield Static(classes="room tall")
        completion = Completion(commands=self._commands, files=self._find_files, id="completion")
        yield completion
        yield Prompt(completion=completion, id="prompt")
        yield Static(classes="room")

    def on_mount(self) -> None:
        """Take keys at once; open the session when this has been drawn."""
        self.prompt.focus()
        if self._typed_before:
            self.prompt.set_draft(self._typed_before)
        self.call_after_refresh(self._take_keys)
        self.call_after_refresh(self.set_timer, OPENED_AFTER_S, self._open)

    async def _take_keys(self) -> None:
        await key_watch_of(self).let_go()

    async def on_unmount(self) -> None:
        """However the app ends, nothing that it started goes on."""
        if self.conversation and not self._is_closed:
            with suppress(RagforgeError):
                await self.conversation.close()

    # The parts

    @property
    def prompt(self) -> Prompt:
        """Where is typed."""
        return self.query_one(Prompt)

    @property
    def transcript(self) -> Transcript:
        """What was said."""
        return self.parts.transcript

    @property
    def start_list(self) -> StartList:
        """The sessions below the prompt, until one is chosen or begun."""
        return self.parts.start_list

    @property
    def status(self) -> StatusLine:
        """What the session knows of itself, in a line."""
        return self.parts.status

    @property
    def parts(self) -> ChatParts:
        """What is around the prompt. Raises RuntimeError before it is there."""
        if self._parts is None:
            raise RuntimeError("The chat is not whole yet.")
        return self._parts

    @property
    def busy(self) -> bool:
        """Whether a turn runs, or is about to."""
        return self._turn is not None and not self._turn.is_finished

    @property
    def is_drawn(self) -> bool:
        """Whether there still is something to draw on: a turn may end after the screen has gone."""
        return not self._is_closed and self._parts is not None and self._parts.transcript.is_attached

    @property
    def resume_command(self) -> str:
        """What comes back here."""
        return self.conversation.resume_command if self.conversation else ""

    def say(self, text: str) -> None:
        """A line for the person."""
        self.transcript.say(text)

    def tell(self, markdown: str) -> None:
        """What a command answers."""
        self.transcript.tell(markdown)

    def put_back(self, text: str) -> None:
        """Words that came to nothing return to the prompt, once."""
        if text.strip() and not self.prompt.draft.startswith(text.strip()):
            self.prompt.put_back(text)

    async def attempt(self, doing: Awaitable[object]) -> bool:
        """Whether it succeeded; what went wrong becomes a line for the person."""
        try:
            await doing
        except RagforgeError as error:
            self.say(str(error))
            return False
        return True

    # Opening and closing

    @work(group="opening")
    async def _open(self) -> None:
        # In a thread, so that keys are drawn meanwhile.
        late = await asyncio.to_thread(importlib.import_module, "ragforge.tui.chat_parts")
        self._parts = await late.mount_parts(self)
        from ragforge.tui.outcomes import adopt_settings, front

        try:
            opened = await self._open_session()
            self.conversation = opened.conversation
            self._files = ProjectFiles(opened.conversation.workspace.place.cwd)
            adopt_settings(self, opened.conversation)
            earlier = reversed(self.prompt.sent.entries())
            self.prompt.sent = StoredHistory(await opened.conversation.prompts(), self._remember)
            for text in earlier:
                self.prompt.sent.add(text)
        except RagforgeError as error:
            app_of(self).exit(Leaving(exit_code=error.exit_code, failure=str(error), draft=self.prompt.draft))
            return
        for notice in opened.notices:
            self.say(notice)
        self.show_status()
        if not await self.attempt(front(self, opened, first=True)) and opened.resume:
            await self.attempt(front(self, replace(opened, resume="", at=None), first=True))
        self.show_status()

    async def close(self) -> Leaving:
        """Keep the draft and how the turn ended, release everything; what to leave in the terminal."""
        conversation = self.conversation
        if conversation is None or self._is_closed:
            return Leaving(draft=self.prompt.draft)
        self._is_closed = True
        answer = draft = failure = ""
        try:
            await conversation.keep_draft(self.prompt.draft)
        except RagforgeError as error:
            draft, failure = self.prompt.draft, str(error)
        try:
            answer = await conversation.close()
        except RagforgeError as error:
            failure = str(error)
        return Leaving(answer, conversation.resume_command, 4 if failure else 0, failure, draft)

    async def show_session(self, *, draft: str | None, at: int | None = None) -> None:
        """Draw the session that came to the front. draft: None leaves the prompt as it is."""
        conversation = self.ready()
        self.start_list.close()
        self._shown_at = at
        if draft is not None:
            self.prompt.set_draft(draft)
        await self._load_turns(conversation, at)
        from ragforge.tui.outcomes import status_of

        self.status.status = status_of(conversation)
        self.show_queue()

    async def _load_turns(self, conversation: Conversation, at: int | None) -> None:
        stored = await conversation.turns_until(at, TURNS_SHOWN)
        await self.transcript.load(stored.turns, stored.steps, stored.calls)
        if at is not None:
            self.say(f"Shown up to turn {at}. Ctrl+End shows what came after; a message goes on from there.")

    async def show_start_list(self) -> None:
        """The sessions of the folder below the prompt, where there are any."""
        conversation = self.ready()
        from ragforge.domain.ids import now

        rows = await conversation.sessions()
        if rows:
            here = str(conversation.workspace.place.cwd)
            self.start_list.open(rows, here=here, now=now(), typed=self.prompt.text)

    # What is typed

    @on(Prompt.Submitted)
    async def _submitted(self, event: Prompt.Submitted) -> None:
        from ragforge.domain.inputs import Say, Shell, Slash, parse_input
        from ragforge.tui.own_shell import run_shell

        if self.conversation is None:
            self.prompt.put_back(event.text)
            self.notify("Still opening; press Enter again in a moment.", markup=False)
        elif row := self.start_list.enter(typed=True):
            self.resume(row.session.id)
        else:
            match parse_input(event.text):
                case Say(said):
                    await self._say(said)
                case Slash(name, args):
                    self.run_command(name, args)
                case Shell(command):
                    await run_shell(self, command)

    async def _say(self, text: str) -> None:
        from ragforge.tui.mentions import parts_of

        conversation = self.ready()
        self.start_list.close()
        try:
            parts = await parts_of(text, conversation.session.cwd, conversation.workspace.blobs.put)
            waiting = bool(conversation.session.live.queue) and not conversation.session.live.read_only
            if self.busy or waiting:
                await conversation.enqueue(parts)
                self.show_queue()
        except RagforgeError as error:
            self.say(str(error))
            self.put_back(text)
            return
        if self._shown_at is not None:
            await self.attempt(self.action_show_newest())
        if self.busy:
            return
        if waiting:
            self._send_queue()
        else:
            self.start_turn(conversation.submit(parts, self.approve), text)

    @work(group="command")
    async def _send_queue(self) -> None:
        """What waited through a turn that broke off goes, before the next message where there is one."""
        from ragforge.domain.messages import text_of
        from ragforge.tui.turns import taken_queue

        parts = await taken_queue(self)
        if parts:
            self.start_turn(self.ready().submit(parts, self.approve), text_of(parts))

    @on(Prompt.EnterOnEmpty)
    def _enter_on_empty(self) -> None:
        if self._parts is None:
            return
        if row := self.start_list.enter(typed=False):
            self.resume(row.session.id)
        elif self.conversation and self.conversation.session.live.queue and not self.busy:
            self._send_queue()

    def on_start_list_chosen(self, event: StartList.Chosen) -> None:
        """Resume the session."""
        narrowed_by = self.prompt.whole
        if narrowed_by.strip():
            # Typed to find the session, and no message to it; the history keeps it all the same.
            self.prompt.sent.add(narrowed_by)
            self.prompt.set_draft("")
        self.resume(event.row.session.id)

    @on(Prompt.DraftChanged)
    def _draft_changed(self) -> None:
        if self._parts and self.start_list.is_open:
            self.start_list.narrow(self.prompt.text)
        if self._draft_timer is None:
            self._draft_timer = self.set_timer(DRAFT_KEPT_AFTER_S, self.keep_draft)

    @work(group="draft", exclusive=True)
    async def keep_draft(self) -> None:
        """Keep what is typed; that it cannot be kept is said once."""
        self._draft_timer = None
        if self.conversation is None or self._is_closed:
            return
        doing = self.conversation.keep_draft(self.prompt.draft)
        if self._draft_is_kept:
            self._draft_is_kept = await self.attempt(doing)
        else:
            with suppress(RagforgeError):
                await doing
                self._draft_is_kept = True

    @on(Prompt.Noticed)
    def _noticed(self, event: Prompt.Noticed) -> None:
        self.notify(event.text, markup=False)

    @on(Prompt.TakeBack)
    async def _take_back(self, event: Prompt.TakeBack) -> None:
        from ragforge.domain.messages import text_of

        waiting = list(self.ready().session.live.queue)
        taken = waiting[-1:] if event.last else waiting
        self.prompt.put_back(*(text_of(parts) for parts in taken))
        await self.attempt(self.ready().take_back(last=event.last))
        self.show_queue()

    @on(Prompt.QuitRequested)
    def _quit_requested(self) -> None:
        self.leave()

    @on(Completion.Clicked)
    def _completion_clicked(self, event: Completion.Clicked) -> None:
        self.prompt.take(event.choice)

    def _remember(self, text: str) -> None:
        if self.conversation:
            self.run_worker(self.attempt(self.conversation.remember_prompt(text)), group="history")

    # Turns

    def start_turn(self, turn: AsyncGenerator[AgentEvent, None], text: str) -> None:
        """Show the events of a turn. text: what returns to the prompt where it cannot be kept."""
        self._turn = self._run_turns(turn, text)
        self.call_later(self.transcript.action_end)  # who sends wants to see what comes of it

    @work(group="turn")
    async def _run_turns(self, turn: AsyncGenerator[AgentEvent, None], text: str) -> None:
        from ragforge.tui.turns import run_turns

        await run_turns(self, turn, text)

    async def approve(self, request: ApprovalRequest) -> ApprovalAnswer:
        """Ask the person."""
        self.call_person("waits for you")
        try:
            return await self.parts.approval.ask(request)
        finally:
            terminal.set_title(app_of(self), "ragforge")

    @work(group="draft")
    async def forget_folder_draft(self) -> None:
        """It was sent, and from now on the draft is the session's."""
        with suppress(RagforgeError):
            await self.ready().forget_folder_draft()
            await self.ready().keep_draft(self.prompt.draft)

    def call_person(self, what: str) -> None:
        """Ring, for one who looks elsewhere."""
        if self.ready().workspace.settings.notify:
            terminal.call_person(app_of(self), f"ragforge: {what}")

    # Commands and keys

    @work(group="command")
    async def run_command(self, name: str, args: str) -> None:
        """Do what a slash command says."""
        from ragforge.tui.outcomes import carry_out

        async def run() -> None:
            await carry_out(self, name, await self.ready().run(name, args))

        await self.transcript.action_end()
        await self.attempt(run())
        self.show_status()

    def retry(self) -> None:
        """Go on with the newest turn."""
        self.start_list.close()
        self.start_turn(self.ready().retry(self.approve), "")

    @work(group="command")
    async def resume(self, session_id: str) -> None:
        """Bring that session to the front."""
        from ragforge.tui.outcomes import front

        await self.attempt(front(self, Opened(self.ready(), resume=session_id)))

    @work(group="leaving", exclusive=True)
    async def leave(self, exit_code: int = 0) -> None:
        """Close, and go."""
        left = await self.close()
        code = exit_code or left.exit_code
        app_of(self).exit(replace(left, exit_code=code), return_code=code)

    @work(group="command")
    async def action_interrupt(self) -> None:
        """End the running turn."""
        if self.conversation and self.conversation.session.busy:
            await self.conversation.interrupt()

    @work(group="mode", exclusive=True)
    async def action_cycle_mode(self) -> None:
        """The next consent mode."""
        if self.conversation:
            await self.attempt(self.conversation.cycle_mode())
            self.show_status()

    def action_sessions(self) -> None:
        """The list of sessions."""
        if self.conversation:
            self.run_command("sessions", "")

    def action_list_step(self) -> None:
        """From the prompt down into the list of sessions."""
        if self._parts and self.start_list.is_open:
            self.start_list.step(1)

    def action_expand(self) -> None:
        """Open or fold the output of tools."""
        if self._parts:
            self.transcript.action_toggle_all_tools()

    async def action_show_newest(self) -> None:
        """To the newest output."""
        if self._shown_at is not None and self.conversation:
            await self._load_turns(self.conversation, None)
            self._shown_at = None
        if self._parts:
            await self.transcript.action_end()

    def action_scroll_page_up(self) -> None:
        """A page up."""
        if self._parts:
            self.transcript.action_page_up()

    def action_scroll_page_down(self) -> None:
        """A page down."""
        if self._parts:
            self.transcript.action_page_down()

    def action_scroll_line_up(self) -> None:
        """A line up."""
        if self._parts:
            self.transcript.action_line_up()

    def action_scroll_line_down(self) -> None:
        """A line down."""
        if self._parts:
            self.transcript.action_line_down()

    def action_suspend(self) -> None:
        """Back to the shell; `fg` returns."""
        app_of(self).action_suspend_process()

    # What widgets ask for

    def show_queue(self) -> None:
        """List what waits."""
        from ragforge.domain.messages import text_of

        waiting = self.conversation.session.live.queue if self.conversation else []
        self.prompt.queued = len(waiting)
        self.parts.queue.show([text_of(parts) for parts in waiting])

    def show_status(self) -> None:
        """Draw what the session knows of itself."""
        if self.conversation:
            from ragforge.tui.outcomes import status_of

            self.status.status = status_of(self.conversation, self.status.status)

    def _commands(self) -> Sequence[CommandRow]:
        if self.conversation is None:
            return ()
        return [CommandRow(c.name, c.help, c.aliases, c.usage) for c in self.conversation.commands]

    def _find_files(self, query: str, stop: threading.Event) -> Found:
        return self._files.find(query, stop) if self._files else Found([], complete=True)

    async def load_before(self, turn_id: str, count: int) -> StoredTurns:
        """The turns before one."""
        from ragforge.tui.widgets.turn_record import StoredTurns

        stored = await self.ready().turns_before(turn_id, count)
        return StoredTurns(stored.turns, stored.steps, stored.calls)

    async def load_output(self, call: ToolCall) -> str:
        """A tool's whole output."""
        return await self.ready().whole_result(call)

    def ready(self) -> Conversation:
        """The conversation. Raises RuntimeError before it is open."""
        if self.conversation is None:
            raise RuntimeError("The conversation is not open yet.")
        return self.conversation
