"""The lists of `/foresight`: the turns to review, and how well models predict the project."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from textual.content import Content

from ragforge.domain.messages import text_of
from ragforge.domain.printable import one_line
from ragforge.domain.words import counted
from ragforge.tui.cells import cut
from ragforge.tui.widgets.foresight_line import MARK
from ragforge.tui.widgets.row_list import MUTED, NO_POINTER, POINTER, RowList

if TYPE_CHECKING:  # loaded after the first frame
    from ragforge.session.foresight import ForeseenTurn, Foreseer, MarkedTurn

MEDIUM = 60
"""From so many columns on all figures are shown, or some."""
U_CHARS = 9


class RankedTurns(RowList["ForeseenTurn"]):
    """A line per turn: how much it changed beyond what is told, how well it was predicted, its subject."""

    marks: Mapping[str, MarkedTurn] = {}

    def _key_of(self, row: ForeseenTurn) -> str:
        return row.turn.id

    def _nothing(self) -> str:
        return "There are no figures yet. They appear in the background after a turn has changed files."

    def _head(self, width: int) -> list[Content]:
        middle = f"{'lines':>7} {'foreseen':>8} " if width >= MEDIUM else ""
        return [Content.styled(f"  {'U':>{U_CHARS}}   {middle}turn", MUTED)]

    def _draw_rows(
        self, rows: Sequence[ForeseenTurn], width: int, chosen: ForeseenTurn | None
    ) -> list[Content]:
        return [self._line(row, width, is_chosen=row is chosen) for row in rows]

    def _is_marked(self, row: ForeseenTurn) -> bool:
        marked = self.marks.get(row.turn.id)
        return bool(marked and marked.marks)

    def _line(self, row: ForeseenTurn, width: int, *, is_chosen: bool) -> Content:
        made, middle = row.made, ""
        if width >= MEDIUM and made is not None:
            own = made.predictability_individual
            rating = "-" if own is None else f"{own}{'*' if row.by_rules else ''}"
            middle = f"{made.units_individual or 0:>7,} {rating:>8} "
        figures = f"{row.first_u or 0:>{U_CHARS},} {MARK if self._is_marked(row) else ' '} {middle}"
        said = f"{row.number}. {one_line(text_of(row.turn.user))}"
        return Content.assemble(
            (POINTER if is_chosen else NO_POINTER, "bold"),
            (figures, MUTED),
            (cut(said, max(8, width - 2 - len(figures))).rstrip(), "bold" if is_chosen else ""),
        )


class ForeseerList(RowList["Foreseer"]):
    """Two lines per model and month."""

    LINES_A_ROW = 2
    TELLS_HIDDEN = True

    def _key_of(self, row: Foreseer) -> str:
        return f"{row.month} {row.model or '-'}"

    def _nothing(self) -> str:
        return "Nothing yet. A prediction counts once its turn has ended."

    def _draw_rows(self, rows: Sequence[Foreseer], width: int, chosen: Foreseer | None) -> list[Content]:
        return [line for row in rows for line in self._lines(row, width, is_chosen=row is chosen)]

    def _lines(self, row: Foreseer, width: int, *, is_chosen: bool) -> list[Content]:
        title = cut(f"{row.month}  {one_line(row.model) or 'without a model'}", width - 2).rstrip()
        return [
            Content.assemble(
                (POINTER if is_chosen else NO_POINTER, "bold"), (title, "bold" if is_chosen else "")
            ),
            Content.styled(f"    {cut(foreseer_words(row), width - 4).rstrip()}", MUTED),
        ]


def foreseer_words(row: Foreseer) -> str:
    """Return how well it predicted: means if there are enough, and what was counted."""
    means = (("rated", row.rating), ("words", row.words), ("meaning", row.meaning))
    told = [f"{name} {mean:.1f}" for name, mean in means if mean is not None]
    if row.share is not None:
        told.append(f"{row.share:.0%} of files")
    return " · ".join([*told, counted(row.rated, "prediction"), counted(row.files, "file")])
