"""Turns in the chat: input is sent, events are shown, and the words of an empty turn return."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from time import monotonic

from msgspec.structs import replace
from textual.worker import Worker

from ragforge.commands.base import Send
from ragforge.domain.approvals import ApprovalAnswer, ApprovalRequest, Mode, ToolApproval
from ragforge.domain.errors import RagforgeError
from ragforge.domain.events import AgentEvent, ToolEnded, TurnEnded, TurnStarted, UsageUpdated
from ragforge.domain.messages import Parts, TextPart, typed_in
from ragforge.domain.turns import Turn, TurnStatus
from ragforge.tui import terminal
from ragforge.tui.chat.foresight import ChatForesight
from ragforge.tui.chat.frame import ChatFrame
from ragforge.tui.chat.hints import Hints
from ragforge.tui.mentions import parts_of
from ragforge.tui.textual_types import app_of

log = logging.getLogger(__name__)

CALLED_AFTER_S = 10.0
"""A longer turn rings the bell at its end: the user has looked away."""
TODO = "todo"
"""The tool that updates the to-do list."""
PLAN_ENDS = "Plan mode: nothing was changed. Say `do it` to carry out the plan, or say what to change in it."
GOES_ON = (TurnStatus.FINISHED, TurnStatus.CONTINUED)


class Turns:
    """The turns of the session in front, one at a time."""

    def __init__(self, chat: ChatFrame, hints: Hints, foresight: ChatForesight) -> None:
        self._chat = chat
        self._hints = hints
        self._foresight = foresight
        self._worker: Worker[None] | None = None
        self._begun = asyncio.Event()
        """The newest turn is stored, or could not be."""

    @property
    def busy(self) -> bool:
        """Whether a turn runs, or is about to."""
        return self._worker is not None and not self._worker.is_finished

    # Sending

    async def say(self, text: str) -> None:
        """Send a message, ask first if it is very long, or queue it behind what runs."""
        if question := self._chat.ready().question_before(text):
            self._chat.run_worker(self._say_if_meant(text, question), group="command")
        else:
            await self._say(text)

    async def send(self, outcome: Send) -> None:
        """Send a command's message; if it cannot be stored, what was typed returns to the prompt."""
        self._chat.prompt.take_returned()  # another message replaces it
        if not outcome.typed:
            await self.say(outcome.text)
            return
        chat, conversation = self._chat, self._chat.ready()
        chat.start_list.close()
        if chat.shown_at is not None:
            await chat.attempt(chat.show_newest())
        parts = (TextPart(outcome.text, outcome.typed),)
        self._start(conversation.submit(parts, self.approve, outcome.terms), outcome.typed)

    async def _say_if_meant(self, text: str, question: str) -> None:
        detail = "For a file, write @ and its path instead of its contents; the model reads it."
        if await self._chat.confirmed(question, detail=detail):
            await self._say(text)
        else:
            self._chat.put_back(text, unsent=True)

    async def _say(self, text: str) -> None:
        chat, conversation = self._chat, self._chat.ready()
        chat.start_list.close()
        try:
            parts = await parts_of(text, conversation.mention_folders, conversation.workspace.blobs.put)
            waiting = bool(conversation.session.live.queue) and not conversation.session.live.read_only
            if waiting and not self.busy:
                await conversation.enqueue(parts)
                chat.show_queue()
        except RagforgeError as error:
            chat.say(str(error))
            chat.put_back(text, unsent=True)
            return
        if chat.shown_at is not None:
            await chat.attempt(chat.show_newest())
        if self.busy:
            # In a worker: a starting turn may wait for a server, and keys must not.
            chat.run_worker(self._add(parts, text), group="queue")
        elif waiting:
            self.send_queue()
        else:
            self._start(conversation.submit(parts, self.approve), text)

    async def _add(self, parts: Parts, text: str) -> None:
        """Let a message join the one that has just been sent, or wait for the end of what runs."""
        chat, conversation = self._chat, self._chat.ready()
        try:
            await self._begun.wait()
            if not await conversation.join_turn(parts):
                await conversation.enqueue(parts)
        except RagforgeError as error:
            chat.say(str(error))
            chat.put_back(text, unsent=True)
        chat.show_queue()
        if conversation.session.live.queue and not self.busy:
            self.send_queue()

    def send_queue(self) -> None:
        """Send what waited through an interrupted turn, before the next message if there is one."""
        if self._chat.ready().session.live.queue:
            self._start(self._chat.ready().submit_queue(self.approve), "")

    def retry(self) -> None:
        """Continue the newest turn. If its words had returned, Enter would send them again."""
        self._chat.start_list.close()
        self._start(self._chat.ready().retry(self.approve), self._chat.prompt.take_returned())

    async def take_back(self, *, last: bool) -> None:
        """Return queued messages to the prompt, or the last of them, for editing."""
        waiting = [typed_in(parts) for parts in self._chat.ready().session.live.queue]
        if last:
            self._chat.prompt.put_back(*waiting[-1:])
        else:
            self._chat.put_back_all(waiting, unsent=True)
        await self._chat.attempt(self._chat.ready().take_back(last=last))
        self._chat.show_queue()

    # Showing

    def _start(self, turn: AsyncGenerator[AgentEvent, None], text: str) -> None:
        """Show the events of a turn. text: what returns to the prompt if it cannot be stored."""
        self._begun.clear()
        self._worker = self._chat.run_worker(self._run(turn, text), group="turn")
        self._chat.call_later(self._chat.transcript.action_end)  # after sending, the end should be visible

    async def _run(self, turn: AsyncGenerator[AgentEvent, None], text: str) -> None:
        """Show the turn, and after it what was queued at the very moment of its end."""
        chat, conversation = self._chat, self._chat.ready()
        try:
            ended = await self._follow(turn, text)
        finally:
            self._begun.set()
        while ended and ended.status in GOES_ON and conversation.session.live.queue:
            ended = await self._follow(conversation.submit_queue(self.approve), "")
        if chat.is_drawn:
            chat.show_queue()
            chat.show_status()

    async def _follow(self, turn: AsyncGenerator[AgentEvent, None], text: str) -> Turn | None:
        """Show the events; return the last ended turn, or None if it could not be stored."""
        chat = self._chat
        began_s = monotonic()
        running: Turn | None = None
        ended: Turn | None = None
        chat.parts.live.begin_turn()
        try:
            async with aclosing(turn) as stream:
                async for event in stream:
                    if not chat.is_drawn:
                        continue
                    chat.transcript.show(event)
                    chat.parts.live.show(event)
                    match event:
                        case TurnStarted(running):
                            self._begun.set()
                            self._show_started(running)
                        case ToolEnded(call) if call.name == TODO:
                            await chat.show_todos()
                        case UsageUpdated():
                            chat.status.status = chat.status.status.after(event)
                        case TurnEnded(ended):
                            running = None
                            self._after(event)
                            if event.came_to_nothing:
                                chat.put_back(typed_in(ended.user))
                            if monotonic() - began_s > CALLED_AFTER_S:
                                chat.call_user("done")
                        case _:
                            pass
        except RagforgeError as error:
            if not chat.is_drawn:
                log.error("The turn could not be kept: %s", error)
                return None
            if running:
                failed = replace(running, status=TurnStatus.FAILED, error=str(error))
                chat.transcript.show(TurnEnded(failed, error))
                text = typed_in(running.user)
            else:
                chat.say(str(error))
            if running or not ended:
                chat.put_back(text)
            return None
        finally:
            if chat.is_drawn:
                chat.parts.live.end_turn()
        return ended

    def _after(self, event: TurnEnded) -> None:
        """Start the background work for the next turn."""
        self._hints.turn_ended(event)
        self._foresight.turn_ended(event)
        self._tell_how_plan_mode_ends(event)

    def _tell_how_plan_mode_ends(self, event: TurnEnded) -> None:
        mode = self._chat.ready().session.live.consent.mode
        if mode is Mode.PLAN and event.turn.status is TurnStatus.FINISHED and not event.came_to_nothing:
            self._chat.say(PLAN_ENDS)

    def _show_started(self, turn: Turn) -> None:
        self._hints.turn_began()
        self._foresight.turn_began()
        chat = self._chat
        chat.ran.append(turn.id)
        terminal.set_title(app_of(chat), "ragforge")
        chat.run_worker(self._forget_folder_draft(), group="folder draft")
        chat.show_queue()
        chat.show_status()

    async def _forget_folder_draft(self) -> None:
        """It was sent, and from now on the draft is the session's."""
        with suppress(RagforgeError):
            await self._chat.ready().forget_folder_draft()
            await self._chat.ready().keep_draft(self._chat.prompt.draft)

    async def approve(self, request: ApprovalRequest) -> ApprovalAnswer:
        """Ask the user."""
        self._chat.call_user("waiting for your answer")
        call_id = request.call_id if isinstance(request, ToolApproval) else ""
        try:
            with self._chat.parts.live.asking(), self._chat.transcript.asking(call_id):
                return await self._chat.parts.approval.ask(request)
        finally:
            terminal.set_title(app_of(self._chat), "ragforge")
