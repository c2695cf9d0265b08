"""Curves of foresight, drawn in characters over each other."""

from collections.abc import Sequence
from itertools import chain

from msgspec import Struct
from textual.content import Content
from textual.widgets import Static

from ragforge.memory.foresight import RATING_MAX
from ragforge.session.foresight import Curves
from ragforge.tui.widgets.row_list import MUTED

OWN, EVERYBODY, FORESEEN, SEVERAL = "●", "○", "+", "◆"
ZERO = "┄"
LABEL_CHARS = 7
RATING_CHARS = 3
ROWS_MIN = 3
GAP_MAX = 4
"""Columns between two turns."""
LEGEND = f"{OWN} U of your work  {EVERYBODY} U of the project  {FORESEEN} foreseen 0-10  {SEVERAL} several"
LEGEND_SHORT = f"{OWN} U yours {EVERYBODY} project {FORESEEN} foreseen"


class _Curve(Struct, frozen=True):
    """A curve, in values from 0 to 1."""

    sign: str
    style: str
    values: tuple[float | None, ...]


class ForesightChart(Static):
    """The newest turn on the right, as many before it as there is room for; a few are spread out."""

    DEFAULT_CSS = """
    ForesightChart { height: 8; text-wrap: nowrap; }
    """

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id, markup=False)
        self._curves = Curves((), (), ())

    def show(self, curves: Curves) -> None:
        """Draw these."""
        self._curves = curves
        self._draw()

    def on_resize(self) -> None:
        """Adapt to the new size."""
        self._draw()

    def _draw(self) -> None:
        width, height = self.content_size.width, self.content_size.height
        columns = width - LABEL_CHARS - RATING_CHARS
        if columns > 0:
            lines = chart_lines(self._curves, columns=columns, rows=max(ROWS_MIN, height - 1))
            self.update(Content("\n").join(lines))


def chart_lines(curves: Curves, *, columns: int, rows: int) -> list[Content]:
    """Return the curves as lines with their scales: bits left, 0 to 10 right; a legend below."""
    shown = curves.newest(columns)
    bits = [value for value in chain(shown.individual, shown.collective) if value is not None]
    low, high = min([0, *bits]), max([0, *bits])
    span = (high - low) or 1
    lines = (
        _Curve(FORESEEN, "$text-success", _scaled(shown.predictability, 0, RATING_MAX)),
        _Curve(EVERYBODY, "$text-warning", _scaled(shown.collective, low, span)),
        _Curve(OWN, "$text-primary", _scaled(shown.individual, low, span)),
    )
    zero = _row(-low / span, rows)
    labels = {_row(1.0, rows): _short(high), zero: "0", _row(0.0, rows): _short(low)}
    ratings = {_row(1.0, rows): f"{RATING_MAX:>3}", _row(0.0, rows): "  0"}
    drawn = [
        Content.assemble(
            (f"{labels.get(row, ''):>{LABEL_CHARS - 1}} ", MUTED),
            *_cells(lines, row, rows, columns, ZERO if row == zero and bits else " "),
            (ratings.get(row, ""), MUTED),
        )
        for row in range(rows)
    ]
    legend = LEGEND if len(LEGEND) <= columns + LABEL_CHARS + RATING_CHARS else LEGEND_SHORT
    return [*drawn, Content.styled(legend, MUTED)]


def _scaled(values: Sequence[int | None], low: int, span: int) -> tuple[float | None, ...]:
    return tuple(None if value is None else (value - low) / span for value in values)


def _row(share: float, rows: int) -> int:
    """Return the row of a value, the highest at the top."""
    return round((1.0 - share) * (rows - 1))


def _cells(lines: Sequence[_Curve], row: int, rows: int, columns: int, empty: str) -> list[tuple[str, str]]:
    """Return the characters of a row; where two curves meet there is a character for that."""
    count = len(lines[0].values)
    gap = min(GAP_MAX, columns // max(1, count) - 1)
    cells = [(empty, MUTED)] * (columns - count * (gap + 1))
    for at in range(count):
        cells += [(empty, MUTED)] * gap
        here = [line for line in lines if (value := line.values[at]) is not None and _row(value, rows) == row]
        if len(here) > 1:
            cells.append((SEVERAL, "bold"))
        else:
            cells.append((here[0].sign, here[0].style) if here else (empty, MUTED))
    return cells


def _short(bits: int) -> str:
    """Return the number in at most six characters: `12.3k`."""
    for size, letter in ((1_000_000_000, "G"), (1_000_000, "M"), (1_000, "k")):
        if abs(bits) >= size:
            return f"{bits / size:.0f}{letter}" if abs(bits) >= 100 * size else f"{bits / size:.1f}{letter}"
    return str(bits)
