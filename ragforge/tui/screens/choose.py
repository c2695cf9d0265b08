"""A question with a few answers, each with a key of its own. Enter gives only what an arrow has chosen."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from rich.segment import Segment
from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical, VerticalScroll
from textual.geometry import Region
from textual.strip import Strip

from ragforge.domain.reveal import spelled_out
from ragforge.tui.screens.dialog import Dialog
from ragforge.tui.widgets.diff_view import diff_lines
from ragforge.tui.widgets.key_hint import KeyHint
from ragforge.tui.widgets.plain import PlainText
from ragforge.tui.widgets.text_rows import TextRows

if TYPE_CHECKING:  # loaded after the first frame
    from collections.abc import Sequence

    from ragforge.commands.base import Option


STEP = 8
DIFF_LINES_MAX = 2_000
SHORT = 24
"""From so many rows on there is room for decoration."""
DETAIL_ROWS_MIN, DETAIL_SHARE_MAX = 1, 0.6
_FAR = 100_000
_SCROLLS = {
    **{"home": -_FAR, "end": _FAR},
    **{"shift+up": -STEP, "shift+down": STEP, "pageup": -STEP, "pagedown": STEP},
}


class AnswerLine(PlainText):
    """An answer after its key; the lines of a long one are aligned."""

    def __init__(self, mark: str, words: str, *, id: str) -> None:
        super().__init__(words, id=id, classes="dialog-choice")
        self._mark = mark
        self.styles.padding = (0, 0, 0, len(mark))

    @property
    def text(self) -> str:
        """The key and the words."""
        return f"{self._mark}{super().text}"

    def set_mark(self, mark: str) -> None:
        """Show another mark, of the same width."""
        self._mark = mark
        self.refresh()

    def render_lines(self, crop: Region) -> list[Strip]:
        """Return the lines, the first one with the mark in its padding."""
        lines = super().render_lines(crop)
        if lines and crop.y == 0:
            mark = Strip([Segment(self._mark, self.rich_style)])
            lines[0] = Strip.join([mark.crop(crop.x), lines[0].crop(max(0, len(self._mark) - crop.x))])
        return lines


class ChooseScreen(Dialog[str | None]):
    """Returns the command line of the chosen answer; None for Esc. Long details scroll above the answers.

    If not even the answers fit, everything scrolls. Invisible characters are escaped.
    """

    BINDINGS: ClassVar[list[BindingType]] = []

    ESCAPE: ClassVar[str] = "cancel"
    """The meaning of Esc."""

    def __init__(self, question: str, detail: str, options: Sequence[Option], *, diff: str = "") -> None:
        super().__init__()
        self._question, self._detail = spelled_out(question), spelled_out(detail)
        self._rows = diff_lines(spelled_out(diff))[:DIFF_LINES_MAX] if diff else []
        self._options = {str(number): option for number, option in enumerate(options, 1)}
        self._cursor: str | None = None
        """The key of the chosen answer; none before an arrow was pressed."""
        self._read_to = 0.0
        """How far the detail was scrolled, while everything scrolls."""

    def compose(self) -> ComposeResult:
        """The question and the keys."""
        with Vertical(classes="dialog wide"):
            yield PlainText(self._question, classes="dialog-title")
            with VerticalScroll(id="choice-detail", can_focus=False):
                if self._detail:
                    yield PlainText(self._detail, classes="dialog-detail")
                if self._rows:
                    yield TextRows(self._rows)
            for key in self._options:
                yield AnswerLine(self._mark(key), self._words(key), id=f"_{key}")
            yield AnswerLine("  Esc  ", self.ESCAPE, id="_0")
            if self._rows:
                yield KeyHint(self._hint)

    def _mark(self, key: str) -> str:
        return f"{'›' if key == self._cursor else ' '} {key}  "

    def _words(self, key: str) -> str:
        option = self._options[key]
        return spelled_out(f"{option.name}: {option.meaning}")

    @property
    def _hint(self) -> str:
        return "Shift+Up and Shift+Down scroll the diff"

    def on_resize(self) -> None:
        """Let the detail give way to the answers, all of which must be visible."""
        self.set_class(self.size.height < SHORT, "-short")
        self.remove_class("-tight")  # or the scrollbar's column would be missing when the rows are counted
        self.call_after_refresh(self._fit)

    def _fit(self) -> None:
        dialog, detail = self.query_one(".dialog"), self.query_one("#choice-detail")
        others = sum(
            child.outer_size.height + child.styles.margin.height
            for child in dialog.children
            if child is not detail and child.display
        )
        left = self.size.height - dialog.gutter.height - others
        if left < DETAIL_ROWS_MIN:
            if detail.styles.max_height is not None:
                self._read_to = detail.scroll_y
            self.add_class("-tight")
            detail.styles.max_height = None
        else:
            if detail.styles.max_height is None:
                detail.call_after_refresh(detail.scroll_to, y=self._read_to, animate=False)
            detail.styles.max_height = max(
                DETAIL_ROWS_MIN, min(left, int(self.size.height * DETAIL_SHARE_MAX))
            )

    def on_key(self, event: events.Key) -> None:
        """Choose, answer, or scroll."""
        event.stop()
        event.prevent_default()
        if event.key == "escape":
            self.dismiss(None)
        elif event.key in ("up", "down"):
            self._move_cursor(1 if event.key == "down" else -1)
        elif event.key == "enter" and self._cursor:
            self.dismiss(self._options[self._cursor].then)
        elif by := _SCROLLS.get(event.key):
            scrolled = self.query_one(".dialog" if self.has_class("-tight") else "#choice-detail")
            if abs(by) == STEP:  # no more than is visible at a time: nothing is skipped
                by = by // STEP * min(STEP, max(1, scrolled.size.height))
            scrolled.scroll_relative(y=by, animate=False)
        elif option := self._options.get(event.key):
            self.dismiss(option.then)

    def _move_cursor(self, by: int) -> None:
        keys = list(self._options)
        last = len(keys) - 1
        before = self._cursor
        at = (0 if by > 0 else last) if before is None else max(0, min(last, keys.index(before) + by))
        self._cursor = keys[at]
        for key in filter(None, (before, self._cursor)):
            self.query_one(f"#_{key}", AnswerLine).set_mark(self._mark(key))
        self.query_one(f"#_{self._cursor}").scroll_visible(animate=False)

    def on_click(self, event: events.Click) -> None:
        """Answer with the mouse."""
        chosen = (event.widget.id or "").removeprefix("_") if event.widget else ""
        if chosen == "0":
            self.dismiss(None)
        elif option := self._options.get(chosen):
            self.dismiss(option.then)
