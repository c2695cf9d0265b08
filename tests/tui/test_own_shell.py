"""`!command`: what it writes is seen, goes with the next message, and is undone and resumed with it."""

import pytest

from ragforge.session import shell_commands
from ragforge.tui.widgets.more_line import MoreLine
from ragforge.tui.widgets.text_rows import TextRows
from tests.standins.gemini import Hang, Text
from tests.tui.chat_app import Chat, Lab


def seen(chat: Chat) -> str:
    """What is on the screen."""
    strips = chat.app.screen._compositor.render_strips()
    return "\n".join("".join(segment.text for segment in strip).rstrip() for strip in strips)


async def run(chat: Chat, command: str, ending: str) -> None:
    await chat.say(command)
    await chat.until(lambda: ending in seen(chat), ending)


def sent(lab: Lab) -> str:
    return str(lab.gemini.asked("streamGenerateContent")[-1].body)


async def test_its_output_is_seen_and_goes_with_the_next_message_once(lab: Lab) -> None:
    lab.gemini.script(Text("I see."), Text("Yes."))
    async with lab.chat() as chat:
        await run(chat, "!echo in $((2000 + 26)); exit 3", "exit 3")
        await chat.until(lambda: "in 2026" in seen(chat))
        await run(chat, "!!echo secret $((3000 + 1))", "secret 3001")
        await chat.until(lambda: "kept from the model" in seen(chat))
        await chat.say("What was that?")
        await chat.sees("I see.")
        await chat.turn_ended()
        assert "I ran this command" in sent(lab)
        assert "in 2026" in sent(lab)
        assert "Exit code 3" in sent(lab)
        assert "3001" not in sent(lab)
        await chat.say("And again?")
        await chat.sees("Yes.")
        await chat.turn_ended()
        assert sent(lab).count("in 2026") == 1


async def test_one_that_fails_shows_its_last_lines_in_red(lab: Lab) -> None:
    async with lab.chat(size=(80, 60)) as chat:
        await run(chat, "!seq 1000 1099; exit 3", "exit 3")
        await chat.until(lambda: "1099" in seen(chat), seen(chat))
        assert "1070" in seen(chat)
        assert "1069" not in seen(chat)
        assert "… 70 more lines" in seen(chat)
        rows = chat.screen.query_one(".tool-output", TextRows).lines
        assert [line.text for line in rows if line.kind == "error"] == [str(n) for n in range(1094, 1100)]
        chat.screen.query_one(MoreLine).focus()
        await chat.pilot.press("enter")
        await chat.until(lambda: chat.screen.query(".tool-whole"))
        assert chat.screen.query_one(".tool-whole TextRows", TextRows).lines[0].text == "1000"


async def test_it_is_there_after_a_crash_and_undone_redone_and_resumed_with_its_message(lab: Lab) -> None:
    lab.gemini.script(Text("I see."))
    async with lab.chat() as chat:
        await run(chat, "!echo before $((2000 + 26))", "before 2026")
    async with lab.chat() as chat:  # nothing was said yet: it waits in the folder
        await chat.until(lambda: "before 2026" in seen(chat), "it is shown again")
        await chat.say("What was that?")
        await chat.sees("I see.")
        await chat.turn_ended()
        assert "before 2026" in sent(lab)
        await chat.say("/undo")
        await chat.until(lambda: chat.draft == "What was that?", "the words return")
        await chat.until(lambda: seen(chat).count("before 2026") == 1, "and its command waits again")
        assert [part.command for part in chat.screen.ready().session.live.commands]
        await chat.say("/redo")
        await chat.sees("I see.")
        await chat.until(lambda: not chat.screen.ready().session.live.commands, "it is the turn's again")
        session = chat.screen.ready().session.id
    async with lab.chat(resume=session) as chat:
        await chat.until(lambda: seen(chat).count("before 2026") == 1, "it stands above its message")
        rows = seen(chat)
        assert rows.index("before 2026") < rows.index("What was that?") < rows.index("I see.")


async def test_a_message_that_came_to_nothing_gives_its_command_back(lab: Lab) -> None:
    lab.gemini.script((Hang(),))
    async with lab.chat() as chat:
        await run(chat, "!echo before $((2000 + 26))", "before 2026")
        await chat.say("What was that?")
        await chat.until(lambda: bool(lab.gemini.asked()), "it is asked")
        await chat.pilot.press("escape")
        await chat.turn_ended()
        await chat.until(lambda: chat.draft == "What was that?", "the words return")
        assert len(chat.screen.ready().session.live.commands) == 1


async def test_escape_ends_it_and_what_it_wrote_stays(lab: Lab) -> None:
    async with lab.chat() as chat:
        await run(chat, "!echo begun $((2000 + 26)); sleep 1000", "begun 2026")
        await chat.until(lambda: "running echo begun" in chat.doing, "it is told of")
        await chat.type("draft")
        await chat.pilot.press("escape")
        await chat.until(lambda: "interrupted" in seen(chat), "it ends")
        assert "begun 2026" in seen(chat)
        assert chat.draft == "draft"
        [part] = chat.screen.ready().session.live.commands
        assert "Interrupted" in part.output


@pytest.mark.parametrize("command", ["cat /dev/urandom", "yes", "yes '界' | tr -d '\\n'"])
async def test_endless_output_is_ended_and_cut(
    lab: Lab, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shell_commands, "OUTPUT_CHARS_MAX", 300_000)
    async with lab.chat(size=(60, 20)) as chat:
        await chat.say(f"!{command}")
        await chat.until(lambda: chat.screen.ready().session.live.commands, "it is ended")
        [part] = chat.screen.ready().session.live.commands
        assert len(part.output) <= 16_000
        assert "Ended because it wrote more than" in part.output
        await chat.type("still here")
        assert chat.draft == "still here"


@pytest.mark.parametrize(
    ("command", "needs"),
    [("vim a.py", True), ("GIT_PAGER=x /usr/bin/less a", True), ("git status", False), ("", False)],
)
def test_programs_that_draw_a_screen_get_the_terminal(command: str, needs: bool) -> None:
    assert shell_commands.needs_terminal(command) is needs
