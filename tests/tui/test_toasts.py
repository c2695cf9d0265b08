"""What is told in a corner for a moment covers nothing that is needed to go on."""

import asyncio

from textual.widgets._toast import Toast

from ragforge.commands.base import Option
from ragforge.domain.approvals import Rule, RunCommand, ToolApproval
from ragforge.tui.screens.choose import ChooseScreen
from ragforge.tui.widgets.approval import ChoiceLine
from tests.tui.transcript_app import ChatApp
from tests.tui.waiting import until

TOLD = "Still opening. Your message is sent as soon as the store is open."


async def test_a_toast_covers_no_answer_of_a_dialog_at_40x12() -> None:
    app = ChatApp()
    async with app.run_test(size=(40, 12), notifications=True) as pilot:
        options = tuple(Option(name, "as it is", name) for name in ("keep", "restore"))
        screen = ChooseScreen("A file has changed. What now?", "a.py", options)
        await app.push_screen(screen)
        await until(pilot, lambda: screen.query(".dialog-choice").last().region.area)
        app.notify(TOLD)
        await until(pilot, lambda: any(each.region.area for each in screen.query(Toast)), timeout_s=20)
        toast = screen.query_one(Toast).region
        answers = [each.region for each in screen.query(".dialog-choice")]
        assert len(answers) == len(options) + 1
        assert not any(toast.overlaps(each) for each in answers)


async def test_a_toast_takes_few_rows_of_a_narrow_chat() -> None:
    app = ChatApp()
    async with app.run_test(size=(40, 12), notifications=True) as pilot:
        app.notify(TOLD)
        await until(pilot, lambda: any(each.region.area for each in app.screen.query(Toast)), timeout_s=20)
        assert app.screen.query_one(Toast).region.height <= 3


async def test_a_toast_covers_no_answer_to_a_question_at_40x12() -> None:
    app = ChatApp()
    long = tuple(Rule("shell", f"./a-long-way/to/{number}") for number in range(9))
    request = ToolApproval("c", "shell", "make", RunCommand("make\n" * 9), "not known", long)
    async with app.run_test(size=(40, 12), notifications=True) as pilot:
        task = asyncio.create_task(app.dock.ask(request))
        await until(pilot, lambda: any(each.region.area for each in app.screen.query(ChoiceLine)))
        app.notify(TOLD, timeout=600)
        await until(pilot, lambda: any(each.region.area for each in app.screen.query(Toast)))
        toast = app.screen.query_one(Toast).region
        answers = [each.region for each in app.screen.query(ChoiceLine)]
        assert len(answers) == 4
        assert not any(toast.overlaps(each) for each in answers)
        task.cancel()
