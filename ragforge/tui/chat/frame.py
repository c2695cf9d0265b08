"""What the parts of the chat share: the prompt, the widgets around it, the conversation, and leaving."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Collection, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

from msgspec.structs import replace
from textual import events, work
from textual.app import ComposeResult
from textual.screen import Screen
from textual.widgets import Input, Static

from ragforge.domain.errors import RagforgeError
from ragforge.tui import terminal
from ragforge.tui.chat.status import status_at_start, status_of
from ragforge.tui.keys import with_present_keys
from ragforge.tui.launch import Known, Leaving
from ragforge.tui.project_files import PathMatches, ProjectFiles
from ragforge.tui.textual_types import app_of, changed_keys
from ragforge.tui.widgets.completion import CommandRow, Completion
from ragforge.tui.widgets.focus import FocusReturned
from ragforge.tui.widgets.hint_line import HintLine
from ragforge.tui.widgets.prompt import Prompt
from ragforge.tui.widgets.status_line import StatusLine

if TYPE_CHECKING:  # loaded after the first frame
    import threading

    from ragforge.domain.context import ContextBlock
    from ragforge.domain.schedule import KeptMemory
    from ragforge.domain.turns import ToolCall, Turn
    from ragforge.session.conversation import Conversation
    from ragforge.tui.chat.parts import ChatParts
    from ragforge.tui.screens.dialog import Dialog
    from ragforge.tui.widgets.start_list import StartList
    from ragforge.tui.widgets.transcript import Transcript
    from ragforge.tui.widgets.turn_record import StoredTurns

TURNS_SHOWN = 25
Result = TypeVar("Result")


class ChatFrame(Screen[None]):
    """The prompt with the lines below it, and the widgets mounted around them after their first frame."""

    AUTO_FOCUS = "#prompt"

    def __init__(self, known: Known) -> None:
        super().__init__()
        self.hint = HintLine()
        self.status = StatusLine(status_at_start(known), id="status")
        """The state of the session, in a line."""
        self.conversation: Conversation | None = None
        self.is_closed = False
        self.sent_early = ""
        """What was sent before the store was open. It is sent then, if it is unchanged."""
        self.shown_at: int | None = None
        self.ran: list[str] = []
        """Ids of the turns and of the user's own commands of this run."""
        self.kept: Sequence[KeptMemory] = ()
        """What was remembered last, as in the transcript's line."""
        """The turn, counted from 1, up to which the session is shown; None for all of it."""
        self._parts: ChatParts | None = None
        self._files: ProjectFiles | None = None
        self._own_commands: tuple[CommandRow, ...] = ()

    async def mount_parts(self) -> None:
        """Mount the other widgets around the prompt, in place of what kept their room."""
        from ragforge.tui.chat.parts import make_parts

        parts = make_parts(
            load_before=self._load_before,
            load_output=self._load_output,
            put_back=self.prompt.put_back,
            show_said=lambda turn_id: self.run_worker(self.attempt(self._show_said(turn_id)), group="said"),
            prompt_is_empty=lambda: not self.prompt.text,
        )
        async with self.batch():
            await self.query(".room").remove()
            above = (parts.transcript, parts.live, parts.program, parts.todos, parts.approval, parts.queue)
            await self.mount(*above, before=0)
            await self.mount(parts.start_list, before=self.status)
        self._parts = parts

    def take_conversation(self, conversation: Conversation) -> None:
        """The conversation is open."""
        self.conversation = conversation
        self._files = ProjectFiles(conversation.workspace.place.cwd)

    def compose(self) -> ComposeResult:
        """The prompt with the lines below it, and room for what comes above."""
        yield Static(classes="room")
        completion = Completion(
            commands=self._commands,
            files=self._find_files,
            sent=self._sent,
            id="completion",
        )
        yield completion
        yield Prompt(completion=completion, id="prompt")
        yield self.hint
        yield self.status

    @property
    def prompt(self) -> Prompt:
        """The prompt."""
        return self.query_one(Prompt)

    @property
    def transcript(self) -> Transcript:
        """The transcript."""
        return self.parts.transcript

    @property
    def start_list(self) -> StartList:
        """The sessions below the prompt, until one is chosen or a new one starts."""
        return self.parts.start_list

    @property
    def parts(self) -> ChatParts:
        """The widgets around the prompt. Raises RuntimeError before they exist."""
        if self._parts is None:
            raise RuntimeError("The chat is not whole yet.")
        return self._parts

    @property
    def is_drawn(self) -> bool:
        """Whether there is still a screen: a turn may end after it is gone."""
        return not self.is_closed and self._parts is not None and self._parts.transcript.is_attached

    @property
    def resume_command(self) -> str:
        """The command that resumes the session."""
        return self.conversation.resume_command if self.conversation else ""

    @cached_property
    def commands(self) -> Future[list[CommandRow]]:
        """Every slash command, loaded in a thread from the first call on: they are a hundred modules."""
        thread = ThreadPoolExecutor(1)
        commands = thread.submit(_load_commands)
        thread.shutdown(wait=False)
        return commands

    async def load_own_commands(self) -> None:
        """Let the completion offer programs, and custom commands of the user and the project."""
        from ragforge.session.own_commands import own_commands
        from ragforge.session.program_files import program_commands

        session = self.ready().session
        found = [each for each in await own_commands(session) if not each.problem]
        rows = {
            name: CommandRow(name, what or "Run this program.", (), "[ARGS]")
            for name, what in (await asyncio.to_thread(program_commands, session.workspace)).items()
        }
        own = {each.name: CommandRow(each.name, each.description, (), each.usage) for each in found}
        self._own_commands = tuple({**rows, **own}.values())

    def ready(self) -> Conversation:
        """The conversation. Raises RuntimeError before it is open."""
        if self.conversation is None:
            raise RuntimeError("The conversation is not open yet.")
        return self.conversation

    # Where keys go

    def direct(self, event: events.Key | events.Paste) -> bool:
        """Focus the prompt for a key that nothing around the focused widget wants; return if that is all.

        Esc does no more than that: it neither interrupts a turn, nor counts as the first of two.
        """
        if isinstance(self.focused, Input | Prompt):
            return False
        is_escape = self.focused is not None and isinstance(event, events.Key) and event.key == "escape"
        if isinstance(event, events.Paste) or is_escape or not self._is_wanted(event.key):
            self.set_focus(self.prompt, scroll_visible=False)
        return is_escape

    def _is_wanted(self, key: str) -> bool:
        """Whether the focused widget, or one around it, handles this key."""
        found = self.active_bindings.get(key)
        return found is not None and found.node is not self and found.node is not app_of(self)

    def on_focus_returned(self, event: FocusReturned) -> None:
        """Something was folded."""
        event.stop()
        if not isinstance(self.focused, Input):
            self.set_focus(self.prompt, scroll_visible=False)

    # What is shown

    def say(self, text: str) -> None:
        """Show a line to the user."""
        self.transcript.say(text)

    def with_keys(self, text: str, *actions: str) -> str:
        """Return the text with the user's keys for these actions."""
        return with_present_keys(text, changed_keys(self), *actions)

    def tell(self, markdown: str) -> None:
        """Show a command's answer."""
        self.transcript.tell(markdown)

    async def _show_said(self, turn_id: str) -> None:
        """Open the turn in which the user said something, above a waiting call that violates it."""
        from ragforge.tui.screens.turn import TurnScreen

        await self.ask(TurnScreen(await self.ready().memory_book.read_turn(turn_id)))

    def put_back(self, text: str, *, unsent: bool = False) -> None:
        """The words of an empty turn, or of none, return to the prompt, once."""
        if text.strip() and not self.prompt.draft.startswith(text.strip()):
            self.put_back_all([text], unsent=unsent)

    def put_back_all(self, texts: Sequence[str], *, unsent: bool) -> None:
        """Unanswered messages return to the prompt; selected, unless something is being written.

        unsent: they are in no turn, so nothing removes them again for one.
        """
        is_free, unsent = self.prompt.is_free, unsent or self.prompt.shows_unsent
        self.prompt.put_back(*texts)
        if is_free:
            self.prompt.select_returned(unsent=unsent)

    async def attempt(self, doing: Awaitable[object]) -> bool:
        """Return whether it succeeded; errors are shown to the user."""
        try:
            await doing
        except RagforgeError as error:
            self.say(str(error))
            return False
        return True

    async def ask(self, dialog: Dialog[Result]) -> Result | None:
        """Return the dialog's answer. Text typed while the dialog came up stays in the prompt.

        The dialog closes if the asking task, such as a turn's, is cancelled.
        """
        answered: asyncio.Future[Result | None] = asyncio.get_running_loop().create_future()

        def take(answer: Result | None) -> None:
            if not answered.done():
                answered.set_result(answer)

        await app_of(self).push_screen(dialog, take)
        try:
            return await answered
        except asyncio.CancelledError:
            if dialog.is_current:
                dialog.dismiss(None)
            raise
        finally:
            if dialog.typed_meanwhile:
                self.prompt.set_draft(self.prompt.draft + dialog.typed_meanwhile.rstrip("\n"))

    async def confirmed(self, question: str, *, detail: str = "") -> bool:
        """Return the user's yes or no."""
        from ragforge.tui.screens.confirm import ConfirmScreen

        return bool(await self.ask(ConfirmScreen(question, detail=detail)))

    def call_user(self, what: str) -> None:
        """Ring the bell, for a user who looks elsewhere."""
        if self.ready().workspace.settings.notify:
            terminal.call_user(app_of(self), f"ragforge: {what}")

    async def show_session(self, *, draft: str | None, at: int | None = None) -> None:
        """Draw the session that came to the front. draft: None leaves the prompt as it is."""
        conversation = self.ready()
        self.start_list.close()
        self.shown_at = at
        if draft is not None:
            self.prompt.set_draft(draft)
        await self._load_turns(conversation, at)
        self.status.status = status_of(conversation)
        self.show_queue()
        await self.show_todos()

    async def show_newest(self) -> None:
        """Show the newest output, even of a session that is shown up to a turn."""
        if self.shown_at is not None and self.conversation:
            await self._load_turns(self.conversation, None)
            self.shown_at = None
        if self._parts:
            await self.transcript.action_end()

    async def _load_turns(self, conversation: Conversation, at: int | None) -> None:
        """Draw the newest turns, or those up to one."""
        stored = await conversation.turns_until(at, TURNS_SHOWN)
        recalled, forgotten = await self._recalled(stored.turns), await self._forgotten(stored.turns)
        await self.transcript.load(stored.turns, stored.steps, stored.calls, recalled, forgotten)
        self.run_worker(self.mark(stored.turns), group="marks", exclusive=True)
        await self.show_commands_waiting()
        if at is not None:
            shown = f"Shown up to turn {at}. A message continues from turn {at}. Ctrl+End shows the rest."
            self.say(self.with_keys(shown, "show_newest"))

    async def show_commands_waiting(self) -> None:
        """Show what was run and has not been sent with a message yet."""
        from ragforge.tui.widgets.turn_record import own_calls

        for call in own_calls(tuple(await self.ready().commands_waiting())):
            self.transcript.add_call(call)

    async def show_start_list(self) -> None:
        """Show the sessions of the folder below the prompt, if there are any."""
        conversation = self.ready()
        from ragforge.domain.ids import now

        rows = await conversation.sessions()
        if rows:
            here, user = str(conversation.workspace.place.cwd), conversation.workspace.person
            self.start_list.open(rows, here=here, user=user, now=now(), typed=self.prompt.text)

    def show_queue(self) -> None:
        """List the waiting messages."""
        from ragforge.domain.messages import text_of

        waiting = self.conversation.session.live.queue if self.conversation else []
        self.prompt.queued = len(waiting)
        self.parts.queue.show([text_of(parts) for parts in waiting], while_runs=self.parts.live.in_turn)

    async def show_todos(self) -> None:
        """Show the to-do list at the session's head."""
        with suppress(RagforgeError):  # the conversation reports it better
            self.parts.todos.show(await self.ready().todos())

    def show_status(self) -> None:
        """Draw the state of the session."""
        if self.conversation:
            self.status.status = status_of(self.conversation, self.status.status)

    # Saving and leaving

    def remember(self, text: str) -> None:
        """Save what was sent in the prompt history."""
        if self.conversation:
            self.run_worker(self.attempt(self.conversation.remember_prompt(text)), group="history")

    @work(group="leaving", exclusive=True)
    async def leave(self, exit_code: int = 0, *, incognito_next: bool = False) -> None:
        """Close, and exit."""
        left = await self._close()
        code = exit_code or left.exit_code
        next_is_incognito = incognito_next and not left.failure
        app_of(self).exit(replace(left, exit_code=code, incognito_next=next_is_incognito), return_code=code)

    async def _close(self) -> Leaving:
        """Save the draft and the turn's end, release everything; return what to print in the terminal."""
        conversation = self.conversation
        if conversation is None or self.is_closed:
            return Leaving(draft=self.prompt.draft)
        self.is_closed = True
        said = draft = failure = waits = ""
        try:
            await conversation.keep_draft(self.prompt.draft)
        except RagforgeError as error:
            draft, failure = self.prompt.draft, str(error)
        try:
            closed = await conversation.close(self.ran)
            said, waits = closed.left, closed.waits
        except RagforgeError as error:
            failure = str(error)
        return Leaving(said, conversation.resume_command, 4 if failure else 0, failure, draft, waits)

    async def on_unmount(self) -> None:
        """However the app ends, nothing that it started keeps running."""
        if self.conversation and not self.is_closed:
            with suppress(RagforgeError):
                await self.conversation.close()

    # Requests of widgets

    def _commands(self) -> Sequence[CommandRow]:
        return (*self.commands.result(), *self._own_commands) if self.conversation else ()

    def _sent(self) -> Sequence[str]:
        """The prompt history; whose it is changes when the store is open."""
        return self.prompt.sent.entries()

    def _find_files(self, query: str, stop: threading.Event) -> PathMatches:
        return self._files.find(query, stop) if self._files else PathMatches([], complete=True)

    async def _load_before(self, turn_id: str, count: int) -> StoredTurns:
        """Return the turns before one."""
        from ragforge.tui.widgets.turn_record import StoredTurns

        stored = await self.ready().turns_before(turn_id, count)
        recalled, forgotten = await self._recalled(stored.turns), await self._forgotten(stored.turns)
        marked = await self._marked(stored.turns)
        return StoredTurns(stored.turns, stored.steps, stored.calls, recalled, forgotten, marked)

    async def mark(self, turns: Sequence[Turn]) -> None:
        """Mark turns that differ from their prediction, once they are shown."""
        marked = await self._marked(turns)
        if self.is_drawn:
            self.transcript.mark(marked)

    async def _marked(self, turns: Sequence[Turn]) -> dict[str, str]:
        """Return why these turns differ from their prediction, by their ids."""
        from ragforge.session.foresight import mark_words

        try:
            return await mark_words(self.ready().workspace, turns)
        except RagforgeError:
            return {}

    async def _forgotten(self, turns: Sequence[Turn]) -> Collection[str]:
        """Return the ids of the turns in which something was said that is forgotten."""
        try:
            return await self.ready().forgotten_in(turns)
        except RagforgeError:
            return ()

    async def _recalled(self, turns: Sequence[Turn]) -> dict[str, ContextBlock]:
        """Return what was recalled for the turns, by their ids."""
        try:
            found = {turn.id: await self.ready().recalled(turn.id) for turn in turns}
        except RagforgeError:
            return {}  # the conversation is shown without these lines rather than not at all
        return {turn_id: block for turn_id, block in found.items() if block}

    async def _load_output(self, call: ToolCall) -> str:
        """Return a tool's complete output."""
        return await self.ready().whole_result(call)


def _load_commands() -> list[CommandRow]:
    from ragforge.commands.base import names_elsewhere
    from ragforge.tui.screens.base import interface_verbs

    return [
        CommandRow(verb.name, verb.help, (*verb.aliases, *names_elsewhere(verb.name)), verb.usage)
        for verb in interface_verbs().values()
    ]
