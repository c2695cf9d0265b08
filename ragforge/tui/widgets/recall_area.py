"""A text area from which one walks back through the messages sent before, and returns to the draft."""

from collections.abc import Callable
from time import monotonic

from textual.document._document import Location

from ragforge.tui.widgets.history import History, ListHistory, Walk
from ragforge.tui.widgets.paste import cleaned
from ragforge.tui.widgets.paste_area import PasteArea


class RecallArea(PasteArea, inherit_bindings=False):
    """Keeps what is left on a walk: the draft, and every entry that was changed on the way."""

    def __init__(
        self,
        *,
        id: str | None = None,
        placeholder: str = "",
        clock: Callable[[], float] = monotonic,
        history: History | None = None,
    ) -> None:
        """history: the messages sent before; None keeps those of this run."""
        super().__init__(id=id, placeholder=placeholder, clock=clock)
        self.sent: History = history or ListHistory()
        self._walk = Walk()
        self._recalled: tuple[str, Location] | None = None
        self._returned = ""
        self._unsent = False
        """Whether what returned is in no turn."""

    @property
    def walking(self) -> bool:
        """Whether an entry is shown and not the draft."""
        return self._walk.place > 0

    @property
    def draft_left(self) -> str:
        """The draft that waits while an entry is shown."""
        return self._walk.draft

    @property
    def shows_entry_as_it_was(self) -> bool:
        """Whether an entry is shown that nobody has changed."""
        return self.walking and self._recalled is not None and self._recalled[0] == self.text

    @property
    def untouched(self) -> bool:
        """Whether this is an entry in which nobody has even moved: then Up goes on at once."""
        return self._recalled == (self.text, self.cursor_location)

    @property
    def shows_returned(self) -> bool:
        """Whether a message that returned is shown, as it was, the cursor behind it."""
        return bool(self._returned) and (self.text, self.cursor_location) == (
            self._returned,
            self.document.end,
        )

    @property
    def shows_unsent(self) -> bool:
        """Whether what returned, and is shown as it was, is nowhere else."""
        return self._unsent and self.shows_returned

    @property
    def is_lent(self) -> bool:
        """Whether something else is typed here for a while, such as words to search for."""
        return False

    @property
    def is_free(self) -> bool:
        """Whether nothing is being written here."""
        return not (self.is_lent or self.walking or self.text.strip()) or self.shows_returned

    def bring_back(self, text: str) -> bool:
        """Show a message that was taken back, or "" for none any more, where nothing is being written.

        It is selected, so that what is typed next takes its place. Elsewhere it is the newest in the history.
        What returned unsent makes way for a message, not for none, and is kept in the history. Whether it is
        shown.
        """
        if self.shows_unsent and not text:
            return False
        if is_free := self.is_free:
            if self.shows_unsent:
                self.sent.add(self.whole)
            self.set_text(cleaned(text))
            self.select_returned()
        elif text:
            self.sent.add(text)
        return is_free

    def type_over(self, text: str) -> None:
        """Put the text in the selection's place; a message that returned is kept in the history."""
        if self.shows_returned and not self.selection.is_empty:
            self.sent.add(self.whole)
        super().type_over(text)

    def select_returned(self, *, unsent: bool = False) -> None:
        """What is shown is what returned, and nothing else. unsent: some of it is in no turn."""
        self._returned, self._unsent = self.text, unsent
        self.select_all()

    def take_returned(self) -> str:
        """Take away the words of a turn that returned and that nobody changed; "" where none are shown."""
        if self.is_lent or not self.shows_returned or self._unsent:
            return ""
        text = self.folds.unfold(self.text)
        self.set_text("")
        return text

    def walk(self, by: int) -> None:
        """Show an older entry, or a newer one and at last the draft."""
        text = self._walk.step(by, leaving=self.text, entries=self.sent.entries())
        if text is not None:
            self._show(text)

    def jump_to(self, entry: str) -> None:
        """Show an entry, as if one had walked to it."""
        entries = list(self.sent.entries())
        self._walk.jump(entries.index(entry) + 1 if entry in entries else 1, draft=self.text)
        self._show(entry)

    def remember(self, *texts: str) -> None:
        """Keep the texts in the history, with what was changed on the walk, and end the walk."""
        for text in (*self._walk.changed(self.sent.entries()), *texts):
            if text.strip():
                self.sent.add(self.folds.unfold(text))
        self._walk.end()
        self._recalled = None

    def leave_walk(self) -> None:
        """Return from the history to the draft."""
        if self.walking:
            draft, changed = self.draft_left, "" if self.shows_entry_as_it_was else self.text
            self.remember(changed)
            self.set_text(draft)

    def _show(self, text: str) -> None:
        self.set_text(text)
        self._recalled = (self.text, self.cursor_location) if self.walking else None
