"""Settings that must be known before the first frame."""

import pytest

from tests.terminal.screen import CTRL_D, DOWN, ENTER, MOUSE, OPEN, Desk


def test_mouse_false_leaves_the_mouse_to_the_terminal(desk: Desk):
    desk.configure("mouse = false\n")
    screen = desk.start()
    screen.wait_for("/help")
    assert not any(screen.modes().get(mode) for mode in MOUSE)
    screen.wait_for(OPEN)
    screen.press(CTRL_D)
    assert screen.ended() == 0
    desk.configure("mouse = true\n")
    other = desk.start()
    other.wait_for("/help")
    assert any(other.modes().get(mode) for mode in MOUSE)


@pytest.mark.parametrize(("theme", "background"), [("dark", b"48;2;21;23;27"), ("light", b"48;2;2")])
def test_the_theme_is_the_one_that_is_set(desk: Desk, theme: str, background: bytes):
    desk.configure(f'theme = "{theme}"\n')
    desk.env["COLORTERM"] = "truecolor"
    screen = desk.start()
    screen.wait_for(OPEN)
    assert background in screen.output


@pytest.mark.parametrize(
    ("toml", "args", "words"),
    [
        ("mouse = 7\n", (), "true or false"),
        ("", ("--model", "nope"), "provider:name"),
        ("", ("--allow", "shell("), "shell(git status)"),
        ("", ("--max-turns", "3"), "-p"),
        ("", ("-c", "--new"), "--new"),
    ],
)
def test_what_is_wrong_is_told_on_the_screen_that_the_shell_left(
    desk: Desk, toml: str, args: tuple[str, ...], words: str
):
    desk.configure(toml)
    screen = desk.start(*args)
    assert screen.ended() == 2
    assert words in " ".join(screen.text.split())
    screen.assert_restored()


def test_a_damaged_database_is_told_in_the_terminal_that_is_left(desk: Desk):
    (desk.data / "ragforge.db").write_bytes(b"no database " * 1000)
    screen = desk.start()
    assert screen.ended() == 4
    assert "ragforge.db" in "".join(screen.text.split()), "wherever a line breaks"
    screen.assert_restored()


@pytest.mark.parametrize(
    ("args", "code", "words"),
    [
        (("-r", "ffffffff"), 2, "There is no session"),
        (("-c",), 2, "No session"),
    ],
)
def test_what_cannot_be_opened_is_told_in_the_terminal_that_is_left(
    desk: Desk, args: tuple[str, ...], code: int, words: str
):
    screen = desk.start(*args)
    assert screen.ended() == code
    assert words in " ".join(screen.text.split())
    screen.assert_restored()


def test_an_address_that_is_none_is_told_and_the_embedded_store_offered(desk: Desk):
    screen = desk.start("--store", "x://y")
    screen.wait_for("Not a store's address: 'x://y'")
    screen.wait_for("Use the built-in store")
    screen.press(DOWN)
    screen.press(DOWN)
    screen.press(ENTER)
    assert screen.ended() == 0  # the user chose to go
    screen.assert_restored()
