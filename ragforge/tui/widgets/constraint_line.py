"""A call violated what the user said: a line that opens to the message in which they said it."""

from textual.message import Message

from ragforge.domain.approvals import ConstraintHit
from ragforge.tui.widgets.fold import BodyFold
from ragforge.tui.widgets.plain import PlainText


class ConstraintView(BodyFold):
    """`You said on 3 Nov: "never push on fridays"`, and below it, when opened, the complete message."""

    class SaidWanted(Message):
        """The message of that turn is needed: answer with `show_said`."""

        def __init__(self, view: "ConstraintView", turn_id: str) -> None:
            super().__init__()
            self.view = view
            self.turn_id = turn_id

    def __init__(self, hit: ConstraintHit) -> None:
        super().__init__()
        self._hit = hit
        self._said = PlainText("", classes="said-body")

    def label(self) -> str:
        return self._hit.words

    def make_body(self) -> PlainText:
        self._said = PlainText(
            "…" if self._hit.constraint.turn else "You stated it with a command.", classes="said-body"
        )
        return self._said

    def opened(self) -> None:
        if self._hit.constraint.turn:
            # Later: a message goes no higher than the widget that is processing one while it is made.
            self.call_next(self._ask_for_said)

    def _ask_for_said(self) -> None:
        self.post_message(self.SaidWanted(self, self._hit.constraint.turn))

    def show_said(self, text: str) -> None:
        """Show the message, if it is still needed."""
        if self.is_open:
            self._said.set_text(text)
