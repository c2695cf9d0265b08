"""The sessions of this folder and project: resume, rename or delete one."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import BindingType

from ragforge.domain.cancellation import undisturbed
from ragforge.domain.errors import RagforgeError
from ragforge.domain.ids import now
from ragforge.domain.words import counted
from ragforge.tui.keys import Where, declared
from ragforge.tui.screens.base import Chat, NamedScreen
from ragforge.tui.screens.confirm import ConfirmScreen
from ragforge.tui.screens.list_dialog import FilterDialog, in_order
from ragforge.tui.textual_types import app_of
from ragforge.tui.widgets.session_list import SessionList

if TYPE_CHECKING:  # loaded after the first frame
    from ragforge.session.conversation import Conversation

ROWS_AROUND = 12
"""Lines of the screen beside the list."""
NO_ARCHIVED = "This project has no archived sessions.\nCtrl+F shows the others · Esc closes"
ALL_ARCHIVED = "All sessions of this project are archived.\nCtrl+F shows them · Esc closes"
NONE_YET = "No sessions in this project yet.\nEsc closes"


class SessionsScreen(FilterDialog[str | None]):
    """Returns the id of the session to resume, or None."""

    BINDINGS: ClassVar[list[BindingType]] = in_order(declared(Where.LIST, Where.SESSIONS))
    HEADING = "Sessions"

    def __init__(self, conversation: Conversation, words: str = "") -> None:
        super().__init__(conversation, words)
        self._narrowed_by: str | None = None
        self._renaming: str | None = None
        self._archived = False

    def _compose_list(self) -> ComposeResult:
        yield SessionList()

    @property
    def _list(self) -> SessionList:
        return self.query_one(SessionList)

    async def _fill(self) -> None:
        self._hint()
        await self._reload()

    async def _reload(self) -> None:
        try:
            rows = await self._conversation.sessions(archived=self._archived)
            others = not rows and await self._conversation.sessions(archived=not self._archived)
        except RagforgeError as error:
            self._failed(error)
            return
        if not self.is_current:
            return  # closed meanwhile
        self.on_resize()
        workspace = self._conversation.workspace
        self._list.show(rows, here=str(workspace.place.cwd), user=workspace.person, now=now())
        self._narrowed_by = None
        self.read_line()
        if not rows:
            self._tell(NO_ARCHIVED if self._archived else ALL_ARCHIVED if others else NONE_YET)

    def on_resize(self) -> None:
        """Adapt to the new height."""
        self._list.set_rows_max((self.size.height - ROWS_AROUND) // 2)

    def _hint(self) -> None:
        self._tell(
            "Enter saves the new title · Esc keeps the old one"
            if self._renaming
            else "Archived · Enter resumes · Ctrl+E renames · Ctrl+X deletes · Ctrl+F back · Esc closes"
            if self._archived
            else "Enter resumes · Ctrl+E renames · Ctrl+X deletes · Ctrl+F archived · Esc closes"
        )

    def read_line(self) -> None:
        """Filter by what was typed."""
        words = self._line.value
        if self._renaming is None and words != self._narrowed_by:
            self._narrowed_by = words
            self._list.narrow(words)
            self._list.step(1)

    async def action_take(self) -> None:
        """Resume the chosen session, or save the new title."""
        if self._renaming is not None:
            await self._rename(self._line.value)
            return
        row = self._list.chosen
        if row:
            self.dismiss(row.session.id)

    @on(SessionList.Clicked)
    def _clicked(self) -> None:
        if row := self._list.chosen:
            self.dismiss(row.session.id)

    def action_leave(self) -> None:
        """Close, or cancel renaming."""
        if self._renaming is None:
            self.dismiss(None)
            return
        self._renaming = None
        self._line.value = ""
        self._hint()

    async def _step(self, by: int) -> None:
        self._list.step(by)
        if not self._list.is_chosen:  # the list is everything here: its first line stays chosen
            self._list.step(1)

    def action_rename(self) -> None:
        """Edit the title of the chosen session."""
        row = self._list.chosen
        if row and self._renaming is None:
            self._renaming = row.session.id
            self._set_line(row.session.title)
            self._hint()

    async def action_show_archived(self) -> None:
        """List the archived sessions instead, or the others again."""
        if self._renaming is None:
            self._archived = not self._archived
            self._hint()
            await self._reload()

    async def _rename(self, title: str) -> None:
        session_id, self._renaming = self._renaming, None
        try:
            if session_id and title.strip():
                await self._conversation.rename(session_id, " ".join(title.split()))
        except RagforgeError as error:
            self._failed(error)
        self._line.value = ""
        self._hint()
        await self._reload()

    @work
    async def action_delete(self) -> None:
        """Ask, naming what is deleted, then delete the chosen session."""
        row = self._list.chosen
        if row is None or self._renaming is not None:
            return
        try:
            would = await self._conversation.would_delete(row.session.id)
            gone = f"{counted(would.turns, 'turn')} and {counted(would.tool_calls, 'tool call')}"
            detail = f"Permanently deletes: {gone}."
            if would.kept_turns:
                detail += f" Kept: {counted(would.kept_turns, 'turn')} that another session shares."
            title = row.session.title or "this session"
            if await app_of(self).push_screen_wait(ConfirmScreen(f"Delete “{title}”?", detail=detail)):
                # After a yes, the list may be closed at once.
                await undisturbed(self._conversation.delete(row.session.id), cancel_after=True)
                await self._reload()
        except RagforgeError as error:
            self._failed(error)

    def _failed(self, error: RagforgeError) -> None:
        self.notify(str(error), severity="error", markup=False)


async def _open(chat: Chat, words: str) -> None:
    if chosen := await chat.ask(SessionsScreen(chat.ready(), words)):
        await chat.go_to(chosen)


SCREEN = NamedScreen("sessions", _open)
