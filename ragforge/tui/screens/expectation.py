"""What was expected of a turn beside what happened, from stored facts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical, VerticalScroll

from ragforge.domain.foresight import Foresight
from ragforge.domain.messages import text_of
from ragforge.domain.printable import printable
from ragforge.domain.words import first_words
from ragforge.memory.foresight_mark import happened
from ragforge.tui.screens.turn import ReadScreen
from ragforge.tui.widgets.plain import PlainText

if TYPE_CHECKING:  # loaded after the first frame
    from ragforge.session.foresight import ForeseenTurn, MarkedTurn


class ExpectedScreen(ReadScreen):
    """Two columns: expected, happened. marked: the facts, and why the turn is marked."""

    SCROLLED: ClassVar[str] = "#expected"

    def __init__(self, each: ForeseenTurn, marked: MarkedTurn) -> None:
        super().__init__()
        self._each, self._marked = each, marked

    def compose(self) -> ComposeResult:
        """Why it is marked, and the columns."""
        each, marked = self._each, self._marked
        why = "; ".join(mark.words for mark in marked.marks) or "nothing went otherwise than foreseen"
        with Vertical(classes="dialog wide tall"):
            title = f"Turn {each.number}: {first_words(printable(text_of(each.turn.user)))}"
            yield PlainText(title, classes="dialog-title")
            yield PlainText(f"{why[:1].upper()}{why[1:]}.", classes="dialog-detail")
            with VerticalScroll(id="expected", can_focus=False), Horizontal():
                yield PlainText(_column("Expected", expected_parts(each.expected or Foresight())))
                yield PlainText(_column("Happened", happened_parts(each, marked)))
            yield PlainText("Esc goes back", classes="dialog-hint")


def expected_parts(expected: Foresight) -> list[tuple[str, str]]:
    """What the prediction said, by label."""
    return [
        ("Task", expected.individual_after_prediction),
        ("Project", expected.collective_after_prediction),
        ("Files", ", ".join(expected.files_foreseen)),
    ]


def happened_parts(each: ForeseenTurn, marked: MarkedTurn) -> list[tuple[str, str]]:
    """What is stored of the turn, by label; descriptions only where the record is made."""
    made = each.made or Foresight()
    told = [("Task", made.individual_before_description), ("Project", made.collective_before_description)]
    return [*told, *happened(marked.facts).items()]


def _column(title: str, parts: Sequence[tuple[str, str]]) -> str:
    lines = [f"{label}: {printable(words)}" for label, words in parts if words]
    return "\n\n".join([title, *(lines or ["nothing was said"])])
