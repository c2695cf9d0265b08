"""`/log` and `/rewind`: the tree of versions, looked through with the keyboard."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from textual.widget import Widget
from textual.widgets import Input

from ragforge.tui.screens.choose import ChooseScreen
from ragforge.tui.screens.log import LogScreen
from ragforge.tui.screens.rewind import RewindScreen
from ragforge.tui.widgets.plain import PlainText
from ragforge.tui.widgets.text_rows import TextRows
from ragforge.tui.widgets.turn_rows import TurnRows
from ragforge.tui.widgets.version_list import VersionList
from tests.standins.gemini import Call, Calls, Text
from tests.tui.chat_app import Chat, Lab


def write(path: str, content: str) -> Calls:
    return Calls(Call("write", {"path": path, "content": content}))


@asynccontextmanager
async def worked(lab: Lab) -> AsyncGenerator[Chat]:
    """A session in which the model wrote two files and changed one of them."""
    async with lab.chat(yolo=True) as chat:
        for words, call in (
            ("write a", write("a.txt", "one\n")),
            ("write b", write("b.txt", "bee\n")),
            ("change a", write("a.txt", "two\n")),
        ):
            lab.gemini.script(call, Text(f"Done: {words}."))
            await chat.say(words)
            await chat.sees(f"Done: {words}.")
            await chat.turn_ended()
        yield chat


def shown(chat: Chat, selector: str) -> str:
    return chat.top.query_one(selector, PlainText).text


def diff(chat: Chat) -> list[str]:
    return [line.gutter.strip() + line.text for line in chat.top.query_one(TextRows).lines]


async def is_whole_in_a_small_window(chat: Chat) -> None:
    """What can be pressed stands below, and something of the changes above it."""
    for columns, lines in ((44, 16), (100, 30)):
        await chat.pilot.resize_terminal(columns, lines)
        hint, changes = chat.top.query_one(".dialog-hint"), chat.top.query_one("#version-diff")

        # It takes more than one picture to fit the new size.
        def fits(lines: int = lines, hint: Widget = hint, changes: Widget = changes) -> bool:
            is_whole = shown(chat, ".dialog-hint").removesuffix(" closes").endswith("Esc")
            is_seen = 0 < changes.region.bottom <= hint.region.y < hint.region.bottom < lines
            return chat.top.size.height == lines and is_whole and is_seen and changes.region.height >= 3

        await chat.until(fits, "hint and changes are seen")


async def open_log(chat: Chat) -> VersionList:
    await chat.say("/log")
    await chat.until(lambda: isinstance(chat.top, LogScreen) and shown(chat, "#version-detail"), "the log")
    return chat.top.query_one(VersionList)


async def test_the_log_shows_what_each_version_changed_and_checks_one_out(lab: Lab) -> None:
    async with worked(lab) as chat:
        listed = await open_log(chat)
        assert listed.row is not None
        assert listed.row.version.title == "change a"
        await chat.until(lambda: any("two" in line for line in diff(chat)), "the newest version's diff")
        await chat.pilot.press("down")
        await chat.until(lambda: any("bee" in line for line in diff(chat)), "the diff of the one before")
        assert diff(chat)[0] == "b.txt (new)"
        assert "1 file" in shown(chat, "#version-detail")
        await is_whole_in_a_small_window(chat)
        await chat.pilot.press("enter")
        await chat.until(lambda: chat.top is chat.screen, "the log is closed")
        await chat.sees("Checked out version")
        assert (lab.project / "a.txt").read_text() == "one\n"
        assert "Done: change a." not in chat.words()
        await open_log(chat)
        assert listed.row is not None
        await chat.pilot.press("escape")
        await chat.until(lambda: chat.top is chat.screen, "the log is closed")


async def test_files_alone_and_chat_alone(lab: Lab) -> None:
    async with worked(lab) as chat:
        await open_log(chat)
        await chat.pilot.press("down", "f")
        await chat.sees("Checked out version")
        assert (lab.project / "a.txt").read_text() == "one\n"
        assert "Done: change a." in chat.words()


async def test_versions_are_labelled_compared_and_branched_from(lab: Lab) -> None:
    async with worked(lab) as chat:
        listed = await open_log(chat)
        await chat.pilot.press("l")
        await chat.until(lambda: isinstance(chat.app.focused, Input), "a label is asked for")
        await chat.type("clean cut")
        await chat.pilot.press("enter")
        await chat.until(lambda: "Labelled: clean cut" in shown(chat, ".dialog-hint"), "it is labelled")
        assert listed.row is not None
        assert listed.row.version.label == "clean cut"
        await chat.pilot.press("m", "down", "down")
        await chat.until(
            lambda: "2 files" in shown(chat, "#version-detail"), "from the marked one to the first"
        )
        await chat.pilot.press("B")  # as the hint has it
        await chat.until(lambda: isinstance(chat.app.focused, Input), "a name is asked for")
        await chat.type("other")
        await chat.pilot.press("enter")
        await chat.until(
            lambda: "The branch other points to" in shown(chat, ".dialog-hint"), "said where it was asked for"
        )
        assert isinstance(chat.top, LogScreen)
        assert "other" in str(chat.top.query_one(VersionList).render())
        await chat.pilot.press("escape")
        await chat.say("/branches")
        await chat.sees("other")


async def test_a_name_that_is_none_is_told_and_escape_leaves_the_line_first(lab: Lab) -> None:
    async with worked(lab) as chat:
        await open_log(chat)
        await chat.pilot.press("b")
        await chat.until(lambda: isinstance(chat.app.focused, Input), "a name is asked for")
        await chat.pilot.press("escape")
        await chat.until(lambda: chat.app.focused is None, "the line is left")
        assert isinstance(chat.top, LogScreen)
        await chat.pilot.press("b")
        await chat.until(lambda: isinstance(chat.app.focused, Input), "a name is asked for")
        await chat.type("a b..c")
        await chat.pilot.press("enter")
        await chat.until(lambda: "a b..c" in shown(chat, ".dialog-hint"), "why it is no name")
        assert chat.top.query_one(Input).value == "a b..c", "to be made right"


async def test_escape_twice_goes_back_to_before_a_turn_after_showing_what_that_takes_away(lab: Lab) -> None:
    async with worked(lab) as chat:
        await chat.pilot.press("escape", "escape")
        await chat.until(lambda: isinstance(chat.top, RewindScreen), "the turns are shown")
        rows = chat.top.query_one(TurnRows)
        await chat.until(lambda: "Undoes 1 turn" in shown(chat, "#version-detail"), "the newest")
        await chat.pilot.press("up")
        await chat.until(lambda: "Undoes 2 turns: 2 files" in shown(chat, "#version-detail"), "two")
        assert any("bee" in line for line in diff(chat))
        assert [row.turn.index for row in rows.from_chosen] == [1, 2]
        await chat.pilot.press("enter")
        await chat.sees("Gone back to before")
        assert not (lab.project / "b.txt").exists()
        assert (lab.project / "a.txt").read_text() == "one\n"
        assert chat.draft == "write b"


async def test_natural_words_hint_at_the_command_and_enter_still_sends_them(lab: Lab) -> None:
    async with worked(lab) as chat:
        await chat.sees("1 file changed, +1 -1 · /undo undoes it")
        hint = chat.screen.hint
        for words, command in (
            ("undo that", "undo"),
            ("undo the migration in models.py", ""),
            ("annule", "undo"),
        ):
            chat.screen.prompt.set_draft(words)
            await chat.until(lambda command=command: hint.command == command, f"{words!r}: {command!r}")
            assert bool(hint.words) is bool(command)
        lab.gemini.script(Text("Which change do you mean?"))
        await chat.enter()
        await chat.sees("Which change do you mean?")
        await chat.turn_ended()
        assert (lab.project / "a.txt").read_text() == "two\n"
        await chat.say("/undo")
        await chat.until(lambda: chat.draft == "annule", "the message returns")
        chat.screen.prompt.set_draft("undo that")
        await chat.until(lambda: hint.command == "undo", "the hint")
        await chat.pilot.press("f4")
        await chat.until(lambda: (lab.project / "a.txt").read_text() == "one\n", "the file is as before")
        await chat.until(lambda: chat.draft == "change a", "the message returns")


async def test_an_undo_asks_what_shall_become_of_a_file_that_the_user_changed_since(lab: Lab) -> None:
    async with worked(lab) as chat:
        mine = lab.project / "a.txt"
        mine.write_text("three\n")
        await chat.say("/undo")
        await chat.until(lambda: isinstance(chat.top, ChooseScreen), "the question")
        await chat.pilot.press("escape")
        await chat.until(lambda: chat.top is chat.screen, "the chat")
        assert (mine.read_text(), "Done: change a." in chat.words()) == ("three\n", True)
        await chat.say("/undo")
        await chat.until(lambda: isinstance(chat.top, ChooseScreen), "the question again")
        await chat.pilot.press("2")
        await chat.sees("Undone")
        assert mine.read_text() == "one\n"
        assert "Done: change a." not in chat.words()
