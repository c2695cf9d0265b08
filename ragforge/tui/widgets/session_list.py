"""The list of sessions: narrows as one types, and is moved through from wherever the focus is."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from rich.cells import cell_len, set_cell_size
from textual import events
from textual.content import Content
from textual.message import Message
from textual.widgets import Static

from ragforge.store.base import SessionRow
from ragforge.tui.typed import app_of
from ragforge.tui.widgets.printable import one_line

MINUTE_S, HOUR_S, DAY_S = 60, 3_600, 86_400


class SessionList(Static):
    """Two lines a session: its words and when; turns, model and, where it is another one, the folder.

    It never takes the focus: whoever has it calls `narrow`, `step` and `chosen`. Until `step` was called
    no line is chosen by hand (`is_chosen`), and the first is what `chosen` gives.

    hint: a line above the sessions.
    """

    DEFAULT_CSS = """
    SessionList { height: auto; padding: 0 1; text-wrap: nowrap; text-overflow: ellipsis; }
    """

    @dataclass
    class Clicked(Message):
        """A session was clicked."""

        row: SessionRow

    def __init__(self, *, rows_max: int = 6, hint: str = "", id: str | None = None) -> None:
        super().__init__(id=id, markup=False)
        self._hint = hint
        self._all: Sequence[SessionRow] = ()
        self._rows: list[SessionRow] = []
        self._index = 0
        self._rows_max = rows_max
        self._here = ""
        self._now: datetime | None = None
        self.is_chosen = False

    def show(self, rows: Sequence[SessionRow], *, here: str, now: datetime) -> None:
        """List these; those in the folder `here` need not say where they are."""
        self._all, self._here, self._now = rows, here, now
        self.narrow("")

    def narrow(self, text: str) -> None:
        """Keep those that hold every word, in title, message, folder or model."""
        words = text.casefold().split()
        self._rows = [row for row in self._all if all(word in _haystack(row) for word in words)]
        self._index, self.is_chosen = 0, False
        self._draw()

    def step(self, by: int) -> None:
        """Go up or down; above the first line nothing is chosen."""
        if not self._rows:
            return
        if not self.is_chosen and by > 0:
            self.is_chosen = True
        elif self._index + by < 0:
            self._index, self.is_chosen = 0, False
        else:
            self._index = max(0, min(self._index + by, len(self._rows) - 1))
        self._draw()

    @property
    def chosen(self) -> SessionRow | None:
        """The session that Enter resumes, or None where none is listed."""
        return self._rows[self._index] if self._rows else None

    @property
    def rows(self) -> Sequence[SessionRow]:
        """What is listed now."""
        return self._rows

    def set_rows_max(self, rows_max: int) -> None:
        """List at most so many at once."""
        self._rows_max = max(1, rows_max)
        self._draw()

    def on_resize(self) -> None:
        """Fit the new width."""
        self._draw()

    def on_click(self, event: events.Click) -> None:
        """Choose the session under the mouse."""
        at = self._first + (event.y - bool(self._hint)) // 2
        if self._first <= at < len(self._rows):
            self.post_message(self.Clicked(self._rows[at]))

    @property
    def _first(self) -> int:
        return min(max(0, self._index - self._rows_max // 2), max(0, len(self._rows) - self._rows_max))

    def _draw(self) -> None:
        width = max(20, self.content_size.width or app_of(self).size.width - 2)
        lines = [Content.styled(cut(self._hint, width), "$foreground-muted")] if self._hint else []
        for at, row in enumerate(self._rows[self._first : self._first + self._rows_max], self._first):
            lines += self._lines(row, width, chosen=self.is_chosen and at == self._index)
        hidden = len(self._rows) - self._rows_max
        if hidden > 0:
            lines.append(Content.styled(f"  {hidden} more", "$foreground-muted"))
        if self._all and not self._rows:
            lines.append(Content.styled("  No session fits; Enter starts a new one.", "$foreground-muted"))
        self.update(Content("\n").join(lines))

    def _lines(self, row: SessionRow, width: int, *, chosen: bool) -> list[Content]:
        mark = "› " if chosen else "  "
        when = age_words(row.session.last_activity_at, self._now)
        title = one_line(row.session.title or row.last_message or "(nothing said)")
        room = width - len(mark) - cell_len(when) - 2
        head = Content.assemble(
            (mark, "bold"), (cut(title, room), "bold" if chosen else ""), "  ", (when, "$foreground-muted")
        )
        facts = [f"{row.turns} turn{'s' * (row.turns != 1)}", row.session.model or "no model"]
        if row.session.cwd != self._here:
            facts.append(row.session.cwd)
        last = one_line(row.last_message)
        if last and not last.startswith(title.rstrip("…")):  # a title is the first message's beginning
            facts.append(last)
        detail = cut(" · ".join(facts), width - 4).rstrip()
        return [head, Content.styled(f"    {detail}", "$foreground-muted")]


def age_words(when: datetime, now: datetime | None) -> str:
    """How long ago, in few letters; the date when it is more than a week."""
    if now is None:
        return ""
    seconds = max(0, int((now - when).total_seconds()))
    if seconds < MINUTE_S:
        return "now"
    if seconds < HOUR_S:
        return f"{seconds // MINUTE_S} min ago"
    if seconds < DAY_S:
        return f"{seconds // HOUR_S} h ago"
    if seconds < 7 * DAY_S:
        return f"{seconds // DAY_S} d ago"
    return f"{when.astimezone():%Y-%m-%d}"


def _haystack(row: SessionRow) -> str:
    record = row.session
    return f"{record.title} {row.last_message} {record.cwd} {record.model} {record.id}".casefold()


def cut(text: str, width: int) -> str:
    """The text in exactly so many cells."""
    if cell_len(text) <= width:
        return set_cell_size(text, max(1, width))
    return set_cell_size(set_cell_size(text, max(1, width - 1)).rstrip() + "…", max(1, width))
