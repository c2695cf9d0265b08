"""Lines that are not part of the conversation: notices, how a turn ended."""

from collections.abc import Sequence

from textual.content import Content

from ragforge.domain.turns import Turn, TurnStatus
from ragforge.tui.widgets.plain import PlainText


class NoticeLine(PlainText):
    """A sentence of the program."""


class GreetingLine(PlainText):
    """The first lines of a new session."""

    def __init__(self, title: str, lines: Sequence[str]) -> None:
        super().__init__()
        self.show(title, lines)

    def show(self, title: str, lines: Sequence[str]) -> None:
        """Show these."""
        self.set_text("\n".join([title, *lines]))
        first, _, rest = self.text.partition("\n")
        self.update(Content.assemble((first, "bold $foreground"), "\n", rest))


class TurnEndLine(PlainText):
    """How the turn ended, if it did not just finish."""


def end_words(turn: Turn) -> str:
    """Return the text below a turn that did not just finish; empty for one that did."""
    error = turn.error.strip()
    match turn.status:
        case TurnStatus.INTERRUPTED:
            return f"■ interrupted: {error}" if error else "■ interrupted"
        case TurnStatus.FAILED:
            return f"✗ {error or 'The turn failed.'}"
        case TurnStatus.STOPPED:
            return f"■ {error or 'Stopped.'}"
        case TurnStatus.RUNNING | TurnStatus.WAITING | TurnStatus.FINISHED | TurnStatus.CONTINUED:
            return ""
