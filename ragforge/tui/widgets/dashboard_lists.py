"""The lists of the dashboard: wishes, concepts, sessions, numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import wrap
from typing import TYPE_CHECKING, TypeAlias

from rich.cells import cell_len
from textual.content import Content

from ragforge.domain.memories import Memory, WishOrder, wish_kind
from ragforge.domain.printable import one_line
from ragforge.domain.words import cost_words, counted, day_words
from ragforge.tui.cells import cut
from ragforge.tui.widgets.row_list import MUTED, NO_POINTER, POINTER, RowList

if TYPE_CHECKING:  # loaded after the first frame
    from ragforge.session.dashboard import Concept, Cost, Figure, SessionFigures

    Number: TypeAlias = Figure | Cost

SMALL, MEDIUM, WIDE = 50, 70, 110
"""From so many columns on there is room for a column beside the words, for some of figures, and for all."""
COLUMNS: Mapping[WishOrder, tuple[int, int]] = {
    WishOrder.KIND: (10, SMALL),
    WishOrder.STRENGTH: (9, WIDE),
    WishOrder.TOPIC: (14, WIDE),
    WishOrder.CONFIDENCE: (11, WIDE),
    WishOrder.SAID: (5, MEDIUM),
    WishOrder.HELD: (5, MEDIUM),
    WishOrder.BROKEN: (7, MEDIUM),
    WishOrder.USED: (11, WIDE),
}
"""How wide each is, and from which width of the list on it is shown; the text has the rest. One of figures or
names that sorts is shown at any width."""
NUMBERS = {WishOrder.CONFIDENCE, WishOrder.SAID, WishOrder.HELD, WishOrder.BROKEN}
BAR = "█"
BAR_CHARS = 20
DATE_CHARS = 12
NUMBER_INDENT = 4
"""Before the name of a number: the pointer, and whether it is open."""


class WishTable(RowList[Memory]):
    """A line per wish, below columns that sort by a click: `screen.sort_by` receives the order."""

    order = WishOrder.KIND
    reverse = False

    def _key_of(self, row: Memory) -> str:
        return row.id

    def _nothing(self) -> str:
        return "Nothing yet. Your preferences, plans and requirements appear here once you state them."

    def _columns(self, width: int) -> list[WishOrder]:
        sorts = None if self.order is WishOrder.KIND else self.order
        return [order for order, (_, least) in COLUMNS.items() if width >= least or order is sorts]

    def _head(self, width: int) -> list[Content]:
        line = Content("  ")
        for order in (*self._columns(width), WishOrder.TEXT):
            chars = COLUMNS[order][0] if order in COLUMNS else len(WishOrder.TEXT) + 1
            mark = ("▴" if self.reverse else "▾") if order is self.order else ""
            name = f"{cut(order, chars - len(mark)).rstrip()}{mark}"
            gap = " " * max(0, chars - len(name))
            title = Content.styled(name, f"@click=screen.sort_by('{order}')").stylize(
                "bold" if mark else MUTED
            )
            line += Content(gap) + title if order in NUMBERS else title + Content(gap)
            line += Content(" ")
        return [line]

    def _draw_rows(self, rows: Sequence[Memory], width: int, chosen: Memory | None) -> list[Content]:
        return [self._line(row, width, is_chosen=row is chosen) for row in rows]

    def _line(self, wish: Memory, width: int, *, is_chosen: bool) -> Content:
        facts = "".join(f"{_cell(wish, order)} " for order in self._columns(width))
        words = cut(one_line(wish.content), max(8, width - 2 - cell_len(facts))).rstrip()
        return Content.assemble(
            (POINTER if is_chosen else NO_POINTER, "bold"),
            (facts, MUTED),
            (words, "bold" if is_chosen else ""),
        )


def _cell(wish: Memory, order: WishOrder) -> str:
    chars, text = COLUMNS[order][0], wish_value(wish, order)
    return f"{text:>{chars}}" if order in NUMBERS else cut(text, chars)


def wish_value(wish: Memory, order: WishOrder) -> str:
    """Return the wish's value in a column of that name."""
    values: Mapping[WishOrder, object] = {
        WishOrder.TEXT: one_line(wish.content),
        WishOrder.KIND: wish_kind(wish) or "",
        WishOrder.STRENGTH: wish.strength,
        WishOrder.TOPIC: one_line(wish.topic),
        WishOrder.CONFIDENCE: f"{wish.confidence:.2f}",
        WishOrder.SAID: wish.said,
        WishOrder.HELD: wish.held,
        WishOrder.BROKEN: wish.broken,
        WishOrder.USED: day_words(wish.accessed_at) if wish.accessed_at else "never",
    }
    return str(values[order])


class ConceptList(RowList["Concept"]):
    """A line per concept, with a bar for its use."""

    TELLS_HIDDEN = True

    def _key_of(self, row: Concept) -> str:
        return row.topic

    def _nothing(self) -> str:
        return "Nothing yet. Topics appear here once memories have them."

    def _draw_rows(self, rows: Sequence[Concept], width: int, chosen: Concept | None) -> list[Content]:
        most = max((each.uses for each in self.rows), default=0)
        return [self._line(row, width, most, is_chosen=row is chosen) for row in rows]

    def _line(self, concept: Concept, width: int, most: int, *, is_chosen: bool) -> Content:
        uses, memories = counted(concept.uses, "use"), counted(concept.memories, "memory")
        facts = f" {uses:>9}" if width < MEDIUM else f" {uses:>11} · {memories:<12}"
        bar_chars = BAR_CHARS if width >= MEDIUM else BAR_CHARS // 3
        length = round(bar_chars * concept.uses / most) if most else 0
        bar = cut(BAR * max(length, 1 if concept.uses else 0), bar_chars)
        name = cut(one_line(concept.topic), max(8, width - 3 - bar_chars - len(facts)))
        return Content.assemble(
            (POINTER if is_chosen else NO_POINTER, "bold"),
            (name, "bold" if is_chosen else ""),
            " ",
            (bar, "$primary"),
            (facts, MUTED),
        )


class SessionTimeline(RowList["SessionFigures"]):
    """Two lines per session: when, its title and cost; what was decided in it."""

    LINES_A_ROW = 2
    TELLS_HIDDEN = True
    with_persons = False
    """Whether it says who started each."""

    def _key_of(self, row: SessionFigures) -> str:
        return row.row.session.id

    def _nothing(self) -> str:
        return "No sessions in this project yet."

    def _draw_rows(
        self, rows: Sequence[SessionFigures], width: int, chosen: SessionFigures | None
    ) -> list[Content]:
        return [line for row in rows for line in self._lines(row, width, is_chosen=row is chosen)]

    def _lines(self, figures: SessionFigures, width: int, *, is_chosen: bool) -> list[Content]:
        session = figures.row.session
        title = one_line(session.title or figures.row.last_message) or "no message yet"
        is_narrow = width < MEDIUM
        cost = cost_words(figures.cost_usd)
        day = day_words(session.last_activity_at)
        date = f"{day} " if is_narrow else cut(day, DATE_CHARS)
        tail = "" if is_narrow else f" {cost}"
        room = max(8, width - 2 - len(date) - len(tail))
        head = Content.assemble(
            (POINTER if is_chosen else NO_POINTER, "bold"),
            (date, MUTED),
            (cut(title, room), "bold" if is_chosen else ""),
            (tail, MUTED),
        )
        person = one_line(figures.person) or "unknown user"
        facts = [
            *([cost] if is_narrow else []),
            *(["archived"] if session.archived_at else []),
            *([person] if self.with_persons else []),
            f"decided: {'; '.join(map(one_line, figures.decided))}"
            if figures.decided
            else counted(figures.row.turns, "turn"),
        ]
        told = " · ".join(facts)
        indent = "    " if is_narrow else " " * (2 + DATE_CHARS)
        return [head, Content.styled(indent + cut(told, max(8, width - len(indent))).rstrip(), MUTED)]


class NumberList(RowList["Number | str"]):
    """A line per number; open ones show below how they are counted."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._numbers: Sequence[Number] = ()
        self._open = set[str]()
        self._is_narrow = False
        """Whether each value has a line below its name: one of them would be cut beside it."""

    def show(self, numbers: Sequence[Number]) -> None:
        """List these."""
        self._numbers = numbers
        self._lay_out()

    def open_close(self) -> None:
        """Show or hide how the chosen one is counted."""
        if (number := self.chosen) and not isinstance(number, str):
            self._open ^= {number.name}
            self._lay_out()

    def on_resize(self) -> None:
        """Wrap open ones again."""
        self._lay_out()

    def _lay_out(self) -> None:
        rows: list[Number | str] = []
        width = self.content_size.width
        self._is_narrow = not all(_fits(number, width) for number in self._numbers)
        for number in self._numbers:
            rows.append(number)
            if self._is_narrow:
                rows.append(number_words(number))
            if number.name in self._open:
                rows += wrap(number.counted, max(16, width - 4))
        self.set_rows(rows)

    def _key_of(self, row: Number | str) -> str:
        return "" if isinstance(row, str) else row.name

    def _draw_rows(
        self, rows: Sequence[Number | str], width: int, chosen: Number | str | None
    ) -> list[Content]:
        return [
            Content.styled(f"    {row}", MUTED)
            if isinstance(row, str)
            else self._line(row, width, is_chosen=row is chosen)
            for row in rows
        ]

    def _line(self, number: Number, width: int, *, is_chosen: bool) -> Content:
        mark = "▾ " if number.name in self._open else "▸ "
        room = width - NUMBER_INDENT if self._is_narrow else _name_chars(width)
        name = cut(one_line(number.name), room)
        return Content.assemble(
            (POINTER if is_chosen else NO_POINTER, "bold"),
            (mark, MUTED),
            (name, "bold" if is_chosen else ""),
            "" if self._is_narrow else f" {number_words(number)}",
        )


def _name_chars(width: int) -> int:
    return min(32, max(12, width // 2))


def _fits(number: Number, width: int) -> bool:
    """Whether its name and value fit beside each other."""
    chars = _name_chars(width)
    return (
        cell_len(number.name) <= chars and cell_len(number_words(number)) <= width - chars - 1 - NUMBER_INDENT
    )


def number_words(number: Number) -> str:
    """Return `75% (3 of 4)`, or what was spent."""
    from ragforge.session.dashboard import Cost

    if isinstance(number, Cost):
        return cost_words(number.usd)
    if number.share is None:
        return "nothing to count yet"
    return f"{number.share:.0%} ({number.part:,} of {number.whole:,})"
