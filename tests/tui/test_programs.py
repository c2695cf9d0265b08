"""Programs in plain words in the interface: what is made is shown and asked about."""

from ragforge.tui.screens.choose import ChooseScreen
from tests.program_answers import WHOLE, answer
from tests.tui.chat_app import Lab
from tests.tui.test_lookup_screens import drawn
from tests.tui.test_trust import question


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


async def test_a_projects_program_runs_and_is_changed_once_its_very_text_is_trusted(lab: Lab) -> None:
    answer(lab.gemini)
    theirs = lab.project / ".ragforge" / "programs" / "mails.spu"
    async with lab.chat() as chat:
        theirs.parent.mkdir(parents=True)
        theirs.write_text(WHOLE)
        await chat.say("/mails")
        screen = await question(chat)
        assert "This program came with the project." in drawn(chat)
        await chat.pilot.press("2")
        await chat.sees("mails.spu came with the project and is not trusted")
        await chat.say("/mails")  # what was skipped is asked about by /trust only, and the hint says so
        await chat.sees("/trust in the interface shows it and asks")
        await chat.say("/trust")
        await question(chat)
        await chat.pilot.press("escape")

        theirs.write_text(f"{WHOLE}    DISPLAY 'more'\n")
        await chat.say("/project:mails")
        await chat.until(lambda: chat.top is not screen)
        await question(chat)
        theirs.write_text(f"{WHOLE}    DISPLAY 'less'\n")  # behind the question
        await chat.pilot.press("1")
        await chat.sees("more")
        assert "less" not in drawn(chat)

        await chat.say("/program change mails add a greeting")
        await question(chat)
        assert "has changed" in drawn(chat)
        assert "DISPLAY 'more'" in drawn(chat)  # what was trusted, beside what it is now
        await chat.pilot.press("1")
        await chat.sees("mails is the project's: yours will come before it.")
        await chat.until(lambda: type(chat.top) is ChooseScreen, "the question about the change")
        await chat.pilot.press("1")
        await chat.sees("Kept mails.spu, version ")
        own = lab.tmp_path / "config" / "programs" / "mails.spu"
        assert "DISPLAY 'hello'" in own.read_text()
        assert "hello" not in theirs.read_text()


async def test_the_list_of_programs_is_whole_on_a_narrow_screen(lab: Lab) -> None:
    async with lab.chat(size=(60, 30)) as chat:
        await chat.say("/program list")
        await chat.until(lambda: "findings." in drawn(chat), "the end of a long line is drawn")


async def test_a_second_request_waits_for_the_first_and_finds_what_it_made(lab: Lab) -> None:
    answer(lab.gemini)
    async with lab.chat(size=(100, 40)) as chat:
        await chat.say("/program new sort my mail")
        await chat.until(lambda: isinstance(chat.top, ChooseScreen), "the question")
        await chat.pilot.press("1")
        await chat.sees("Kept mails.spu, version ")
        await chat.say("/program change mails add a greeting")
        await chat.until(lambda: isinstance(chat.top, ChooseScreen), "the question about the change")
        await chat.pilot.press("1")
        own = lab.tmp_path / "config" / "programs" / "mails.spu"
        await chat.until(lambda: "DISPLAY 'hello'" in own.read_text(), "the change")
        # Neither waits for the user: the second is said while the first still runs.
        await chat.say("/program undo")
        await chat.say("/program redo")
        await chat.until(lambda: chat.words().count("DISPLAY 'hello'") >= 1, "the redone version is shown")
        assert "There is nothing to redo" not in chat.words()
        assert "DISPLAY 'hello'" in own.read_text()
        await chat.say("/program alternatives")
        await chat.sees("of mails has no alternatives")
