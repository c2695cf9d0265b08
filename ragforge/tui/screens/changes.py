"""The common part of the log and the rewind: a list above, and below it the changes of the chosen row."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

from msgspec import Struct
from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical, VerticalScroll

from ragforge.domain.errors import RagforgeError
from ragforge.domain.words import counted
from ragforge.tui.keys import Where, declared
from ragforge.tui.screens.list_dialog import ListDialog, list_keys
from ragforge.tui.widgets.diff_view import diff_lines
from ragforge.tui.widgets.key_hint import KeyHint
from ragforge.tui.widgets.plain import PlainText
from ragforge.tui.widgets.row_list import RowList
from ragforge.tui.widgets.text_rows import TextLine, TextRows
from ragforge.versions.difference import Difference, as_text

STEP = 8
DIFF_LINES_MAX = 2_000
LINES_AROUND = 8
NARROW, SHORT = 80, 24
"""Below so many columns or lines the hint is one line; below so many lines there are no empty ones."""
SHARED_KEYS = ("chat_alone", "files_alone", "scroll_diff_up", "scroll_diff_down")


class Told(Struct, frozen=True):
    """The description of the chosen row, and the files that are shown below."""

    words: str
    files: Sequence[Difference] = ()


def version_keys(*more: str) -> list[Binding]:
    """The keys of a list, those that such screens share, and some more of those for versions."""
    wanted = {*SHARED_KEYS, *more}
    return [*list_keys(), *(key for key in declared(Where.VERSIONS) if key.action in wanted)]


class ChangesScreen(ListDialog[str | None]):
    """The command that the user chose, such as `checkout 1a2b3c4d`, or None.

    A subclass mounts its list (`_make_list`), fills it (`_read`), describes the changes of the chosen row
    (`_told`) and returns its command (`_command`).
    """

    HEADING: ClassVar[str] = ""
    HINT: ClassVar[str] = ""
    """The keys: actions on the chosen row, and in a second line how to move and leave."""
    HINT_SHORT: ClassVar[str] = ""
    """The same in one line, for a small window."""
    TAKES_DOUBLE_CLICKS = False  # files would be changed by mistake
    LIST_SHARE: ClassVar[float] = 0.45
    """The share of the screen's height; the rest is for the changes."""

    def __init__(self) -> None:
        super().__init__()
        self._said = ""
        """What is shown below instead of the hint."""

    # What a subclass says

    @abstractmethod
    def _make_list(self) -> RowList[Any]: ...

    @abstractmethod
    async def _read(self) -> None:
        """Fill the list. Raises RagforgeError."""

    @abstractmethod
    async def _told(self) -> Told | None:
        """Return the changes of the chosen row; None if nothing is chosen. Raises RagforgeError."""

    @abstractmethod
    def _command(self, part: str) -> str:
        """Return the command for the chosen row; "" for none. part: "", or an option after a blank."""

    @property
    def _takes_keys(self) -> bool:
        """Whether keys are the list's at the moment."""
        return True

    # What is seen

    def compose(self) -> ComposeResult:
        """The list, and the changes of the chosen row."""
        with Vertical(classes="dialog wide tall"):
            yield PlainText(self.HEADING, classes="dialog-title")
            yield self._make_list()
            yield PlainText("", id="version-detail")
            with VerticalScroll(id="version-diff", can_focus=False):
                yield TextRows()
            yield from self._compose_line()
            yield KeyHint()

    def _compose_line(self) -> ComposeResult:
        """The input line, if there is one."""
        yield from ()

    async def on_mount(self) -> None:
        """Fill the list."""
        self.on_resize()
        try:
            await self._read()
        except RagforgeError as error:
            self._tell(str(error))
            return
        if self.is_current:  # not closed meanwhile
            self._explain()

    def on_resize(self) -> None:
        """Adapt to the new size."""
        self.set_class(self.size.width < NARROW, "-narrow")
        self.set_class(self.size.height < SHORT, "-short")
        rows = int((self.size.height - LINES_AROUND) * self.LIST_SHARE)
        self.query_one(RowList).set_rows_max(rows)
        self._tell(self._said)

    def _tell(self, words: str = "") -> None:
        """Show it below, in place of the keys; without words, show these again."""
        self._said = words
        is_small = self.size.width < NARROW or self.size.height < SHORT
        doing, _, leaving = self.HINT.partition("\n")
        if is_small or not self._takes_keys:
            hint = words or self.HINT_SHORT
        else:
            hint = f"{words or doing}\n{leaving}"
        super()._tell(hint)

    @work(exclusive=True, group="explain")
    async def _explain(self) -> None:
        """Show the changes of the chosen row, once they are read."""
        try:
            told = await self._told()
            lines = await asyncio.to_thread(changed_lines, told.files) if told else []
        except RagforgeError as error:
            self._tell(str(error))
            return
        if not self.is_current:
            return  # closed meanwhile
        self.query_one("#version-detail", PlainText).set_text(told.words if told else "")
        self.query_one(TextRows).set_lines(lines)
        self.query_one("#version-diff", VerticalScroll).scroll_home(animate=False)

    # Moving

    @on(RowList.Clicked)
    def _clicked(self) -> None:
        self._explain()

    async def _step(self, by: int) -> None:
        if self._takes_keys:
            self.query_one(RowList).step(by)
            self._explain()

    def action_scroll_diff_up(self) -> None:
        """Scroll the changes up by a few lines."""
        self.query_one("#version-diff", VerticalScroll).scroll_relative(y=-STEP, animate=False)

    def action_scroll_diff_down(self) -> None:
        """Scroll the changes down by a few lines."""
        self.query_one("#version-diff", VerticalScroll).scroll_relative(y=STEP, animate=False)

    # Taking one

    def action_take(self) -> None:
        """Files and chat."""
        self._take("")

    def action_chat_alone(self) -> None:
        self._take(" --chat")

    def action_files_alone(self) -> None:
        self._take(" --files")

    def _take(self, part: str) -> None:
        if self._takes_keys and (command := self._command(part)):
            self.dismiss(command)


def changed_lines(files: Sequence[Difference]) -> list[TextLine]:
    """Return the lines to draw; if there are too many, the last says how many are left out."""
    if not files:
        return []
    lines = diff_lines(as_text(files), names_one=True)
    left_out = len(lines) - DIFF_LINES_MAX
    if left_out <= 0:
        return lines
    gutter = " " * len(lines[0].gutter)
    more = TextLine(f"… {counted(left_out, 'more line')}; /diff shows all", gutter, "note")
    return [*lines[:DIFF_LINES_MAX], more]
