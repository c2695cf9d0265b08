"""What the model thought, folded away."""

from textual.app import ComposeResult
from textual.content import Content

from ragforge.tui.widgets.fold import Fold, FoldHead
from ragforge.tui.widgets.plain import PlainText
from ragforge.tui.widgets.tool_words import time_words
from ragforge.tui.widgets.turn_record import Thought


class ThoughtsHead(FoldHead):
    """`▸ thought for 3 s`."""


class ThoughtsView(Fold):
    """One line that opens to the thoughts."""

    def __init__(self, entry: Thought) -> None:
        super().__init__()
        self._entry = entry
        self._head = ThoughtsHead()
        self._body: PlainText | None = None

    @property
    def is_open(self) -> bool:
        return self._body is not None

    def compose(self) -> ComposeResult:
        yield self._head

    def on_mount(self) -> None:
        self.sync(now_s=None)

    def sync(self, *, now_s: float | None) -> None:
        """Draw what is known now. now_s: the time to count to while it thinks."""
        sign = "▾" if self._body else "▸"
        self._head.update(Content(f"{sign} {_label(self._entry, now_s)}"))
        if self._body is not None and self._body.text != (words := _words(self._entry)):
            self._body.set_text(words)

    def set_open(self, is_open: bool) -> None:
        if is_open and self._body is None:
            self._body = PlainText(_words(self._entry), classes="thoughts-body")
            self.mount(self._body)
        elif not is_open and self._body is not None:
            self._body.remove()
            self._body = None
        self.sync(now_s=None)


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
