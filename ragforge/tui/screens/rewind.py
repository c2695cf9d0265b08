"""Go back to before a turn: which one, what that undoes, and whether files and chat move."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import BindingType

from ragforge.domain.words import counted
from ragforge.tui.screens.base import Chat, NamedScreen
from ragforge.tui.screens.changes import ChangesScreen, Told, version_keys
from ragforge.tui.widgets.plain import PlainText
from ragforge.tui.widgets.turn_rows import TurnRows
from ragforge.versions.book import VersionBook
from ragforge.versions.difference import lines_changed
from ragforge.versions.turns import LISTED_MAX

if TYPE_CHECKING:  # loaded after the first frame
    from ragforge.session.conversation import Conversation


class RewindScreen(ChangesScreen):
    """The command that the user chose, such as `rewind 3 --files`, or None."""

    HEADING = "Go back to before a turn"
    HINT = (
        "Enter goes back to before the turn · C chat only · F files only\n"
        "Shift+Up and Shift+Down scroll · Esc closes · /redo restores everything"
    )
    HINT_SHORT = "Enter goes back · C chat · F files · Esc closes"
    LIST_SHARE = 0.4
    BINDINGS: ClassVar[list[BindingType]] = [*version_keys()]

    def __init__(self, conversation: Conversation) -> None:
        super().__init__()
        self._session = conversation.session
        self._book = VersionBook(self._session.worktree)

    @property
    def _list(self) -> TurnRows:
        return self.query_one(TurnRows)

    def _make_list(self) -> TurnRows:
        return TurnRows()

    async def _read(self) -> None:
        rows = await self._book.turns(self._session.live.record.head)
        if not self.is_current:
            return
        self._list.show(rows)
        if len(rows) == LISTED_MAX:
            older = f"{self.HEADING} · the newest {LISTED_MAX}; /rewind N for an older one"
            self.query_one(".dialog-title", PlainText).set_text(older)

    async def _told(self) -> Told | None:
        rows = self._list.from_chosen
        if not rows:
            return None
        found = await self._book.taken_back(rows)
        added, removed = lines_changed(found)
        files = f"{counted(len(found), 'file')}, +{added} -{removed}" if found else "no file changes"
        words = f"Undoes {counted(len(rows), 'turn')}: {files}. Your own later edits are kept."
        return Told(words, found)

    def _command(self, part: str) -> str:
        rows = self._list.from_chosen
        return f"rewind {rows[0].turn.index + 1}{part}" if rows else ""


async def _open(chat: Chat, _: str) -> None:
    if line := await chat.ask(RewindScreen(chat.ready())):
        await chat.run_line(line)


SCREEN = NamedScreen("rewind", _open)
