"""The mark of a turn that differed from its prediction: a dim line that opens to two columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.message import Message

from ragforge.domain.foresight import Foresight
from ragforge.domain.printable import printable
from ragforge.memory.foresight_mark import happened
from ragforge.tui.widgets.fold import BodyFold
from ragforge.tui.widgets.plain import PlainText

if TYPE_CHECKING:  # loaded after the first frame
    from ragforge.session.foresight import ForeseenTurn, MarkedTurn

MARK = "≠"
"""The label of a turn that differed from its prediction."""


class ForeseenView(BodyFold):
    """`▸ ≠ not as foreseen: the last run of pytest failed`, and when opened expected and happened."""

    class ColumnsWanted(Message):
        """The prediction for that turn is needed: answer with `show_columns`."""

        def __init__(self, view: ForeseenView, turn_id: str) -> None:
            super().__init__()
            self.view = view
            self.turn_id = turn_id

    def __init__(self, turn_id: str, words: str) -> None:
        super().__init__()
        self._turn_id, self._words = turn_id, words

    def label(self) -> str:
        return f"{MARK} not as foreseen: {self._words}"

    def make_body(self) -> ExpectedColumns:
        return ExpectedColumns("…", "…")

    def opened(self) -> None:
        # Later: a message goes no higher than the widget that is processing one while it is made.
        self.call_next(self._ask)

    def _ask(self) -> None:
        self.post_message(self.ColumnsWanted(self, self._turn_id))

    def show_columns(self, expected: str, happened: str) -> None:
        """Show these, if they are still needed."""
        if isinstance(self._body, ExpectedColumns):
            self._body.show(expected, happened)


class ExpectedColumns(Horizontal):
    """Two texts side by side."""

    def __init__(self, expected: str, happened: str) -> None:
        super().__init__()
        self._texts = expected, happened

    def compose(self) -> ComposeResult:
        """One and the other."""
        yield from map(PlainText, self._texts)

    def show(self, *texts: str) -> None:
        """Show others."""
        for column, text in zip(self.query(PlainText), texts, strict=True):
            column.set_text(text)


def columns_of(each: ForeseenTurn, marked: MarkedTurn) -> tuple[str, str]:
    """Return the prediction for the turn, and what is stored of it; descriptions once its record is made."""
    expected, made = each.expected or Foresight(), each.made or Foresight()
    foreseen = [
        ("Task", expected.individual_after_prediction),
        ("Project", expected.collective_after_prediction),
        ("Files", ", ".join(expected.files_foreseen)),
    ]
    came = [("Task", made.individual_before_description), ("Project", made.collective_before_description)]
    return _column("Expected", foreseen), _column("Happened", [*came, *happened(marked.facts).items()])


def _column(title: str, parts: Sequence[tuple[str, str]]) -> str:
    lines = [f"{label}: {printable(words)}" for label, words in parts if words]
    return "\n".join([title, *(lines or ["nothing was said"])])
