"""A text area that grows, with long pastes folded: the cursor treats each as one unit."""

from collections import deque
from typing import Any, cast

from rich.style import Style
from rich.text import Text
from textual import getters
from textual.app import App
from textual.document._document import EditResult, Location
from textual.screen import Screen
from textual.widgets import TextArea

from ragforge.tui.prompt_box import BORDER_LINES, text_lines_max
from ragforge.tui.widgets.paste import Folds, snapped

PASTES_KEPT = 10
"""How many pastes of a sent message are folded when it returns."""


class FoldArea(TextArea, inherit_bindings=False):
    """A text area with folded pastes. `text` has their words, `whole` their contents."""

    DEFAULT_CSS = """
    FoldArea {
        height: auto;
        min-height: 3;
        border: round $border-blurred;
        background: transparent;
        padding: 0 1;
        border-title-style: bold;
        &:focus { border: round $border; }
    }
    """

    # Textual leaves the app's result type unknown.
    app = getters.app(cast("type[App[Any]]", App))

    def __init__(self, *, id: str | None = None, placeholder: str = "") -> None:
        # First: the text area asks for positions of the cursor while it is being made.
        self.folds = Folds()
        self._pastes_sent: deque[str] = deque(maxlen=PASTES_KEPT)
        super().__init__(
            id=id,
            placeholder=placeholder,
            highlight_cursor_line=False,
            max_checkpoints=200,
            tab_behavior="focus",
        )
        self.match_cursor_bracket = False
        self.deleted = ""
        """What the last deletion removed."""

    def on_mount(self) -> None:
        """Follow the size of the screen."""
        # Textual leaves the signal's type open.
        cast("Any", self.screen).screen_layout_refresh_signal.subscribe(self, self._fit)

    def _fit(self, screen: Screen[object]) -> None:
        height = BORDER_LINES + text_lines_max(screen.size.height)
        now = self.styles.max_height
        if now is None or now.value != height:
            self.styles.max_height = height

    @property
    def whole(self) -> str:
        """The text, with complete pastes."""
        return self.folds.unfold(self.text)

    def keep_pastes(self) -> None:
        """The currently folded pastes are sent: they are folded again if the text returns (`as_folded`)."""
        self._pastes_sent.extend(self.folds.whole.values())

    def as_folded(self, text: str) -> str:
        """Return a text that comes back, its pastes folded as they were."""
        return self.folds.fold_again(text, self._pastes_sent, beside=self.text)

    def set_text(self, text: str) -> None:
        """Replace the text, the cursor at its end; undo restores the old one."""
        self.replace(text, self.document.start, self.document.end, maintain_selection_offset=False)

    def type_over(self, text: str) -> None:
        """Replace the selection by the text, the cursor after it."""
        self.replace(text, *self.selection, maintain_selection_offset=False)

    def take_before(self, characters: int) -> str:
        """Remove up to so many characters before the cursor, in its line; return them."""
        row, column = self.cursor_location
        start = (row, max(0, column - characters))
        return self.delete(start, (row, column), maintain_selection_offset=False).replaced_text

    def take_selection(self) -> str:
        """Return what is selected here, else on the screen; nothing is selected afterwards."""
        selected = self.folds.unfold(self.selected_text) or self.screen.get_selected_text() or ""
        self.screen.clear_selection()
        self.move_cursor(self.cursor_location)
        return selected

    def paste_at_cursor(self) -> str:
        """Return the complete folded paste at the cursor; empty for none."""
        row, column = self.cursor_location
        line = self.document[row]
        touched = [line[start:end] for start, end in self.folds.spans(line) if start <= column <= end]
        return self.folds.unfold(touched[0]) if touched else ""

    def unfold_at_cursor(self) -> bool:
        """Open the folded paste at the cursor; return whether there was one."""
        row, column = self.cursor_location
        line = self.document[row]
        for start, end in self.folds.spans(line):
            if start <= column <= end:
                whole = self.folds.unfold(line[start:end])
                self.replace(whole, (row, start), (row, end), maintain_selection_offset=False)
                self.move_cursor((row, start))
                return True
        return False

    def clamp_visitable(self, location: Location) -> Location:
        """Return the nearest position for the cursor: never within a folded paste."""
        row, column = super().clamp_visitable(location)
        return row, snapped(column, self._spans(row), forward=location > self.selection.end)

    def delete(self, start: Location, end: Location, *, maintain_selection_offset: bool = True) -> EditResult:
        """Delete a range, extended to the folded pastes that it cuts."""
        start, end = self._grown(start, end)
        result = super().delete(start, end, maintain_selection_offset=maintain_selection_offset)
        self.deleted = result.replaced_text
        return result

    def replace(
        self, insert: str, start: Location, end: Location, *, maintain_selection_offset: bool = True
    ) -> EditResult:
        """Replace a range, extended to the folded pastes that it cuts."""
        start, end = self._grown(start, end)
        return super().replace(insert, start, end, maintain_selection_offset=maintain_selection_offset)

    def get_line(self, line_index: int) -> Text:
        """Return the line as it is drawn, folded pastes highlighted."""
        line = super().get_line(line_index)
        for start, end in self.folds.spans(line.plain):
            line.stylize(Style(bold=True, italic=True), start, end)
        return line

    def _grown(self, start: Location, end: Location) -> tuple[Location, Location]:
        (top_row, top), (bottom_row, bottom) = sorted((start, end))
        return (
            (top_row, snapped(top, self._spans(top_row), forward=False)),
            (bottom_row, snapped(bottom, self._spans(bottom_row), forward=True)),
        )

    def _spans(self, row: int) -> list[tuple[int, int]]:
        return self.folds.spans(self.document[row]) if row < self.document.line_count else []
