"""Commands of one's own in the chat: offered, asked about, sent."""

import os
from pathlib import Path

from textual.widgets import Static

from ragforge.tui.screens.trust import TrustScreen
from ragforge.tui.widgets.completion import Completion
from tests.standins.gemini import Text
from tests.tui.chat_app import Lab


async def test_a_projects_command_is_offered_asked_about_and_sent(lab: Lab) -> None:
    folder = lab.project / ".ragforge" / "commands"
    folder.mkdir(parents=True)
    (folder / "explain.md").write_text("---\ndescription: Explain a file\n---\nExplain $1 to a child.")
    lab.gemini.script(Text("Once upon a time."))
    async with lab.chat() as chat:
        await chat.type("/expl")
        completion = chat.screen.query_one(Completion)
        await chat.until(lambda: "Explain a file" in str(completion.render()))
        await chat.say("/explain a.py")
        await chat.until(lambda: isinstance(chat.top, TrustScreen), "the question")
        asked = " ".join(str(each.render()) for each in chat.top.query(Static))
        assert "This command came with the project. Do you trust it?" in asked
        assert "run at once" in asked
        chat.top._last_key_s = 0.0
        await chat.pilot.press("escape")
        await chat.sees("is not trusted")
        assert lab.gemini.asked() == []
        await chat.say("/explain a.py")
        await chat.sees("/explain did not run")
        (folder / "explain.md").write_text("Explain $1 to an adult.")
        await chat.say("/explain a.py")
        await chat.until(lambda: isinstance(chat.top, TrustScreen), "the question about the new text")
        chat.top._last_key_s = 0.0
        await chat.pilot.press("1")
        await chat.sees("Once upon a time.")
        assert "Explain a.py to an adult." in chat.words()


async def test_what_a_command_runs_is_ended_by_esc(lab: Lab) -> None:
    folder = Path(os.environ["RAGFORGE_CONFIG_DIR"]) / "commands"
    folder.mkdir(parents=True)
    started = lab.tmp_path / "started"
    (folder / "endless.md").write_text(f"Look: !`touch {started}; sleep 600`")
    async with lab.chat() as chat:
        await chat.say("/endless")
        await chat.until(started.exists, "it runs")
        await chat.until(lambda: "/endless" in chat.doing and "Esc interrupts" in chat.doing, chat.doing)
        await chat.pilot.press("escape")
        await chat.sees("/endless was interrupted.")
        assert not chat.doing
        assert lab.gemini.asked() == []


async def test_a_prompt_of_the_command_line_is_sent_and_what_was_typed_meanwhile_stays(lab: Lab) -> None:
    lab.gemini.script(Text("Hello to you."))
    async with lab.chat(message="hello there") as chat:
        await chat.sees("Hello to you.")
        assert "hello there" in chat.words()
        assert not chat.start_list.is_open
        await chat.turn_ended()
        await chat.pilot.press("up")
        assert chat.screen.prompt.text == "hello there"


async def test_ones_own_command_is_run_though_others_call_one_of_ours_so(lab: Lab) -> None:
    folder = Path(os.environ["RAGFORGE_CONFIG_DIR"]) / "commands"
    folder.mkdir(parents=True)
    (folder / "summarize.md").write_text("Tell me in one line what is here.")
    lab.gemini.script(Text("A shop."))
    async with lab.chat() as chat:
        await chat.type("/summarize")
        completion = chat.screen.query_one(Completion)
        await chat.until(lambda: completion.chosen and completion.chosen.label == "/summarize")
        await chat.enter()
        await chat.sees("A shop.")
        assert "Tell me in one line what is here." in chat.words()


async def test_the_line_of_a_command_returns_when_it_is_undone_and_makes_way_for_another(lab: Lab) -> None:
    folder = Path(os.environ["RAGFORGE_CONFIG_DIR"]) / "commands"
    folder.mkdir(parents=True)
    (folder / "tell.md").write_text("Tell me about $1.")
    lab.gemini.script(Text("A shop."), Text("A cart."))
    async with lab.chat() as chat:
        await chat.say("/tell a.py")
        await chat.sees("A shop.")
        await chat.turn_ended()
        await chat.say("/undo")
        await chat.sees("Undone turn 1")
        assert "): /tell a.py" in chat.words(), "it is named by what was typed"
        await chat.until(lambda: chat.screen.prompt.text == "/tell a.py", chat.screen.prompt.text)
        await chat.type("/tell cart.py")
        await chat.enter()
        await chat.sees("A cart.")
        await chat.turn_ended()
        assert chat.screen.prompt.text == ""
