"""What was recalled for a turn: a line that opens to every item and its reasons."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from msgspec.structs import replace
from textual.pilot import Pilot

from ragforge.domain.context import ContextBlock, Recalled
from ragforge.domain.events import ContextBuilt, TextDelta, TurnEnded, TurnStarted
from ragforge.domain.search import HitKind
from ragforge.domain.turns import TurnStatus
from ragforge.memory.recall.sources import memories
from ragforge.memory.recall.sources import turns as past_turns
from ragforge.tui.widgets.recall_line import RecalledHead, RecalledItem, RecalledView, label
from tests.tui.transcript_app import ChatApp, turn
from tests.tui.waiting import until

Compare = Callable[..., bool]
AT = datetime(2026, 1, 2, 12, 0, tzinfo=UTC)

BLOCK = ContextBlock(
    text="...",
    items=(
        Recalled(
            past_turns.SECTION.heading,
            HitKind.TURN,
            "turn-a",
            "Which database does the shop use? We took MySQL, because the host has it.",
            44,
            "near in meaning (0.91)",
            AT,
            "session-a",
            "turn-a",
            {"words": 0.31, "meaning": 0.91, "score": 0.78},
        ),
        Recalled(
            memories.SECTION.heading,
            HitKind.MEMORY,
            "0123456789abcdef" * 2,
            "Use MySQL for the shop [bold]always[/bold]",
            12,
            "decision",
            AT,
            "session-a",
            "turn-a",
            {"metadata": 0.8},
        ),
    ),
    tokens=312,
    took_ms=18.2,
    left_out=3,
    limited="Only words were searched: the embedder did not answer in time.",
)


async def shown(app: ChatApp, pilot: Pilot[Any], block: ContextBlock = BLOCK) -> RecalledView:
    app.transcript.show(TurnStarted(turn()))
    app.transcript.show(ContextBuilt("turn-0", block))
    app.transcript.show(TextDelta("MySQL."))
    await until(pilot, lambda: "MySQL." in app.text() and app.query(RecalledView))
    return app.query_one(RecalledView)


async def opened(view: RecalledView, pilot: Pilot[Any]) -> None:
    view.set_open(True)
    await until(pilot, lambda: view.query(RecalledItem))


async def test_the_line_tells_how_much_and_opens_to_every_item_with_its_reason() -> None:
    app = ChatApp()
    async with app.run_test(size=(100, 40)) as pilot:
        view = await shown(app, pilot)
        assert "▸ recalled 2 (312 tokens) · search incomplete" in app.text()
        assert "MySQL, because" not in app.text()
        view.query_one(RecalledHead).focus()
        await pilot.press("enter")
        await until(pilot, lambda: view.is_open and "▾ recalled" in app.text())
        for words in (
            "Relevant Past Context (turns)",
            "We took MySQL, because the host has it.",
            "2 Jan · near in meaning (0.91) · Which database",
            "Memories",
            "[bold]always[/bold]",
            "3 more items did not fit.",
            "Only words were searched",
        ):
            assert words in app.text()
        assert "44 tokens" not in app.text()
        await pilot.press("enter")
        await until(pilot, lambda: "We took MySQL, because" not in app.text())


async def test_figures_stand_behind_a_second_key() -> None:
    app = ChatApp()
    async with app.run_test(size=(100, 40)) as pilot:
        view = await shown(app, pilot)
        await opened(view, pilot)
        figures = ("words 0.31 · meaning 0.91 · score 0.78", "44 tokens")
        first, memory = view.query(RecalledItem)
        await until(pilot, lambda: first.size.height == 1)
        first.focus()
        await pilot.press("right")
        await until(pilot, lambda: all(words in app.text() for words in figures))
        memory.focus()
        await pilot.press("right")
        await until(pilot, lambda: "01234567" in app.text())
        first.focus()
        await pilot.press("left")
        await until(pilot, lambda: not any(words in app.text() for words in figures))
        assert "01234567" in app.text()


class Listening(ChatApp):
    """Notes what the chat would be asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[tuple[str, str]] = []

    def on_recalled_item_forget_wanted(self, event: RecalledItem.ForgetWanted) -> None:
        self.asked.append(("forget", event.item.id))

    def on_recalled_item_turn_wanted(self, event: RecalledItem.TurnWanted) -> None:
        self.asked.append(("open", event.item.id))


async def test_delete_forgets_a_memory_and_enter_opens_the_turn() -> None:
    app = Listening()
    async with app.run_test(size=(100, 40)) as pilot:
        view = await shown(app, pilot)
        await opened(view, pilot)
        for item in view.query(RecalledItem):
            item.focus()
            await pilot.press("f", "delete", "enter")
        past, memory = BLOCK.items
        await until(pilot, lambda: len(app.asked) >= 3)
        assert app.asked == [("open", past.id), ("forget", memory.id), ("open", memory.id)]
        assert view.is_open


async def test_nothing_recalled_is_no_line() -> None:
    app = ChatApp()
    async with app.run_test(size=(80, 24)) as pilot:
        app.transcript.show(TurnStarted(turn()))
        app.transcript.show(ContextBuilt("turn-0", ContextBlock()))
        app.transcript.show(TextDelta("Hello."))
        await until(pilot, lambda: "Hello." in app.text())
        assert not app.query(RecalledView)


async def test_stored_turns_have_their_line_where_it_is_still_known() -> None:
    app = ChatApp()
    async with app.run_test(size=(80, 24)) as pilot:
        first = turn(status=TurnStatus.FINISHED, assistant="One.")
        second = turn(1, status=TurnStatus.FINISHED, assistant="Two.")
        await app.transcript.load([first, second], [], [], {second.id: replace(BLOCK, limited="")})
        await until(pilot, lambda: "recalled 2 (312 tokens)" in app.text())
        assert len(app.query(RecalledView)) == 1


@pytest.mark.parametrize(("theme", "size"), [("dark", (100, 30)), ("light", (80, 24))])
def test_it_looks_as_it_should(snap_compare: Compare, theme: str, size: tuple[int, int]) -> None:
    app = ChatApp(theme=theme)

    async def before(pilot: Pilot[Any]) -> None:
        view = await shown(app, pilot)
        app.transcript.show(TurnEnded(turn(status=TurnStatus.FINISHED)))
        await opened(view, pilot)
        list(view.query(RecalledItem))[-1].focus()
        await pilot.press("right")
        await until(pilot, lambda: "metadata 0.80" in app.screen_text())

    assert snap_compare(app, terminal_size=size, run_before=before)


def test_a_block_without_items_says_so() -> None:
    assert (
        label(ContextBlock(limited="Searched for half a second.")) == "recalled nothing · search incomplete"
    )
