"""Markdown that shows all a model writes and copies as logical text. Costly to import: see `answer.py`."""

from collections.abc import Sequence
from itertools import zip_longest

from markdown_it import MarkdownIt
from rich.cells import cell_len
from textual.app import ComposeResult
from textual.await_complete import AwaitComplete
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.layout import Layout
from textual.layouts.grid import GridLayout
from textual.selection import Selection
from textual.widget import Widget
from textual.widgets import Markdown
from textual.widgets._markdown import (
    MarkdownBlock,
    MarkdownBullet,
    MarkdownBulletList,
    MarkdownList,
    MarkdownOrderedList,
    MarkdownOrderedListItem,
    MarkdownTable,
    MarkdownTableCellContents,
    MarkdownTableContent,
    MarkdownUnorderedListItem,
)

from ragforge.tui.widgets.answer_fence import Fence

CELL_PADDING = 2
WORD_CELLS_MAX = 14
"""A longer word may be broken: else a path in one column would leave no room for the others."""


class Bullet(MarkdownBullet):
    """The sign before an item; copied as Markdown writes it."""

    def get_selection(self, _selection: Selection) -> tuple[str, str] | None:
        """A dash, or the number."""
        sign = self.symbol.strip()
        return (sign if sign[:1].isdigit() else "-"), " "


class BulletItem(MarkdownUnorderedListItem):
    """An item of a list with bullets."""

    def beside(self, symbol: str) -> Horizontal:
        """Bullet and item side by side."""
        return _beside(symbol, self._blocks)


class NumberedItem(MarkdownOrderedListItem):
    """An item of a list with numbers."""

    def beside(self, symbol: str) -> Horizontal:
        """Number and item side by side."""
        return _beside(symbol, self._blocks)


class BulletList(MarkdownBulletList):
    """A list with our bullets."""

    def compose(self) -> ComposeResult:
        """The items, which stand in the list's children from then on."""
        rows = self.rows_after(0)
        self._blocks.clear()
        return rows

    def rows_after(self, count: int) -> list[Horizontal]:
        """Bullets and items, but for so many."""
        items = [block for block in self._blocks if isinstance(block, BulletItem)]
        return [item.beside("• ") for item in items[count:]]

    async def _update_from_block(self, block: MarkdownBlock) -> None:
        if isinstance(block, BulletList):
            self._copy_context(block)
            await _replace_last(self, block.rows_after(len(self.children) - 1))
        else:
            await super()._update_from_block(block)


class NumberedList(MarkdownOrderedList):
    """A list with our numbers."""

    width = 0
    """Of the last number with what is around it, as all have it."""

    def compose(self) -> ComposeResult:
        """The items, which stand in the list's children from then on."""
        rows = self.rows_after(0)
        self._blocks.clear()
        return rows

    def rows_after(self, count: int) -> list[Horizontal]:
        """Numbers and items, but for so many."""
        items = [block for block in self._blocks if isinstance(block, NumberedItem)]
        start = int(items[0].bullet) if items and items[0].bullet.isdecimal() else 1
        self.width = len(str(start + len(items) - 1)) + 2
        numbered = list(enumerate(items, start))
        return [item.beside(f"{number}. ".rjust(self.width)) for number, item in numbered[count:]]

    async def _update_from_block(self, block: MarkdownBlock) -> None:
        if not isinstance(block, NumberedList):
            await super()._update_from_block(block)
            return
        rows = block.rows_after(len(self.children) - 1)
        if block.width != self.width:
            await super()._update_from_block(block)
            return
        self._copy_context(block)
        await _replace_last(self, rows)


async def _replace_last(held: MarkdownList, rows: Sequence[Horizontal]) -> None:
    """Put these in place of the last row: what stands above it cannot have changed."""
    if held.children:
        await held.children[-1].remove()
    await held.mount_all(rows)


class Cell(MarkdownTableCellContents):
    """A cell; copied with a tab after it, or the row's end."""

    def __init__(self, content: Content, header: Content | None, *, is_last: bool, classes: str) -> None:
        """header: its column's; None for that itself."""
        super().__init__(content, classes=classes)
        self.words = content
        self._header = header
        self._is_last = is_last

    def stack(self, is_stacked: bool) -> None:
        """Whether it stands on a line of its own, behind the name of its column, and not in columns."""
        if self._header is None:
            self.display = not is_stacked
            return
        named = Content.assemble(self._header.stylize("$text-muted"), "  ", self.words)
        self.update(named if is_stacked else self.words)
        self.styles.padding = (0, 1, 1 if is_stacked and self._is_last else 0, 1)

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """The text and what parts it from the next cell."""
        found = super().get_selection(selection)
        return None if found is None else (found[0], "\n" if self._is_last else "\t")


class TableContent(MarkdownTableContent):
    """The cells, in columns where each word has room, else one below the other.

    Textual's own shrink all columns alike, until figures are cut off, and carry their text as a tooltip,
    which it would read as markup.
    """

    DEFAULT_CSS = """
    TableContent {
        /* A line a row: lines between them would double the height. */
        keyline: none;
        grid-gutter: 0;
        & > .cell, & > .header { text-overflow: fold; }
    }
    """
    _laid_out: tuple[int, ...] | None = None
    """The columns as they are; empty while the cells stand below each other."""

    def pre_layout(self, layout: Layout) -> None:
        """As wide as what is in them."""
        assert isinstance(layout, GridLayout)
        layout.auto_minimum = layout.expand = layout.shrink = False
        layout.stretch_height = True

    def compose(self) -> ComposeResult:
        """Headers, then rows."""
        yield from self._cells(self.headers, classes="header")
        for index, row in enumerate(self.rows, 1):
            yield from self._cells(row, classes=f"row{index} cell", headers=self.headers)
            self.last_row = index

    def on_mount(self) -> None:
        """Nothing is drawn in columns of another width before."""
        self._lay_out()

    def on_resize(self) -> None:
        """Fit the new width."""
        self._lay_out()

    def _update_content(self, headers: list[Content], rows: list[list[Content]]) -> None:
        super()._update_content(headers, rows)
        words_of_all = (*headers, *(each for row in rows for each in row))
        for cell, words in zip(self.query_children(Cell), words_of_all, strict=False):
            cell.words = words
        self._laid_out = None
        self._lay_out()

    async def _update_rows(self, updated_rows: list[list[Content]]) -> None:
        self.rows[max(0, self.last_row - 1) :] = updated_rows
        await self.query_children(f".cell.row{self.last_row}").remove()
        cells: list[Cell] = []
        for index, row in enumerate(updated_rows, self.last_row):
            cells.extend(self._cells(row, classes=f"row{index} cell", headers=self.headers))
            self.last_row = index
        await self.mount_all(cells)
        self._laid_out = None
        self._lay_out()

    def _lay_out(self) -> None:
        width = self.size.width or (self.parent.size.width if isinstance(self.parent, Widget) else 0)
        if not width:
            return
        widths = column_widths([[each.plain for each in row] for row in (self.headers, *self.rows)], width)
        if widths == self._laid_out:
            return
        self._laid_out = widths
        self.styles.grid_size_columns = len(widths) or 1
        self.styles.grid_columns = " ".join(map(str, widths)) or "1fr"
        for cell in self.query_children(Cell):
            cell.stack(not widths)

    def _cells(self, row: list[Content], *, classes: str, headers: list[Content] | None = None) -> list[Cell]:
        last = len(row) - 1
        names = headers or [None] * len(row)
        return [
            Cell(cell, name, is_last=index == last, classes=classes)
            for index, (cell, name) in enumerate(zip(row, names, strict=False))
        ]


def column_widths(rows: list[list[str]], width: int) -> tuple[int, ...]:
    """The columns of a table in so many cells, each with room for its words; none where that cannot be."""
    columns = list(zip_longest(*rows, fillvalue=""))
    whole = [max(map(_longest_line, column)) + CELL_PADDING for column in columns]
    if sum(whole) <= width:
        return tuple(whole)
    least = [min(max(map(_longest_word, column)), WORD_CELLS_MAX) + CELL_PADDING for column in columns]
    left = width - sum(least)
    if left < 0:
        return ()
    wanted = sum(whole) - sum(least)
    return tuple(low + left * (high - low) // wanted for low, high in zip(least, whole, strict=True))


def _longest_line(cell: str) -> int:
    return max(map(cell_len, cell.split("\n")))


def _longest_word(cell: str) -> int:
    return max(map(cell_len, cell.split()), default=0)


class Table(MarkdownTable):
    """A table of our cells."""

    def compose(self) -> ComposeResult:
        self._headers, self._rows = self._get_headers_and_rows()
        yield TableContent(self._headers, self._rows)


class AnswerMarkdown(Markdown):
    """An answer. Links are not followed but told, see `AnswerView`."""

    def __init__(self, text: str = "") -> None:
        super().__init__(text, parser_factory=_parser, open_links=False)

    def append(self, markdown: str) -> AwaitComplete:
        """Add to the text, and draw its last block anew."""
        # After its first text Textual goes on at the last line: what the block has above that would be lost.
        blocks = self.query_children(MarkdownBlock)
        self._last_parsed_line = blocks.last().source_range[0] if blocks else 0
        return super().append(markdown)

    def get_block_class(self, block_name: str) -> type[MarkdownBlock]:
        """Ours where we have one."""
        return _BLOCKS.get(block_name) or super().get_block_class(block_name)


_BLOCKS: dict[str, type[MarkdownBlock]] = {
    "bullet_list_open": BulletList,
    "ordered_list_open": NumberedList,
    "list_item_unordered_open": BulletItem,
    "list_item_ordered_open": NumberedItem,
    "table_open": Table,
    "fence": Fence,
    "code_block": Fence,
}


def _beside(symbol: str, blocks: Sequence[MarkdownBlock]) -> Horizontal:
    bullet = Bullet()
    bullet.symbol = symbol
    return Horizontal(bullet, Vertical(*blocks))


def _parser() -> MarkdownIt:
    # With HTML on, `List<String>` would lose its `<String>`: Textual draws no HTML.
    return MarkdownIt("gfm-like", {"html": False})
