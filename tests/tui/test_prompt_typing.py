"""Typing, sending, clearing and the history."""

import pytest
from textual import events

from ragforge.tui import keys
from ragforge.tui.widgets.history import ListHistory
from ragforge.tui.widgets.paste_area import BLINKS_MAX
from ragforge.tui.widgets.prompt import Prompt
from tests.tui.prompt_app import PromptApp
from tests.tui.waiting import press_enter, send_line, until


async def test_enter_sends_and_empties_the_prompt():
    app = PromptApp()
    async with app.run_test() as pilot:
        await send_line(pilot, "hello there")
        await until(pilot, lambda: app.sent == ["hello there"])
        assert app.prompt.text == ""


async def test_every_newline_key_makes_a_line_and_sends_nothing():
    app = PromptApp()
    async with app.run_test() as pilot:
        await pilot.press("a", "ctrl+j", "b", "shift+enter", "c", "alt+enter", "d")
        await until(pilot, lambda: app.prompt.text == "a\nb\nc\nd")
        await press_enter(pilot)
        await until(pilot, lambda: app.sent == ["a\nb\nc\nd"])


async def test_the_prompt_grows_with_its_text_up_to_ten_lines():
    app = PromptApp()
    async with app.run_test(size=(40, 24)) as pilot:
        await until(pilot, lambda: app.prompt.size.height == 1)
        app.prompt.set_draft("word " * 20)
        await until(pilot, lambda: app.prompt.size.height == 3)
        app.prompt.set_draft("\n" * 30)
        await until(pilot, lambda: app.prompt.size.height == 10)


async def test_enter_on_an_empty_prompt_sends_nothing_and_says_so():
    app = PromptApp()
    async with app.run_test() as pilot:
        await pilot.press("space", "space")
        await press_enter(pilot)
        await until(pilot, lambda: app.got(Prompt.EnterOnEmpty))
        assert app.sent == []


async def test_ctrl_c_puts_the_text_into_the_history_before_it_clears():
    app = PromptApp()
    async with app.run_test() as pilot:
        await pilot.press(*"draft", "ctrl+c")
        await until(pilot, lambda: app.prompt.text == "")
        assert app.prompt.sent.entries() == ["draft"]
        await pilot.press("up")
        await until(pilot, lambda: app.prompt.text == "draft")


async def test_ctrl_c_twice_quits_and_any_key_between_forgets_the_first():
    app = PromptApp()
    async with app.run_test() as pilot:
        await pilot.press("ctrl+c", "a", "ctrl+c")
        await until(pilot, lambda: len(app.got(Prompt.Noticed)) == 2)
        assert not app.got(Prompt.QuitRequested)
        await pilot.press("ctrl+c")
        await until(pilot, lambda: app.got(Prompt.QuitRequested))


async def test_a_second_ctrl_c_after_two_seconds_is_a_first_one():
    now_s = [0.0]
    app = PromptApp(clock=lambda: now_s[0])
    async with app.run_test() as pilot:
        await pilot.press("ctrl+c")
        now_s[0] = 2.1
        await pilot.press("ctrl+c")
        await until(pilot, lambda: len(app.got(Prompt.Noticed)) == 2)
        assert not app.got(Prompt.QuitRequested)


async def test_ctrl_d_deletes_forward_and_quits_on_an_empty_prompt_only():
    app = PromptApp()
    async with app.run_test() as pilot:
        await pilot.press("a", "b", "home", "ctrl+d")
        await until(pilot, lambda: app.prompt.text == "b")
        assert not app.got(Prompt.QuitRequested)
        await pilot.press("ctrl+d", "ctrl+d")
        await until(pilot, lambda: app.got(Prompt.QuitRequested))


async def test_ctrl_q_does_not_quit():
    app = PromptApp()
    async with app.run_test() as pilot:
        await pilot.press("x", "ctrl+q", "y")
        await until(pilot, lambda: app.prompt.text == "xy")
        assert app.is_running


async def test_readline_keys_delete_and_yank_and_undo_brings_back():
    app = PromptApp()
    async with app.run_test() as pilot:
        app.prompt.set_draft("one two three")
        await pilot.press("ctrl+w")
        await until(pilot, lambda: app.prompt.text == "one two ")
        await pilot.press("ctrl+a", "ctrl+y")
        await until(pilot, lambda: app.prompt.text == "threeone two ")
        await pilot.press("ctrl+k")
        await until(pilot, lambda: app.prompt.text == "three")
        await pilot.press("ctrl+underscore")
        await until(pilot, lambda: app.prompt.text == "threeone two ")
        await pilot.press("alt+z")
        await until(pilot, lambda: app.prompt.text == "three")


async def test_a_cleared_draft_can_be_undone():
    app = PromptApp()
    async with app.run_test() as pilot:
        await pilot.press(*"word", "ctrl+c", "ctrl+underscore")
        await until(pilot, lambda: app.prompt.text == "word")


async def test_up_leaves_a_draft_of_several_lines_from_its_first_line_only_and_down_returns_to_it():
    app = PromptApp(history=ListHistory(["newer", "older"]))
    async with app.run_test() as pilot:
        app.prompt.set_draft("first\nsecond")
        await pilot.press("up")
        await until(pilot, lambda: app.prompt.cursor_location[0] == 0)
        assert app.prompt.text == "first\nsecond"
        await pilot.press("up")
        await until(pilot, lambda: app.prompt.text == "newer")
        await pilot.press("up", "up", "up")
        await until(pilot, lambda: app.prompt.text == "older")
        await pilot.press("down", "down")
        await until(pilot, lambda: app.prompt.text == "first\nsecond")


async def test_up_goes_on_through_recalled_texts_of_several_lines_without_climbing_them():
    app = PromptApp(history=ListHistory(["a\nb\nc", "d\ne", "f"]))
    async with app.run_test() as pilot:
        await pilot.press("up", "up", "up")
        await until(pilot, lambda: app.prompt.text == "f")


async def test_a_changed_entry_of_the_history_is_found_changed_again():
    app = PromptApp(history=ListHistory(["newer", "older"]))
    async with app.run_test() as pilot:
        await pilot.press("up", "!", "up", "down")
        await until(pilot, lambda: app.prompt.text == "newer!")
        await pilot.press("down")
        await until(pilot, lambda: app.prompt.text == "")
        assert app.prompt.sent.entries() == ["newer", "older"]


async def test_up_on_an_empty_prompt_asks_for_the_last_queued_message_before_the_history():
    app = PromptApp(history=ListHistory(["older"]))
    async with app.run_test() as pilot:
        app.area.show_queue(["one", "two"])
        await pilot.press("up")
        await until(pilot, lambda: app.got(Prompt.TakeBack))
        assert app.got(Prompt.TakeBack)[0].last
        app.area.show_queue(["one"])
        app.prompt.put_back("two")
        await pilot.press("up")
        await until(pilot, lambda: app.prompt.text == "older")


async def test_escape_asks_for_the_queue_and_interrupts():
    app = PromptApp()
    async with app.run_test() as pilot:
        app.area.show_queue(["one", "two"])
        await pilot.press("x", "escape")
        await until(pilot, lambda: app.chat_actions == ["interrupt"])
        assert not app.got(Prompt.TakeBack)[0].last
        app.prompt.put_back("one", "two")
        assert app.prompt.text == "one\n\ntwo\n\nx"


async def test_a_changed_draft_is_told_whole():
    app = PromptApp()
    async with app.run_test() as pilot:
        await app.prompt.paste_in("\n".join("x" * 20))
        await until(pilot, lambda: app.got(Prompt.DraftChanged))
        assert app.got(Prompt.DraftChanged)[-1].prompt.draft == "\n".join("x" * 20)


async def test_the_users_keys_take_the_place_of_ours():
    app = PromptApp()
    async with app.run_test() as pilot:
        app.prompt.use(bound=keys.bindings({"submit": "f2", "newline": "enter"}), env={})
        await pilot.press("a")
        await press_enter(pilot)
        await until(pilot, lambda: app.prompt.text == "a\n")
        await pilot.press("b", "f2")
        await until(pilot, lambda: app.sent == ["a\nb"])


async def test_alt_and_a_letter_types_nothing():
    app = PromptApp()
    async with app.run_test() as pilot:
        await pilot.press("a", "alt+x", "b")
        await until(pilot, lambda: app.prompt.text == "ab")


async def test_joined_emoji_are_typed_whole():
    app = PromptApp()
    async with app.run_test() as pilot:
        for char in "👩\u200d🚀":
            app.prompt.post_message(events.Key(f"key_{ord(char)}", char))
        await until(pilot, lambda: app.prompt.text == "👩\u200d🚀")


async def test_sending_a_message_of_before_brings_the_draft_back():
    app = PromptApp(history=ListHistory(["again"]))
    async with app.run_test() as pilot:
        await pilot.press(*"draft", "up")
        await until(pilot, lambda: app.prompt.text == "again")
        assert app.prompt.draft == "draft"
        await press_enter(pilot)
        await until(pilot, lambda: app.sent == ["again"] and app.prompt.text == "draft")


async def test_sending_what_a_search_found_brings_the_draft_back():
    app = PromptApp(history=ListHistory(["again"]))
    async with app.run_test() as pilot:
        await pilot.press(*"draft", "ctrl+r", "enter")
        await until(pilot, lambda: app.prompt.text == "again")
        await press_enter(pilot)
        await until(pilot, lambda: app.sent == ["again"] and app.prompt.text == "draft")


async def test_clearing_a_recalled_text_keeps_it_and_the_draft_in_the_history():
    app = PromptApp(history=ListHistory(["again"]))
    async with app.run_test() as pilot:
        await pilot.press(*"draft", "up", "!", "ctrl+c")
        await until(pilot, lambda: app.prompt.text == "")
        assert app.prompt.sent.entries() == ["again!", "draft", "again"]


async def test_an_entry_changed_on_the_way_is_kept_when_another_is_sent():
    app = PromptApp(history=ListHistory(["newer", "older"]))
    async with app.run_test() as pilot:
        await pilot.press("up", "!", "up")
        await press_enter(pilot)
        await until(pilot, lambda: app.sent == ["older"])
        assert app.prompt.sent.entries() == ["older", "newer!", "newer"]


async def test_a_message_that_returns_comes_before_the_draft_and_not_before_a_recalled_one():
    app = PromptApp(history=ListHistory(["again"]))
    async with app.run_test() as pilot:
        await pilot.press(*"draft", "up")
        await until(pilot, lambda: app.prompt.text == "again")
        app.prompt.put_back("failed")
        await until(pilot, lambda: app.prompt.text == "failed\n\ndraft")


async def test_a_palette_whose_slash_is_deleted_gives_the_draft_back():
    app = PromptApp()
    async with app.run_test() as pilot:
        await pilot.press(*"draft", "ctrl+p", "backspace")
        await until(pilot, lambda: app.prompt.text == "draft")
        await pilot.press("!")
        await until(pilot, lambda: app.prompt.draft == "draft!")


async def test_in_a_low_terminal_the_conversation_keeps_half_of_the_lines():
    app = PromptApp(history=ListHistory([str(number) for number in range(30)]))
    async with app.run_test(size=(40, 10)) as pilot:
        app.prompt.set_draft("\n" * 30)
        await until(pilot, lambda: app.prompt.outer_size.height == 5)
        await pilot.resize_terminal(40, 40)
        await until(pilot, lambda: app.prompt.size.height == 10)


async def test_a_search_that_finds_nothing_takes_no_key_for_something_else():
    app = PromptApp(history=ListHistory(["one"]))
    async with app.run_test() as pilot:
        app.area.show_queue(["queued"])
        await pilot.press(*"draft", "ctrl+r", *"zzz", "up", "down", "ctrl+j", "enter", "escape")
        await until(pilot, lambda: app.prompt.text == "draft")
        assert app.sent == []
        assert not app.got(Prompt.TakeBack)


async def test_a_slash_behind_a_message_that_was_taken_back_begins_a_command_and_not_a_longer_message():
    app = PromptApp()
    async with app.run_test() as pilot:
        assert app.prompt.bring_back("remove all of it")
        await send_line(pilot, "/undo")
        await until(pilot, lambda: app.sent == ["/undo"])
        assert app.prompt.text == "remove all of it"
        assert app.prompt.bring_back("the one before!")  # it takes the place of the other
        assert app.prompt.text == "the one before!"
        await pilot.press("end", "backspace", "/")
        await until(pilot, lambda: app.prompt.text == "the one before/")


@pytest.mark.parametrize("typed", ["now the docs", "!ls"])
async def test_what_is_typed_after_an_undo_takes_the_place_of_the_message_which_is_kept(typed: str):
    app = PromptApp()
    async with app.run_test() as pilot:
        assert app.prompt.bring_back("remove all of it\nat once")
        await send_line(pilot, "/undo")
        await until(pilot, lambda: app.sent == ["/undo"])
        await pilot.press(*typed)
        await until(pilot, lambda: app.prompt.text == typed)
        assert app.prompt.sent.entries()[0] == "remove all of it\nat once"
        await pilot.press("up")
        await until(pilot, lambda: app.prompt.text == "remove all of it\nat once")


async def test_an_arrow_or_end_edits_a_message_that_was_taken_back_and_enter_sends_it():
    app = PromptApp()
    async with app.run_test() as pilot:
        app.prompt.bring_back("remove it")
        await pilot.press("right", *" all")
        await until(pilot, lambda: app.prompt.text == "remove it all")
        app.prompt.set_draft("")
        app.prompt.bring_back("remove it")
        await pilot.press("left", *"do ")
        await until(pilot, lambda: app.prompt.text == "do remove it")
        app.prompt.set_draft("")
        app.prompt.bring_back("remove it")
        await send_line(pilot, "")
        await until(pilot, lambda: app.sent == ["remove it"])


async def test_ctrl_c_clears_a_message_that_was_taken_back_though_it_is_selected():
    app = PromptApp()
    async with app.run_test() as pilot:
        app.prompt.bring_back("remove it")
        await pilot.press("ctrl+c")
        await until(pilot, lambda: not app.prompt.text)
        assert app.prompt.sent.entries()[0] == "remove it"


async def test_a_message_that_was_taken_back_never_mixes_with_what_is_being_written():
    app = PromptApp()
    async with app.run_test() as pilot:
        await pilot.press(*"/undo")
        assert not app.prompt.bring_back("remove all of it")
        assert app.prompt.text == "/undo"
        assert app.prompt.sent.entries()[0] == "remove all of it"


async def test_what_returned_unsent_stays_or_is_kept_in_the_history():
    app = PromptApp()
    async with app.run_test():
        app.prompt.put_back("never sent")
        app.prompt.select_returned(unsent=True)
        assert app.prompt.take_returned() == ""
        assert not app.prompt.bring_back("")
        assert app.prompt.text == "never sent"
        assert app.prompt.bring_back("remove all of it")
        assert (app.prompt.text, app.prompt.sent.entries()) == ("remove all of it", ["never sent"])
        assert app.prompt.take_returned() == "remove all of it"


async def test_a_message_that_was_brought_again_leaves_the_prompt_and_a_draft_does_not():
    app = PromptApp()
    async with app.run_test() as pilot:
        app.prompt.bring_back("remove all of it")
        app.prompt.bring_back("")
        assert app.prompt.text == ""
        await pilot.press(*"mine")
        app.prompt.bring_back("")
        assert app.prompt.text == "mine"
        assert app.prompt.sent.entries() == []


async def test_the_cursor_blinks_for_a_while_after_a_key_and_then_stands_still():
    app = PromptApp()
    async with app.run_test() as pilot:
        await pilot.press("a")
        area = app.prompt
        seen = set[bool]()
        for _ in range(BLINKS_MAX - 1):
            area._toggle_cursor_blink_visible()
            seen.add(area._cursor_visible)
        assert seen == {True, False}
        area._toggle_cursor_blink_visible()
        assert area._cursor_visible
        assert not area.blink_timer._active.is_set()
        await pilot.press("b")
        assert area.blink_timer._active.is_set()
