"""`/foresight`: the curves, below them the turns to review; Tab: how well models predict the project."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical

from ragforge.domain.errors import RagforgeError
from ragforge.domain.messages import text_of
from ragforge.domain.printable import printable
from ragforge.domain.words import counted, first_words
from ragforge.session.foresight import (
    COUNT_MIN,
    DEPTH_MAX,
    TURNS_SHOWN,
    ForeseenTurn,
    MarkedTurn,
    curves,
    ranked,
    read_changes,
    read_expected,
    read_foreseers,
    read_marks,
    read_turns,
)
from ragforge.tui.keys import Where
from ragforge.tui.screens.base import Chat, NamedScreen
from ragforge.tui.screens.expectation import ExpectedScreen
from ragforge.tui.screens.list_dialog import ListDialog, list_keys
from ragforge.tui.screens.turn_changes import TurnChangesScreen
from ragforge.tui.textual_types import app_of
from ragforge.tui.widgets.foresight_chart import ForesightChart
from ragforge.tui.widgets.foresight_line import MARK
from ragforge.tui.widgets.foresight_lists import ForeseerList, RankedTurns
from ragforge.tui.widgets.key_hint import KeyHint
from ragforge.tui.widgets.plain import PlainText

if TYPE_CHECKING:  # loaded after the first frame
    from ragforge.session.conversation import Conversation
    from ragforge.tui.screens.dialog import Dialog

NARROW, SHORT = 70, 20
TIGHT = 16
"""In a lower window the list takes the room of the curves."""
CHROME_LINES = 8
"""Title, detail, hint and border."""
HINT = (
    "Enter diff · E expectations · ← → depth · Shift+Left and Shift+Right the project's · Tab people · "
    "Esc closes"
)
HINT_NARROW = "Enter diff · E expected · ← → depth · Tab people · Esc closes"
HINT_FORESEERS = f"Tab goes back to the turns · means of at least {COUNT_MIN} · Esc closes"


class ForesightScreen(ListDialog[None]):
    """Without an answer: after opening something, one returns here."""

    AUTO_FOCUS = ""
    BINDINGS: ClassVar[list[BindingType]] = [*list_keys(Where.FORESIGHT)]

    def __init__(self, conversation: Conversation, limit: int) -> None:
        super().__init__()
        self._conversation, self._limit = conversation, limit
        settings = conversation.workspace.settings.foresight
        self._individual, self._collective = settings.depth_individual, settings.depth_collective
        self._read: list[ForeseenTurn] = []
        self._marks: dict[str, MarkedTurn] = {}
        self._foreseers = False
        """Whether the models are shown, and not the turns."""

    def compose(self) -> ComposeResult:
        """Curves, the list, details of the chosen row."""
        with Vertical(classes="dialog wide tall"):
            yield PlainText("Foresight", classes="dialog-title")
            yield ForesightChart()
            yield RankedTurns()
            yield ForeseerList()
            yield PlainText("", id="foresight-detail")
            yield KeyHint()

    async def on_mount(self) -> None:
        """Read the turns."""
        self.query_one(ForeseerList).display = False
        self.on_resize()
        session = self._conversation.session
        try:
            self._read = await read_turns(session.workspace, session.live.record.head, limit=self._limit)
            self._marks = await read_marks(session.workspace, self._read)
        except RagforgeError as error:
            self._tell(str(error))
            return
        listed = self.query_one(RankedTurns)
        listed.marks = self._marks
        listed.set_rows(ranked(self._read[-self._limit :]))
        self._draw()

    def on_resize(self) -> None:
        """Adapt to the new size."""
        is_short = self.size.height < SHORT
        self.set_class(is_short or self.size.width < NARROW, "-short")
        chart_lines = 5 if is_short else 8 if self.size.height < 2 * SHORT else 12
        chart = self.query_one(ForesightChart)
        chart.display = self.size.height >= TIGHT
        chart_lines = chart_lines if chart.display else 0
        chart.styles.height = chart_lines
        room = self.size.height - CHROME_LINES
        self.query_one(RankedTurns).set_rows_max(room - chart_lines - 1)
        self.query_one(ForeseerList).set_rows_max(room // ForeseerList.LINES_A_ROW)
        self._tell(self._hint)

    @property
    def _hint(self) -> str:
        if self._foreseers:
            return HINT_FORESEERS
        return HINT if self.size.width >= len(HINT) + 6 else HINT_NARROW

    def _draw(self) -> None:
        """Draw the curves for the current depths, and the details of the chosen turn."""
        drawn = curves(self._read, individual=self._individual, collective=self._collective)
        self.query_one(ForesightChart).show(drawn.newest(self._limit))
        count = counted(min(self._limit, len(self._read)), "turn")
        depths = f"depth {self._individual} for you, {self._collective} for the project"
        self.query_one(".dialog-title", PlainText).set_text(f"Foresight · {count} · {depths}")
        self._explain()

    def _explain(self) -> None:
        row = self.query_one(RankedTurns).chosen
        marked = self._marks.get(row.turn.id) if row else None
        words = f"{MARK} {'; '.join(mark.words for mark in marked.marks)}" if marked and marked.marks else ""
        if not words and row and row.made:
            words = row.made.individual_before_description or row.made.collective_before_description
        self.query_one("#foresight-detail", PlainText).set_text(printable(words))

    # Moving

    async def _step(self, by: int) -> None:
        self.query_one(ForeseerList if self._foreseers else RankedTurns).step(by)
        self._explain()

    @on(RankedTurns.Clicked)
    def _clicked(self) -> None:
        self._explain()

    def action_depth_less(self) -> None:
        self._set_depths(self._individual - 1, self._collective)

    def action_depth_more(self) -> None:
        self._set_depths(self._individual + 1, self._collective)

    def action_project_depth_less(self) -> None:
        self._set_depths(self._individual, self._collective - 1)

    def action_project_depth_more(self) -> None:
        self._set_depths(self._individual, self._collective + 1)

    def _set_depths(self, individual: int, collective: int) -> None:
        self._individual = max(1, min(individual, DEPTH_MAX))
        self._collective = max(1, min(collective, DEPTH_MAX))
        self._draw()

    async def action_show_foreseers(self) -> None:
        """Show the models, or the turns again."""
        self._foreseers = not self._foreseers
        for kind in (ForesightChart, RankedTurns):
            self.query_one(kind).display = not self._foreseers
        listed = self.query_one(ForeseerList)
        listed.display = self._foreseers
        self.query_one("#foresight-detail", PlainText).display = not self._foreseers
        self._tell(self._hint)
        if not self._foreseers:
            self._draw()
            return
        self.query_one(".dialog-title", PlainText).set_text("Who foresees this project")
        try:
            listed.set_rows(await read_foreseers(self._conversation.workspace))
        except RagforgeError as error:
            self._tell(str(error))

    # Opening one

    @work(exclusive=True, group="open")
    async def action_take(self) -> None:
        """Open the diff of the chosen turn."""
        row = self.query_one(RankedTurns).chosen
        if row is None or self._foreseers:
            return
        try:
            files = await read_changes(self._conversation.session, row.turn.id)
        except RagforgeError as error:
            self._tell(str(error))
            return
        title = f"Turn {row.number}: {first_words(printable(text_of(row.turn.user)))}"
        await self._open(TurnChangesScreen(title, files))

    @work(exclusive=True, group="open")
    async def action_show_expected(self) -> None:
        """Open the prediction for the chosen turn, and what happened."""
        row = self.query_one(RankedTurns).chosen
        if row is None or self._foreseers:
            return
        try:
            found = await read_expected(self._conversation.workspace, row.turn.id)
        except RagforgeError as error:
            self._tell(str(error))
            return
        await self._open(ExpectedScreen(*found))

    async def _open(self, screen: Dialog[None]) -> None:
        if self.is_current:
            await app_of(self).push_screen_wait(screen)


async def _open(chat: Chat, limit: str) -> None:
    await chat.ask(ForesightScreen(chat.ready(), int(limit or TURNS_SHOWN)))


SCREEN = NamedScreen("foresight", _open, while_running=True)
