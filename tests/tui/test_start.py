"""How it opens: without a model, with sessions below the prompt, with a draft that was left."""

import asyncio
import os
import stat
from pathlib import Path

import pytest
from textual import events
from textual.widgets import Input, OptionList

from ragforge.commands.base import run_command
from ragforge.memory import forget_request
from ragforge.session import setup
from ragforge.tui.chat.frame import ChatFrame
from ragforge.tui.chat.screen import DRAFT_KEPT_AFTER_S, ChatScreen
from ragforge.tui.screens.confirm import ConfirmScreen
from ragforge.tui.screens.model import ModelScreen
from ragforge.tui.widgets.plain import PlainText
from tests.standins.gemini import Text
from tests.standins.openai import OpenAIStandIn
from tests.tui.chat_app import Chat, Lab, is_opening


def hint(chat: Chat) -> str:
    return chat.top.query_one(".dialog-hint", PlainText).text


def options(chat: Chat) -> list[str]:
    listed = chat.top.query_one(OptionList)
    return [str(listed.get_option_at_index(at).prompt) for at in range(listed.option_count)]


async def at_setup(chat: Chat) -> None:
    await chat.until(lambda: isinstance(chat.top, ModelScreen) and len(options(chat)) >= 3)


async def two_sessions(lab: Lab) -> None:
    for words in ("about apples", "about pears"):
        async with lab.chat(new=True) as chat:
            await chat.say(words)
            await chat.sees("You said")
            await chat.turn_ended()


async def test_without_a_model_a_key_is_asked_for_proved_and_kept(lab: Lab) -> None:
    lab.set_environ(key=False)
    lab.gemini.script(Text("Hello."))
    async with lab.chat() as chat:
        await at_setup(chat)
        await chat.pilot.press("enter")
        field = chat.top.query_one(Input)
        await chat.until(lambda: field.has_focus)
        assert field.password
        await chat.type("wrong")
        await chat.pilot.press("enter")
        await chat.until(lambda: "refused" in hint(chat), "why it is no key")
        assert field.value == "wrong"
        assert isinstance(chat.top, ModelScreen)
        field.value = lab.gemini.key
        await chat.pilot.press("enter")
        await chat.until(lambda: not isinstance(chat.top, ModelScreen))
        await chat.sees("Now using gemini:")
        keys = Path(os.environ["RAGFORGE_CONFIG_DIR"]) / "keys.toml"
        assert str(keys) in chat.words()
        assert stat.S_IMODE(keys.stat().st_mode) == 0o600
        await chat.say("hi")
        await chat.sees("Hello.")


async def test_a_key_or_a_url_pasted_into_the_setup_goes_to_its_line(lab: Lab) -> None:
    lab.set_environ(key=False)
    async with lab.chat() as chat:
        await at_setup(chat)
        field = chat.top.query_one(Input)
        lab.gemini.key = "AIza-stand_in.key-as-long-as-real-ones"
        for pasted, is_secret in (("http://localhost:9/v1", False), (f"{lab.gemini.key}\n", True)):
            chat.app.post_message(events.Paste(pasted))
            await chat.until(lambda: field.has_focus, "its line takes it")
            assert (field.value, field.password) == (pasted.strip(), is_secret)
            if not is_secret:
                await chat.pilot.press("escape")
                await at_setup(chat)
        await chat.pilot.press("enter")
        await chat.until(lambda: not isinstance(chat.top, ModelScreen))
        await chat.sees("Now using gemini:")


async def test_a_message_pasted_into_the_setup_goes_to_the_prompt(lab: Lab) -> None:
    lab.set_environ(key=False)
    async with lab.chat() as chat:
        await at_setup(chat)
        chat.app.post_message(events.Paste("fix the login page"))
        await chat.until(lambda: chat.top.typed_meanwhile == "fix the login page")
        await chat.pilot.press("escape")
        await chat.until(lambda: chat.draft == "fix the login page")


@pytest.mark.parametrize(
    "pasted", ["请帮我修复登录页面的错误和注册页面的错误", "README.md", "/home/me/pictures/shot.png"]
)
async def test_a_message_without_spaces_is_no_key(lab: Lab, pasted: str) -> None:
    lab.set_environ(key=False)
    async with lab.chat() as chat:
        await at_setup(chat)
        chat.app.post_message(events.Paste(pasted))
        await chat.until(lambda: chat.top.typed_meanwhile == pasted)
        assert chat.top.query_one(Input).has_class("hidden")
        await chat.pilot.press("escape")
        await chat.until(lambda: chat.draft == pasted)


async def test_a_message_pasted_into_the_list_of_models_goes_to_the_prompt(lab: Lab) -> None:
    async with lab.chat() as chat:
        await chat.say("/model")
        await at_setup(chat)
        chat.app.post_message(events.Paste("fix the login page"))
        await chat.until(lambda: chat.top.typed_meanwhile == "fix the login page")
        await chat.pilot.press("escape")
        await chat.until(lambda: chat.draft == "fix the login page")


async def test_what_is_typed_before_the_setup_is_seen_goes_to_the_prompt(lab: Lab) -> None:
    lab.set_environ(key=False)
    async with lab.chat() as chat:
        await at_setup(chat)
        await chat.pilot.press(*"fix it")
        await chat.until(lambda: chat.top.typed_meanwhile == "fix it")
        await chat.pilot.press("escape")
        await chat.until(lambda: chat.draft == "fix it")


async def test_an_enter_that_ends_typed_words_takes_no_line_of_the_setup(lab: Lab) -> None:
    lab.set_environ(key=False)
    async with lab.chat() as chat:
        await at_setup(chat)
        await chat.pilot.press(*"fix it", "enter", *"and b", "enter")
        await chat.until(lambda: chat.top.typed_meanwhile == "fix it\nand b\n")
        assert chat.top.query_one(Input).has_class("hidden")
        await chat.pilot.press("down", "up", "enter")
        await chat.until(lambda: chat.top.query_one(Input).has_focus, "after an arrow Enter takes the line")
        await chat.pilot.press("escape", "escape")
        await chat.until(lambda: chat.draft == "fix it\nand b")


async def test_closing_the_setup_ends_what_it_was_asking(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    lab.set_environ(key=False)
    async with lab.chat() as chat:
        await at_setup(chat)
        await chat.pilot.press("escape")
        await chat.until(lambda: not isinstance(chat.top, ModelScreen))
        half_gone = asyncio.Event()

        async def answered_when_half_gone(**_: object) -> list[setup.FoundEndpoint]:
            await half_gone.wait()
            return []

        monkeypatch.setattr(setup, "find_local_endpoints", answered_when_half_gone)
        await chat.say("/model")
        await chat.until(lambda: isinstance(chat.top, ModelScreen) and "Looking for" in hint(chat))
        dialog = chat.top
        monkeypatch.setattr(PlainText, "on_unmount", lambda _: half_gone.set(), raising=False)
        await chat.pilot.press("escape")
        await chat.until(lambda: not dialog.is_attached and half_gone.is_set())
        await chat.say("where are the apples")
        await chat.sees("No model configured: search results, not generated text")
        await chat.turn_ended()


async def test_escape_closes_the_models_before_their_list_is_filled(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = asyncio.Event()

    async def never(_: object) -> str:
        asked.set()
        await asyncio.Event().wait()
        return ""

    async with lab.chat() as chat:
        monkeypatch.setattr(setup, "gemini_key_source", never)
        await chat.say("/model")
        await chat.until(lambda: isinstance(chat.top, ModelScreen) and asked.is_set())
        assert options(chat) == []
        await chat.pilot.press("escape")
        await chat.until(lambda: not isinstance(chat.top, ModelScreen), "it is closed")


async def test_without_a_model_search_answers_and_says_so(lab: Lab) -> None:
    lab.set_environ(key=False)
    async with lab.chat() as chat:
        await at_setup(chat)
        listed = chat.top.query_one(OptionList)
        listed.highlighted = options(chat).index("Continue without a model: answers are search results")
        await chat.pilot.press("enter")
        await chat.sees("Without a model")
        await chat.say("where are the apples")
        await chat.sees("No model configured: search results, not generated text")
        await chat.turn_ended()
        assert "local" in chat.status


async def test_another_endpoint_is_reached_by_its_url(lab: Lab) -> None:
    lab.set_environ(key=False)
    async with OpenAIStandIn() as server, lab.chat() as chat:
        await at_setup(chat)
        listed = chat.top.query_one(OptionList)
        listed.highlighted = 1
        await chat.pilot.press("enter")
        field = chat.top.query_one(Input)
        await chat.until(lambda: field.has_focus)
        field.value = "not a url"
        await chat.pilot.press("enter")
        await chat.until(lambda: chat.top._asks_for == "endpoint-key")
        await chat.pilot.press("enter")
        await chat.until(lambda: chat.top._asks_for == "url" and "base_url" in hint(chat))
        assert field.value == "not a url"
        field.value = server.base_url.removesuffix("/v1")
        await chat.pilot.press("enter")
        await chat.until(lambda: chat.top._asks_for == "endpoint-key")
        await chat.pilot.press("enter")
        await chat.until(lambda: chat.top._asks_for == "url" and "usually ends in /v1" in hint(chat))
        await chat.pilot.press("/", "v", "1")
        assert field.value == server.base_url
        await chat.pilot.press("enter")
        await chat.until(lambda: chat.top._asks_for == "endpoint-key")
        assert server.key is None
        await chat.pilot.press("enter")
        await chat.until(lambda: any(option.startswith("at-127") for option in options(chat)))
        await chat.pilot.press("enter")
        await chat.sees("Now using at-127")


async def test_escape_leaves_the_setup_and_says_what_holds(lab: Lab) -> None:
    lab.set_environ(key=False)
    async with lab.chat() as chat:
        await at_setup(chat)
        await chat.pilot.press("escape")
        await chat.sees("No model yet")


async def test_typing_narrows_and_enter_sends_a_new_message(lab: Lab) -> None:
    await two_sessions(lab)
    async with lab.chat() as chat:
        await chat.until(lambda: len(chat.start_list.rows) == 2)
        await chat.type("apples")
        await chat.until(lambda: len(chat.start_list.rows) == 1)
        await chat.enter()
        await chat.sees("You said")
        await chat.turn_ended()
        assert not chat.start_list.is_open
        assert len(await chat.screen.ready().sessions()) == 3


async def test_enter_on_an_empty_prompt_resumes_the_newest(lab: Lab) -> None:
    await two_sessions(lab)
    async with lab.chat() as chat:
        await chat.until(lambda: chat.start_list.is_open)
        await chat.enter()
        await chat.sees("about pears")
        await chat.until(lambda: "about pears" in chat.status, "its title")


async def test_down_and_enter_resume_the_chosen_and_leave_no_draft(lab: Lab) -> None:
    await two_sessions(lab)
    async with lab.chat() as chat:
        await chat.until(lambda: chat.start_list.is_open)
        await chat.type("apples")
        await chat.pilot.press("down")
        await chat.until(lambda: chat.start_list.is_chosen)
        await chat.enter()
        await chat.until(lambda: "about apples" in chat.words())
        assert chat.draft == ""
        await chat.pilot.press("up")
        await chat.until(lambda: chat.screen.prompt.text == "apples", "it is in the history")


async def test_new_skips_the_list_and_the_setting_chooses(lab: Lab) -> None:
    await two_sessions(lab)
    async with lab.chat(new=True) as chat:
        assert not chat.start_list.is_open
    lab.monkeypatch.setenv("RAGFORGE_START", "new")
    async with lab.chat() as chat:
        assert not chat.start_list.is_open
    lab.monkeypatch.setenv("RAGFORGE_START", "continue")
    async with lab.chat() as chat:
        await chat.sees("about pears")


async def test_the_list_fits_forty_columns(lab: Lab) -> None:
    await two_sessions(lab)
    async with lab.chat(size=(40, 20)) as chat:
        await chat.until(lambda: chat.start_list.is_open and chat.start_list.region)
        assert chat.start_list.size.width <= 40
        assert chat.screen.prompt.region.bottom <= chat.start_list.region.y
        assert chat.start_list.region.bottom <= 20


async def test_a_draft_survives_quitting_in_folder_and_session(lab: Lab) -> None:
    async with lab.chat() as chat:
        await chat.type("half a thought")
    async with lab.chat() as chat:
        await chat.until(lambda: chat.draft == "half a thought")
        await chat.enter()
        await chat.sees("You said")
        await chat.turn_ended()
        await chat.type("the next one")
    async with lab.chat(continue_newest=True) as chat:
        await chat.until(lambda: chat.draft == "the next one")
    async with lab.chat(new=True) as chat:
        assert chat.draft == ""


async def test_a_draft_that_was_sent_does_not_return_however_soon_one_types_on(lab: Lab) -> None:
    async with lab.chat() as chat:
        await chat.type("half a thought")
    async with lab.chat() as chat:
        await chat.until(lambda: chat.draft == "half a thought")
        conversation = chat.screen.ready()
        forget, keep, kept = conversation.forget_folder_draft, conversation.keep_draft, list[str]()
        typed_on, forgotten = asyncio.Event(), asyncio.Event()

        async def forget_slowly() -> None:
            await typed_on.wait()
            await forget()
            forgotten.set()

        async def keep_and_tell(text: str) -> None:
            await keep(text)
            kept.append(text)

        lab.monkeypatch.setattr(conversation, "forget_folder_draft", forget_slowly)
        lab.monkeypatch.setattr(conversation, "keep_draft", keep_and_tell)
        await chat.enter()
        await chat.sees("You said")
        await chat.turn_ended()
        await chat.type("the next one")
        await chat.until(lambda: "the next one" in kept)
        typed_on.set()
        await chat.until(forgotten.is_set, "what was sent is forgotten")
    async with lab.chat(new=True) as chat:
        assert chat.draft == ""


async def test_a_draft_of_megabytes_is_not_kept_at_every_pause_in_typing(lab: Lab) -> None:
    async with lab.chat() as chat:
        conversation = chat.screen.ready()
        keep, kept = conversation.keep_draft, list[str]()

        async def keep_and_tell(text: str) -> None:
            await keep(text)
            kept.append(text)

        lab.monkeypatch.setattr(conversation, "keep_draft", keep_and_tell)
        pasted = "the quick brown fox jumps over the lazy dog\n" * 50_000
        chat.app.post_message(events.Paste(pasted))
        await chat.until(lambda: len(kept) == 1, "the paste is kept")
        for letter in "abcdef":
            await chat.pilot.press(letter)
            await asyncio.sleep(DRAFT_KEPT_AFTER_S * 1.1)
        assert len(kept) <= 2
        await chat.until(lambda: kept[-1] == f"{pasted}abcdef", "what was typed behind it is kept too")


async def test_a_long_draft_does_not_return_once_it_was_sent(lab: Lab) -> None:
    async with lab.chat() as chat:
        conversation = chat.screen.ready()
        await asyncio.gather(conversation.keep_draft("word " * 200_000), conversation.keep_draft(""))
        assert await conversation.folder_draft() == ""


async def test_the_first_frame_has_the_status_line(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = asyncio.Event()

    async def mount_parts(chat: ChatScreen) -> None:
        await loaded.wait()
        await ChatFrame.mount_parts(chat)

    monkeypatch.setattr(ChatScreen, "mount_parts", mount_parts)
    async with lab.chat(opens=False) as chat:
        status = chat.screen.status
        await chat.until(lambda: status.region.bottom == chat.screen.size.height)
        assert "ask" in str(status.render())
        await chat.pilot.click(status)  # nothing to explain it in yet
        loaded.set()
        await chat.until(lambda: not is_opening(chat.app))
        assert status.is_attached
        assert status.region.bottom == chat.screen.size.height


async def test_what_is_typed_while_it_opens_is_kept(lab: Lab) -> None:
    await two_sessions(lab)
    lab.store_answers = asyncio.Event()
    async with lab.chat(continue_newest=True, opens=False) as chat:
        await chat.type("early words")
        lab.store_answers.set()
        await chat.sees("about pears")
        assert chat.draft == "early words"


async def test_what_is_sent_before_the_store_is_open_goes_when_it_is(lab: Lab) -> None:
    lab.store_answers = asyncio.Event()
    async with lab.chat(opens=False) as chat:
        await chat.say("sent early")
        await chat.until(lambda: "Still opening" in chat.notices())
        assert chat.draft == "sent early"
        lab.store_answers.set()
        await chat.sees("You said")
        await chat.turn_ended()
        assert chat.draft == ""


async def test_what_was_sent_early_and_then_changed_waits_for_enter(lab: Lab) -> None:
    lab.store_answers = asyncio.Event()
    async with lab.chat(opens=False) as chat:
        await chat.say("sent early")
        await chat.until(lambda: "Still opening" in chat.notices())
        await chat.type(", no")
        lab.store_answers.set()
        await chat.sees("Type a message")
        await chat.until(lambda: not is_opening(chat.app))
        assert chat.draft == "sent early, no"
        assert lab.gemini.asked() == []


async def test_the_home_folder_is_asked_about_and_no_leaves(lab: Lab) -> None:
    lab.monkeypatch.setenv("HOME", str(lab.project))
    async with lab.chat() as chat:
        await chat.until(lambda: isinstance(chat.top, ConfirmScreen))
        await chat.until(lambda: chat.app.last_key_s < 0)
        await chat.pilot.press("n")
        await chat.until(lambda: chat.app._exit)


async def test_words_typed_as_a_question_comes_up_are_words(lab: Lab) -> None:
    lab.monkeypatch.setenv("HOME", str(lab.project))
    async with lab.chat() as chat:
        await chat.until(lambda: isinstance(chat.top, ConfirmScreen))
        chat.top._last_key_s = float("inf")
        await chat.type("yn")
        assert isinstance(chat.top, ConfirmScreen)
        chat.top.dismiss(True)
        await chat.until(lambda: chat.draft == "yn")


async def test_a_wrong_setting_ends_it_with_a_sentence(lab: Lab) -> None:
    config = Path(os.environ["RAGFORGE_CONFIG_DIR"])
    config.mkdir(parents=True)
    (config / "config.toml").write_text('[keys]\nexpand = "ctrl+"\n')
    async with lab.chat() as chat:
        await chat.until(lambda: chat.app._exit)
    assert lab.left is not None
    assert lab.left.exit_code == 2
    assert "config.toml: keys.expand" in lab.left.failure


async def test_a_found_server_on_this_machine_comes_first_where_no_key_is_known(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def found(**_: object) -> list[setup.FoundEndpoint]:
        return [setup.FoundEndpoint("ollama", "http://localhost:11434/v1", ("qwen3:8b",))]

    monkeypatch.setattr(setup, "find_local_endpoints", found)
    lab.set_environ(key=False)
    async with lab.chat() as chat:
        options = chat.top.query_one(OptionList)
        await chat.until(lambda: "on this machine" in str(options.get_option_at_index(0).prompt))
        assert options.highlighted == 0
        assert options.get_option_at_index(0).id == "model ollama:qwen3:8b"
        await chat.pilot.press("escape")


async def test_a_session_begins_with_where_one_is_what_is_known_and_how_to_begin(lab: Lab) -> None:
    lab.gemini.script(Text("Yes."))
    async with lab.chat(size=(80, 30)) as chat:
        await chat.sees("ragforge 0.")
        assert "~/code/shop" in chat.words()
        assert "gemini:gemini-3.8-flash" in chat.words()
        assert chat.words().count("\n· ") == 3
        await run_command(chat.screen.ready().session, "remember", "decision: use tabs")
    async with lab.chat(size=(80, 30)) as chat:
        await chat.sees("gemini:gemini-3.8-flash · 1 memory in this project")
    async with lab.chat(size=(40, 12)) as chat:
        await chat.sees("Type a message, or /help")
        assert "· @ mentions" not in chat.words()


async def test_what_a_message_is_read_with_is_compiled_before_the_first_one(lab: Lab) -> None:
    compiled = [forget_request._BARE.__dict__, forget_request._THAT.__dict__]
    for each in compiled:
        each.pop("_ready", None)
    async with lab.chat() as chat:
        await chat.until(lambda: all("_ready" in each for each in compiled))
