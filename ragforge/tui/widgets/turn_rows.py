"""The turns of a session with what each changed, to go back to before one of them."""

from collections.abc import Sequence

from rich.cells import cell_len
from textual.content import Content

from ragforge.domain.printable import one_line
from ragforge.tui.cells import cut
from ragforge.tui.widgets.row_list import MUTED, NO_POINTER, POINTER, RowList
from ragforge.versions.turns import TurnRow
from ragforge.versions.words import row_words


class TurnRows(RowList[TurnRow]):
    """One line a turn, oldest first; the newest is chosen at first."""

    def show(self, rows: Sequence[TurnRow]) -> None:
        """List these."""
        self.set_rows(rows)
        self.step(len(rows))

    @property
    def from_chosen(self) -> Sequence[TurnRow]:
        """Return the chosen turn and all after it."""
        return self._rows[self._index :]

    def _key_of(self, row: TurnRow) -> str:
        return row.turn.id

    def _nothing(self) -> str:
        return "This session has no messages yet."

    def _draw_rows(self, rows: Sequence[TurnRow], width: int, chosen: TurnRow | None) -> list[Content]:
        lines: list[Content] = []
        goes = False
        digits = len(str(max(row.turn.index for row in rows) + 1))
        for row in rows:
            number = f"{row.turn.index + 1:>{digits}} "
            words = cut(one_line(row_words(row)), max(8, width - 2 - cell_len(number))).rstrip()
            style = "bold" if row is chosen else MUTED if goes else ""
            pointer = POINTER if row is chosen else NO_POINTER
            lines.append(Content.assemble((pointer, "bold"), (number, MUTED), (words, style)))
            goes = goes or row is chosen
        return lines
