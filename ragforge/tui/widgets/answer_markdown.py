"""Markdown that shows all a model writes and copies as logical text. Slow to import: see `answer.py`."""

from collections.abc import Sequence
from itertools import chain, zip_longest

from markdown_it import MarkdownIt
from rich.cells import cell_len
from textual.app import ComposeResult
from textual.await_complete import AwaitComplete
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.geometry import Size
from textual.layout import Layout
from textual.layouts.grid import GridLayout
from textual.selection import Selection
from textual.widget import Widget
from textual.widgets import Markdown
from textual.widgets._markdown import (
    MarkdownBlock,
    MarkdownBlockQuote,
    MarkdownBullet,
    MarkdownList,
    MarkdownListItem,
    MarkdownTable,
    MarkdownTableCellContents,
    MarkdownTableContent,
)

from ragforge.tui.textual_types import app_of
from ragforge.tui.widgets.answer_fence import Fence
from ragforge.tui.widgets.in_place import show_in_place

CELL_PADDING = 2
WORD_CELLS_MAX = 14
"""A longer word may be broken: else a path in one column would leave no room for the others."""


class Bullet(MarkdownBullet):
    """The sign before an item; copied as Markdown writes it."""

    def get_selection(self, _selection: Selection) -> tuple[str, str] | None:
        """A dash, or the number."""
        sign = self.symbol.strip()
        return (sign if sign[:1].isdigit() else "-"), " "


class RowList(MarkdownList):
    """A list: for each item a row of its sign and its blocks."""

    DEFAULT_CSS = """
    RowList {
        & Horizontal, & Vertical { width: 1fr; height: auto; }
    }
    """

    sign_cells = 0
    """The width of its signs."""

    def signs(self, items: Sequence[MarkdownListItem]) -> list[str]:
        """What precedes the items, all of one width."""
        raise NotImplementedError

    def compose(self) -> ComposeResult:
        """The items, which are the list's children from then on."""
        rows = self.rows_after(0)
        self._blocks.clear()
        return rows

    @property
    def items(self) -> list[MarkdownListItem]:
        """Those that are not drawn yet."""
        return [block for block in self._blocks if isinstance(block, MarkdownListItem)]

    def rows_after(self, count: int) -> list[Horizontal]:
        """Return signs and items, except so many."""
        items = self.items
        signs = self.signs(items)
        self.sign_cells = len(signs[0]) if signs else 0
        return [_beside(sign, item) for sign, item in zip(signs[count:], items[count:], strict=True)]

    async def take_over(self, block: MarkdownBlock) -> bool:
        """Draw what the list has more: what is above its last item cannot have changed."""
        rows, items = self.children, block.items if isinstance(block, RowList) else []
        if not rows or not isinstance(block, RowList) or len(items) < len(rows):
            return False
        new_rows = block.rows_after(len(rows))
        if block.sign_cells != self.sign_cells:
            return False
        if not await _grow_all(rows[-1].children[-1], _parts(items[len(rows) - 1])):
            return False
        if new_rows:
            await self.mount_all(new_rows)
        return True


class BulletList(RowList):
    """A list with our bullets."""

    def signs(self, items: Sequence[MarkdownListItem]) -> list[str]:
        """Bullets."""
        return ["• "] * len(items)


class NumberedList(RowList):
    """A list with our numbers."""

    def signs(self, items: Sequence[MarkdownListItem]) -> list[str]:
        """Numbers, from the first item's on."""
        start = int(items[0].bullet) if items and items[0].bullet.isdecimal() else 1
        cells = len(str(start + len(items) - 1)) + len(". ")
        return [f"{number}. ".rjust(cells) for number in range(start, start + len(items))]


class Cell(MarkdownTableCellContents):
    """A cell; copied with a tab after it, or the row's end."""

    def __init__(self, content: Content, header: Content | None, *, is_last: bool, classes: str) -> None:
        """header: its column's; None for that itself."""
        super().__init__(content, classes=classes)
        self.words = content
        self._header = header
        self._is_last = is_last
        self._is_stacked = False

    def show(self, words: Content) -> None:
        """Show these from now on; nothing is done where they are the same."""
        if not words.is_same(self.words):
            self.words = words
            show_in_place(self, self._shown())

    def stack(self, is_stacked: bool) -> None:
        """Whether it is on a separate line, after the name of its column, and not in columns."""
        if is_stacked == self._is_stacked:
            return
        self._is_stacked = is_stacked
        if self._header is None:
            self.display = not is_stacked
            return
        self.update(self._shown())
        self.styles.padding = (0, 1, 1 if is_stacked and self._is_last else 0, 1)

    def _shown(self) -> Content:
        if self._header is None or not self._is_stacked:
            return self.words
        return Content.assemble(self._header.stylize("$text-muted"), "  ", self.words)

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """Return the text and what separates it from the next cell."""
        found = super().get_selection(selection)
        return None if found is None else (found[0], "\n" if self._is_last else "\t")


class TableContent(MarkdownTableContent):
    """The cells, in columns if each word has room, else one below the other.

    Textual's own shrink all columns alike, until figures are cut off, and show their text as a tooltip,
    which is parsed as markup.
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
    """The current columns; empty while the cells are below each other."""

    def pre_layout(self, layout: Layout) -> None:
        """As wide as what is in them."""
        assert isinstance(layout, GridLayout)
        layout.auto_minimum = layout.expand = layout.shrink = False
        layout.stretch_height = True

    def compose(self) -> ComposeResult:
        """Headers, then rows."""
        yield from self._cells(self.headers, classes="header")
        yield from self._cells_of(self.rows, first=1)

    def on_mount(self) -> None:
        """Nothing is drawn in columns of another width before."""
        self._lay_out()

    def on_resize(self) -> None:
        """Adapt to the new width."""
        self._lay_out()

    async def show(self, headers: list[Content], rows: list[list[Content]]) -> bool:
        """Draw a table that has grown from this one; return False if it has not."""
        if len(headers) != len(self.headers) or len(rows) < len(self.rows):
            return False
        held, more = self.rows[:], rows[len(self.rows) :]
        self.headers, self.rows = headers, rows
        # A row that is complete cannot have changed.
        if held:
            cells = list(self.query_children(Cell))[-len(headers) :]
            for cell, words in zip(cells, rows[len(held) - 1], strict=True):
                cell.show(words)
        if more:
            await self.mount_all(self._cells_of(more, first=len(held) + 1))
        self._lay_out()
        return True

    def _lay_out(self) -> None:
        width = self.size.width or (self.parent.size.width if isinstance(self.parent, Widget) else 0)
        if not width:
            return
        widths = column_widths([[each.plain for each in row] for row in (self.headers, *self.rows)], width)
        if widths != self._laid_out:
            self._laid_out = widths
            self.styles.grid_size_columns = len(widths) or 1
            self.styles.grid_columns = " ".join(map(str, widths)) or "1fr"
        for cell in self.query_children(Cell):
            cell.stack(not widths)

    def _cells_of(self, rows: list[list[Content]], *, first: int) -> list[Cell]:
        numbered = enumerate(rows, first)
        cells = (self._cells(row, classes=f"row{at} cell", headers=self.headers) for at, row in numbered)
        return list(chain.from_iterable(cells))

    def _cells(self, row: list[Content], *, classes: str, headers: list[Content] | None = None) -> list[Cell]:
        last = len(row) - 1
        names = headers or [None] * len(row)
        return [
            Cell(cell, name, is_last=index == last, classes=classes)
            for index, (cell, name) in enumerate(zip(row, names, strict=False))
        ]


def column_widths(rows: list[list[str]], width: int) -> tuple[int, ...]:
    """Return the columns of a table in so many cells, each with room for its words; none if impossible."""
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

    async def take_over(self, block: MarkdownBlock) -> bool:
        """Draw a table that has grown from this one."""
        content = self.query_children(TableContent)
        if not content or not isinstance(block, Table):
            return False
        return await content.first().show(*block._get_headers_and_rows())


class AnswerMarkdown(Markdown):
    """An answer. Links are not followed but reported, see `AnswerView`."""

    def __init__(self, text: str = "") -> None:
        # With HTML on, `List<String>` would lose its `<String>`: Textual draws no HTML.
        self._parser = MarkdownIt("gfm-like", {"html": False})
        super().__init__(text, parser_factory=lambda: self._parser, open_links=False)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """What its blocks take, without a blank line at the end."""
        # In CSS `:last-child` would say so, and each block that is mounted would style all others anew.
        height = super().get_content_height(container, viewport, width)
        return height - self.children[-1].styles.margin.bottom if self.children else height

    def append(self, markdown: str) -> AwaitComplete:
        """Append to the text, and draw what has changed of its last block, and those after it."""
        return AwaitComplete(self._grow(markdown))

    async def _grow(self, markdown: str) -> None:
        # Textual's own rebuilds most blocks for each piece, with their styles and a layout of the screen.
        async with self.lock:
            self._markdown = self.source + markdown
            held = self.query_children(MarkdownBlock)
            first = held.last().source_range[0] if held else 0
            blocks = self._build_from_source(_from_line(self._markdown, first))
            for block in blocks:
                start, end = block.source_range
                block.source_range = (first + start, first + end)
            with app_of(self).batch_update():
                await _grow_last(self, blocks)

    def get_block_class(self, block_name: str) -> type[MarkdownBlock]:
        """Ours where we have one."""
        return _BLOCKS.get(block_name) or super().get_block_class(block_name)


_BLOCKS: dict[str, type[MarkdownBlock]] = {
    "bullet_list_open": BulletList,
    "ordered_list_open": NumberedList,
    "table_open": Table,
    "fence": Fence,
    "code_block": Fence,
}


async def _grow_last(container: Widget, blocks: Sequence[MarkdownBlock]) -> None:
    """Draw in a container, whose last block became the first of these, all of them."""
    held = container.children[-1] if container.children else None
    if isinstance(held, MarkdownBlock):
        if blocks and await _take_over(held, blocks[0]):
            blocks = blocks[1:]
        else:
            await held.remove()
    if blocks:
        await container.mount_all(blocks)


async def _grow_all(container: Widget, blocks: Sequence[MarkdownBlock]) -> bool:
    """Draw in a container that grew its current blocks; return False if there are fewer."""
    drawn = len(container.children)
    if len(blocks) < drawn:
        return False
    await _grow_last(container, blocks[max(0, drawn - 1) :])
    return True


async def _take_over(held: MarkdownBlock, block: MarkdownBlock) -> bool:
    """Draw in a block what it became; return False if it must be replaced, as by another kind."""
    if type(held) is not type(block):
        return False
    held.source_range = block.source_range
    match held:
        case RowList() | Table() | Fence():
            return await held.take_over(block)
        case MarkdownBlockQuote():
            return await _grow_all(held, _parts(block))
        case _:
            words = _words(block)
            if not words.is_same(_words(held)):
                held._content = words  # pyright: ignore[reportPrivateUsage]
                show_in_place(held, words)
            return True


def _parts(block: MarkdownBlock) -> list[MarkdownBlock]:
    """What a block that is not drawn yet is made of."""
    return block._blocks  # pyright: ignore[reportPrivateUsage]


def _words(block: MarkdownBlock) -> Content:
    return block._content  # pyright: ignore[reportPrivateUsage]


def _beside(sign: str, item: MarkdownListItem) -> Horizontal:
    bullet = Bullet()
    bullet.symbol = sign
    return Horizontal(bullet, Vertical(*_parts(item)))


def _from_line(text: str, line: int) -> str:
    at = 0
    for _ in range(line):
        at = text.index("\n", at) + 1
    return text[at:]
