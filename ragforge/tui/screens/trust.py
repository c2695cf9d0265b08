"""The question whether instruction files are read: which ones, with their complete text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import StrEnum
from time import monotonic
from typing import ClassVar

from msgspec.structs import replace
from textual import events
from textual.content import Content

from ragforge.commands.base import Option
from ragforge.domain import timeouts
from ragforge.domain.printable import escaped
from ragforge.domain.reveal import spelled_out
from ragforge.domain.words import counted
from ragforge.session.instructions import all_instructions, answer_instructions
from ragforge.session.trust import FileTrust
from ragforge.session.trust_words import answered_words, trust_words
from ragforge.tui.key_watch import key_watch_of
from ragforge.tui.screens.base import Chat, NamedScreen
from ragforge.tui.screens.choose import SHORT, ChooseScreen
from ragforge.tui.screens.dialog import ROWS_ROOMY
from ragforge.tui.widgets.diff_view import diff_lines
from ragforge.tui.widgets.key_hint import KeyHint
from ragforge.tui.widgets.text_rows import TextLine, TextRows

SPELLED = "Invisible characters are shown as <U+200B>."


class TrustAnswer(StrEnum):
    """The user's answers."""

    TRUST = "trust"
    WITHOUT = "without"
    LEAVE = "leave"


LEAVE = Option("Leave", "quit ragforge", TrustAnswer.LEAVE)


class TrustScreen(ChooseScreen):
    """Returns an `Answer`; None for Esc. New files are shown completely, changed ones as a diff.

    As an approval it accepts no key before `APPROVAL_QUIET_S` have passed without one: it may appear while
    somebody types.
    """

    ESCAPE: ClassVar[str] = "continue without"

    def __init__(self, files: Sequence[FileTrust], *, can_leave: bool = False) -> None:
        words = trust_words(files)
        question = words.changed if any(file.before is not None for file in files) else words.new
        options = (
            Option("Trust", words.trust, TrustAnswer.TRUST),
            Option("Continue without", words.without, TrustAnswer.WITHOUT),
            *([LEAVE] if can_leave else []),
        )
        super().__init__(question, f"{words.why} {SPELLED}", options)
        self._rows = file_lines(files)
        self._last_key_s = 0.0

    @property
    def _hint(self) -> str:
        return f"{counted(len(self._rows), 'line')} · PgUp and PgDn scroll"

    def on_mount(self) -> None:
        """Start the quiet time from the last key."""
        self._last_key_s = key_watch_of(self).last_key_s

    def on_resize(self) -> None:
        """With few rows the files' text takes precedence, and the keys give their row to it."""
        why, rows = self.query_one(".dialog-detail"), self.query_one(TextRows)
        first, second = (rows, why) if self.size.height < SHORT else (why, rows)
        self.query_one("#choice-detail").move_child(first, before=second)
        is_low = self.size.height < ROWS_ROOMY
        self.query_one(KeyHint).display = not is_low
        self.query_one(".dialog").border_title = Content(self._hint if is_low else "")

    def on_key(self, event: events.Key) -> None:
        """Whether it is an answer, and not meant for what was there before."""
        is_answer, self._last_key_s = event.time - self._last_key_s >= timeouts.APPROVAL_QUIET_S, event.time
        gives = event.key in self._options or (event.key == "enter" and self._cursor is not None)
        if (event.is_printable or event.key in ("enter", "backspace")) and not (is_answer and gives):
            self.keep_typed(event)
        elif is_answer or event.key not in ("up", "down", "escape"):
            super().on_key(event)
        event.stop()
        event.prevent_default()

    def on_paste(self, event: events.Paste) -> None:
        """Ignore pastes."""
        event.stop()
        self.keep_typed(event)

    def on_click(self, event: events.Click) -> None:
        """Answer with the mouse, once no key was pressed for a while."""
        if monotonic() - self._last_key_s < timeouts.APPROVAL_QUIET_S:
            event.prevent_default()  # else Textual calls the other classes' as well


class TrustAgainScreen(TrustScreen):
    """The same question, asked by the user: Esc leaves everything as it is."""

    ESCAPE: ClassVar[str] = "nothing changes"


def file_lines(files: Sequence[FileTrust]) -> list[TextLine]:
    """Return the lines to draw: for each file its name, then what changed or, if it is new, all of it."""
    lines = [line for file in files for line in _lines(file)]
    width = max((len(line.gutter) for line in lines), default=0)
    return [replace(line, gutter=line.gutter.rjust(width)) for line in lines]


def _lines(file: FileTrust) -> Iterator[TextLine]:
    known = {True: " (trusted)", False: " (not read)", None: " (changed)" if file.before else ""}
    yield TextLine(escaped(str(file.path)) + known[file.trusted], kind="file")
    if diff := file.diff(spelled_out):
        yield from diff_lines(diff, line_chars_max=None)
        return
    lines = spelled_out(file.text).removesuffix("\n").split("\n")
    width = len(str(len(lines)))
    for number, line in enumerate(lines, 1):
        yield TextLine(line, f"{number:>{width}} ")


async def _open(chat: Chat, _: str) -> None:
    """Show every instruction file, and take another answer."""
    session = chat.ready().session
    files = await all_instructions(session)
    if not files:
        chat.say("This folder has no instruction files: no AGENTS.md, CLAUDE.md or GEMINI.md.")
        return
    answer = await chat.ask(TrustAgainScreen(files))
    if answer is not None:
        trusted = answer == TrustAnswer.TRUST
        await answer_instructions(session, files, trusted=trusted)
        chat.say(answered_words(files, trusted=trusted))


SCREEN = NamedScreen(
    "trust",
    _open,
    "Show the project's instruction files, such as AGENTS.md, and choose whether the model reads them.",
    while_running=True,
)
