"""A paste never sends itself, is sent whole, and folds when it is long."""

from pathlib import Path
from time import monotonic

import pytest
from textual import events

from ragforge.tui.widgets.prompt import OPEN_CHARS_MAX, Prompt
from tests.tui.prompt_app import PromptApp, keys_at
from tests.tui.waiting import press_enter, until

LONG = "\n".join(f"line {number}" for number in range(214))
PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 32


def paste(app: PromptApp, text: str) -> None:
    app.prompt.post_message(events.Paste(text))


@pytest.mark.parametrize(
    "text", ["ls -l\r", "\rls", "a\rb\r", "a\r", "one line\r\nand another\r\n", "\r\r\rx"]
)
async def test_keys_at_the_speed_of_a_paste_never_send(text: str):
    app = PromptApp()
    async with app.run_test() as pilot:
        await keys_at(pilot, text, start_s=monotonic(), gap_s=0.0001)
        pasted = text.replace("\r\n", "\n").replace("\r", "\n")
        await until(pilot, lambda: app.prompt.text == pasted and app.prompt.settled)
        assert app.sent == []


async def test_an_enter_in_the_next_packet_of_a_slow_paste_does_not_send():
    app = PromptApp()
    async with app.run_test() as pilot:
        start_s = monotonic()
        await keys_at(pilot, "pasted line", start_s=start_s, gap_s=0.0001)
        await keys_at(pilot, "\r", start_s=start_s + 0.06, gap_s=0)
        await until(pilot, lambda: app.prompt.text == "pasted line\n")
        assert app.sent == []


@pytest.mark.parametrize("text", ["text\r", "/copy\r", "a\r", "one line of words\r"])
async def test_enter_sends_however_fast_keys_come_where_the_terminal_marks_pastes(text: str):
    app = PromptApp()
    async with app.run_test() as pilot:
        app.prompt.brackets_pastes = True
        await keys_at(pilot, text + text, start_s=monotonic(), gap_s=0)
        await until(pilot, lambda: app.sent == [text.strip()] * 2)


async def test_a_paste_that_is_marked_ends_the_guess():
    app = PromptApp()
    async with app.run_test() as pilot:
        paste(app, "pasted ")
        await keys_at(pilot, "and typed\r", start_s=monotonic(), gap_s=0)
        await until(pilot, lambda: app.sent == ["pasted and typed"])


async def test_what_is_pasted_within_the_app_says_nothing_of_the_terminal():
    app = PromptApp()
    async with app.run_test() as pilot:
        app.copy_to_clipboard("copied")
        await pilot.press("ctrl+v")
        await until(pilot, lambda: app.prompt.text == "copied")
        assert not app.prompt.brackets_pastes


async def test_an_enter_whose_turn_comes_late_sends():
    """The loop stalled: what was read a second apart is handled at once."""
    app = PromptApp()
    async with app.run_test() as pilot:
        prompt, start_s = app.prompt, monotonic() - 10
        for at_s, char in ((0, "a"), (0.001, "b"), (0.002, "c"), (1, "\r")):
            event = events.Key("enter" if char == "\r" else char, char)
            event.time = start_s + at_s
            prompt.post_message(event)
        await until(pilot, lambda: app.sent == ["abc"])


async def test_a_fast_typist_sends_with_one_enter():
    app = PromptApp()
    async with app.run_test() as pilot:
        await keys_at(pilot, "quick\r", start_s=monotonic() - 10, gap_s=0.03)
        await until(pilot, lambda: app.sent == ["quick"])


async def test_two_keys_hit_almost_at_once_are_typing():
    app = PromptApp()
    async with app.run_test() as pilot:
        await keys_at(pilot, "a slow start", start_s=monotonic() - 10, gap_s=0.2)
        await keys_at(pilot, "!\r", start_s=monotonic() - 5, gap_s=0.005)
        await until(pilot, lambda: app.sent == ["a slow start!"])


async def test_a_held_key_is_typing():
    app = PromptApp()
    async with app.run_test() as pilot:
        await keys_at(pilot, "a" * 30, start_s=monotonic() - 10, gap_s=0.008)
        assert app.prompt.text == "a" * 30
        await press_enter(pilot)
        await until(pilot, lambda: app.sent == ["a" * 30])


async def test_keys_typed_right_behind_enter_come_after_it():
    app = PromptApp()
    async with app.run_test() as pilot:
        await keys_at(pilot, "one\rtwo", start_s=monotonic() - 10, gap_s=0.03)
        await until(pilot, lambda: app.sent == ["one"] and app.prompt.text == "two")


async def test_a_long_paste_of_keys_folds_with_its_first_characters():
    app = PromptApp()
    async with app.run_test() as pilot:
        await keys_at(pilot, LONG.replace("\n", "\r"), start_s=monotonic(), gap_s=0.00001)
        await until(pilot, lambda: app.prompt.text == "[pasted 214 lines]")
        assert app.prompt.draft == LONG


async def test_a_pasted_long_text_folds_and_is_sent_whole():
    app = PromptApp()
    async with app.run_test() as pilot:
        await pilot.press(*"see ")
        paste(app, LONG)
        await until(pilot, lambda: app.prompt.text == "see [pasted 214 lines]")
        paste(app, LONG)
        await until(pilot, lambda: "[pasted 214 lines #2]" in app.prompt.text)
        await press_enter(pilot)
        await until(pilot, lambda: app.sent == [f"see {LONG}{LONG}"])
        assert app.prompt.sent.entries() == [f"see {LONG}{LONG}"]


async def test_a_message_that_returns_is_folded_as_it_was():
    app = PromptApp()
    async with app.run_test() as pilot:
        await pilot.press(*"see ")
        paste(app, f"{LONG}\n")
        await until(pilot, lambda: app.prompt.text == "see [pasted 215 lines]")
        await press_enter(pilot)
        await until(pilot, lambda: app.sent)
        paste(app, LONG.upper())
        await until(pilot, lambda: app.prompt.text == "[pasted 214 lines]")
        app.prompt.put_back(f"see {LONG}")
        assert app.prompt.text == "see [pasted 214 lines #2]\n\n[pasted 214 lines]"
        assert app.prompt.draft == f"see {LONG}\n\n{LONG.upper()}"


async def test_bracketed_paste_and_then_enter_sends_at_once():
    app = PromptApp()
    async with app.run_test() as pilot:
        paste(app, "a paste\n")
        app.prompt.post_message(events.Key("enter", "\r"))
        await until(pilot, lambda: app.sent == ["a paste\n"])


async def test_ten_lines_stay_to_be_seen():
    app = PromptApp()
    async with app.run_test() as pilot:
        ten = "\n".join("0123456789")
        paste(app, ten)
        await until(pilot, lambda: app.prompt.text == ten)


async def test_backspace_removes_a_folded_paste_whole_and_undo_brings_it_back_whole():
    app = PromptApp()
    async with app.run_test() as pilot:
        paste(app, LONG)
        await pilot.press("a", "left", "backspace")
        await until(pilot, lambda: app.prompt.text == "a")
        await pilot.press("ctrl+underscore")
        await until(pilot, lambda: app.prompt.draft == LONG + "a")


async def test_the_cursor_steps_over_a_folded_paste():
    app = PromptApp()
    async with app.run_test() as pilot:
        await pilot.press("a")
        paste(app, LONG)
        await pilot.press("b", "left", "left", "x")
        await until(pilot, lambda: app.prompt.text == "ax[pasted 214 lines]b")
        await pilot.press("right", "y")
        await until(pilot, lambda: app.prompt.text == "ax[pasted 214 lines]yb")


async def test_deleting_a_word_takes_a_folded_paste_whole():
    app = PromptApp()
    async with app.run_test() as pilot:
        await pilot.press("a", "space")
        paste(app, LONG)
        await pilot.press("ctrl+w")
        await until(pilot, lambda: app.prompt.text == "a ")
        await pilot.press("ctrl+y")
        await until(pilot, lambda: app.prompt.draft == "a " + LONG)


async def test_ctrl_o_opens_the_paste_at_the_cursor_and_is_the_chats_elsewhere():
    app = PromptApp()
    async with app.run_test() as pilot:
        paste(app, LONG)
        await pilot.press("ctrl+o")
        await until(pilot, lambda: app.prompt.text == LONG)
        assert app.chat_actions == []
        await pilot.press("ctrl+o")
        await until(pilot, lambda: app.chat_actions == ["expand"])


async def test_a_paste_of_millions_stays_folded_and_the_editor_is_named():
    app = PromptApp()
    async with app.run_test() as pilot:
        paste(app, "words " * (OPEN_CHARS_MAX // 5))
        folded = "[pasted 240000 characters]"
        await until(pilot, lambda: app.prompt.text == folded)
        await pilot.press("ctrl+o")
        await until(pilot, lambda: app.got(Prompt.Noticed))
        assert "Ctrl+G opens it in your editor" in app.got(Prompt.Noticed)[0].text
        assert app.prompt.text == folded
        assert app.chat_actions == []


async def test_a_history_walk_keeps_the_folded_paste_of_the_draft():
    app = PromptApp()
    async with app.run_test() as pilot:
        app.prompt.sent.add("older")
        paste(app, LONG)
        await pilot.press("up")
        await until(pilot, lambda: app.prompt.text == "older")
        await pilot.press("down")
        await until(pilot, lambda: app.prompt.draft == LONG)


async def test_a_paste_loses_its_escapes_and_control_characters():
    app = PromptApp()
    async with app.run_test() as pilot:
        paste(app, "\x1b[31mred\x1b[0m\x07 \x1b]0;title\x07and\x1b plain\x00")
        await until(pilot, lambda: app.prompt.text == "red and plain")


@pytest.mark.parametrize("form", ["{path}", "'{path}'", "file://{url}", "{escaped}", '"{path}"'])
async def test_a_dropped_image_becomes_a_mention(form: str, tmp_path: Path):
    image = tmp_path / "my shot.png"
    image.write_bytes(PNG)
    path = str(image)
    written = form.format(path=path, url=path.replace(" ", "%20"), escaped=path.replace(" ", "\\ "))
    app = PromptApp()
    async with app.run_test() as pilot:
        paste(app, written)
        await until(pilot, lambda: app.prompt.text == f'@"{path}" ')


async def test_a_pasted_path_of_another_file_stays_as_it_is(tmp_path: Path):
    (tmp_path / "notes.txt").write_text("x")
    app = PromptApp()
    async with app.run_test() as pilot:
        paste(app, str(tmp_path / "notes.txt"))
        await until(pilot, lambda: app.prompt.text == str(tmp_path / "notes.txt"))
