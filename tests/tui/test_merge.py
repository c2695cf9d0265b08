"""/merge in the interface: the check command is asked about once, results are seen before one is taken."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from ragforge.domain.moves import MergeMode
from ragforge.tui.screens.choose import ChooseScreen
from ragforge.tui.screens.confirm import ConfirmScreen
from ragforge.tui.widgets.plain import PlainText
from ragforge.tui.widgets.text_rows import TextRows
from tests.flow.moving import tree
from tests.flow.parting import LINES, parted
from tests.standins.gemini import JsonText, Recorded
from tests.standins.gemini_replies import Reply
from tests.tui.chat_app import Chat, Lab


def answer(request: Recorded) -> Reply:
    if "content" in (request.schema or {}).get("properties", {}):
        return JsonText({"content": "".join(["WHOLE\n", *LINES[1:]]), "why": "Whole."})
    return JsonText({"resolutions": [{"conflict": 1, "lines": ["PARTS"], "why": "Parts."}]})


@asynccontextmanager
async def parted_chat(lab: Lab, command: str) -> AsyncGenerator[Chat]:
    """Two lines that clash, in a project that names this check command."""
    (lab.project / ".ragforge").mkdir(parents=True, exist_ok=True)
    (lab.project / ".ragforge" / "config.toml").write_text(f"[history]\ncheck_command = {command!r}\n")
    async with lab.chat() as chat:
        assert chat.screen.conversation
        session = chat.screen.conversation.session
        await parted(session, lab.gemini, ["LEFT\n", *LINES[1:]], ["RIGHT\n", *LINES[1:]])
        lab.gemini.always_structured(answer)
        yield chat


async def answered(chat: Chat, key: str) -> None:
    """Answer the question about the command."""
    await chat.until(lambda: isinstance(chat.top, ConfirmScreen), "the question")
    chat.top._last_key_s -= 10
    await chat.pilot.press(key)


def shown(chat: Chat) -> str:
    """All that the screen on top says."""
    rows = [line.text for rows in chat.top.query(TextRows) for line in rows.lines]
    return "\n".join([*(text.text for text in chat.top.query(PlainText)), *rows])


def copies(lab: Lab) -> list[Path]:
    folder = lab.tmp_path / "data" / "copies"
    return list(folder.iterdir()) if folder.exists() else []


async def test_the_command_is_asked_about_once_and_the_user_chooses_what_it_leaves_open(lab: Lab) -> None:
    async with parted_chat(lab, "echo it is broken; exit 3") as chat:
        before = tree(lab.project)
        await chat.say(f"/merge right --strategy={MergeMode.BEST}")
        await chat.until(lambda: isinstance(chat.top, ConfirmScreen), "the question")
        assert "echo it is broken; exit 3" in shown(chat)
        await answered(chat, "escape")
        await chat.until(lambda: chat.top is chat.screen, "the chat")
        assert "Merging" not in chat.words()

        await chat.say(f"/merge right --strategy={MergeMode.BEST}")
        await answered(chat, "y")
        await chat.until(lambda: isinstance(chat.top, ChooseScreen), "the results")
        assert tree(lab.project) == before
        for words in (
            "1  combine_best: check failed: exit code 3, ",
            "2  resolve_conflicts: check failed: exit code 3, ",
            "3  markers: ",
            "combine_best, the end of the check:\nit is broken",
            "WHOLE",
            "PARTS",
        ):
            assert words in shown(chat)
        assert "combine_best: check failed: exit code 3: `echo it is broken; exit 3`, " in chat.words()
        await chat.pilot.press("escape")
        await chat.until(lambda: chat.top is chat.screen, "the chat")
        assert tree(lab.project) == before

        # The answer holds; it is not asked again.
        await chat.say(f"/merge right --strategy={MergeMode.BEST}")
        await chat.until(lambda: isinstance(chat.top, ChooseScreen), "the results again")
        await chat.pilot.press("1")
        await chat.sees("Merged version")
        assert (lab.project / "a.txt").read_text().startswith("WHOLE\n")
        assert not copies(lab)


async def test_what_both_sides_changed_is_asked_about(lab: Lab) -> None:
    async with parted_chat(lab, "true") as chat:
        before = tree(lab.project)
        await chat.say("/merge right")
        await chat.until(lambda: isinstance(chat.top, ChooseScreen), "the question")
        for words in (
            "Both sides changed 1 file.",
            "a.txt: both changed the same lines",
            "1  markers: ",
            "2  ours: ",
            "3  theirs: ",
            "4  best: ask gemini:gemini-3.8-flash for two solutions",
        ):
            assert words in shown(chat)
        await chat.pilot.press("escape")
        await chat.until(lambda: chat.top is chat.screen, "the chat")
        assert tree(lab.project) == before
        await chat.say("/merge right")
        await chat.until(lambda: isinstance(chat.top, ChooseScreen), "the question again")
        await chat.pilot.press("4")
        await answered(chat, "n")
        await chat.until(lambda: "resolve_conflicts" in shown(chat), "the results")
        await chat.pilot.press("escape")
        await chat.until(lambda: chat.top is chat.screen, "the chat")
        await chat.say("/merge right")
        await chat.until(lambda: isinstance(chat.top, ChooseScreen), "the question once more")
        await chat.pilot.press("3")
        await chat.sees("Merged version")
        assert (lab.project / "a.txt").read_text().startswith("RIGHT\n")


async def test_after_a_no_the_merge_goes_on_without_the_check(lab: Lab) -> None:
    mark = lab.tmp_path / "ran"
    async with parted_chat(lab, f"touch {mark}") as chat:
        await chat.say(f"/merge right --strategy={MergeMode.BEST}")
        await answered(chat, "n")
        await chat.until(lambda: isinstance(chat.top, ChooseScreen), "the results")
        assert "1  combine_best: not checked; " in shown(chat)
        assert "you said no to" in shown(chat)
        await chat.pilot.press("3")
        await chat.sees("With conflict markers to resolve: a.txt.")
        assert "<<<<<<< left\nLEFT\n" in (lab.project / "a.txt").read_text()
        assert not mark.exists()
        await chat.say("/merge right --take=combine_best")
        await chat.sees("There are no merge results")


async def test_escape_ends_a_check_that_hangs_and_takes_the_merge_back_whole(lab: Lab) -> None:
    mark = lab.tmp_path / "began"
    async with parted_chat(lab, f"touch {mark}; sleep 1000") as chat:
        before = tree(lab.project)
        await chat.say(f"/merge right --strategy={MergeMode.BEST}")
        await answered(chat, "y")
        await chat.until(mark.exists, "the check runs")
        await chat.say("/merge right")
        await chat.sees("A turn is running. Wait for it")
        await chat.pilot.press("escape")
        await chat.sees("The merge was stopped. Nothing was changed.")
        assert tree(lab.project) == before
        assert not copies(lab)
        await chat.say("/merge right --theirs")
        await chat.sees("Merged version")
