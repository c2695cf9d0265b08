"""The list of sessions: typing narrows it, and it can be navigated while the focus is elsewhere."""

from collections.abc import Sequence
from datetime import datetime

from rich.cells import cell_len
from textual.content import Content

from ragforge.domain.printable import one_line
from ragforge.domain.turns import Person
from ragforge.domain.words import age_words, counted
from ragforge.store.base_conversations import SessionRow
from ragforge.tui.cells import cut
from ragforge.tui.keys import with_present_keys
from ragforge.tui.textual_types import changed_keys
from ragforge.tui.widgets.key_hint import SEPARATOR
from ragforge.tui.widgets.row_list import MUTED, NO_POINTER, POINTER, RowList


class SessionList(RowList[SessionRow]):
    """Two lines a session: its words and time; turns, model, and the folder and user if they are others.

    Until `step` was called no line is chosen by hand (`is_chosen`), and `chosen` is the first.

    hint: a line above the sessions.
    """

    DEFAULT_CSS = """
    SessionList { padding: 0 1; }
    """
    LINES_A_ROW = 2
    ROWS_MIN = 1
    TELLS_HIDDEN = True

    def __init__(self, *, rows_max: int = 6, hint: str = "", id: str | None = None) -> None:
        super().__init__(rows_max=rows_max, id=id)
        self._hint = hint
        self._all: Sequence[SessionRow] = ()
        self._here = ""
        self._user: Person | None = None
        self._now: datetime | None = None
        self.is_chosen = False

    def show(self, rows: Sequence[SessionRow], *, here: str, user: Person, now: datetime) -> None:
        """List these; those in the folder `here` do not show it, and the user's own do not show the user."""
        self._all, self._here, self._user, self._now = rows, here, user, now
        self.narrow("")

    def narrow(self, text: str) -> None:
        """Keep those that contain every word, in title, message, folder, model or user."""
        words = text.casefold().split()
        self.is_chosen = False
        self.set_rows([row for row in self._all if all(word in _haystack(row) for word in words)], first=True)

    def step(self, by: int) -> None:
        """Go up or down; above the first line nothing is chosen."""
        if self.is_chosen and self._index + by < 0:
            self._index, self.is_chosen = 0, False
            self._draw()
        elif self.is_chosen:
            super().step(by)
        elif by > 0 and self._rows:
            self.is_chosen = True
            self._draw()

    def _key_of(self, row: SessionRow) -> str:
        return row.session.id

    def _head(self, width: int) -> list[Content]:
        parts = with_present_keys(self._hint, changed_keys(self), "submit", "down").split(SEPARATOR)
        while len(parts) > 1 and cell_len(SEPARATOR.join(parts)) > width:
            parts.pop()
        return [Content.styled(cut(SEPARATOR.join(parts), width), MUTED)] if self._hint else []

    def _nothing(self) -> str:
        return "No session matches; Enter starts a new one." if self._all else ""

    def _draw_rows(self, rows: Sequence[SessionRow], width: int, chosen: SessionRow | None) -> list[Content]:
        return [
            line
            for row in rows
            for line in self._lines(row, width, is_chosen=self.is_chosen and row is chosen)
        ]

    def _lines(self, row: SessionRow, width: int, *, is_chosen: bool) -> list[Content]:
        pointer = POINTER if is_chosen else NO_POINTER
        when = age_words(row.session.last_activity_at, self._now)
        title = one_line(row.session.title or row.last_message or "(nothing said)")
        room = width - len(pointer) - cell_len(when) - 2
        head = Content.assemble(
            (pointer, "bold"), (cut(title, room), "bold" if is_chosen else ""), "  ", (when, MUTED)
        )
        facts = [counted(row.turns, "turn"), row.session.model or "no model"]
        if row.session.cwd != self._here:
            facts.append(row.session.cwd)
        if self._user and (person := row.session.begun_by(self._user)) != self._user.id:
            facts.append(one_line(person))
        last = one_line(row.last_message)
        if last and not last.startswith(title.rstrip("…")):  # a title is the first message's beginning
            facts.append(last)
        detail = cut(" · ".join(facts), width - 4).rstrip()
        return [head, Content.styled(f"    {detail}", MUTED)]


def _haystack(row: SessionRow) -> str:
    record = row.session
    words = (record.title, row.last_message, record.cwd, record.model, record.person, record.id)
    return " ".join(words).casefold()
