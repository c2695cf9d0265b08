"""Open sessions in front."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from ragforge import __version__
from ragforge.domain.errors import RagforgeError, SessionBusy, UsageError
from ragforge.tui.chat import folder_questions
from ragforge.tui.launch import Leaving, OpenedChat
from ragforge.tui.textual_types import app_of
from ragforge.tui.widgets.turn_record import Greeted

if TYPE_CHECKING:  # loaded after the first frame
    from ragforge.session.conversation import Shown
    from ragforge.tui.chat.foresight import ChatForesight
    from ragforge.tui.chat.frame import ChatFrame
    from ragforge.tui.chat.hints import Hints
    from ragforge.tui.chat.turns import Turns

TIPS_FROM_ROWS = 18
"""With fewer, the conversation has them."""
TIPS = (
    "@ mentions a file. ! runs a command and adds its output to your next message.",
    "Shift+Tab changes what the model may do without asking. Esc interrupts.",
    "/undo undoes a turn and its file changes. /search searches earlier conversations.",
)
START = "Type a message, or /help for commands and keys."


class Sessions(Struct, frozen=True):
    """The session in front. Its methods may ask, and may raise RagforgeError: they run in a worker."""

    chat: ChatFrame
    turns: Turns
    hints: Hints
    foresight: ChatForesight

    async def go_to(self, session_id: str, turn: int | None = None) -> None:
        """Open that session in front, at a turn counted from 1 if one is named."""
        await self.bring(OpenedChat(self.chat.ready(), resume=session_id, at=turn))

    def start_going_to(self, session_id: str) -> None:
        """Do that in a worker, and report errors."""
        self.chat.run_worker(self.chat.attempt(self.go_to(session_id)), group="command")

    async def bring(self, opened: OpenedChat, *, first: bool = False) -> None:
        """Open what was requested in front.

        first: at the start, when input belongs to no session yet.
        """
        chat, conversation = self.chat, opened.conversation
        if opened.resume:
            await self._resume(opened, first=first)
            return
        from ragforge.session.folder_questions import folder_is_meant

        if not await folder_is_meant(chat.ready(), folder_questions.ChatAsks(chat)):
            app_of(chat).exit(Leaving(draft=chat.prompt.draft))
            return
        if opened.newest and (newest := await self._newest()):
            await self._resume(replace(opened, resume=newest), first=first)
            return
        draft = await conversation.folder_draft()
        if draft and not chat.prompt.draft:
            chat.prompt.set_draft(draft)
        chat.show_status()
        if not conversation.session.live.record.model:
            from ragforge.tui.screens.model import ModelScreen

            told = await chat.ask(ModelScreen(conversation, first=True))
            chat.say(
                told
                or "No model yet. /model chooses one; until then, messages are answered with search results."
            )
            chat.show_status()
        if not await folder_questions.may_stay(chat):
            return
        self._greet()
        await chat.show_commands_waiting()
        self._began()
        if opened.show_list:
            await chat.show_start_list()

    def _began(self) -> None:
        """Start the background work for a session that came to the front."""
        self.hints.session_began()
        self.foresight.session_began()
        self.chat.run_worker(self._prepare(), group="first message", exclusive=True)

    async def _prepare(self) -> None:
        """Load what the first message needs. Garbage is collected more often from then on."""
        await self.chat.ready().prepare()
        gc.set_threshold(20_000, 20, 20)

    def _greet(self) -> None:
        """Show where one is, and how to start; and what the project has, once it is counted."""
        chat = self.chat
        status = chat.status.status
        where = " · ".join(filter(None, [f"ragforge {__version__}", status.folder, status.git_branch]))
        told = [chat.with_keys(tip, "cycle_mode", "interrupt") for tip in TIPS]
        tips = [f"· {tip}" for tip in told if tip] if chat.size.height >= TIPS_FROM_ROWS else []
        entry = Greeted(where, [status.model, "", START, *tips])
        chat.transcript.greet(entry)
        chat.run_worker(self._count(entry), group="greeting", exclusive=True)

    async def _count(self, entry: Greeted) -> None:
        try:
            known = await self.chat.ready().known_here()
        except RagforgeError:
            return  # a missing store is reported elsewhere
        if known and self.chat.is_drawn:
            model, *others = entry.lines
            entry.lines = [f"{model} · {known}", *others]
            self.chat.transcript.redraw_soon(entry)

    async def _newest(self) -> str:
        """Return the id of the folder's newest session; empty, with a notice, if there is none."""
        try:
            return await self.chat.ready().newest_id()
        except UsageError as error:
            self.chat.say(str(error))
            return ""

    async def _resume(self, opened: OpenedChat, *, first: bool) -> None:
        chat, before = self.chat, opened.conversation.session.id
        if self.turns.busy:
            chat.say("A turn is running. Wait for it to end, or interrupt it, before you switch sessions.")
            return
        if not first:
            await opened.conversation.keep_draft(chat.prompt.draft)
        shown = await self._shown(opened)
        is_other = shown.session.id != before
        typed = chat.prompt.draft if first else ""
        await chat.show_session(
            draft=shown.draft if is_other else None, at=None if opened.fork else opened.at
        )
        if typed:
            chat.prompt.put_back(*filter(None, (shown.draft, typed)))
        for notice in shown.notices:
            chat.say(notice)
        if first and not await folder_questions.may_stay(chat):
            return
        if is_other:
            self._began()
        if shown.waits:
            self.turns.retry()

    async def _shown(self, opened: OpenedChat) -> Shown:
        """Return the session, or what the user wants if another process writes it."""
        conversation = opened.conversation
        try:
            if opened.fork:
                return await conversation.fork(opened.resume, at=opened.at)
            return await conversation.resume(opened.resume)
        except SessionBusy as busy:
            question = "Another ragforge has this session open. Continue in a fork, a separate session?"
            detail = f"{busy.holder}. No opens it read-only."
            if await self.chat.confirmed(question, detail=detail):
                return await conversation.fork(opened.resume)
            return await conversation.resume(opened.resume, read_only=True)
