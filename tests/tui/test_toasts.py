"""What is told in a corner for a moment covers nothing that is needed to go on."""

from textual.widgets._toast import Toast

from ragforge.commands.base import Option
from ragforge.tui.screens.choose import ChooseScreen
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
