"""Code in an answer, in pieces: additions are drawn without redrawing everything above them.

Costly to import, as `answer_markdown.py` is.
"""

from collections.abc import Iterator
from typing import Any, ClassVar, NamedTuple

from markdown_it.token import Token
from pygments.token import Token as _Token
from textual.app import ComposeResult
from textual.content import Content
from textual.highlight import HighlightTheme, highlight
from textual.widgets import Label, Markdown
from textual.widgets._markdown import MarkdownBlock, MarkdownFence

from ragforge.tui.textual_types import app_of
from ragforge.tui.widgets.in_place import show_in_place

PIECE_LINES_MIN = 40
"""From this size on, a piece ends where code starts again: at an unindented line after an empty one."""
PIECE_LINES_MAX = 200

NO_LANGUAGE = "text"
"""Nothing is guessed: the guess for a log or a listing would change while it grows."""


def pieces_of(code: str) -> Iterator[str]:
    """Return the code in pieces, to be joined by line breaks; more code at its end only changes the last one.

    Empty lines are at the beginning of a piece: at the end, they would be lost for colours and copying.
    """
    piece: list[str] = []
    for line in code.split("\n"):
        begins_anew = bool(piece) and not piece[-1].strip() and line[:1].strip() != ""
        if len(piece) >= PIECE_LINES_MAX or (begins_anew and len(piece) >= PIECE_LINES_MIN):
            filled = max((at for at, each in enumerate(piece, 1) if each.strip()), default=len(piece))
            yield "\n".join(piece[:filled])
            piece = piece[filled:]
        piece.append(line)
    yield "\n".join(piece)


class Lines(NamedTuple):
    """Code, and what its colours depend on."""

    code: str
    language: str
    ansi: bool
    dark: bool

    def highlighted(self) -> Content:
        """Return the coloured code."""
        language = self.language or NO_LANGUAGE
        if self.ansi:
            return MarkdownFence.highlight(self.code, language, self.ansi, self.dark)
        return highlight(self.code, language=language, theme=CodeTheme)


class CodeTheme(HighlightTheme):
    """Textual's, which leaves the lines of a diff without colours."""

    STYLES: ClassVar[Any] = {
        **HighlightTheme.STYLES,
        _Token.Generic.Deleted: "$text-error",
        _Token.Generic.Inserted: "$text-success",
    }


class Piece(Label):
    """Some lines of code."""

    def __init__(self, lines: Lines) -> None:
        self.lines = lines
        super().__init__(lines.highlighted(), expand=True)

    def show(self, lines: Lines) -> None:
        """Show these from now on; do nothing if they are the same."""
        if self.lines != lines:
            self.lines = lines
            show_in_place(self, lines.highlighted())


class Fence(MarkdownFence):
    """A block of code."""

    def __init__(self, markdown: Markdown, token: Token, code: str) -> None:
        # Not its own parent's, which colours all of the code before any of it is known to be new.
        MarkdownBlock.__init__(self, markdown, token)  # pyright: ignore[reportUnknownMemberType]
        self.code = code
        self.lexer = token.info
        self.auto_links = False

    def compose(self) -> ComposeResult:
        """A label for each piece."""
        return map(Piece, self._pieces())

    def notify_style_update(self) -> None:
        """Use the colours of another theme, if it is another."""
        for piece, lines in zip(self.query_children(Piece), self._pieces(), strict=False):
            piece.show(lines)
        MarkdownBlock.notify_style_update(self)

    def _pieces(self) -> list[Lines]:
        app = app_of(self)
        ansi, dark = app.native_ansi_color, app.current_theme.dark
        return [Lines(code, self.lexer, ansi, dark) for code in pieces_of(self.code)]

    async def take_over(self, block: MarkdownBlock) -> bool:
        """Draw code that has grown from this."""
        if not isinstance(block, Fence):
            return False
        self.code, self.lexer = block.code, block.lexer
        pieces, held = self._pieces(), list(self.query_children(Piece))
        for piece, lines in zip(held, pieces, strict=False):
            piece.show(lines)
        for piece in held[len(pieces) :]:
            await piece.remove()
        if len(pieces) > len(held):
            await self.mount_all(map(Piece, pieces[len(held) :]))
        return True
