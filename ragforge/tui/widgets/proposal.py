"""The effects of a call, drawn by its kind and complete: every character is visible or can be scrolled to."""

from collections.abc import Sequence
from typing import assert_never

from msgspec.structs import replace
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.message import Message

from ragforge.domain.approvals import ChangeFile, OtherCall, Proposal, Rule, RunCommand, proposal_text
from ragforge.domain.reveal import Revealed, oddities, reveal_lines
from ragforge.domain.words import counted
from ragforge.tui.widgets.diff_view import revealed_diff_lines
from ragforge.tui.widgets.plain import PlainText
from ragforge.tui.widgets.text_rows import TextLine, TextRows

SCROLLS = {"pageup": -1, "pagedown": 1}
"""Keys that scroll the proposal, and by how many boxes."""
_OURS = "· "
"""Marks a line that is not the call's."""


class ProposalView(VerticalScroll, can_focus=False):
    """The lines in a box that scrolls. Posts `Moved` when the visible part has changed."""

    class Moved(Message):
        """The box was scrolled or resized."""

    def __init__(self, lines: list[TextLine], *, said: Sequence[str] = ()) -> None:
        """said: what the user has said against it, above the lines."""
        super().__init__(classes="approval-detail")
        self._said = said
        self._rows = TextRows(lines)

    def compose(self) -> ComposeResult:
        for each in self._said:
            yield PlainText(each, classes="approval-said")
        yield self._rows

    def set_lines(self, lines: list[TextLine]) -> None:
        """Show these lines instead."""
        self._rows.set_lines(lines)

    @property
    def rows(self) -> int:
        """The number of rows of all lines."""
        return self.virtual_size.height

    @property
    def rows_below(self) -> int:
        """The number of rows below the visible ones."""
        return max(0, self.rows - self.scroll_offset.y - self.size.height)

    @property
    def rest(self) -> str:
        """The number of rows below, in words; empty if all are visible."""
        if not self.max_scroll_y:
            return ""
        return f"{counted(self.rows_below, 'more line')} below (PgDn)" if self.rows_below else "the end"

    def scroll_page(self, pages: int) -> None:
        """Scroll by so many boxes, with one row in common."""
        rows = pages * max(1, self.size.height - 1)
        self.scroll_to(y=self.scroll_y + rows, animate=False, immediate=True)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Report that other rows are visible."""
        super().watch_scroll_y(old_value, new_value)
        self.post_message(self.Moved())

    def on_resize(self) -> None:
        """Report that more or fewer rows are visible."""
        self.post_message(self.Moved())


def proposal_lines(proposal: Proposal, *, rules: tuple[Rule, ...] = ()) -> list[TextLine]:
    """Return all that would run or be written. rules: those to list below it."""
    # Each line has a sign before it, to distinguish it from the continuation of a wrapped line.
    added = reveal_lines("\n".join(["Always adds:", *map(str, rules)])) if rules else []
    lines = [
        *_warning(proposal),
        *_head(proposal),
        *_body(proposal),
        *_lines(added, kind="note", sign=_OURS),
    ]
    width = max(len(line.gutter) for line in lines)
    return [replace(line, gutter=line.gutter.rjust(width)) for line in lines]


def revealed(text: str) -> str:
    """Return the text on one line, for a label, with invisible characters spelled out."""
    return " ".join(" ".join(line.text for line in reveal_lines(text)).split())


def _warning(proposal: Proposal) -> list[TextLine]:
    found = oddities(proposal_text(proposal))
    if not found:
        return []
    return [TextLine(f"Shown as <U+…>: {', '.join(found)}.", _OURS, "warning")]


def _head(proposal: Proposal) -> list[TextLine]:
    """Return the file, and how it is written or the command run."""
    match proposal:
        case RunCommand(notes=notes):
            head = ", ".join(notes)
        case ChangeFile(path=path, notes=notes):
            head = f"{path} ({', '.join(notes)})" if notes else path
        case OtherCall():
            head = ""
        case _:
            assert_never(proposal)
    one_line = head.replace("\n", "<U+000A>")
    return _lines(reveal_lines(one_line), kind="file", sign=_OURS) if head else []


def _body(proposal: Proposal) -> list[TextLine]:
    match proposal:
        case RunCommand(command=command):
            first, *others = reveal_lines(command)
            return _lines([first], sign="$ ") + _lines(others, sign="> ")
        case ChangeFile(diff=diff):
            return revealed_diff_lines(diff)
        case OtherCall():
            return _lines(reveal_lines(proposal_text(proposal)), sign="> ")
        case _:
            assert_never(proposal)


def _lines(lines: Sequence[Revealed], *, sign: str, kind: str = "plain") -> list[TextLine]:
    return [TextLine(line.text, sign, kind, line.marks) for line in lines]
