"""Programs in plain words in the interface: what is made is shown and asked about."""

from ragforge.tui.screens.choose import ChooseScreen
from tests.program_answers import answer
from tests.tui.chat_app import Lab
from tests.tui.test_lookup_screens import drawn


async def test_a_new_program_is_kept_after_a_yes_to_its_difference(lab: Lab) -> None:
    answer(lab.gemini)
    made = lab.tmp_path / "config" / "programs" / "mails.spu"
    async with lab.chat() as chat:
        await chat.say("/program new sort my mail")
        await chat.until(lambda: isinstance(chat.top, ChooseScreen), "the question")
        assert not made.exists()
        await chat.pilot.press("1")
        await chat.sees("Kept mails.spu, version ")
        await chat.sees("claude-3 (gemini:gemini-3.8-flash): ")  # what was learned, at the end
        assert "DISPLAY 'whole'" in made.read_text()
        await chat.say("/program log")
        await chat.sees("(HEAD -> main)")


async def test_the_list_of_programs_is_whole_on_a_narrow_screen(lab: Lab) -> None:
    async with lab.chat(size=(60, 30)) as chat:
        await chat.say("/program list")
        await chat.until(lambda: "findings." in drawn(chat), "the end of a long line is drawn")
