"""The chat: draws the events of turns, hands what is typed to the session, asks what it must ask."""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import AsyncGenerator, Coroutine
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol

from msgspec.structs import replace
from textual import on, work
from textual.timer import Timer

from ragforge.domain.errors import RagforgeError
from ragforge.domain.printable import one_line
from ragforge.tui import terminal
from ragforge.tui.key_watch import key_watch_of
from ragforge.tui.launch import NotOpened, OpenedChat
from ragforge.tui.screens.chat_keys import ChatKeys
from ragforge.tui.textual_types import app_of
from ragforge.tui.widgets.completion import Completion
from ragforge.tui.widgets.prompt import Prompt

if TYPE_CHECKING:  # loaded after the first frame, by importing chat_parts
    from ragforge.domain.approvals import ApprovalAnswer, ApprovalRequest
    from ragforge.domain.events import AgentEvent
    from ragforge.tui.widgets.recall_line import RecalledItem
    from ragforge.tui.widgets.start_list import StartList

OPENED_AFTER_S = 0.05
"""After the first frame: what was typed meanwhile is drawn before loading competes for the processor."""
DRAFT_KEPT_AFTER_S = 0.2
"""Typing is kept so long after the first key that was not: a crash costs a word at most."""


class OpenSession(Protocol):
    """Opens what was asked for on the command line."""

    def __call__(self, *, embedded: bool = False) -> Coroutine[Any, Any, OpenedChat | NotOpened]:
        """The conversation. embedded: kept in the store on this machine, whatever the settings say."""
        ...


class ChatScreen(ChatKeys):
    """The conversation, the prompt, and between them whatever asks or waits.

    Its first frame is the prompt alone; the other parts are loaded and mounted when that has been drawn
    (`chat_parts`), and then the session is opened. Keys typed before that go into the prompt; a message sent
    before waits in it.
    """

    def __init__(self, open_session: OpenSession, *, typed_before: str = "") -> None:
        super().__init__()
        self.open_session = open_session
        self._typed_before = typed_before
        self.sent_early = ""
        """What was sent before the store was open. It goes then, where it still stands as it was."""
        self._draft_timer: Timer | None = None
        self._draft_is_kept = True

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
        if self.conversation and not self.is_closed:
            with suppress(RagforgeError):
                await self.conversation.close()

    @work(group="opening")
    async def _open(self) -> None:
        # In a thread, so that keys are drawn meanwhile.
        late = await asyncio.to_thread(importlib.import_module, "ragforge.tui.chat_parts")
        await late.chat_opening.open_chat(self)

    @work(group="leaving", exclusive=True)
    async def leave(self, exit_code: int = 0, *, incognito_next: bool = False) -> None:
        """Close, and go."""
        from ragforge.tui.chat_opening import close_chat

        left = await close_chat(self)
        code = exit_code or left.exit_code
        next_is_incognito = incognito_next and not left.failure
        app_of(self).exit(replace(left, exit_code=code, incognito_next=next_is_incognito), return_code=code)

    # What is typed

    @on(Prompt.Submitted)
    async def _submitted(self, event: Prompt.Submitted) -> None:
        from ragforge.domain.inputs import Say, Shell, Slash, parse_input
        from ragforge.tui.own_shell import run_shell

        if self.conversation is None:
            self.prompt.put_back(event.text)
            self.sent_early = self.prompt.draft
            self.notify("Still opening. This is sent as soon as the store is open.", markup=False)
        elif row := self.start_list.enter(typed=True):
            self.resume(row.session.id)
        else:
            match parse_input(event.text):
                case Say(said):
                    if question := self.conversation.question_before(said):
                        self._say_if_meant(said, question)
                    else:
                        await self._say(said)
                case Slash(name, args):
                    self.run_command(name, args)
                case Shell(command):
                    await run_shell(self, command)

    @work(group="command")
    async def _say_if_meant(self, text: str, question: str) -> None:
        from ragforge.tui.outcomes import confirmed

        detail = "The model can read a file by its name alone: write @ and the path instead of its contents."
        if await confirmed(self, question, detail=detail):
            await self._say(text)
        else:
            self.put_back(text)

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
        if self._parts and self.conversation:
            self._look_for_hint(self.prompt.text)
        if self._draft_timer is None:
            self._draft_timer = self.set_timer(DRAFT_KEPT_AFTER_S, self.keep_draft)

    @work(group="hint", exclusive=True)
    async def _look_for_hint(self, text: str) -> None:
        rows = await asyncio.shield(asyncio.wrap_future(self.commands))
        self.parts.hint.look(text, known=frozenset(row.name for row in rows))

    @work(group="draft", exclusive=True)
    async def keep_draft(self) -> None:
        """Keep what is typed; that it cannot be kept is said once."""
        self._draft_timer = None
        if self.conversation is None or self.is_closed:
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

    def remember(self, text: str) -> None:
        """Keep in the history of the prompt what was sent."""
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

    @work(group="folder draft")  # not that of `keep_draft`, which ends what runs there
    async def forget_folder_draft(self) -> None:
        """It was sent, and from now on the draft is the session's."""
        with suppress(RagforgeError):
            await self.ready().forget_folder_draft()
            await self.ready().keep_draft(self.prompt.draft)

    # Commands

    @work(group="command")
    async def run_command(self, name: str, args: str) -> None:
        """Do what a slash command says."""
        from ragforge.tui.outcomes import run_line

        await self.transcript.action_end()
        with self.transcript.answering():
            await self.attempt(run_line(self, f"{name} {args}"))
        self.show_status()

    @work(group="command")
    async def on_recalled_item_forget_wanted(self, event: RecalledItem.ForgetWanted) -> None:
        """Forget the memory, if that is meant; the answer says how to take that back."""
        from ragforge.tui.outcomes import confirmed

        if await confirmed(self, "Forget this memory?", detail=one_line(event.item.text)):
            self.run_command("forget", event.item.id)

    @work(group="command")
    async def on_recalled_item_turn_wanted(self, event: RecalledItem.TurnWanted) -> None:
        """Bring the turn to the front that was recalled."""
        from ragforge.tui.outcomes import front

        async def show() -> None:
            place = await self.ready().memory_book.place_of(event.item.turn_id)
            await front(self, OpenedChat(self.ready(), resume=place.session_id, at=place.turn))

        await self.attempt(show())

    def retry(self) -> None:
        """Go on with the newest turn. Where its words had returned, Enter would send them once more."""
        self.start_list.close()
        self.start_turn(self.ready().retry(self.approve), self.prompt.take_returned())

    @work(group="command")
    async def resume(self, session_id: str) -> None:
        """Bring that session to the front."""
        from ragforge.tui.outcomes import front

        await self.attempt(front(self, OpenedChat(self.ready(), resume=session_id)))

    def action_sessions(self) -> None:
        """The list of sessions."""
        if self.conversation:
            self.run_command("sessions", "")

    def action_do_hint(self) -> None:
        """Run the command that the hint names, in place of the message."""
        if self._parts and (command := self.parts.hint.command):
            self.prompt.sent.add(self.prompt.whole)
            self.prompt.set_draft("")
            self.run_command(command, "")

    def action_rewind(self) -> None:
        """The turns, to go back to before one."""
        self.run_command("rewind", "")
