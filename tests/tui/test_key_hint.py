"""What a dialog says of its keys: none of it is cut off, and all of it can be clicked."""

import os
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from textual.events import MouseScrollDown, MouseScrollUp
from textual.widgets import Input

from ragforge.tui.screens.help import KEYS
from ragforge.tui.widgets.entry_list import EntryList
from ragforge.tui.widgets.hint_line import HintLine
from ragforge.tui.widgets.key_hint import SEPARATOR, KeyHint, key_lines
from ragforge.tui.widgets.queue_list import QueueList
from tests.standins.gemini import Hang, Text
from tests.tui.chat_app import Chat, Lab

WORDS = st.sampled_from(["Enter", "opens", "it", "Ctrl+E", "edits", "Esc", "closes", "a", "端口", "x" * 50])
PARTS = st.lists(WORDS, min_size=1, max_size=5).map(" ".join)
HINTS = st.lists(st.lists(PARTS, min_size=1, max_size=6).map(SEPARATOR.join), min_size=1, max_size=3)


@given(HINTS, st.integers(8, 120))
def test_every_word_is_shown_and_a_part_is_broken_only_where_it_is_wider_than_all(
    paragraphs: list[str], width: int
) -> None:
    shown = [line.text for line in key_lines("\n".join(paragraphs), width)]
    assert "".join("".join(shown).split()).replace("·", "") == "".join("".join(paragraphs).split()).replace(
        "·", ""
    )
    for part in (part for paragraph in paragraphs for part in paragraph.split(SEPARATOR)):
        assert cell_len(part) > width or any(part in line for line in shown)


def test_a_click_on_any_word_of_a_part_presses_its_key() -> None:
    [line] = key_lines("Shift+Up and Shift+Down scroll · B branch · means of 3 · Esc closes", 80)
    pressed = {
        word: line.key_at(line.text.index(word)) for word in ("and", "scroll", "branch", "3", "closes")
    }
    assert pressed == {"and": "shift+up", "scroll": "shift+down", "branch": "b", "3": "", "closes": "escape"}
    assert line.key_at(79) == ""
    [_, rest] = key_lines("Enter copies it to the prompt, to be changed", 34)
    assert rest.key_at(0) == "enter"


def hint(chat: Chat) -> str:
    return chat.top.query_one(KeyHint).text if chat.top is not chat.screen else ""


async def click(chat: Chat, words: str) -> None:
    """Press the mouse on these words of the hint."""
    shown = chat.top.query_one(KeyHint)
    [(x, y)] = [(line.text.index(words), y) for y, line in enumerate(shown._lines) if words in line.text]
    await chat.pilot.click(shown, offset=(x + 1, y))


async def test_a_list_is_used_with_the_mouse_alone(lab: Lab) -> None:
    lab.gemini.script(Text("Yes."))
    async with lab.chat((40, 24)) as chat:
        await chat.say("Is it so?")
        await chat.turn_ended()
        await chat.say("/help")
        await chat.until(lambda: chat.top is not chat.screen, "it opens")
        await click(chat, "Down choose")
        await click(chat, KEYS.split(SEPARATOR)[0])
        await chat.until(lambda: chat.top is chat.screen, "it is taken")
        assert chat.draft.startswith("/")
        assert chat.draft.strip() != "/help"
        chat.screen.prompt.set_draft("")
        await chat.say("/sessions")
        await chat.until(lambda: "archived" in hint(chat), "it opens")
        await click(chat, "Ctrl+F archived")
        await chat.until(lambda: "no archived" in hint(chat), "the archived are listed")
        assert chat.app.focused is chat.top.query_one(Input)
        await click(chat, "Esc closes")
        await chat.until(lambda: chat.top is chat.screen, "it closes")
        assert chat.app.focused is chat.screen.prompt


def use_keys(**keys: str) -> None:
    config = Path(os.environ["RAGFORGE_CONFIG_DIR"])
    config.mkdir(parents=True)
    lines = [f'{action} = "{bound}"' for action, bound in keys.items()]
    (config / "config.toml").write_text("\n".join(["[keys]", *lines, ""]))


async def test_dialogs_name_the_users_keys_and_their_clicks_press_them(lab: Lab) -> None:
    use_keys(rename="f5, f7", delete="", leave="alt+q", show_archived="alt+k", list_up="alt+up", list_down="")
    lab.gemini.script(Text("Yes."))
    async with lab.chat() as chat:
        await chat.say("Is it so?")
        await chat.turn_ended()
        await chat.say("/sessions")
        await chat.until(lambda: "archived" in hint(chat), "it opens")
        assert hint(chat) == "Enter resumes · F5 renames · Alt+K archived · Alt+Q closes"
        await click(chat, "F5 renames")
        await chat.until(lambda: "saves" in hint(chat), "a new title may be typed")
        await click(chat, "Alt+Q keeps")
        await click(chat, "Alt+Q closes")
        await chat.until(lambda: chat.top is chat.screen, "it closes")
        await chat.say("/help")
        await chat.until(lambda: chat.top is not chat.screen, "it opens")
        assert hint(chat) == "Enter copies it to the prompt · Alt+Up choose · Alt+Q closes"


async def test_the_chat_names_the_users_keys(lab: Lab) -> None:
    use_keys(cycle_mode="f3", interrupt="", submit="alt+s", close="f10", up="alt+up", delete_or_quit="f12")
    lab.gemini.script((Text("Well"), Hang()))
    async with lab.chat() as chat:
        await chat.sees("F3 changes what the model may do without asking.")
        assert "Esc interrupts" not in chat.words()
        await chat.pilot.click(chat.screen.status, offset=(1, 0))
        await chat.sees("need your approval. F3 changes the mode.")
        await chat.type("Go on.")
        await chat.pilot.press("alt+s")
        await chat.sees("Well")
        await chat.type("And then?")
        await chat.pilot.press("alt+s")
        await chat.until(lambda: bool(chat.screen.prompt.queued), "it waits")
        waiting = str(chat.screen.query_one(QueueList).render())
        assert "Alt+Up edits the last · F10 interrupts, and returns all to the prompt" in waiting
        await chat.pilot.press("ctrl+r")
        await chat.until(lambda: "search" in str(chat.screen.prompt.border_title), "earlier messages")
        assert chat.screen.prompt.border_title == "search: Alt+S uses it · F10 cancels"
        await chat.pilot.press("f10")
        await chat.pilot.press("ctrl+q")
        await chat.until(lambda: bool(chat.app._notifications), "how to quit")
        [told] = chat.app._notifications
        assert told.message == "Type /exit to quit. F12 on an empty input quits, too."


async def test_the_wheel_goes_through_a_list_and_a_double_click_takes(lab: Lab) -> None:
    async with lab.chat() as chat:
        await chat.say("/help")
        await chat.until(lambda: chat.top is not chat.screen, "it opens")
        listed = chat.top.query_one(EntryList)
        first = listed.chosen_key
        await chat.pilot._post_mouse_events([MouseScrollDown], listed, button=0)
        await chat.until(lambda: listed.chosen_key != first, "the next row")
        await chat.pilot._post_mouse_events([MouseScrollUp], listed, button=0)
        await chat.until(lambda: listed.chosen_key == first, "the first row again")
        third = listed.rows[2].key
        await chat.pilot.double_click(listed, offset=(4, 2))
        await chat.until(lambda: chat.top is chat.screen, "it is taken")
        assert chat.draft.strip() == third


async def test_a_turn_is_interrupted_by_a_click(lab: Lab) -> None:
    lab.gemini.script((Text("Well"), Hang()))
    async with lab.chat() as chat:
        await chat.say("Go on.")
        await chat.sees("Well")
        live = chat.screen.parts.live
        words = live.words(live.content_size.width).plain
        await chat.pilot.click(live, offset=(3, 0))
        assert chat.screen.busy
        await chat.pilot.click(live, offset=(words.index("interrupts") + 2, 0))
        await chat.turn_ended()
        await chat.sees("nterrupted")


async def test_a_command_that_is_hinted_at_is_run_by_a_click(lab: Lab) -> None:
    async with lab.chat() as chat:
        await chat.type("undo the last turn")
        line = chat.screen.query_one(HintLine)
        await chat.until(lambda: line.command == "undo", line.words)
        await chat.pilot.click(line, offset=(4, 0))
        await chat.sees("othing to undo")
