"""What a question leaves on the screen: its title, what would be done, every answer, and the status line."""

import asyncio
from datetime import UTC, datetime

import pytest
from msgspec.structs import replace
from textual.geometry import Region

from ragforge.domain import timeouts
from ragforge.domain.approvals import (
    ApprovalRequest,
    Constraint,
    ConstraintHit,
    GoOnApproval,
    Rule,
    RunCommand,
    ToolApproval,
)
from ragforge.domain.memories import Strength
from ragforge.domain.turns import TodoItem, Todos, TodoState
from ragforge.tui.widgets.approval import ChoiceLine
from ragforge.tui.widgets.proposal import ProposalView
from tests.standins.gemini import Call, Calls, Text
from tests.tui.chat_app import Chat, Lab
from tests.tui.test_approval import EDIT

LONG = "git commit -m abc && ./very/long/path/to/deploy-something.sh && make release-candidate"
RULES = tuple(Rule("shell", each) for each in LONG.split(" && "))
PUSH = ToolApproval("c", "shell", LONG, RunCommand("\n".join([LONG] * 4)), "not known to be read-only", RULES)
SAID = Constraint(
    "m", "never deploy " * 30, Strength.MUST, datetime(2026, 11, 3, 12, tzinfo=UTC), "turn-7", "s", ()
)
AGAINST = replace(PUSH, hits=tuple([ConstraintHit(SAID, "./very/long")] * 3), draft=LONG)
ONE_RULE = replace(PUSH, rules=(Rule("shell", "./deploy-to-production.sh --all-of-it *"),), draft=LONG)
SIZES = [(40, 12), (200, 12), (60, 16), (40, 40), (200, 60), (40, 12)]


def in_sight(chat: Chat) -> Region:
    return Region(0, 0, *chat.app.size)


def fits(chat: Chat, *, scrolls: bool) -> bool:
    """Is all of the question on the screen, and the lines below it?"""
    screen, panel = chat.screen, chat.panel
    if panel is None or chat.app.size != screen.size:
        return False
    shown = [
        panel.query_one(".approval-what"),
        *panel.query(ChoiceLine),
        *(panel.query(ProposalView) if scrolls else ()),
        screen.prompt,
        screen.status,
    ]
    regions = [each.region for each in shown]
    return all(
        each.area and in_sight(chat).contains_region(each) and not each.overlaps(other)
        for each, other in zip(regions, [*regions[1:], Region()], strict=True)
    )


def drawn(chat: Chat) -> list[str]:
    strips = chat.screen._compositor.render_strips()
    return ["".join(segment.text for segment in strip).rstrip() for strip in strips]


@pytest.mark.parametrize(
    "request_", [PUSH, AGAINST, ONE_RULE, EDIT, GoOnApproval(50)], ids=["long", "said", "rule", "edit", "on"]
)
async def test_every_size_shows_the_title_what_is_asked_the_answers_and_the_status(
    lab: Lab, request_: ApprovalRequest
) -> None:
    async with lab.chat(size=(100, 30)) as chat:
        items = [TodoItem(f"do {number}", TodoState.PENDING) for number in range(9)]
        chat.screen.parts.todos.show(Todos(tuple(items)))
        chat.screen.parts.queue.show(["and then this", "and that"], while_runs=True)
        task = asyncio.create_task(chat.screen.parts.approval.ask(request_))
        for size in SIZES:
            await chat.pilot.resize_terminal(*size)
            scrolls = isinstance(request_, ToolApproval)
            await chat.until(lambda scrolls=scrolls: fits(chat, scrolls=scrolls), f"{size}\n{drawn(chat)}")
            answers = [row for row in drawn(chat) if " no" in row]
            assert answers, drawn(chat)
        chat.screen.prompt.set_draft("a\nb\nc\nd\ne\nf")
        await chat.until(lambda: fits(chat, scrolls=isinstance(request_, ToolApproval)), str(drawn(chat)))
        task.cancel()
        await chat.until(lambda: chat.screen.parts.todos.region.area and chat.screen.prompt.region.height > 2)


async def test_a_message_that_is_queued_beside_a_question_is_listed_where_room_is_short(lab: Lab) -> None:
    async with lab.chat(size=(80, 24)) as chat:
        task = asyncio.create_task(chat.screen.parts.approval.ask(AGAINST))
        await chat.until(lambda: fits(chat, scrolls=True))
        chat.screen.parts.queue.show(["and then this"], while_runs=True)
        await chat.until(lambda: chat.screen.has_class("-asked-tight"))
        await chat.until(lambda: "queued  and then this" in "\n".join(drawn(chat)), str(drawn(chat)))
        await chat.until(lambda: fits(chat, scrolls=True), str(drawn(chat)))
        task.cancel()


async def test_a_click_on_a_queued_message_answers_no_question(lab: Lab) -> None:
    lines = "\n".join(f"touch made-{number}" for number in range(8))
    lab.gemini.script(Calls(Call("shell", {"command": lines})), Text("Done."))
    async with lab.chat(size=(80, 14)) as chat:
        await chat.say("make them")
        await chat.asked()
        for number, words in enumerate(("and then this, please, and more of it", "and that"), 1):
            await chat.say(words)
            await chat.until(lambda number=number: chat.screen.prompt.queued == number)
        queue = chat.screen.parts.queue
        await chat.until(lambda: queue.region.height == 1, str(drawn(chat)))
        await chat.until(lambda: any("queued 1/2  and then this" in row for row in drawn(chat)))
        await asyncio.sleep(timeouts.APPROVAL_QUIET_S)
        await chat.pilot.click(queue, offset=(30, 0))
        await chat.type("x")
        await chat.until(lambda: chat.draft == "x")
        assert chat.panel is not None
        assert chat.screen.busy
        assert chat.screen.prompt.queued == 2


async def test_the_rules_that_always_adds_are_reached_by_scrolling_at_40x12(lab: Lab) -> None:
    async with lab.chat(size=(40, 12)) as chat:
        task = asyncio.create_task(chat.screen.parts.approval.ask(ONE_RULE))
        await chat.until(lambda: fits(chat, scrolls=True))
        for _ in range(40):
            await chat.pilot.press("pagedown")
        await chat.until(lambda: "it *)" in " ".join(drawn(chat)), str(drawn(chat)))
        assert any("always in this project" in row for row in drawn(chat))
        task.cancel()


async def test_a_list_of_commands_above_the_prompt_leaves_the_status_line_at_40x12(lab: Lab) -> None:
    async with lab.chat(size=(40, 12)) as chat:
        task = asyncio.create_task(chat.screen.parts.approval.ask(AGAINST))
        await chat.until(lambda: fits(chat, scrolls=True))
        await chat.type("/")
        await chat.until(lambda: chat.screen.query_one("#completion").region.area)
        await chat.until(lambda: chat.screen.status.region.bottom == 12, str(drawn(chat)))
        await chat.until(lambda: chat.screen.prompt.region.bottom < 12)
        task.cancel()


async def test_why_it_is_asked_is_shown_to_its_end_in_a_narrow_terminal(lab: Lab) -> None:
    reason = "runs a command that may change something: rm -rf notes, git commit -am 'work in progress'"
    async with lab.chat(size=(50, 40)) as chat:
        task = asyncio.create_task(chat.screen.parts.approval.ask(replace(PUSH, reason=reason)))
        await chat.until(lambda: fits(chat, scrolls=True))
        await chat.until(lambda: "in progress'" in " ".join(drawn(chat)), str(drawn(chat)))
        assert chat.panel is not None
        assert not chat.panel.has_class("-tight")
        task.cancel()
