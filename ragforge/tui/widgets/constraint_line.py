"""A call went against what the user said: a line that opens to the message in which they said it."""

from textual.app import ComposeResult
from textual.message import Message

from ragforge.domain.approvals import ConstraintHit
from ragforge.tui.widgets.fold import Fold, FoldHead
from ragforge.tui.widgets.plain import PlainText


class ConstraintView(Fold):
    """`You said on 3 Nov: "never push on fridays"`, and below it, when opened, the whole message."""

    class SaidWanted(Message):
        """The message of that turn is wanted: answer with `show_said`."""

        def __init__(self, view: "ConstraintView", turn_id: str) -> None:
            super().__init__()
            self.view = view
            self.turn_id = turn_id

    def __init__(self, hit: ConstraintHit) -> None:
        super().__init__()
        self._hit = hit
        self._head = FoldHead()
        self._body: PlainText | None = None

    @property
    def is_open(self) -> bool:
        return self._body is not None

    def compose(self) -> ComposeResult:
        yield self._head

    def on_mount(self) -> None:
        """Draw the line."""
        self._label()

    def set_open(self, is_open: bool) -> None:
        if is_open and self._body is None:
            turn = self._hit.constraint.turn
            self._body = PlainText("…" if turn else "It was told by a command.", classes="said-body")
            self.mount(self._body)
            if turn:
                # Later: a message goes no higher than whoever is at work while it is made.
                self.call_next(self._ask_for_said)
        elif not is_open and self._body is not None:
            self._body.remove()
            self._body = None
        self._label()

    def _ask_for_said(self) -> None:
        self.post_message(self.SaidWanted(self, self._hit.constraint.turn))

    def show_said(self, text: str) -> None:
        """Show the message, where it is still wanted."""
        if self._body is not None:
            self._body.set_text(text)

    def _label(self) -> None:
        self._head.set_text(f"{'▾' if self.is_open else '▸'} {self._hit.words}")
