"""What the first prompt draws and takes out of what is typed, beside what the interface makes of it."""

import asyncio
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.events import Key, Paste
from typer.main import get_command

from ragforge.cli.arguments import ALONE, MAY_HAVE_VALUE, WITH_VALUE, start_interface
from ragforge.cli.main import app as command_line
from ragforge.tui.first_prompt.answers import Answers
from ragforge.tui.first_prompt.echo import Echo
from ragforge.tui.first_prompt.picture import cells, frame, look_of
from ragforge.tui.first_prompt.prompt import as_keys
from ragforge.tui.terminal_driver import InputReader
from ragforge.tui.widgets.paste import Folds
from tests.tui.prompt_app import PromptApp
from tests.tui.waiting import until

XTERM = {"TERM": "xterm-256color"}
COLOR, ATTRIBUTES = b"\x1b]11;rgb:fbfb/fbfb/f9f9\x1b\\", b"\x1b[?62;4c"
KEYS = (
    *("a", "B", " ", " ", ".", "-", "é", "漢", "e\u0301", "👍", "\n", "\x1b\r", "two words ", "\x1b[20~"),
    *("\x7f", "\x04", "\x02", "\x06", "\x1b[D", "\x1b[C", "\x01", "\x05", "\x1b[H", "\x1b[F", "\x17"),
    *("\x15", "\x0b", "\x03", "\x1b[3~", "\x1b\x7f", "\x1b[200~pasted\rlines\x1b[201~"),
    "\x1b[200~" + "line\n" * 12 + "\x1b[201~",
)


@pytest.mark.parametrize(
    ("sent", "is_dark", "typed"),
    [
        (b"ab" + COLOR + b"cd" + ATTRIBUTES + b"e\x1b[A", False, b"abcde\x1b[A"),
        (b"\x1b]11;rgb:1515/1717/1b1b\x07" + ATTRIBUTES, True, b""),
        (b"\x1b[?1;2c" + b"\x1b]", None, b"\x1b]"),
        (b"no answer\x1b", None, b"no answer\x1b"),
    ],
)
def test_answers_are_taken_out_wherever_they_are_cut(sent: bytes, is_dark: bool | None, typed: bytes) -> None:
    for cut in range(len(sent)):
        answers = Answers(XTERM)
        found = answers.take(sent[:cut]) + answers.take(sent[cut:]) + answers.release()
        assert (found, answers.is_dark) == (typed, is_dark)


@pytest.mark.parametrize(
    ("environ", "asks", "is_dark"),
    [
        (XTERM, True, None),
        ({**XTERM, "COLORFGBG": "15;0"}, False, True),
        ({**XTERM, "COLORFGBG": "0;default;15"}, False, False),
        ({"TERM": "linux"}, False, None),
        ({"TERM": "screen.xterm-256color"}, False, None),
    ],
)
def test_only_a_terminal_that_can_answer_is_asked(
    environ: dict[str, str], asks: bool, is_dark: bool | None
) -> None:
    answers = Answers(environ)
    assert (answers.is_expected, answers.is_dark) == (asks, is_dark)


async def test_what_is_drawn_is_what_the_prompt_makes_of_the_same_bytes() -> None:
    chance = random.Random(0)
    app = PromptApp()
    async with app.run_test(size=(400, 30)) as pilot:  # Home and End stop where a line wraps
        app.prompt.brackets_pastes = True
        for _ in range(60):
            keys = chance.choices(KEYS, k=chance.randrange(1, 25))
            typed = "".join(keys).encode()
            cut = chance.randrange(len(typed))
            echo = Echo()
            echo.feed(typed[:cut])
            echo.feed(typed[cut:])
            app.prompt.folds = Folds()
            app.prompt.load_text("")
            for event in InputReader().read(typed, at_s=0.0):
                if isinstance(event, Key | Paste):
                    app.prompt.post_message(event)
            handled = asyncio.Event()
            app.prompt.call_later(handled.set)
            await until(pilot, handled.is_set, what="keys are handled")
            place = len("\n".join([*app.prompt.text.split("\n")[: app.prompt.cursor_location[0]], ""]))
            assert (echo.text, echo.whole) == (app.prompt.text, app.prompt.whole), ascii(keys)
            assert echo.cursor == place + app.prompt.cursor_location[1], keys


def test_escape_that_stands_alone_draws_nothing_and_eats_nothing() -> None:
    echo = Echo()
    echo.feed(b"a\x1b")
    assert echo.is_begun
    echo.settle()
    echo.feed(b"b")
    assert echo.text == "ab"


@given(
    st.text(st.sampled_from("ab 漢é\n\t👍\u0301"), max_size=80),
    st.integers(0, 120),
    st.integers(0, 40),
    st.data(),
)
def test_every_row_fills_the_screen_and_none_lies_outside(
    text: str, columns: int, lines: int, data: st.DataObject
) -> None:
    cursor = data.draw(st.integers(0, len(text)))
    look = look_of(XTERM, is_dark=None)
    picture = frame(text, cursor, columns=columns, lines=lines, look=look)
    for row in picture.rows:
        for code in look:
            row = row.replace(code, "")  # noqa: PLW2901
        assert cells(row) == columns
    assert 0 <= picture.top <= lines
    assert picture.top + len(picture.rows) <= lines


@pytest.mark.parametrize(
    ("typed", "keys"),
    [
        (b"hello", b"hello"),
        (b"hello\n", b"hello\r"),
        (b"two\nlines\n", b"two\nlines\r"),
        (b"\n", b"\r"),
        (b"\0", b"\x04"),
    ],
)
def test_what_was_typed_in_the_shell_becomes_keys(typed: bytes, keys: bytes) -> None:
    assert as_keys(typed) == keys


def test_escape_and_a_key_are_told_apart_by_the_time_between_them() -> None:
    def names(*chunks: tuple[bytes, float]) -> list[str]:
        return [event.key for event in InputReader().replay(chunks) if isinstance(event, Key)]

    assert names((b"\x1b", 1.0), (b"[A", 1.05)) == ["up"]
    assert names((b"\x1b", 1.0), (b"g", 1.5)) == ["escape", "g"]
    assert names((b"\x1b", 1.0), (b"\x1b[A", 1.5), (b"x", 1.6)) == ["escape", "up", "x"]
    pasted = [
        event.text
        for event in InputReader().replay([(b"\x1b[200~a\x1b", 1.0), (b"[201~", 1.5)])
        if isinstance(event, Paste)
    ]
    assert pasted == ["a"]


@pytest.mark.parametrize(
    ("arguments", "starts"),
    [
        ([], True),
        (["-c", "--model", "local"], True),
        (["--model=local", "--yolo", "--allow", "shell(git status)"], True),
        (["-r"], True),
        (["-r", "--fork"], True),
        (["-r", "abc", "--at", "3"], True),
        (["-r", "abc", "sessions"], False),
        (["--model"], False),
        (["-p", "hello"], False),
        (["sessions"], False),
        (["--help"], False),
        (["--version"], False),
    ],
)
def test_the_arguments_tell_whether_the_interface_starts(arguments: list[str], starts: bool) -> None:
    assert start_interface(arguments, {}) == starts
    assert not start_interface(arguments, {"_RAGFORGE_COMPLETE": "bash"})


def test_every_flag_of_the_interface_is_known() -> None:
    names = {name for option in get_command(command_line).params for name in option.opts}
    without_it = {"-p", "--prompt", "--output-format", "--max-turns", "--version", "--plain"}
    assert names - without_it == ALONE | WITH_VALUE | MAY_HAVE_VALUE
