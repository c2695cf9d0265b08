"""Every slash command through the app, and what leaves it."""

import os
import sqlite3
from pathlib import Path
from time import monotonic

import pytest
from textual.widgets import OptionList
from textual.worker import WorkerFailed

from ragforge.domain.approvals import ToolApproval
from ragforge.domain.ids import now, short_id
from ragforge.tui.screens.ask import AskScreen
from ragforge.tui.screens.base import interface_verbs
from ragforge.tui.screens.confirm import ConfirmScreen
from ragforge.tui.screens.lookup import LookupScreen
from ragforge.tui.screens.model import ModelScreen
from ragforge.tui.screens.search import SearchScreen
from ragforge.tui.screens.sessions import SessionsScreen
from ragforge.tui.widgets.completion import Completion
from ragforge.tui.widgets.entry_list import EntryList
from ragforge.tui.widgets.session_list import SessionList
from tests.contract.builders_versions import a_version
from tests.standins.gemini import Call, Calls, Hang, Text
from tests.tui.chat_app import Chat, Lab


async def one_turn(chat: Chat, words: str = "hello") -> None:
    await chat.say(words)
    await chat.sees("You said")
    await chat.turn_ended()


async def test_help_shows_every_command_and_the_users_keys(lab: Lab) -> None:
    config = Path(os.environ["RAGFORGE_CONFIG_DIR"])
    config.mkdir(parents=True)
    (config / "config.toml").write_text('[keys]\nexpand = "f2"\nsessions = ""\n')
    async with lab.chat() as chat:
        await chat.say("/help")
        await chat.until(lambda: isinstance(chat.top, LookupScreen), "it opens")
        rows = {row.name: row for row in chat.top.query_one(EntryList).rows}
        assert rows["F2"].about == "open all folds in view; again: restore them"
        assert {f"/{name}" for name in interface_verbs()} <= set(rows)
        assert "/undo [N] [--files | --chat] [--on-conflict keep|restore|merge]" in rows["/undo"].more
        assert "/redo redoes the turn, and /log lists every version." in rows["/undo"].more
        assert "Ctrl+S" not in rows
        await chat.pilot.press("escape")
        await chat.until(lambda: chat.top is chat.screen)
        await chat.say("?")
        await chat.until(lambda: isinstance(chat.top, LookupScreen), "it opens by a question mark too")
        await chat.pilot.press("escape")
        await chat.until(lambda: chat.top is chat.screen)
        await chat.pilot.press("ctrl+s")
        await chat.pilot.press("f2")
        assert chat.top is chat.screen


async def test_a_key_of_the_users_does_what_it_says(lab: Lab) -> None:
    config = Path(os.environ["RAGFORGE_CONFIG_DIR"])
    config.mkdir(parents=True)
    (config / "config.toml").write_text('[keys]\ncycle_mode = "f3"\nsubmit = "alt+l"\n')
    async with lab.chat() as chat:
        await chat.pilot.press("f3")
        await chat.until(lambda: "accept edits" in chat.status)
        await chat.pilot.press("shift+tab")
        await chat.type("hello")
        await chat.until(lambda: chat.screen.prompt.settled)
        await chat.pilot.press("alt+l")
        await chat.sees("You said")
        assert "accept edits" in chat.status


async def test_a_setting_is_set_and_unset_by_the_words_of_the_shell_too(lab: Lab) -> None:
    file = Path(os.environ["RAGFORGE_CONFIG_DIR"]) / "config.toml"
    async with lab.chat() as chat:
        await chat.say("/config set keys.cycle_mode f3")
        await chat.sees("keys.cycle_mode` is set in")
        await chat.pilot.press("f3")
        await chat.until(lambda: chat.status.startswith("accept edits"))
        await chat.say("/config set keys.expand f3")
        await chat.sees("both use f3")
        assert "expand" not in file.read_text()
        await chat.say("/config unset keys.cycle_mode")
        await chat.sees("keys.cycle_mode` is no longer set in")
        await chat.pilot.press("shift+tab")
        await chat.until(lambda: chat.status.startswith("plan"))
        await chat.say("/config unset keys.cycle_mode")
        await chat.sees("keys.cycle_mode is not set in")
        await chat.sees("/config` shows where a value comes from.")


async def test_shift_tab_goes_through_the_modes_and_all_is_asked_for(lab: Lab) -> None:
    async with lab.chat() as chat:
        for mode in ("accept edits", "plan", "ask"):
            await chat.pilot.press("shift+tab")
            await chat.until(lambda mode=mode: chat.status.startswith(mode))
        await one_turn(chat)
        await chat.say("/mode all")
        await chat.answers("y")
        await chat.until(lambda: chat.status.startswith("ALL"))
    async with lab.chat(continue_newest=True) as chat:
        await chat.sees("hello")
        assert chat.status.startswith("ask")


async def test_permissions_lists_what_was_allowed_and_takes_it_back(lab: Lab) -> None:
    lab.gemini.script(Calls(Call("shell", {"command": "touch made"})), Text("Done."))
    async with lab.chat() as chat:
        await chat.say("go")
        panel = await chat.asked()
        assert isinstance(panel.request, ToolApproval)
        [rule] = panel.request.rules
        await chat.pilot.press("2")
        await chat.sees("Done.")
        await chat.turn_ended()
        await chat.say("/permissions")
        await chat.sees(f"`{rule}`")
        await chat.say("/permissions remove 1")
        await chat.sees("This project has no rules")


async def test_permissions_spells_out_what_hides_in_a_rule(lab: Lab) -> None:
    async with lab.chat() as chat:
        await chat.say("/permissions add shell(make \u200btest \U000e0041 `id` \u202ex)")
        await chat.sees("1. `` shell(make <U+200B>test <U+E0041> `id` <U+202E>x) ``")


async def test_commands_that_only_tell(lab: Lab) -> None:
    async with lab.chat() as chat:
        await one_turn(chat)
        for line, seen in {
            "/cost": "**This session**",
            "/config turn": "turn.steps_max",
            "/config turn.step_max": "No setting begins with 'turn.step_max'. Did you mean 'turn.steps_max'",
            "/copy code": "This session has no code block to copy.",
            "/jobs stop 3": "There is no background job '3'. No job has run yet.",
            "/alternatives take 4": "There are no alternatives yet; `/alternatives N PROMPT` makes some.",
            "/jobs": "No background jobs.",
            "/mode": "The mode is **ask**",
            "/rename apples and pears": "`apples and pears`",
            "/modes": "Did you mean /mode?",
            "/settings turn": "turn.steps_max",
            "/todos": "This session has no to-do list.",
            "/usage": "**This session**",
            "/rollback": "Did you mean /undo?",
            "/vim": "Did you mean /config ui.keys vim?",
            "/doctor": "Run it in a shell: ragforge doctor",
            "/hooks": "Unknown command /hooks. Try /help.",
            "/export no/such/out.md": "There is no folder",
            "/export out.md": "out.md",
        }.items():
            await chat.say(line)
            await chat.sees(seen)
        await chat.until(lambda: "apples and pears" in chat.status)
        assert "hello" in (lab.project / "out.md").read_text()
        assert not (lab.project / "no").exists()
        await chat.say("/copy")
        await chat.until(lambda: "The answer" in chat.notices())


async def test_names_of_commands_in_other_assistants_are_completed(lab: Lab) -> None:
    async with lab.chat() as chat:
        completion = chat.screen.query_one(Completion)
        for typed, offered in {"/sett": "/config ", "/compr": "/compact", "/todos": "/todo"}.items():
            await chat.type(typed)
            await chat.until(lambda: completion.is_open, typed)
            assert completion.chosen is not None
            assert completion.chosen.insert == offered
            await chat.pilot.press("ctrl+u")


async def test_new_keeps_the_session_and_sessions_finds_it(lab: Lab) -> None:
    async with lab.chat() as chat:
        await one_turn(chat, "about apples")
        await chat.say("/new")
        await chat.sees("A new session")
        await one_turn(chat, "about pears")
        await chat.say("/sessions")
        await chat.until(lambda: isinstance(chat.top, SessionsScreen))
        await chat.type("apples")
        await chat.pilot.press("enter")
        await chat.until(lambda: "about apples" in chat.status)
        assert chat.top is chat.screen


async def test_a_command_does_nothing_while_its_dialog_waits_for_the_user(lab: Lab) -> None:
    async with lab.chat() as chat:
        live = chat.screen.parts.live
        await chat.say("/help")
        await chat.until(lambda: isinstance(chat.top, LookupScreen), "it opens")
        live._clock = lambda: monotonic() + 60  # type: ignore[method-assign]
        live.tick()
        assert chat.doing == ""


async def test_clear_begins_a_new_session_and_says_how_to_come_back(lab: Lab) -> None:
    async with lab.chat() as chat:
        await chat.say("/clear")
        await chat.sees("A new session.")
        assert "The previous session" not in chat.words(), "nothing was said in it, so it is not kept"
        await one_turn(chat, "about apples")
        left = chat.screen.ready().session.id
        await chat.say("/clear")
        await chat.sees(
            'A new session. The previous session, "about apples", is kept: /sessions lists it, and '
            f"`ragforge -r {short_id(left)}` resumes it."
        )
        assert "You said: about apples" not in chat.words()
        await one_turn(chat, "about pears")
        sent = lab.gemini.asked("streamGenerateContent")[-1].body["contents"]
        assert [each["role"] for each in sent] == ["user"], "the model starts anew too"
        await chat.say(f"/resume {short_id(left)}")
        await chat.until(lambda: isinstance(chat.top, SessionsScreen))
        await chat.pilot.press("enter")
        await chat.sees("You said: about apples")


async def test_a_draft_stays_with_its_session(lab: Lab) -> None:
    async with lab.chat() as chat:
        await one_turn(chat, "about apples")
        await chat.say("/new")
        await chat.sees("A new session")
        await one_turn(chat, "about pears")
        await chat.type("draft of pears")
        for words, draft in (("apples", ""), ("pears", "draft of pears")):
            await chat.pilot.press("ctrl+s")
            await chat.until(lambda: isinstance(chat.top, SessionsScreen))
            await chat.type(words)
            await chat.pilot.press("enter")
            await chat.until(lambda words=words: f"about {words}" in chat.status)
            await chat.until(lambda draft=draft: chat.draft == draft)


async def test_a_session_is_renamed_and_deleted_after_asking(lab: Lab) -> None:
    async with lab.chat() as chat:
        await one_turn(chat, "about apples")
        await chat.say("/new")
        await chat.sees("A new session")
        await chat.say("/sessions")
        await chat.until(lambda: isinstance(chat.top, SessionsScreen))
        await chat.pilot.press("ctrl+e")
        await chat.type("!")
        await chat.pilot.press("enter")
        await chat.until(
            lambda: [row.session.title for row in chat.top.query_one(SessionList).rows] == ["about apples!"]
        )
        await chat.pilot.press("ctrl+x")
        await chat.until(lambda: isinstance(chat.top, ConfirmScreen))
        assert "1 turn and 0 tool calls" in str(chat.top._detail)
        await chat.answers("y")
        await chat.until(
            lambda: isinstance(chat.top, SessionsScreen) and not chat.top.query_one(SessionList).rows
        )
        await chat.pilot.press("escape")
        assert await chat.screen.ready().sessions() == []


async def test_search_goes_to_the_turn(lab: Lab) -> None:
    async with lab.chat() as chat:
        await one_turn(chat, "about apples")
        await one_turn(chat, "about pears")
        await chat.say("/new")
        await chat.sees("A new session")
        await chat.say("/search apples")
        await chat.until(lambda: isinstance(chat.top, SearchScreen) and chat.top._found)
        await chat.pilot.press("enter")
        await chat.sees("Shown up to turn 1")
        assert "You said: about pears" not in chat.words()
        await chat.pilot.press("ctrl+end")
        await chat.sees("You said: about pears")


async def test_search_goes_to_the_turn_of_a_version_and_says_where_others_are(lab: Lab) -> None:
    async with lab.chat() as chat:
        await one_turn(chat, "about apples")
        await one_turn(chat, "about pears")
        workspace = chat.screen.ready().workspace
        (row,) = await workspace.store.sessions.recent()
        first, _ = await workspace.store.turns.path(row.session.head)
        for of, turn, words in ((row.session, first.id, "quince"), (workspace.project, "", "medlar")):
            await workspace.store.versions.add(a_version(of, turn_id=turn, words=words, title="", at=now()))
        await chat.say("/new")
        await chat.sees("A new session")
        await chat.say("/search medlar")
        await chat.until(lambda: isinstance(chat.top, SearchScreen) and chat.top._found)
        await chat.pilot.press("enter")
        await chat.until(lambda: "This is not part of a session. /log shows it." in chat.notices())
        await chat.pilot.press(*["backspace"] * len("medlar"), *"quince")
        await chat.until(lambda: [each.hit.text for each in chat.top._found[:1]] == ["quince"])
        await chat.pilot.press("enter")
        await chat.sees("Shown up to turn 1")


async def test_the_model_changes_within_a_session(lab: Lab) -> None:
    async with lab.chat() as chat:
        await one_turn(chat)
        await chat.say("/model gemini:gemini-4-carbon")
        await chat.sees("**gemini:gemini-4-carbon**")
        await one_turn(chat, "again")
        assert "gemini-4-carbon" in chat.status
        assert lab.gemini.asked("streamGenerateContent")[-1].model == "gemini-4-carbon"
        await chat.say("/model")
        await chat.until(
            lambda: isinstance(chat.top, ModelScreen) and chat.top.query_one(OptionList).option_count
        )
        await chat.pilot.press("escape")
        await chat.until(lambda: chat.top is chat.screen)


async def test_sessions_do_not_change_under_a_running_turn(lab: Lab) -> None:
    lab.gemini.script((Text("Busy"), Hang()))
    async with lab.chat() as chat:
        await chat.say("go")
        await chat.sees("Busy")
        await chat.pilot.press("ctrl+s")
        await chat.sees("/sessions: A turn is running. Wait for it")
        await chat.say("/new")
        await chat.sees("/new: A turn is running. Wait for it")
        assert chat.screen.busy


async def test_a_session_that_another_process_writes_is_shown_or_forked(lab: Lab) -> None:
    async with lab.chat() as first:
        await one_turn(first, "about apples")
        async with lab.chat(continue_newest=True) as second:
            await second.answers("n")
            await second.until(lambda: "read only" in second.status)
            await second.say("may I?")
            await second.sees("read-only here")
            await second.until(lambda: second.draft == "may I?")
            second.screen.prompt.set_draft("")
        async with lab.chat(continue_newest=True) as third:
            await third.answers("y")
            await third.until(lambda: "(fork)" in third.status)
            await one_turn(third, "and pears")


@pytest.mark.parametrize("how", ["/exit", "ctrl+d", "ctrl+c twice"])
async def test_leaving_leaves_the_answer_and_the_command(lab: Lab, how: str) -> None:
    async with lab.chat() as chat:
        await one_turn(chat)
        session_id = chat.screen.ready().session.id
        match how:
            case "/exit":
                await chat.say("/exit")
            case "ctrl+d":
                await chat.pilot.press("ctrl+d")
            case _:
                await chat.type("kept in the history")
                await chat.pilot.press("ctrl+c", "ctrl+c")
        await chat.until(lambda: chat.app._exit)
    assert lab.left is not None
    assert lab.left.said == "You said: hello"
    assert lab.left.resume_command == f"ragforge -r {short_id(session_id)}"
    assert lab.left.exit_code == 0
    if how == "ctrl+c twice":
        lab.set_environ(RAGFORGE_UI_LEAVE="all")
        async with lab.chat(resume=session_id) as chat:
            await chat.pilot.press("up")
            await chat.until(lambda: chat.screen.prompt.text == "kept in the history")
            await chat.pilot.press("ctrl+c")
            await chat.say("!echo from the shell")
            await chat.until(lambda: chat.screen.ready().session.live.commands, "it has run")
            for words in ("and pears", "and plums"):
                await chat.say(words)
                await chat.sees(words)
                await chat.turn_ended()
            await chat.say("/undo")
            await chat.sees("Undone turn 3")
            await chat.pilot.press("ctrl+c")
            await chat.say("!echo at the $((40 + 2))nd minute")
            await chat.until(lambda: chat.screen.ready().session.live.commands, "it has run")
            await chat.pilot.press("ctrl+d")
            await chat.until(lambda: chat.app._exit)
        said = lab.left.said
        assert said.count("\n## ") == 0
        assert said.startswith("## 2. ")
        assert "\nfrom the shell\n" in said
        assert "> and pears\n\nYou said: " in said
        assert "and plums" not in said
        assert "\nat the 42nd minute\n" in said.rpartition("and pears")[2], said


async def test_leaving_leaves_no_command_of_an_earlier_run(lab: Lab) -> None:
    lab.set_environ(RAGFORGE_UI_LEAVE="all")
    async with lab.chat() as chat:
        await one_turn(chat)
        session_id = chat.screen.ready().session.id
    for number, minute in enumerate(("42nd", "43rd"), 1):
        async with lab.chat(resume=session_id) as chat:
            await chat.until(lambda: chat.screen.ready().session.id == session_id)
            await chat.say(f"!echo at the {minute} minute")
            live = chat.screen.ready().session.live
            await chat.until(lambda live=live, number=number: len(live.commands) == number, "it has run")
            await chat.pilot.press("ctrl+d")
            await chat.until(lambda: chat.app._exit)
        assert lab.left is not None
        assert f"\nat the {minute} minute\n" in lab.left.said
    assert "42nd" not in lab.left.said


async def test_a_store_that_cannot_be_written_returns_the_words(lab: Lab) -> None:
    async with lab.chat() as chat:
        await one_turn(chat)
        lock = sqlite3.connect(Path(os.environ["RAGFORGE_DATA_DIR"]) / "ragforge.db")
        lock.execute("CREATE TRIGGER full BEFORE INSERT ON turn BEGIN SELECT RAISE(FAIL, 'disk full'); END")
        lock.commit()
        await chat.say("do not lose me")
        await chat.until(lambda: chat.draft == "do not lose me")
        await chat.turn_ended()
        lock.execute("DROP TRIGGER full")
        lock.commit()
        lock.close()
        await chat.enter()
        await chat.sees("You said: do not lose me")


async def test_an_error_of_the_program_shows_no_variables(
    lab: Lab, capsys: pytest.CaptureFixture[str]
) -> None:
    async def broken() -> None:
        password = "do-not-show"
        raise RuntimeError(f"{len(password)} characters")

    async def run() -> None:
        async with lab.chat() as chat:
            chat.screen.run_worker(broken())
            await chat.until(lambda: chat.app._exit)

    with pytest.raises(WorkerFailed, match="11 characters"):
        await run()
    seen = capsys.readouterr()
    assert "do-not-show" not in seen.out + seen.err


async def test_a_program_shows_its_calls_and_esc_stops_it_for_later(lab: Lab) -> None:
    folder = lab.tmp_path / "config" / "programs"
    folder.mkdir(parents=True)
    lines = (".program twice", "LLM_EXEC $A, 'first', 'a'", "LLM_EXEC $B, 'second', $A", "DISPLAY $B")
    (folder / "twice.spu").write_text("\n".join(lines))
    (folder / "talk.spu").write_text(".program talk\nWAIT_INPUT $X\nDISPLAY $X\n")
    lab.gemini.script(Text("Anna."), Hang())
    async with lab.chat() as chat:
        await chat.say("/run talk")
        await chat.until(lambda: isinstance(chat.top, AskScreen))
        await chat.pilot.press(*"Hi", "enter")
        await chat.sees("Hi")
        await chat.say("/twice")
        await chat.sees("first (gemini:gemini-3.8-flash): ")
        await chat.until(lambda: len(lab.gemini.asked()) == 2, "the second call")
        await chat.pilot.press("escape")
        await chat.sees("Stopped. /run twice --resume continues")
        lab.gemini.script(Text("Berta."))
        await chat.say("/run twice --resume")
        await chat.sees("Berta.")
        assert len(lab.gemini.asked()) == 3
