"""The model's thoughts, folded."""

from ragforge.tui.widgets.fold import BodyFold, FoldHead
from ragforge.tui.widgets.plain import PlainText
from ragforge.tui.widgets.tool_words import time_words
from ragforge.tui.widgets.turn_record import Thought


class ThoughtsHead(FoldHead):
    """`▸ thought for 3 s`."""


class ThoughtsView(BodyFold):
    """One line that opens to the thoughts."""

    HEAD = ThoughtsHead

    def __init__(self, entry: Thought) -> None:
        super().__init__()
        self._entry = entry
        self._now_s: float | None = None
        self._shown = PlainText("", classes="thoughts-body")

    def label(self) -> str:
        return _label(self._entry, self._now_s)

    def make_body(self) -> PlainText:
        self._shown = PlainText(_words(self._entry), classes="thoughts-body")
        return self._shown

    def sync(self, *, now_s: float | None) -> None:
        """Draw the current state. now_s: the time to count to while it thinks."""
        self._now_s = now_s
        self.draw_head()
        if self.is_open and self._shown.text != (words := _words(self._entry)):
            self._shown.set_text(words)


def _words(entry: Thought) -> str:
    text = entry.text.strip()
    return f"{text}\n… {entry.more_chars:,} more characters are not shown." if entry.more_chars else text


def _label(entry: Thought, now_s: float | None) -> str:
    if entry.seconds is not None:
        return f"thought for {time_words(max(1000.0, round(entry.seconds) * 1000)).replace('.0', '')}"
    if entry.started_s is None:
        return "thought"
    elapsed_s = int(now_s - entry.started_s) if now_s is not None else 0
    return f"thinking … {elapsed_s} s" if elapsed_s else "thinking …"
