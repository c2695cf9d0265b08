"""A yes-or-no question. There is no default: Enter only gives an answer chosen by an arrow."""

from time import monotonic
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical

from ragforge.domain import timeouts
from ragforge.domain.approvals import RunCommand
from ragforge.domain.reveal import spelled_out
from ragforge.tui.key_watch import key_watch_of
from ragforge.tui.screens.dialog import Dialog, QuestionText
from ragforge.tui.widgets.plain import PlainText
from ragforge.tui.widgets.proposal import SCROLLS, ProposalView, proposal_lines

YES, NO = ("y", "1"), ("n", "3", "escape")
ANSWERS = (True, False, None)
"""The index of its line."""


class ConfirmScreen(Dialog[bool | None]):
    """Returns True for yes, False for no, None for Esc, which is a no too unless `no_counts`.

    Invisible characters are escaped. As an approval it accepts no key before `APPROVAL_QUIET_S`
    have passed without one: it may appear while somebody types.
    """

    BINDINGS: ClassVar[list[BindingType]] = []

    def __init__(
        self, question: str, *, detail: str = "", command: str = "", no_counts: bool = False
    ) -> None:
        """command: a shell command that is asked about."""
        super().__init__()
        self._question = spelled_out(question)
        self._detail, self._command = spelled_out(detail), command
        self._last_key_s = 0.0
        self._words = ("y  yes", "n  no", "Esc  cancel") if no_counts else ("y  yes", "n  no (Esc too)")
        self._choices = tuple(PlainText(f"  {words}", classes="dialog-choice") for words in self._words)
        self._cursor: int | None = None
        """The index of the chosen answer; none before an arrow was pressed."""
        self._rest = PlainText(classes="dialog-detail")

    def compose(self) -> ComposeResult:
        """The question and the keys."""
        with Vertical(classes="dialog"):
            with QuestionText():
                yield PlainText(self._question, classes="dialog-title")
                if self._detail:
                    yield PlainText(self._detail, classes="dialog-detail")
            if self._command:
                yield ProposalView(proposal_lines(RunCommand(self._command)))
                yield self._rest
            yield from self._choices

    def on_mount(self) -> None:
        """Start the quiet time from the last key."""
        self._last_key_s = key_watch_of(self).last_key_s

    def on_key(self, event: events.Key) -> None:
        """Whether it is an answer, and not meant for what was there before."""
        event.stop()
        event.prevent_default()
        if pages := SCROLLS.get(event.key):
            if self._command:
                self.query_one(ProposalView).scroll_page(pages)
            else:
                text = self.query_one(QuestionText)
                text.scroll_relative(y=pages * text.size.height, animate=False)
            return
        is_answer, self._last_key_s = event.time - self._last_key_s >= timeouts.APPROVAL_QUIET_S, event.time
        if is_answer and event.key in YES + NO:
            self.dismiss(None if event.key == "escape" else event.key in YES)
        elif is_answer and event.key == "enter" and self._cursor is not None:
            self.dismiss(ANSWERS[self._cursor])
        elif is_answer and event.key in ("up", "down"):
            self._move_cursor(1 if event.key == "down" else -1)
        else:
            self.keep_typed(event)

    def on_paste(self, event: events.Paste) -> None:
        """Ignore pastes."""
        event.stop()
        self.keep_typed(event)

    def _move_cursor(self, by: int) -> None:
        last = len(self._choices) - 1
        before = self._cursor
        self._cursor = (0 if by > 0 else last) if before is None else max(0, min(last, before + by))
        for number, (line, words) in enumerate(zip(self._choices, self._words, strict=True)):
            line.set_text(f"{'›' if number == self._cursor else ' '} {words}")

    def on_proposal_view_moved(self, event: ProposalView.Moved) -> None:
        """Show how much of the command is below."""
        event.stop()
        self._rest.set_text(self.query_one(ProposalView).rest)
        self._rest.display = bool(self._rest.text)

    def on_click(self, event: events.Click) -> None:
        """Answers can be clicked."""
        if event.widget in self._choices and monotonic() - self._last_key_s >= timeouts.APPROVAL_QUIET_S:
            self.dismiss(ANSWERS[self._choices.index(event.widget)])
