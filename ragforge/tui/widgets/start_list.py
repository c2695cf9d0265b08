"""The sessions below the prompt, from the start until one is resumed or a new one started."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from textual import events
from textual.message import Message

from ragforge.domain.turns import Person
from ragforge.store.base_conversations import SessionRow
from ragforge.tui.key_watch import Pressed, key_watch_of
from ragforge.tui.mouse import StepsByWheel
from ragforge.tui.widgets.session_list import SessionList

_SCREEN_SHARE = 5
"""A session takes two lines: this leaves more than half of the screen to the rest."""
_ROWS_MIN = 2


class StartList(StepsByWheel, SessionList):
    """A list that the prompt keeps the focus of: Down goes into it, any other key than Enter types on."""

    DEFAULT_CSS = "StartList { display: none; }"

    @dataclass
    class Chosen(Message):
        """Enter was pressed on a session, or it was clicked."""

        row: SessionRow

    @property
    def is_open(self) -> bool:
        """Whether a session can still be chosen."""
        return self.display

    def open(self, rows: Sequence[SessionRow], *, here: str, user: Person, now: datetime, typed: str) -> None:
        """Show these, narrowed by what is typed already."""
        self.set_rows_max(max(_ROWS_MIN, self.screen.size.height // _SCREEN_SHARE))
        self.show(rows, here=here, user=user, now=now)
        self.narrow(typed)
        self.display = True
        key_watch_of(self).key_taker = self._take

    def close(self) -> None:
        """Hide the list, because the user has started."""
        self.display = False
        if key_watch_of(self).key_taker == self._take:
            key_watch_of(self).key_taker = None

    def enter(self, *, typed: bool) -> SessionRow | None:
        """Return the session that Enter resumes: the chosen one, or the first if nothing is typed."""
        return self.chosen if self.is_open and (self.is_chosen or not typed) else None

    def on_row_list_clicked(self, event: SessionList.Clicked) -> None:
        """Do as Enter."""
        event.stop()
        if self.chosen:
            self.post_message(self.Chosen(self.chosen))

    def _take(self, event: Pressed) -> list[Pressed]:
        """Handle a key of the list; return any other."""
        takes = self.is_open and self.is_chosen and self.screen.is_active
        if not (takes and isinstance(event, events.Key)):
            return [event]
        match event.key:
            case "up" | "down":
                self.step(1 if event.key == "down" else -1)
            case "enter" if self.chosen:
                self.post_message(self.Chosen(self.chosen))
            case _:
                return [event]
        return []
