"""The hints that wait for an answer: apply, ignore or postpone one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar, assert_never

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content

from ragforge.domain.errors import RagforgeError
from ragforge.domain.hints import HintAction, HintAnswer, ProactiveHint
from ragforge.domain.printable import one_line
from ragforge.tui.cells import cut
from ragforge.tui.keys import Where
from ragforge.tui.screens.base import Chat, NamedScreen
from ragforge.tui.screens.list_dialog import ListDialog, list_keys
from ragforge.tui.widgets.key_hint import KeyHint
from ragforge.tui.widgets.plain import PlainText
from ragforge.tui.widgets.row_list import MUTED, NO_POINTER, POINTER, RowList

if TYPE_CHECKING:  # loaded after the first frame
    from ragforge.session.hints import SessionHints

KEYS = "Enter applies · I ignores · L later · Esc closes"
LATER = "The hint returns in the next session, or tomorrow."
IGNORED = "A hint that you ignore three times is hidden for 30 days."


class HintRows(RowList[ProactiveHint]):
    """A line per hint."""

    def _key_of(self, row: ProactiveHint) -> str:
        return row.id

    def _draw_rows(
        self, rows: Sequence[ProactiveHint], width: int, chosen: ProactiveHint | None
    ) -> list[Content]:
        return [_line(row, width, is_chosen=row is chosen) for row in rows]


class HintsScreen(ListDialog[ProactiveHint | None]):
    """Returns the hint to apply, or None."""

    BINDINGS: ClassVar[list[BindingType]] = [*list_keys(Where.HINTS)]

    def __init__(self, hints: SessionHints, *, on_answered: Callable[[], object] = lambda: None) -> None:
        """on_answered: hears when there is one less."""
        super().__init__()
        self._hints = hints
        self._on_answered = on_answered

    def compose(self) -> ComposeResult:
        """The list, the complete chosen hint, and the keys."""
        with Vertical(classes="dialog wide"):
            yield PlainText("Hints", classes="dialog-title")
            yield HintRows()
            yield PlainText("", id="hint-detail")
            yield KeyHint(KEYS)

    def on_mount(self) -> None:
        """Choose the first."""
        self._show()

    @property
    def _list(self) -> HintRows:
        return self.query_one(HintRows)

    async def _step(self, by: int) -> None:
        self._list.step(by)
        self._explain()

    def on_row_list_clicked(self) -> None:
        """Show the complete hint under the mouse."""
        self._explain()

    def action_take(self) -> None:
        """Apply the chosen one."""
        self.dismiss(self._list.chosen)

    async def action_ignore_hint(self) -> None:
        """Ignore it."""
        await self._answer(HintAnswer.IGNORE, IGNORED)

    async def action_postpone_hint(self) -> None:
        """Postpone it to the next session, or tomorrow."""
        await self._answer(HintAnswer.LATER, LATER)

    async def _answer(self, answer: HintAnswer, told: str) -> None:
        if (hint := self._list.chosen) is None:
            return
        try:
            await self._hints.answer(hint, answer)
        except RagforgeError as error:
            self._tell(str(error))
            return
        self._on_answered()
        if self._hints.open:
            self._tell(f"{told}\n{KEYS}")
        else:
            self.notify(told, markup=False)  # the list closes with the last one
        self._show()

    def _show(self) -> None:
        if not self._hints.open:
            self.dismiss(None)
        elif self.is_current:
            self._list.set_rows(self._hints.open)
            self._explain()

    def _explain(self) -> None:
        if hint := self._list.chosen:
            words = f"{one_line(hint.message)}\nEnter: {hint.action_label}"
            self.query_one("#hint-detail", PlainText).set_text(words)


def _line(hint: ProactiveHint, width: int, *, is_chosen: bool) -> Content:
    title = f"{hint.title}: "
    words = cut(one_line(hint.message), max(8, width - 2 - len(title))).rstrip()
    return Content.assemble(
        (POINTER if is_chosen else NO_POINTER, "bold"), (title, MUTED), (words, "bold" if is_chosen else "")
    )


async def _open(chat: Chat, _: str) -> None:
    conversation = chat.ready()
    hints = conversation.hints
    await hints.drop_outdated()
    chat.show_status()
    if not hints.open:
        off = "Hints are off (see hints.enabled, memory.enabled and --no-memory)."
        chat.say("There are no open hints." if hints.enabled else off)
    elif hint := await chat.ask(HintsScreen(hints, on_answered=chat.show_status)):
        await _apply(chat, hint)
        await hints.answer(hint, HintAnswer.APPLY)


async def _apply(chat: Chat, hint: ProactiveHint) -> None:
    """Apply the hint. Raises RagforgeError."""
    payload = hint.action_payload
    match payload.action:
        case HintAction.WRITE:
            chat.write(payload.text)
        case HintAction.COMMAND:
            await chat.run_line(payload.text)
        case HintAction.OPEN_TURN:
            conversation = chat.ready()
            for memory in await conversation.workspace.store.memories.get([payload.text]):
                place = await conversation.memory_book.open_evidence(memory)
                await chat.go_to(place.session_id, place.turn)
        case _:
            assert_never(payload.action)


SCREEN = NamedScreen("hints", _open, "Show open hints: apply, ignore or postpone them.", while_running=True)
