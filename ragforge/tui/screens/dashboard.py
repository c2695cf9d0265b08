"""The dashboard: wishes, concepts, sessions and numbers, each on a tab."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Any, ClassVar

from msgspec import Struct
from textual import on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.widgets import Input

from ragforge.domain.errors import RagforgeError, UsageError
from ragforge.domain.memories import Memory, WishOrder
from ragforge.domain.printable import one_line
from ragforge.domain.words import counted
from ragforge.session.dashboard import (
    WISHES_MAX,
    WISHES_SORTED_MAX,
    in_order,
    proposed_rule,
    read_concepts,
    read_numbers,
    read_sessions,
    read_wishes,
    wishes_max,
)
from ragforge.session.persons import shows_persons
from ragforge.tui.keys import Where
from ragforge.tui.screens.base import Chat, NamedScreen, interface_verbs
from ragforge.tui.screens.confirm import ConfirmScreen
from ragforge.tui.screens.list_dialog import ListDialog, list_keys
from ragforge.tui.textual_types import app_of
from ragforge.tui.widgets.action_line import ActionLine, ClickableWords
from ragforge.tui.widgets.dashboard_lists import (
    ConceptList,
    NumberList,
    SessionTimeline,
    WishTable,
    wish_value,
)
from ragforge.tui.widgets.key_hint import KeyHint
from ragforge.tui.widgets.plain import PlainText
from ragforge.tui.widgets.row_list import RowList

if TYPE_CHECKING:  # loaded after the first frame
    from ragforge.session.conversation import Conversation
    from ragforge.session.memory_book import TurnPlace

LISTED_MAX = 200
SHORT, TIGHT = 24, 16
"""A screen with fewer lines has no empty ones, or one line below the list for the chosen row."""


class Tab(StrEnum):
    """The tabs."""

    WANTED = "Wanted"
    CONCEPTS = "Concepts"
    ARCHIVE = "Archive"
    NUMBERS = "Numbers"


_LISTS: Mapping[Tab, type[RowList[Any]]] = {
    Tab.WANTED: WishTable,
    Tab.CONCEPTS: ConceptList,
    Tab.ARCHIVE: SessionTimeline,
    Tab.NUMBERS: NumberList,
}
_ACTIONS: Mapping[Tab, tuple[ClickableWords, ...]] = {
    Tab.WANTED: (
        ClickableWords("Enter opens its turn", "take"),
        ClickableWords("S sorts", "sort_wishes"),
        ClickableWords("E edits", "edit_wish"),
        ClickableWords("X forgets", "forget_wish"),
        ClickableWords("R allows by a rule", "allow_wish"),
    ),
    Tab.CONCEPTS: (ClickableWords("Enter searches", "take"),),
    Tab.ARCHIVE: (ClickableWords("Enter opens the session", "take"),),
    Tab.NUMBERS: (ClickableWords("Enter explains how it is counted", "take"),),
}
_CLOSE = (ClickableWords("Tab next", "next_tab"), ClickableWords("Esc closes", "leave"))


class DashboardAnswer(Struct, frozen=True):
    """The destination: a session, or a turn of one, or words to search for."""

    session_id: str = ""
    turn: int | None = None
    search: str = ""


class DashboardScreen(ListDialog[DashboardAnswer | None]):
    """Returns the destination, or None."""

    AUTO_FOCUS = ""  # keys are the list's until something is typed
    TAKES_DOUBLE_CLICKS = False  # the second click acts already
    BINDINGS: ClassVar[list[BindingType]] = [*list_keys(Where.DASHBOARD)]

    def __init__(self, conversation: Conversation, order: WishOrder = WishOrder.KIND) -> None:
        super().__init__()
        self._conversation = conversation
        self._tab = Tab.WANTED
        self._order, self._reverse = order, False
        self._wishes_max = wishes_max(order)
        self._read = set[Tab]()
        self._typed_for: Memory | None = None
        self._is_rule = False
        """Whether a rule is being typed, and not the words of a wish."""
        self._explained = ""
        """The key of the explained row: a click on it opens it."""

    def compose(self) -> ComposeResult:
        """The tabs, the list of each, details of the chosen row, and the keys."""
        with Vertical(classes="dialog wide tall"):
            yield ActionLine(id="dashboard-tabs", classes="-tabs")
            with Vertical(id="dashboard-list"):
                for kind in _LISTS.values():
                    yield kind()
            yield PlainText("", id="dashboard-detail")
            field = Input(id="dashboard-field", select_on_focus=False)
            field.display = False
            yield field
            yield ActionLine(id="dashboard-actions")
            yield KeyHint()

    async def on_mount(self) -> None:
        """Show the first tab."""
        await self._show(Tab.WANTED)

    # What is shown

    @property
    def _list(self) -> RowList[Any]:
        return self.query_one(_LISTS[self._tab])

    @property
    def _wishes(self) -> WishTable:
        return self.query_one(WishTable)

    @property
    def _field(self) -> Input:
        return self.query_one("#dashboard-field", Input)

    async def _show(self, tab: Tab) -> None:
        if self._typed_for is not None:
            return
        self._tab = tab
        for each, kind in _LISTS.items():
            self.query_one(kind).display = each is tab
        self.query_one("#dashboard-tabs", ActionLine).show(
            [ClickableWords(each, f"show('{each}')", is_chosen=each is tab) for each in Tab]
        )
        self.query_one("#dashboard-actions", ActionLine).show((*_ACTIONS[tab], *_CLOSE))
        self._tell("")
        self.on_resize()
        if tab not in self._read:
            await self._reload()
        self._explain()

    async def _reload(self) -> None:
        """Read the contents of the tab."""
        tab, store = self._tab, self._conversation.workspace.store
        partial = store.link.partial
        try:
            await self._fill(tab)
        except RagforgeError as error:
            self._tell(str(error))
            return
        self._read.add(tab)
        if store.link.partial > partial:
            self._tell(store.link.missing)

    async def _fill(self, tab: Tab) -> None:
        library = self._conversation.workspace
        match tab:
            case Tab.WANTED:
                self._set_wishes(await read_wishes(library, limit=self._wishes_max))
            case Tab.CONCEPTS:
                self.query_one(ConceptList).set_rows(await read_concepts(library, LISTED_MAX))
            case Tab.ARCHIVE:
                rows = await read_sessions(library, LISTED_MAX)
                timeline = self.query_one(SessionTimeline)
                timeline.with_persons = shows_persons([row.person for row in rows], library.person)
                timeline.set_rows(rows)
            case Tab.NUMBERS:
                numbers = await read_numbers(library)
                costs = (numbers.memory, numbers.chat, *numbers.people)
                self.query_one(NumberList).show([*numbers.figures, *costs])

    def _set_wishes(self, wishes: tuple[Memory, ...]) -> None:
        table = self._wishes
        table.order, table.reverse = self._order, self._reverse
        table.set_rows(in_order(wishes, self._order, reverse=self._reverse))

    def on_resize(self) -> None:
        """Adapt to the new height."""
        self.set_class(self.size.height < SHORT, "-short")
        self.set_class(self.size.height < TIGHT, "-tight")
        self.call_after_refresh(self._fit)

    def _fit(self) -> None:
        listed = self._list
        lines = self.query_one("#dashboard-list").size.height
        if listed is self._wishes or listed.TELLS_HIDDEN:
            lines -= 1  # a heading, or how many are hidden
        listed.set_rows_max(lines // listed.LINES_A_ROW)

    def _explain(self) -> None:
        """Show the details of the chosen row below."""
        row = self._list.chosen
        self._explained = self._list.chosen_key
        words = ""
        if self._tab is Tab.WANTED and row is not None:
            words = _wish_words(row)
        elif self._tab is Tab.WANTED and self._may_lack_wishes:
            words = f"Shows the newest {WISHES_MAX} of each kind. Sorting ranks all of them."
        elif self._tab is Tab.ARCHIVE and row is not None:
            words = "\n".join(f"decided: {one_line(each)}" for each in row.decided)
        detail = self.query_one("#dashboard-detail", PlainText)
        detail.set_text(words)
        detail.display = bool(words)
        self.call_after_refresh(self._fit)  # the details may take more lines, or none

    # Moving

    async def action_show(self, tab: str) -> None:
        """Show the tab of this name."""
        await self._show(Tab(tab))

    async def action_next_tab(self) -> None:
        await self._step_tab(1)

    async def action_previous_tab(self) -> None:
        await self._step_tab(-1)

    async def _step_tab(self, by: int) -> None:
        tabs = list(Tab)
        await self._show(tabs[(tabs.index(self._tab) + by) % len(tabs)])

    async def _step(self, by: int) -> None:
        if self._typed_for is None:
            self._list.step(by)
            self._explain()

    @on(RowList.Clicked)
    async def _clicked(self) -> None:
        if self._typed_for is not None:
            return
        is_again = self._list.chosen_key == self._explained
        self._explain()
        if is_again or self._tab is Tab.NUMBERS:
            await self.action_take()

    # Sorting

    @property
    def _may_lack_wishes(self) -> bool:
        return self._wishes_max == WISHES_MAX and len(self._wishes.rows) >= WISHES_MAX

    async def action_sort_wishes(self) -> None:
        """Sort the wishes by the next column."""
        orders = list(WishOrder)
        await self.action_sort_by(orders[(orders.index(self._order) + 1) % len(orders)])

    async def action_sort_by(self, order: str) -> None:
        """Sort by this column; by the same one again in reverse."""
        if self._tab is not Tab.WANTED or self._typed_for is not None:
            return
        self._reverse = order == self._order and not self._reverse
        self._order = WishOrder(order)
        if self._may_lack_wishes:
            self._wishes_max = WISHES_SORTED_MAX
            await self._reload()
        else:
            self._set_wishes(tuple(self._wishes.rows))
        self._explain()

    # Taking one

    async def action_take(self) -> None:
        """Open the chosen row: its turn, a search, the session, or how it is counted."""
        row = self._list.chosen
        if row is None or self._typed_for is not None:
            return
        match self._tab:
            case Tab.WANTED:
                await self._open_turn(row)
            case Tab.CONCEPTS:
                self.dismiss(DashboardAnswer(search=row.topic))
            case Tab.ARCHIVE:
                self.dismiss(DashboardAnswer(row.row.session.id))
            case Tab.NUMBERS:
                self.query_one(NumberList).open_close()

    async def _open_turn(self, wish: Memory) -> None:
        try:
            place: TurnPlace = await self._conversation.memory_book.open_evidence(wish)
        except RagforgeError as error:
            self._tell(str(error))
            return
        if self.is_current:
            self.dismiss(DashboardAnswer(place.session_id, place.turn))

    # Actions on a wish

    @property
    def _chosen_wish(self) -> Memory | None:
        free = self._tab is Tab.WANTED and self._typed_for is None
        return self._wishes.chosen if free else None

    def action_edit_wish(self) -> None:
        """Edit its words."""
        if wish := self._chosen_wish:
            self._ask_for(wish, wish.content, is_rule=False)
            self._tell("Enter saves the new text · Esc keeps the old one")

    def action_allow_wish(self) -> None:
        """Enter the consent rule that allows what it is about."""
        if wish := self._chosen_wish:
            try:
                rule = proposed_rule(wish)
            except UsageError as error:
                self._tell(str(error))
                return
            self._ask_for(wish, rule, is_rule=True)
            self._tell(
                "What matches the rule is allowed in this project without asking.\n"
                "Enter adds the rule · Esc cancels"
            )

    def _ask_for(self, wish: Memory, text: str, *, is_rule: bool) -> None:
        self._typed_for, self._is_rule = wish, is_rule
        field = self._field
        field.value, field.display = text, True
        field.cursor_position = len(text) - (1 if is_rule else 0)
        field.focus()

    @on(Input.Submitted)
    async def _typed(self, event: Input.Submitted) -> None:
        event.stop()
        wish = self._typed_for
        if wish is None:
            return
        try:
            told = await (self._allow(event.value) if self._is_rule else self._reword(wish, event.value))
        except RagforgeError as error:
            self._tell(str(error))  # the input stays, to be corrected
            return
        if self.is_current:
            self._stop_typing()
            await self._reload()
            self._explain()
            self._tell(told)

    async def _reword(self, wish: Memory, words: str) -> str:
        edited = await self._conversation.memory_book.edit(wish, words)
        if edited.memory.id == wish.id:
            return "The text is unchanged."
        return "Saved. /memory still has the previous text."

    async def _allow(self, rule: str) -> str:
        await self._conversation.run("permissions", f"add {rule}", interface_verbs())
        return f"Added {one_line(rule)}. /permissions lists the rules and removes them."

    def action_leave(self) -> None:
        """Close, or cancel the input."""
        if self._typed_for is None:
            self.dismiss(None)
        else:
            self._stop_typing()
            self._tell("")

    def _stop_typing(self) -> None:
        self._typed_for = None
        self._field.display = False
        self.set_focus(None)

    @work(exclusive=True, group="forget")
    async def action_forget_wish(self) -> None:
        """Ask, then forget the chosen one and others that say the same."""
        wish = self._chosen_wish
        if wish is None:
            return
        words = one_line(wish.content)
        asked = ConfirmScreen("Forget this?", detail=words)
        if not await app_of(self).push_screen_wait(asked):
            return
        try:
            alike = await self._conversation.memory_book.forget(wish)
        except RagforgeError as error:
            self._tell(str(error))
            return
        await self._reload()
        self._explain()
        more = f", and {counted(len(alike), 'memory')} that say the same" if alike else ""
        self._tell(f"Forgotten: {words[:60]}{more}. /memory restores it.")


def _wish_words(wish: Memory) -> str:
    """Return the complete wish, and all that its columns say; the topic last, which may be long."""
    orders = sorted(WishOrder, key=lambda order: order is WishOrder.TOPIC)
    shown = [f"{order} {value}" for order in orders if (value := wish_value(wish, order))][1:]
    return f"{one_line(wish.content)}\n{' · '.join(shown)}"


async def _open(chat: Chat, order: str) -> None:
    answer = await chat.ask(DashboardScreen(chat.ready(), WishOrder(order or WishOrder.KIND)))
    if answer is None:
        return
    if answer.search:
        await chat.run_line(f"search {answer.search}")
    else:
        await chat.go_to(answer.session_id, answer.turn)


SCREEN = NamedScreen("dashboard", _open)
