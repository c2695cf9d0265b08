"""The chat on the screen: its keys and its widgets' events, passed to the parts of its presenter."""

from __future__ import annotations

import asyncio
import importlib
import time
from contextlib import suppress
from typing import TYPE_CHECKING, ClassVar

from msgspec.structs import replace
from textual import events, on, work
from textual.binding import Binding, BindingType
from textual.timer import Timer

from ragforge.domain.errors import RagforgeError
from ragforge.domain.printable import one_line
from ragforge.tui import terminal
from ragforge.tui.chat.frame import ChatFrame
from ragforge.tui.key_watch import key_watch_of
from ragforge.tui.keys import Where, declared
from ragforge.tui.launch import Known, OpenSession
from ragforge.tui.mouse import select_clicked
from ragforge.tui.textual_types import app_of
from ragforge.tui.widgets.completion import Completion
from ragforge.tui.widgets.prompt import Prompt

if TYPE_CHECKING:  # loaded after the first frame
    from ragforge.tui.chat.presenter import ChatPresenter
    from ragforge.tui.widgets.constraint_line import ConstraintView
    from ragforge.tui.widgets.foresight_line import ForeseenView
    from ragforge.tui.widgets.recall_line import RecalledItem, RecalledView
    from ragforge.tui.widgets.start_list import StartList
    from ragforge.tui.widgets.status_line import StatusLine

OPENED_AFTER_S = 0.05
"""After the first frame: typed keys are drawn before loading competes for the processor."""
SHOWN_S_MAX = 0.5
"""Keys typed before reach the prompt much sooner; else they are seen arriving."""
DRAFT_KEPT_AFTER_S = 0.2
"""The draft is saved this long after its first unsaved key: a crash loses a word at most."""
DRAFT_SLOW_S, DRAFT_RESTS = 0.1, 10
"""A draft that took longer to save is not saved again for so many times as long."""
TWICE_S_MAX = 0.8
"""A second key that comes later counts as a first one."""


class ChatScreen(ChatFrame):
    """The conversation, the prompt, and between them questions and waiting messages.

    Its first frame is the prompt and the status line; the other parts are loaded and mounted after it has
    been drawn, and then the session is opened. Keys typed before that go into the prompt; a message sent
    before waits in it.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        *declared(Where.CHAT),
        Binding("down", "list_step", show=False),
    ]

    def __init__(self, open_session: OpenSession, known: Known) -> None:
        super().__init__(known)
        self._open_session = open_session
        self._presenter: ChatPresenter | None = None
        self._draft_timer: Timer | None = None
        self._draft_is_kept = True
        self._keeps_draft = False
        self._draft_rest_s = 0.0
        self._escaped_at = 0.0

    @property
    def presenter(self) -> ChatPresenter:
        """The chat's behaviour. Raises RuntimeError before that is loaded."""
        if self._presenter is None:
            raise RuntimeError("The chat is not whole yet.")
        return self._presenter

    @property
    def busy(self) -> bool:
        """Whether a turn runs, or is about to."""
        return self._presenter is not None and self._presenter.turns.busy

    def on_mount(self) -> None:
        """Accept keys at once; open the session when this has been drawn."""
        self.prompt.focus()
        self.call_after_refresh(self._take_keys)
        self.set_timer(SHOWN_S_MAX, self._show)
        self.call_after_refresh(self.set_timer, OPENED_AFTER_S, self._open)

    async def _take_keys(self) -> None:
        """Enter what was typed while the program was loaded, and appear when it is in the prompt."""
        await key_watch_of(self).let_go()
        self.prompt.call_later(self.call_after_refresh, self._show)

    def _show(self) -> None:
        terminal.show(app_of(self))

    @work(group="opening")
    async def _open(self) -> None:
        # In a thread, so that keys are drawn meanwhile.
        await asyncio.to_thread(importlib.import_module, "ragforge.tui.chat.parts")
        await self.mount_parts()
        late = await asyncio.to_thread(importlib.import_module, "ragforge.tui.chat.presenter")
        presenter: ChatPresenter = late.ChatPresenter(self)
        self._presenter = presenter
        await presenter.open(self._open_session)

    # Input

    @on(Prompt.Submitted)
    async def _submitted(self, event: Prompt.Submitted) -> None:
        if self.conversation is None:
            self.prompt.put_back(event.text)
            self.sent_early = self.prompt.draft
            self.notify("Still opening. Your message is sent as soon as the store is open.", markup=False)
        else:
            await self.presenter.submit(event.text)

    @on(Prompt.EnterOnEmpty)
    def _enter_on_empty(self) -> None:
        if self._presenter:
            self._presenter.enter_on_empty()

    def on_start_list_chosen(self, event: StartList.Chosen) -> None:
        """Resume the session."""
        narrowed_by = self.prompt.whole
        if narrowed_by.strip():
            # It was typed to find the session, and is no message to it; the history keeps it nevertheless.
            self.prompt.sent.add(narrowed_by)
            self.prompt.set_draft("")
        self.presenter.sessions.start_going_to(event.row.session.id)

    @on(Prompt.DraftChanged)
    def _draft_changed(self) -> None:
        if self._parts and self.start_list.is_open:
            self.start_list.narrow(self.prompt.text)
        if self._parts and self.conversation:
            self._look_for_hint(self.prompt.text)
            if self._presenter:
                self._presenter.hints.prompt_changed()
                self._presenter.foresight.prompt_changed()
        self._keep_draft_soon()

    def _keep_draft_soon(self) -> None:
        if self._draft_timer is None and not self._keeps_draft:
            self._draft_timer = self.set_timer(max(DRAFT_KEPT_AFTER_S, self._draft_rest_s), self.keep_draft)

    @work(group="hint", exclusive=True)
    async def _look_for_hint(self, text: str) -> None:
        rows = await asyncio.shield(asyncio.wrap_future(self.commands))
        self.hint.look(text, known=frozenset(row.name for row in rows))

    @work(group="draft")
    async def keep_draft(self) -> None:
        """Keep what is typed. After a long draft, rest: it would take the processor at every pause."""
        self._draft_timer, self._keeps_draft = None, True
        draft, began_s = self.prompt.draft, time.monotonic()
        try:
            await self._keep(draft)
        finally:
            self._keeps_draft = False
            took_s = time.monotonic() - began_s
            self._draft_rest_s = took_s * DRAFT_RESTS if took_s > DRAFT_SLOW_S else 0.0
        if not self.is_closed and self.prompt.draft != draft:
            self._keep_draft_soon()

    async def _keep(self, draft: str) -> None:
        """Keep the draft; that it cannot be kept is said once."""
        if self.conversation is None or self.is_closed:
            return
        doing = self.conversation.keep_draft(draft)
        if self._draft_is_kept:
            self._draft_is_kept = await self.attempt(doing)
        else:
            with suppress(RagforgeError):
                await doing
                self._draft_is_kept = True

    @on(Prompt.Noticed)
    def _noticed(self, event: Prompt.Noticed) -> None:
        self.notify(event.text, markup=False)

    @on(Prompt.VimModeChanged)
    def _vim_mode_changed(self, event: Prompt.VimModeChanged) -> None:
        self.status.status = replace(self.status.status, vim=str(event.mode or ""))

    @on(Prompt.TakeBack)
    async def _take_back(self, event: Prompt.TakeBack) -> None:
        await self.presenter.turns.take_back(last=event.last)

    @on(Prompt.QuitRequested)
    def _quit_requested(self) -> None:
        self.leave()

    @on(Completion.Clicked)
    def _completion_clicked(self, event: Completion.Clicked) -> None:
        self.prompt.take(event.choice)

    async def on_status_line_pressed(self, event: StatusLine.Pressed) -> None:
        """Say what the piece means that was pressed, where it is seen."""
        if self._parts:
            await self.transcript.action_end()
            self.tell(event.about)

    async def action_explain_status(self) -> None:
        """Say what each figure of the status line means."""
        if self._parts:
            await self.transcript.action_end()
            self.tell(self.status.explained())

    # The mouse

    def on_click(self, event: events.Click) -> None:
        """Select a word or a paragraph of the conversation."""
        select_clicked(self, event)

    def on_mouse_scroll_down(self) -> None:
        """The wheel moves the conversation wherever nothing else scrolls, as over the prompt."""
        if self._parts:
            self.transcript.action_line_down()

    def on_mouse_scroll_up(self) -> None:
        """As down."""
        if self._parts:
            self.transcript.action_line_up()

    # What was recalled

    @work(group="command")
    async def on_recalled_item_forget_wanted(self, event: RecalledItem.ForgetWanted) -> None:
        """Forget the memory, if that is meant; the answer says how to undo that."""
        if await self.confirmed("Forget this memory?", detail=one_line(event.item.text)):
            self.presenter.commands.start(f"forget {event.item.id}")

    @work(group="command")
    async def on_recalled_item_turn_wanted(self, event: RecalledItem.TurnWanted) -> None:
        """Open the recalled turn."""

        async def show() -> None:
            place = await self.ready().memory_book.place_of(event.item.turn_id)
            await self.presenter.sessions.go_to(place.session_id, place.turn)

        await self.attempt(show())

    @work(group="history")
    async def on_recalled_view_looked_at(self, event: RecalledView.LookedAt) -> None:
        """Record that the block was useful."""
        from ragforge.tui.widgets.turn_view import TurnView

        turns = [each.record.turn for each in event.view.ancestors if isinstance(each, TurnView)]
        with suppress(RagforgeError):  # only a figure depends on it
            for turn in filter(None, turns):
                await self.ready().recall_opened(turn.id)

    @work(group="said")
    async def on_constraint_view_said_wanted(self, event: ConstraintView.SaidWanted) -> None:
        """Show the user's complete message of that turn, below the line that quotes it."""
        try:
            turn = await self.ready().memory_book.read_turn(event.turn_id)
            event.view.show_said(f"{turn.place}\n{turn.user}")
        except RagforgeError as error:
            event.view.show_said(str(error))

    @work(group="foreseen")
    async def on_foreseen_view_columns_wanted(self, event: ForeseenView.ColumnsWanted) -> None:
        """Show what was predicted for the turn beside what happened."""
        from ragforge.session.foresight import read_expected
        from ragforge.tui.widgets.foresight_line import columns_of

        try:
            event.view.show_columns(*columns_of(*await read_expected(self.ready().workspace, event.turn_id)))
        except RagforgeError as error:
            event.view.show_columns(str(error), "")

    # Keys

    @work(group="command")
    async def action_interrupt(self) -> None:
        """Interrupt the running turn; twice while none runs: choose a turn to go back to."""
        pressed_at, self._escaped_at = self._escaped_at, time.monotonic()
        if self.conversation is None:
            return
        if self.presenter.shell.stop() or self.presenter.commands.stop():
            self._escaped_at = 0.0
        elif self.conversation.session.busy:
            await self.conversation.interrupt()
        elif self._escaped_at - pressed_at < TWICE_S_MAX:
            self._escaped_at = 0.0
            await self.run_action("rewind")

    @work(group="mode", exclusive=True)
    async def action_cycle_mode(self) -> None:
        """Set the next consent mode."""
        if self.conversation:
            await self.attempt(self.conversation.cycle_mode())
            self.show_status()

    def action_sessions(self) -> None:
        if self.conversation:
            self.presenter.commands.start("sessions")

    def action_hints(self) -> None:
        if self.conversation:
            self.presenter.commands.start("hints")

    def action_rewind(self) -> None:
        """Show the turns, to go back to before one."""
        self.presenter.commands.start("rewind")

    def action_do_hint(self) -> None:
        """Run the command that the hint names, instead of sending the message."""
        if self._parts and (command := self.hint.command):
            self.prompt.sent.add(self.prompt.whole)
            self.prompt.set_draft("")
            self.presenter.commands.start(command)

    @work(group="command")
    async def action_forget_kept(self) -> None:
        """Forget what the last line `remembered` names."""
        kept, self.kept = self.kept, ()
        if not kept:
            self.say("There is nothing new to forget. /memory lists all memories.")
        for memory in kept:
            await self.attempt(self.presenter.commands.run_line(f"forget {memory.id}"))

    @on(Prompt.SuggestionTaken)
    def _suggestion_taken(self) -> None:
        self.presenter.foresight.taken()

    def action_list_step(self) -> None:
        """Move from the prompt down into the list of sessions."""
        if self._parts and self.start_list.is_open:
            self.start_list.step(1)

    async def action_expand(self) -> None:
        """Open what is folded in view, or restore it."""
        if self._parts:
            await self.transcript.action_toggle_in_view()

    def action_todos(self) -> None:
        """Open or close the to-do list."""
        if not self._parts:
            return
        if self.parts.todos.todos.items:
            self.parts.todos.toggle()
        else:
            self.notify(
                "There is no to-do list yet. The model makes one for longer work, and /plan asks for one."
            )

    async def action_show_newest(self) -> None:
        await self.show_newest()

    def action_scroll_page_up(self) -> None:
        if self._parts:
            self.transcript.action_page_up()

    def action_scroll_page_down(self) -> None:
        if self._parts:
            self.transcript.action_page_down()

    def action_scroll_line_up(self) -> None:
        if self._parts:
            self.transcript.action_line_up()

    def action_scroll_line_down(self) -> None:
        if self._parts:
            self.transcript.action_line_down()

    def action_walk(self) -> None:
        """Focus the conversation, from the end of what is in view."""
        if self._parts:
            self.transcript.walk_from_view()

    def action_redraw(self) -> None:
        """Redraw everything, whatever has written over it."""
        self.refresh(layout=True)

    def action_suspend(self) -> None:
        """Suspend to the shell; `fg` returns."""
        app_of(self).action_suspend_process()
