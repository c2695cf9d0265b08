"""A question with a few answers, where there is little room."""

import pytest

from ragforge.session.commands.base import Option
from ragforge.tui.screens.choose import ChooseScreen
from tests.tui.chat_app import Lab

OPTIONS = (
    Option("keep", "leave them as they are now", "undo --on-conflict keep"),
    Option("restore", "put there what the version has; what lies there now is a version of its own", "undo"),
    Option("merge", "merge both, with markers where both changed the same lines", "undo"),
)


@pytest.mark.parametrize("size", [(40, 20), (80, 24), (120, 40)])
async def test_every_answer_is_seen_however_many_files_are_asked_about(
    lab: Lab, size: tuple[int, int]
) -> None:
    paths = "\n".join(f"src/file{number}.py" for number in range(100))
    async with lab.chat(size=size) as chat:
        screen = ChooseScreen("100 files were changed since, by you or by another session.", paths, OPTIONS)
        await chat.app.push_screen(screen)
        answers = screen.query(".dialog-choice")
        await chat.until(
            lambda: (
                len(answers) == len(OPTIONS) + 1
                and all(answer.region.height and answer.region.bottom < size[1] for answer in answers)
            ),
            "all answers are on the screen",
        )
        assert screen.query_one("#choice-detail").region.height > 0
