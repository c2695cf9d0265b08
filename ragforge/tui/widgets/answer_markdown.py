"""Markdown that shows all a model writes and copies as logical text. Costly to import: see `answer.py`."""

from collections.abc import Sequence

from markdown_it import MarkdownIt
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.selection import Selection
from textual.widgets import Markdown
from textual.widgets._markdown import (
    MarkdownBlock,
    MarkdownBullet,
    MarkdownBulletList,
    MarkdownOrderedList,
    MarkdownOrderedListItem,
    MarkdownTable,
    MarkdownTableCellContents,
    MarkdownTableContent,
    MarkdownUnorderedListItem,
)


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
        for block in self._blocks:
            if isinstance(block, BulletItem):
                yield block.beside("• ")
        self._blocks.clear()


class NumberedList(MarkdownOrderedList):
    """A list with our numbers."""

    def compose(self) -> ComposeResult:
        items = [block for block in self._blocks if isinstance(block, NumberedItem)]
        start = int(items[0].bullet) if items and items[0].bullet.isdecimal() else 1
        width = len(str(start + len(items) - 1)) + 2
        for number, block in enumerate(items, start):
            yield block.beside(f"{number}. ".rjust(width))
        self._blocks.clear()


class Cell(MarkdownTableCellContents):
    """A cell; copied with a tab after it, or the row's end."""

    def __init__(self, content: Content, *, is_last: bool, classes: str) -> None:
        super().__init__(content, classes=classes)
        self._is_last = is_last

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

    async def _update_rows(self, updated_rows: list[list[Content]]) -> None:
        self.styles.grid_size_columns = len(self.headers)
        await self.query_children(f".cell.row{self.last_row}").remove()
        cells: list[Cell] = []
        for index, row in enumerate(updated_rows, self.last_row):
            cells.extend(self._cells(row, classes=f"row{index} cell"))
            self.last_row = index
        await self.mount_all(cells)

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

    def get_block_class(self, block_name: str) -> type[MarkdownBlock]:
        """Ours where we have one."""
        return _BLOCKS.get(block_name) or super().get_block_class(block_name)


_BLOCKS: dict[str, type[MarkdownBlock]] = {
    "bullet_list_open": BulletList,
    "ordered_list_open": NumberedList,
    "list_item_unordered_open": BulletItem,
    "list_item_ordered_open": NumberedItem,
    "table_open": Table,
}


def _beside(symbol: str, blocks: Sequence[MarkdownBlock]) -> Horizontal:
    bullet = Bullet()
    bullet.symbol = symbol
    return Horizontal(bullet, Vertical(*blocks))


def _parser() -> MarkdownIt:
    # With HTML on, `List<String>` would lose its `<String>`: Textual draws no HTML.
    return MarkdownIt("gfm-like", {"html": False})
