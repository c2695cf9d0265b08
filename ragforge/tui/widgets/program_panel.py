"""The lines of the running program, between the conversation and the prompt."""

from collections.abc import Generator, Sequence
from contextlib import contextmanager

from rich.cells import cell_len
from textual.content import Content

from ragforge.domain.programs import CallsOfLine, ProgramRow, ProgramView
from ragforge.domain.words import cost_words
from ragforge.tui.cells import fitting
from ragforge.tui.widgets.panel import Panel
from ragforge.tui.widgets.tool_words import time_words

ROWS_MAX = 12
SCREEN_SHARE = 3
"""It takes at most one row in so many."""
TEXT_CELLS_MIN = 24
"""With less of a line beside it, a call is shown without its model."""


class ProgramPanel(Panel):
    """Shown while a program runs: its lines around the running ones, and the cost of each call."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._view: ProgramView | None = None
        self._is_aside = False

    def show(self, view: ProgramView) -> None:
        """Show the run as it is now."""
        self._view = view
        self._draw()

    def close(self) -> None:
        """It has ended."""
        self._view = None
        self._draw()

    @contextmanager
    def aside(self) -> Generator[None]:
        """Give the room to a question while it is asked."""
        self._is_aside = True
        self._draw()
        try:
            yield
        finally:
            self._is_aside = False
            self._draw()

    def on_resize(self) -> None:
        self._draw()

    def _draw(self) -> None:
        is_shown = self._view is not None and not self._is_aside
        self.set_class(is_shown, "-shown")
        if self._view is not None and is_shown:
            size = self.screen.size
            rows_max = max(3, min(ROWS_MAX, size.height // SCREEN_SHARE))
            self.update(program_content(self._view, rows_max=rows_max, width=size.width - 4))


def program_content(view: ProgramView, *, rows_max: int, width: int) -> Content:
    """Return the head, and the lines that fit, including the running ones."""
    numbers = len(str(max((row.line for row in view.rows), default=0)))
    rows = _window(view, rows_max - 1)
    return Content("\n").join(
        [
            Content.styled(fitting(_head(view), width), "$foreground-muted"),
            *(_line(view, row, numbers=numbers, width=width) for row in rows),
        ]
    )


def _head(view: ProgramView) -> str:
    """Return `review · 2 calls · $0.01 of $1`."""
    return " · ".join(filter(None, [view.name, view.total]))


def _window(view: ProgramView, count: int) -> Sequence[ProgramRow]:
    """Return so many neighbouring rows: all running ones if they fit, else from the first of them on."""
    places = [at for at, row in enumerate(view.rows) if row.line in view.present and not row.is_label]
    first, last = (places[0], places[-1]) if places else (0, 0)
    before = max(0, (count - (last - first + 1)) // 2)
    begin = max(0, min(first - before, len(view.rows) - count))
    return view.rows[begin : begin + count]


def _line(view: ProgramView, row: ProgramRow, *, numbers: int, width: int) -> Content:
    if row.is_label:
        return Content.styled(fitting(f"{' ' * (numbers + 3)}{row.text}", width), "$foreground-muted")
    calls = view.calls.get(row.line)
    is_present = row.line in view.present
    is_done = bool(calls) or row.line in view.done
    mark, style = ("▸", "$text-primary") if is_present else ("✓", "$text-success") if is_done else (" ", "")
    room = width - numbers - 5
    note = _note(calls, room) if calls else ""
    text = fitting(row.text, room - (cell_len(note) + 2 if note else 0))
    return Content.assemble(
        (f"{mark} ", style),
        (f"{row.line:>{numbers}}   ", "$foreground-muted"),
        (text, "bold" if is_present else ""),
        (f"  {note}" if note else "", "$foreground-muted"),
    )


def _note(calls: CallsOfLine, room: int) -> str:
    """Return the calls of a line and their cost; without the model if it is narrow."""
    facts = [time_words(calls.seconds * 1000), cost_words(calls.cost_usd)]
    if calls.count > 1:
        facts.insert(0, f"{calls.count} calls")
    whole = ", ".join([calls.model, *facts])
    for note, beside in ((whole, TEXT_CELLS_MIN), (", ".join(facts), 1)):
        if room - cell_len(note) - 2 >= beside:
            return note
    return ""
