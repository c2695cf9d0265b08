"""A text area with a history: Up and Down go through earlier messages and back to the draft."""

from collections.abc import Callable
from time import monotonic

from textual.document._document import Location

from ragforge.tui.widgets.history import History, ListHistory, Walk
from ragforge.tui.widgets.paste import cleaned
from ragforge.tui.widgets.paste_area import PasteArea


class RecallArea(PasteArea, inherit_bindings=False):
    """The draft, and every history entry that was changed on the way."""

    def __init__(
        self,
        *,
        id: str | None = None,
        placeholder: str = "",
        clock: Callable[[], float] = monotonic,
        history: History | None = None,
    ) -> None:
        """history: the earlier messages; None keeps those of this run."""
        super().__init__(id=id, placeholder=placeholder, clock=clock)
        self.sent: History = history or ListHistory()
        self._walk = Walk()
        self._recalled: tuple[str, Location] | None = None
        self._returned = ""
        self._unsent = False
        """Whether the returned text is in no turn."""

    @property
    def walking(self) -> bool:
        """Whether a history entry is shown instead of the draft."""
        return self._walk.place > 0

    @property
    def draft_left(self) -> str:
        """The draft, while an entry is shown."""
        return self._walk.draft

    @property
    def shows_entry_as_it_was(self) -> bool:
        """Whether an unchanged entry is shown."""
        return self.walking and self._recalled is not None and self._recalled[0] == self.text

    @property
    def untouched(self) -> bool:
        """Whether this is an entry in which not even the cursor has moved: then Up continues at once."""
        return self._recalled == (self.text, self.cursor_location)

    @property
    def shows_returned(self) -> bool:
        """Whether an unchanged returned message is shown, with the cursor at its end."""
        return bool(self._returned) and (self.text, self.cursor_location) == (
            self._returned,
            self.document.end,
        )

    @property
    def shows_unsent(self) -> bool:
        """Whether the unchanged returned text that is shown exists nowhere else."""
        return self._unsent and self.shows_returned

    @property
    def is_lent(self) -> bool:
        """Whether the area is used for something else for a while, such as a search."""
        return False

    @property
    def is_free(self) -> bool:
        """Whether nothing is being written here."""
        return not (self.is_lent or self.walking or self.text.strip()) or self.shows_returned

    def bring_back(self, text: str) -> bool:
        """Show a message that was taken back, or "" for none any more, if nothing is being written.

        It is selected, so that typing replaces it. If something is being written, it becomes the newest in
        the history. Unsent returned text is replaced only by a message, and kept in the history. Returns
        whether it is shown.
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
        """Replace the selection with the text; a returned message is kept in the history."""
        if self.shows_returned and not self.selection.is_empty:
            self.sent.add(self.whole)
        super().type_over(text)

    def select_returned(self, *, unsent: bool = False) -> None:
        """Note that the text shown is returned text only. unsent: some of it is in no turn."""
        self._returned, self._unsent = self.text, unsent
        self.select_all()

    def take_returned(self) -> str:
        """Remove and return the unchanged text of a returned turn; "" if none is shown."""
        if self.is_lent or not self.shows_returned or self._unsent:
            return ""
        text = self.folds.unfold(self.text)
        self.set_text("")
        return text

    def walk(self, by: int) -> None:
        """Show an older entry, or a newer one and finally the draft."""
        text = self._walk.step(by, leaving=self.text, entries=self.sent.entries())
        if text is not None:
            self._show(text)

    def jump_to(self, entry: str) -> None:
        """Show an entry, as if one had walked to it."""
        entries = list(self.sent.entries())
        self._walk.jump(entries.index(entry) + 1 if entry in entries else 1, draft=self.text)
        self._show(entry)

    def remember(self, *texts: str) -> None:
        """Add the texts to the history, with the entries changed on the walk, and end the walk."""
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
