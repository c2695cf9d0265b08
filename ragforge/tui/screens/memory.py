"""The memories: browse, show what they are based on, edit, forget, restore."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, ClassVar

from msgspec import Struct
from textual import on, work
from textual.app import ComposeResult
from textual.binding import BindingType

from ragforge.commands.memory_output import binds_words
from ragforge.domain.errors import RagforgeError
from ragforge.domain.ids import now
from ragforge.domain.memories import AssociationKind, Memory, MemorySort, MemoryType
from ragforge.domain.printable import one_line
from ragforge.domain.words import counted, first_words
from ragforge.session.memory_book import LISTED_MAX, TurnPlace
from ragforge.tui.keys import Where
from ragforge.tui.screens.base import Chat, NamedScreen
from ragforge.tui.screens.list_dialog import FilterDialog, in_order, list_keys
from ragforge.tui.widgets.memory_list import MemoryList
from ragforge.tui.widgets.plain import PlainText

if TYPE_CHECKING:  # loaded after the first frame
    from ragforge.memory.memories import Story
    from ragforge.session.conversation import Conversation

LINES_AROUND = 17
"""Lines of the screen beside the list."""
DETAIL_CHARS_SHOWN = 400

HINT = "Enter opens its turn · Ctrl+E edits · Ctrl+X forgets · Esc closes"
HINT_MORE = "Tab type · Ctrl+O sort · Ctrl+F forgotten · Ctrl+G owner · Ctrl+U undoes"
"""What is left out if there are few rows."""


class _Undo(Struct, frozen=True):
    """How to undo the last action, and the message then."""

    take_back: Callable[[], Awaitable[None]]
    told: str


class MemoryScreen(FilterDialog[TurnPlace | None]):
    """Returns the turn to go to, or None."""

    BINDINGS: ClassVar[list[BindingType]] = in_order(list_keys(Where.MEMORY))
    HEADING = "Memories"

    def __init__(self, conversation: Conversation, words: str = "") -> None:
        super().__init__(conversation, words)
        self._book = conversation.memory_book
        self._sort = MemorySort.RECENT
        self._type: MemoryType | None = None
        self._forgotten = False
        self._editing: Memory | None = None
        self._undo: list[_Undo] = []

    def _compose_list(self) -> ComposeResult:
        yield MemoryList()
        yield PlainText("", id="memory-detail")

    async def _fill(self) -> None:
        self._hint()
        await self._reload()

    @property
    def _list(self) -> MemoryList:
        return self.query_one(MemoryList)

    async def _reload(self) -> None:
        try:
            found = await self._book.list(sort=self._sort, forgotten=self._forgotten)
        except RagforgeError as error:
            self._tell(str(error))
            return
        if not self.is_current:
            return  # closed meanwhile
        self.on_resize()
        self._list.show(found, now=now())
        if self._editing is None:
            self._list.narrow(self._line.value, self._type)
        self._title()
        self._explain()

    def _title(self) -> None:
        listed = self._list
        count = (
            f"{len(listed.rows)} of {listed.known}" if len(listed.rows) < listed.known else f"{listed.known}"
        )
        if listed.known >= LISTED_MAX:
            count = f"the first {LISTED_MAX:,}"
        parts = [f"{self.HEADING} · {count}", self._type or "all types", f"by {_SORTED[self._sort]}"]
        if self._forgotten:
            parts.append("with forgotten ones")
        self.query_one(".dialog-title", PlainText).set_text(" · ".join(parts))

    def _hint(self) -> None:
        self._tell(
            "Enter saves the new text · Esc keeps the old one" if self._editing else f"{HINT}\n{HINT_MORE}"
        )

    # Details of the chosen one

    @work(exclusive=True, group="explain")
    async def _explain(self) -> None:
        """Show the complete chosen memory, and what it is based on, once that is read."""
        memory = self._list.chosen
        detail = self.query_one("#memory-detail", PlainText)
        if memory is None:
            detail.set_text("")
            return
        text = one_line(memory.content)
        words = text if len(text) <= DETAIL_CHARS_SHOWN else text[:DETAIL_CHARS_SHOWN] + " …"
        used = counted(memory.access_count, "time") if memory.access_count else "never"
        whose = "yours alone" if memory.owner else "everybody's"
        origin = one_line(memory.origin) or f"by {_MADE_BY[memory.source]}"
        facts = " · ".join(filter(None, (memory.id[:8], whose, origin, f"used {used}", binds_words(memory))))
        detail.set_text(f"{words}\n{facts}")
        try:
            story = await self._book.story(memory)
        except RagforgeError as error:
            self._tell(str(error))
            return
        detail.set_text("\n".join([words, " · ".join([facts, _rests_on(story)]), *_links(story)]))

    # Narrowing and moving

    def read_line(self) -> None:
        """Filter by what was typed."""
        words = self._line.value
        if self._editing is None and words != self._list.words:
            self._list.narrow(words, self._type)
            self._title()
            self._explain()

    @on(MemoryList.Clicked)
    def _clicked(self) -> None:
        self._explain()

    async def _step(self, by: int) -> None:
        if self._editing is None:
            self._list.step(by)
            self._explain()

    async def action_next_type(self) -> None:
        """Only those of the next type, and after the last all again."""
        if self._editing is None:
            types = [None, *MemoryType]
            self._type = types[(types.index(self._type) + 1) % len(types)]
            self._list.narrow(self._line.value, self._type)
            self._title()
            self._explain()

    async def action_next_sort(self) -> None:
        if self._editing is None:
            sorts = list(MemorySort)
            self._sort = sorts[(sorts.index(self._sort) + 1) % len(sorts)]
            await self._reload()

    async def action_show_forgotten(self) -> None:
        """Show or hide forgotten ones."""
        if self._editing is None:
            self._forgotten = not self._forgotten
            await self._reload()

    def on_resize(self) -> None:
        """Adapt to the new height."""
        self._list.set_rows_max(self.size.height - LINES_AROUND)

    # Doing something

    async def action_take(self) -> None:
        """Open the turn that the chosen one is based on, or save its new words."""
        if self._editing is not None:
            await self._keep_words(self._editing, self._line.value)
        elif memory := self._list.chosen:
            try:
                place = await self._book.open_evidence(memory)
            except RagforgeError as error:
                self._tell(str(error))
                return
            if self.is_current:
                self.dismiss(place)

    def action_leave(self) -> None:
        """Close, or stop editing."""
        if self._editing is None:
            self.dismiss(None)
        else:
            self._stop_editing()

    def action_edit_memory(self) -> None:
        """Edit the words of the chosen one."""
        memory = self._list.chosen
        if memory and self._editing is None:
            self._editing = memory
            self._words = self._line.value
            self._set_line(memory.content)
            self._hint()

    def _stop_editing(self) -> None:
        self._set_line(self._words)
        self._editing = None
        self._hint()

    async def _keep_words(self, memory: Memory, words: str) -> None:
        try:
            edited = await self._book.edit(memory, words)
        except RagforgeError as error:
            self._tell(str(error))  # the input stays, to be corrected
            return
        self._stop_editing()
        new = edited.memory
        if new.id == memory.id:
            self._tell("The text is unchanged: case, spaces and a final full stop do not count.")
            return
        if not edited.was_known:
            self._undo.append(_Undo(lambda: self._forget(new), "The previous text is back."))
        await self._reload()
        self._tell("Saved. Ctrl+U restores the previous text." if not edited.was_known else "Kept.")

    async def action_forget_memory(self) -> None:
        """Forget the chosen one, or restore it if it is forgotten."""
        memory = self._list.chosen
        if memory is None or self._editing is not None:
            return
        words = one_line(memory.content)[:60]
        try:
            if memory.forgotten_at:
                await self._book.restore(memory)
                self._undo.append(_Undo(lambda: self._forget(memory), f"Forgotten again: {words}"))
                told = f"Restored: {words}"
            else:
                alike = await self._book.forget(memory)
                self._undo.append(_Undo(lambda: self._book.restore(memory), f"Restored: {words}"))
                more = f" and {counted(len(alike), 'other')} that say{'' if alike[1:] else 's'} the same"
                told = f"Forgotten: {words}{more if alike else ''} · Ctrl+U undoes this"
        except RagforgeError as error:
            self._tell(str(error))
            return
        await self._reload()
        self._tell(told)

    async def action_hand_over_memory(self) -> None:
        """Make the chosen one everybody's, or only the user's."""
        memory = self._list.chosen
        if memory is None or self._editing is not None:
            return
        try:
            changed = await self._book.hand_over(memory)
        except RagforgeError as error:
            self._tell(str(error))
            return
        self._undo.append(_Undo(lambda: self._hand_back(changed), "The previous owner is back."))
        await self._reload()
        whose = "Only yours: no other user's model receives it." if changed.owner else "Everybody's now."
        self._tell(f"{whose} Ctrl+U undoes this.")

    async def _hand_back(self, memory: Memory) -> None:
        await self._book.hand_over(memory)

    async def _forget(self, memory: Memory) -> None:
        await self._book.forget(memory)

    async def action_undo_memory(self) -> None:
        """Undo the last action on this screen."""
        if self._editing is not None:
            return
        if not self._undo:
            self._tell("Nothing to undo on this screen.")
            return
        undo = self._undo.pop()
        try:
            await undo.take_back()
        except RagforgeError as error:
            self._undo.append(undo)
            self._tell(str(error))
            return
        await self._reload()
        self._tell(undo.told)


_SORTED = {
    MemorySort.RECENT: "date",
    MemorySort.IMPORTANCE: "importance",
    MemorySort.USED: "use",
    MemorySort.CREATED: "creation",
}
_MADE_BY = {"background": "the background", "model": "the model", "person": "you"}
_LINK = {
    AssociationKind.UPDATES: ("Replaces", "Replaced by"),
    AssociationKind.CONTRADICTS: ("Contradicts", "Contradicted by"),
    AssociationKind.SUPPORTS: ("Supports", "Supported by"),
    AssociationKind.RELATES_TO: ("Relates to", "Related to"),
    AssociationKind.CAUSED_BY: ("Caused by", "Cause of"),
}
LINKS_SHOWN = 2


def _rests_on(story: Story) -> str:
    """Return the evidence in a few words."""
    if not story.evidence:
        return "based on no turn"
    newest = story.evidence[-1]
    title = f"“{first_words(one_line(newest.session.title), 40)}”" if newest.session else "a deleted session"
    many = f"{len(story.evidence)} turns, the newest " if len(story.evidence) > 1 else ""
    return f"based on {many}{title}, turn {newest.turn.index + 1}"


def _links(story: Story) -> list[str]:
    """Return its links, a line each."""
    return [
        f"{_LINK[link.kind][not link.outgoing]}: {one_line(link.other.content)[:100]}"
        for link in story.linked[-LINKS_SHOWN:]
    ]


async def _open(chat: Chat, words: str) -> None:
    if place := await chat.ask(MemoryScreen(chat.ready(), words)):
        await chat.go_to(place.session_id, place.turn)


SCREEN = NamedScreen("memory", _open)
