"""The table of keys."""

import pytest
from textual.app import App
from textual.binding import Binding
from textual.widgets import TextArea

from ragforge.domain.errors import UsageError
from ragforge.tui import keys
from ragforge.tui.keys import TABLE, Where
from ragforge.tui.widgets.prompt import _NAMED_OTHERWISE, Prompt
from tests.tui.waiting import until

CONVENTIONS = {
    "enter": "submit",
    "ctrl+j": "newline",
    "shift+enter": "newline",
    "alt+enter": "newline",
    "ctrl+c": "clear",
    "ctrl+d": "delete_or_quit",
    "ctrl+r": "search_history",
    "ctrl+g": "edit_outside",
    "ctrl+p": "palette",
    "tab": "complete",
}
CHAT_CONVENTIONS = {
    "ctrl+l": "redraw",
    "escape": "interrupt",
    "shift+tab": "cycle_mode",
    "ctrl+o": "expand",
    "ctrl+s": "sessions",
    "ctrl+t": "todos",
    "pageup": "scroll_page_up",
    "shift+down": "scroll_line_down",
    "ctrl+z": "suspend",
}


def test_the_keys_that_hands_know():
    bound = keys.bindings()
    assert CONVENTIONS.items() <= keys.in_place(Where.PROMPT, bound).items()
    assert CHAT_CONVENTIONS.items() <= keys.in_place(Where.CHAT, bound).items()


def test_every_action_of_the_prompt_exists():
    for line in TABLE:
        if line.where is Where.PROMPT:
            method = _NAMED_OTHERWISE.get(line.action, line.action).partition("(")[0]
            assert callable(getattr(Prompt, f"action_{method}")), line.action


def test_no_action_stands_twice():
    actions = [line.action for line in TABLE]
    assert len(actions) == len(set(actions))


def test_the_prompt_has_no_key_of_textuals_own():
    kept = {key for line in TABLE if line.where is Where.PROMPT for key in line.keys}
    theirs = {key for binding in Binding.make_bindings(TextArea.BINDINGS) for key in [binding.key]}
    assert Prompt.BINDINGS == []
    assert {"f6", "f7", "ctrl+z"} <= theirs - kept


def test_outside_of_lists_and_questions_no_key_types_text():
    for line in TABLE:
        if line.where in (Where.PROMPT, Where.CHAT, Where.RECALLED):
            typed = [key for key in line.keys if len(key.removeprefix("shift+")) == 1]
            assert not typed, line.action


def test_help_shows_keys_as_people_write_them_and_leaves_out_the_unbound():
    rows = keys.help_rows(keys.bindings({"palette": ""}))
    assert ("prompt", "Ctrl+J, Shift+Enter, Alt+Enter", "new line") in rows
    assert "all commands" not in [description for _, _, description in rows]


def test_the_users_key_takes_the_place_of_ours_and_is_told_so():
    bound = keys.bindings({"expand": "Ctrl+Y, f2", "yank": "alt+y"})
    assert bound["expand"] == ("ctrl+y", "f2")
    assert keys.keymap(bound) == {"expand": "ctrl+y,f2", "yank": "alt+y"}


@pytest.mark.parametrize(
    ("overrides", "told"),
    [
        ({"nonsense": "f2"}, "unknown action"),
        ({"expand": "ctrl+nonsense"}, "is not a key"),
        ({"expand": "control+x"}, "is not one of"),
        ({"expand": "x"}, "types text"),
        ({"newline": "shift+a"}, "types text"),
        ({"forget_recalled": "f"}, "types text"),
        ({"submit": ""}, "nothing could be sent"),
        ({"expand": "ctrl+e"}, "keys.cursor_line_end and keys.expand"),
        ({"sessions": "enter"}, "keys.sessions and keys.submit"),
        ({"rename": "enter"}, "keys.rename and keys.take"),
    ],
)
def test_a_wrong_key_in_the_file_says_what_is_wrong(overrides: dict[str, str], told: str):
    with pytest.raises(UsageError, match=told):
        keys.bindings(overrides)


def test_a_key_is_not_unset_where_the_default_would_clash() -> None:
    swapped = {"cycle_mode": "f3", "expand": "shift+tab"}
    with pytest.raises(UsageError, match="both use shift"):
        keys.check_unset("keys.cycle_mode", beside=swapped)
    keys.check_unset("keys.expand", beside=swapped)
    keys.check_unset("theme", beside=swapped)


def test_of_several_wrong_keys_each_is_corrected_by_itself() -> None:
    wrong = {"expand": "ctrl+", "todos": "control+x", "nonsense": "f2", "sessions": "f9", "redraw": "f9"}
    for action in wrong:
        keys.check_unset(f"keys.{action}", beside=wrong)
    keys.check("keys.expand", "f2", beside=wrong)
    for value, told in (("ctrl+n", "both use ctrl"), ("f9", "both use f9"), ("x", "types text")):
        with pytest.raises(UsageError, match=told):
            keys.check("keys.expand", value, beside=wrong)


def test_swapping_two_keys_is_no_clash():
    bound = keys.bindings({"submit": "ctrl+j", "newline": "enter"})
    assert keys.in_place(Where.PROMPT, bound)["enter"] == "newline"


async def test_an_app_takes_the_users_keys_by_the_keymap():
    class Chat(App[None]):
        BINDINGS = keys.declared(Where.CHAT)
        done: list[str]

        def action_expand(self) -> None:
            self.done.append("expand")

        def action_sessions(self) -> None:
            self.done.append("sessions")

    app = Chat()
    app.done = []
    app.set_keymap(keys.keymap(keys.bindings({"expand": "f2", "sessions": ""})))
    async with app.run_test() as pilot:
        await pilot.press("ctrl+o", "ctrl+s", "f2")
        await until(pilot, lambda: app.done == ["expand"])


def test_alt_enter_is_told_from_enter_where_terminals_send_escape_and_return():
    from textual._xterm_parser import XTermParser

    keys.teach_terminal_keys()
    assert [getattr(event, "key", "") for event in XTermParser().feed("\x1b\r\r")] == ["alt+enter", "enter"]
