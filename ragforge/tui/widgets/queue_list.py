"""The messages that wait for their turn, above the prompt."""

from collections.abc import Sequence

from textual.content import Content
from textual.widgets import Static

SHOWN_MAX = 3


class QueueList(Static):
    """One line a message. Up on an empty prompt takes the last back, Esc all: `Prompt.TakeBack` says so."""

    DEFAULT_CSS = """
    QueueList {
        display: none;
        height: auto;
        padding: 0 2;
        text-wrap: nowrap;
        text-overflow: ellipsis;
        &.-waiting { display: block; }
    }
    """

    def show(self, texts: Sequence[str]) -> None:
        """Show these, the first to go on top; many are counted rather than listed."""
        self.set_class(bool(texts), "-waiting")
        hidden = len(texts) - SHOWN_MAX
        lines = [
            Content.assemble(("queued ", "dim"), " ".join(text.split())[:500]) for text in texts[:SHOWN_MAX]
        ]
        if hidden > 0:
            lines.append(Content.styled(f"queued {hidden} more", "dim"))
        if lines:
            lines.append(Content.styled("Up takes the last back, Esc all", "dim"))
        self.update(Content("\n").join(lines))
