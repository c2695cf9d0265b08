"""Markdown that shows all a model writes and copies as logical text. Costly to import: see `answer.py`."""

from collections.abc import Sequence
from typing import cast

from markdown_it import MarkdownIt
from textual.app import ComposeResult
from textual.await_complete import AwaitComplete
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.selection import Selection
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


_PADDING = 2
"""On both sides of a cell together, in columns of the terminal."""
_GUTTER = 1
"""Between two cells."""
_WORDS_MIN = 6 + _PADDING
"""The least that a column of words keeps beside columns of numbers."""


class Cell(MarkdownTableCellContents):
    """A cell; copied with a tab after it, or the row's end."""

    def __init__(self, content: Content, *, is_last: bool, classes: str) -> None:
        super().__init__(content, classes=classes)
        self._is_last = is_last

    @property
    def text(self) -> Content:
        """What it shows."""
        return cast("Content", self.content)

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """The text and what parts it from the next cell."""
        found = super().get_selection(selection)
        return None if found is None else (found[0], "\n" if self._is_last else "\t")


class TableContent(MarkdownTableContent):
    """The cells. Textual's own carry their text as a tooltip, which it would read as markup."""

    def compose(self) -> ComposeResult:
        """Headers, then rows."""
        yield from self._cells(self.headers, classes="header")
        for index, row in enumerate(self.rows, 1):
            yield from self._cells(row, classes=f"row{index} cell")
            self.last_row = index

    def on_resize(self) -> None:
        """Share the new width."""
        self._share()

    def _share(self) -> None:
        """Give the columns their widths: Textual would cut words and numbers of all of them alike."""
        count = len(self.headers)
        # Textual keeps no rows of what has grown, but their cells.
        cells = [cell.text for cell in self.query_children(Cell)]
        columns = [cells[index::count] for index in range(count)]
        wanted = [max((cell.cell_length for cell in column), default=0) + _PADDING for column in columns]
        numbers = [not any(char.isalpha() for cell in rows for char in cell.plain) for _, *rows in columns]
        room = self.size.width - _GUTTER * (len(wanted) - 1)
        is_tight = sum(wanted) > room >= len(wanted) * (_PADDING + 1)
        shares = column_widths(wanted, numbers, room)
        self.styles.grid_columns = " ".join(map(str, shares)) if is_tight else "auto"

    def _update_content(self, headers: list[Content], rows: list[list[Content]]) -> None:
        super()._update_content(headers, rows)
        self._share()

    async def _update_rows(self, updated_rows: list[list[Content]]) -> None:
        self.styles.grid_size_columns = len(self.headers)
        await self.query_children(f".cell.row{self.last_row}").remove()
        cells: list[Cell] = []
        for index, row in enumerate(updated_rows, self.last_row):
            cells.extend(self._cells(row, classes=f"row{index} cell"))
            self.last_row = index
        await self.mount_all(cells)
        self._share()

    def _cells(self, row: list[Content], *, classes: str) -> list[Cell]:
        last = len(row) - 1
        return [Cell(cell, is_last=index == last, classes=classes) for index, cell in enumerate(row)]


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


def column_widths(wanted: Sequence[int], numbers: Sequence[bool], room: int) -> list[int]:
    """Widths of columns that want more than the room: numbers stay whole where that leaves words enough.

    wanted, room: in columns of the terminal. What wants less than an even share has what it wants, and the
    others share the rest.
    """
    kept = sum(width for width, is_number in zip(wanted, numbers, strict=True) if is_number)
    if room - kept < _WORDS_MIN * numbers.count(False):
        numbers, kept = [False] * len(wanted), 0
    widths, left, shared = list(wanted), room - kept, numbers.count(False)
    for index in sorted(range(len(wanted)), key=wanted.__getitem__):
        if not numbers[index]:
            widths[index] = min(wanted[index], left // shared)
            left, shared = left - widths[index], shared - 1
    return widths


def _beside(symbol: str, blocks: Sequence[MarkdownBlock]) -> Horizontal:
    bullet = Bullet()
    bullet.symbol = symbol
    return Horizontal(bullet, Vertical(*blocks))


def _parser() -> MarkdownIt:
    # With HTML on, `List<String>` would lose its `<String>`: Textual draws no HTML.
    return MarkdownIt("gfm-like", {"html": False})
