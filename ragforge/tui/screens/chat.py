"""The chat: draws the events of turns, hands what is typed to the session, asks what it must ask."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Coroutine, Sequence
from contextlib import aclosing
from time import monotonic
from typing import TYPE_CHECKING, Any, ClassVar

from textual import events, on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import Screen

from ragforge.domain.approvals import ApprovalAnswer, ApprovalRequest
from ragforge.domain.errors import RagforgeError
from ragforge.domain.events import AgentEvent, TurnEnded, TurnStarted, UsageUpdated
from ragforge.domain.ids import now
from ragforge.domain.inputs import Say, Shell, Slash, parse_input
from ragforge.domain.messages import text_of
from ragforge.domain.turns import ToolCall
from ragforge.tui import terminal
from ragforge.tui.key_watch import key_watch_of
from ragforge.tui.keys import Where, declared
from ragforge.tui.mentions import parts_of
from ragforge.tui.opening import Leaving, Opened
from ragforge.tui.outcomes import carry_out, front, run_shell
from ragforge.tui.project_files import Found, ProjectFiles
from ragforge.tui.prompt_history import StoredHistory
from ragforge.tui.typed import app_of
from ragforge.tui.widgets.approval import ApprovalDock
from ragforge.tui.widgets.completion import CommandRow, Completion
from ragforge.tui.widgets.prompt import Prompt
from ragforge.tui.widgets.queue_list import QueueList
from ragforge.tui.widgets.session_list import SessionList
from ragforge.tui.widgets.status_line import Status, StatusLine
from ragforge.tui.widgets.transcript import Transcript
from ragforge.tui.widgets.turn_record import StoredTurns

if TYPE_CHECKING:  # loaded after the first frame
    import threading

    from ragforge.session.conversation import Conversation

TURNS_SHOWN = 25
DRAFT_KEPT_AFTER_S = 0.2
"""Typing is kept this long after the last key: often enough that a crash costs a word at most."""
CALLED_AFTER_S = 10.0
"""A turn that took longer than this rings when it ends: the person has looked away."""


class ChatScreen(Screen[None]):
    """The conversation, the prompt, and between them whatever asks or waits.

    open_session: opens what was asked for; it runs after the first frame, because it loads most of the
    program. Keys typed before that go into the prompt; a message sent before waits in it.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        *declared(Where.CHAT),
        Binding("down", "list_step(1)", show=False),
    ]

    def __init__(
        self, open_session: Callable[[], Coroutine[Any, Any, Opened]], *, typed_before: str = ""
    ) -> None:
        super().__init__()
        self._open_session = open_session
        self._typed_before = typed_before
        self.conversation: Conversation | None = None
        self._files: ProjectFiles | None = None
        self._turn_began_s = 0.0
        self._draft_timer: Any = None
        self._shown_at: int | None = None

    def compose(self) -> ComposeResult:
        """From top to bottom."""
        yield Transcript(load_before=self._load_before, load_output=self._load_output, id="transcript")
        yield ApprovalDock(on_reason_left=self._reason_left, id="approval")
        yield QueueList(id="queue")
        completion = Completion(commands=self._commands, files=self._find_files, id="completion")
        yield completion
        yield Prompt(completion=completion, id="prompt")
        yield SessionList(id="start-list")
        yield StatusLine(id="status")

    def on_mount(self) -> None:
        """Take keys at once; open the session when this has been drawn."""
        self.prompt.focus()
        if self._typed_before:
            self.prompt.set_draft(self._typed_before)
        self.call_after_refresh(self._open)

    # The parts

    @property
    def prompt(self) -> Prompt:
        """Where is typed."""
        return self.query_one(Prompt)

    @property
    def transcript(self) -> Transcript:
        """What was said."""
        return self.query_one(Transcript)

    @property
    def start_list(self) -> SessionList:
        """The sessions below the prompt, until one is chosen or begun."""
        return self.query_one("#start-list", SessionList)

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

    # Opening and closing

    @work(group="opening")
    async def _open(self) -> None:
        try:
            opened = await self._open_session()
        except RagforgeError as error:
            app_of(self).exit(Leaving(exit_code=error.exit_code, failure=str(error), draft=self.prompt.draft))
            return
        self.conversation = opened.conversation
        self._files = ProjectFiles(opened.conversation.workspace.place.cwd)
        self.prompt.sent = StoredHistory(await opened.conversation.prompts(), self._remember)
        for notice in opened.notices:
            self.say(notice)
        await front(self, opened)
        self.show_status()

    async def close(self) -> Leaving:
        """Keep the draft and how the turn ended, release everything; what to leave in the terminal."""
        conversation = self.conversation
        if conversation is None:
            return Leaving(draft=self.prompt.draft)
        await conversation.keep_draft(self.prompt.draft)
        answer, command = await conversation.last_answer(), conversation.resume_command
        await conversation.close()
        return Leaving(answer, command)

    async def show_session(self, *, draft: str, at: int | None = None) -> None:
        """Draw the session that came to the front."""
        conversation = self._ready()
        self.hide_start_list()
        self._shown_at = at
        await self._load_turns(conversation, at)
        if draft:
            self.prompt.set_draft(draft)
        self.show_queue()
        self.show_status()

    async def _load_turns(self, conversation: Conversation, at: int | None) -> None:
        stored = await conversation.turns_until(at, TURNS_SHOWN)
        await self.transcript.load(stored.turns, stored.steps, stored.calls)
        if at is not None:
            self.say(f"Shown up to turn {at}. Ctrl+End shows what came after; a message goes on from there.")

    async def show_start_list(self) -> bool:
        """The sessions of the folder below the prompt; whether there are any."""
        conversation = self._ready()
        rows = await conversation.sessions()
        if rows:
            self.start_list.set_rows_max(max(2, self.size.height // 5))
            self.start_list.show(rows, here=str(conversation.workspace.place.cwd), now=now())
            self.start_list.narrow(self.prompt.text)
            self.start_list.display = True
            key_watch_of(self).key_taker = self._take_list_key
        return bool(rows)

    def hide_start_list(self) -> None:
        """The person has begun."""
        self.start_list.display = False
        if key_watch_of(self).key_taker == self._take_list_key:
            key_watch_of(self).key_taker = None

    # What is typed

    @on(Prompt.Submitted)
    async def _submitted(self, event: Prompt.Submitted) -> None:
        row = self.start_list.chosen if self.start_list.display and self.start_list.is_chosen else None
        if self.conversation is None:
            self.prompt.put_back(event.text)
            self.notify("Still opening; press Enter again in a moment.", markup=False)
        elif row:
            self.resume(row.session.id)
        else:
            await self._take(event.text)

    async def _take(self, text: str) -> None:
        match parse_input(text):
            case Say(said):
                await self._say(said)
            case Slash(name, args):
                self.run_command(name, args)
            case Shell(command):
                await run_shell(self, command)

    async def _say(self, text: str) -> None:
        conversation = self._ready()
        self.hide_start_list()
        try:
            parts = await parts_of(text, conversation.session.cwd, conversation.workspace.blobs.put)
            if conversation.session.busy:
                await conversation.enqueue(parts)
                self.show_queue()
                return
        except RagforgeError as error:
            self._failed(error, text)
            return
        if self._shown_at is not None:
            await self.action_show_newest()
        self.run_turn(conversation.submit(parts, self._approve), text)

    @on(Prompt.EnterOnEmpty)
    def _enter_on_empty(self) -> None:
        if self.start_list.display and self.start_list.chosen:
            self.resume(self.start_list.chosen.session.id)

    @on(Prompt.DraftChanged)
    def _draft_changed(self) -> None:
        if self.start_list.display:
            self.start_list.narrow(self.prompt.text)
        if self._draft_timer is not None:
            self._draft_timer.stop()
        self._draft_timer = self.set_timer(DRAFT_KEPT_AFTER_S, self._keep_draft)

    @work(group="draft", exclusive=True)
    async def _keep_draft(self) -> None:
        if self.conversation:
            await self.conversation.keep_draft(self.prompt.draft)

    @on(Prompt.Noticed)
    def _noticed(self, event: Prompt.Noticed) -> None:
        self.notify(event.text, markup=False)

    @on(Prompt.TakeBack)
    async def _take_back(self, event: Prompt.TakeBack) -> None:
        taken = await self._ready().take_back(last=event.last)
        self.prompt.put_back(*(text_of(parts) for parts in taken))
        self.show_queue()

    @on(Prompt.QuitRequested)
    def _quit_requested(self) -> None:
        self.leave()

    @on(Completion.Clicked)
    def _completion_clicked(self, event: Completion.Clicked) -> None:
        self.prompt.take(event.choice)

    @on(SessionList.Clicked)
    def _session_clicked(self, event: SessionList.Clicked) -> None:
        self.resume(event.row.session.id)

    def _remember(self, text: str) -> None:
        if self.conversation:
            self.run_worker(self.conversation.remember_prompt(text), group="history")

    def _reason_left(self, reason: str) -> None:
        self.prompt.put_back(reason)

    def _take_list_key(self, event: events.Key | events.Paste) -> bool:
        """Once a session is chosen by Down, the arrows move and Enter resumes; any other key types on."""
        sessions = self.start_list
        if not (
            sessions.display and sessions.is_chosen and self.is_current and isinstance(event, events.Key)
        ):
            return False
        match event.key:
            case "up" | "down":
                sessions.step(1 if event.key == "down" else -1)
            case "enter" if sessions.chosen:
                self.resume(sessions.chosen.session.id)
            case _:
                return False
        return True

    # Turns

    @work(group="turn", exclusive=True)
    async def run_turn(self, turn: AsyncGenerator[AgentEvent, None], text: str) -> None:
        """Show the events of a turn. Words that were not kept, or came to nothing, return to the prompt."""
        self._turn_began_s = monotonic()
        began = False
        try:
            async with aclosing(turn) as stream:
                async for event in stream:
                    began = began or isinstance(event, TurnStarted)
                    self._show(event)
        except RagforgeError as error:
            self._failed(error, "" if began else text)
        self.show_queue()
        self.show_status()

    def _show(self, event: AgentEvent) -> None:
        self.transcript.show(event)
        match event:
            case TurnStarted():
                self._draft_was_sent()
                self.show_queue()
                self.show_status()
            case UsageUpdated():
                line = self.query_one(StatusLine)
                line.status = line.status.after(event)
            case TurnEnded(turn):
                if event.came_to_nothing:
                    self.prompt.put_back(text_of(turn.user))
                if monotonic() - self._turn_began_s > CALLED_AFTER_S:
                    self._call("done")
            case _:
                pass

    async def _approve(self, request: ApprovalRequest) -> ApprovalAnswer:
        self._call("waits for you")
        try:
            return await self.query_one(ApprovalDock).ask(request)
        finally:
            terminal.set_title(app_of(self), "ragforge")

    @work(group="draft", exclusive=True)
    async def _draft_was_sent(self) -> None:
        conversation = self._ready()
        await conversation.forget_folder_draft()
        await conversation.keep_draft(self.prompt.draft)

    def _failed(self, error: RagforgeError, text: str) -> None:
        self.say(str(error))
        if text:
            self.prompt.put_back(text)

    def _call(self, what: str) -> None:
        if self._ready().workspace.settings.notify:
            terminal.call_person(app_of(self), f"ragforge: {what}")

    # Commands and keys

    @work(group="command")
    async def run_command(self, name: str, args: str) -> None:
        """Do what a slash command says."""
        try:
            await carry_out(self, name, await self._ready().run(name, args))
        except RagforgeError as error:
            self.say(str(error))
        self.show_status()

    def retry(self) -> None:
        """Go on with the newest turn."""
        self.hide_start_list()
        self.run_turn(self._ready().retry(self._approve), "")

    @work(group="command")
    async def resume(self, session_id: str, *, at: int | None = None) -> None:
        """Bring that session to the front."""
        await front(self, Opened(self._ready(), resume=session_id, at=at))

    @work(group="leaving", exclusive=True)
    async def leave(self, exit_code: int = 0) -> None:
        """Close, and go."""
        left = await self.close()
        app_of(self).exit(
            Leaving(left.last_answer, left.resume_command, exit_code, draft=left.draft), return_code=exit_code
        )

    @work(group="command")
    async def action_interrupt(self) -> None:
        """End the running turn."""
        if self.conversation and self.conversation.session.busy:
            await self.conversation.interrupt()

    @work(group="command", exclusive=True)
    async def action_cycle_mode(self) -> None:
        """The next consent mode."""
        if self.conversation:
            await self.conversation.cycle_mode()
            self.show_status()

    def action_sessions(self) -> None:
        """The list of sessions."""
        if self.conversation:
            self.run_command("sessions", "")

    def action_list_step(self, by: int) -> None:
        """From the prompt down into the list of sessions."""
        if self.start_list.display:
            self.start_list.step(by)

    def action_expand(self) -> None:
        """Open or fold the output of tools."""
        self.transcript.action_toggle_all_tools()

    async def action_show_newest(self) -> None:
        """To the newest output."""
        if self._shown_at is not None and self.conversation:
            self._shown_at = None
            await self._load_turns(self.conversation, None)
        await self.transcript.action_end()

    def action_scroll_page_up(self) -> None:
        """A page up."""
        self.transcript.action_page_up()

    def action_scroll_page_down(self) -> None:
        """A page down."""
        self.transcript.action_page_down()

    def action_scroll_line_up(self) -> None:
        """A line up."""
        self.transcript.action_line_up()

    def action_scroll_line_down(self) -> None:
        """A line down."""
        self.transcript.action_line_down()

    def action_suspend(self) -> None:
        """Back to the shell; `fg` returns."""
        app_of(self).action_suspend_process()

    # What widgets ask for

    def show_queue(self) -> None:
        """List what waits."""
        waiting = self.conversation.session.live.queue if self.conversation else []
        self.prompt.queued = len(waiting)
        self.query_one(QueueList).show([text_of(parts) for parts in waiting])

    def show_status(self) -> None:
        """Draw what the session knows of itself."""
        if self.conversation is None:
            return
        workspace, live = self.conversation.workspace, self.conversation.session.live
        line = self.query_one(StatusLine)
        before = line.status
        line.status = Status(
            model=live.record.model or "no model",
            folder=live.record.cwd,
            git_branch=workspace.place.branch,
            session=live.record.title,
            mode=live.mode,
            usage=live.usage,
            cost_usd=live.cost_usd,
            estimated=before.estimated,
            context_tokens=before.context_tokens,
            context_tokens_max=before.context_tokens_max,
            queued=len(live.queue),
            jobs=sum(job.exit_code is None for job in workspace.jobs.list()),
            notice="read only" if live.read_only else "",
        )

    def _commands(self) -> Sequence[CommandRow]:
        if self.conversation is None:
            return ()
        return [CommandRow(c.name, c.help, c.aliases, c.usage) for c in self.conversation.commands]

    def _find_files(self, query: str, stop: threading.Event) -> Found:
        return self._files.find(query, stop) if self._files else Found([], complete=True)

    async def _load_before(self, turn_id: str, count: int) -> StoredTurns:
        stored = await self._ready().turns_before(turn_id, count)
        return StoredTurns(stored.turns, stored.steps, stored.calls)

    async def _load_output(self, call: ToolCall) -> str:
        return await self._ready().whole_result(call)

    def _ready(self) -> Conversation:
        if self.conversation is None:
            raise RuntimeError("The conversation is not open yet.")
        return self.conversation
