"""A tool call: one line that opens to its whole input and output."""

from collections.abc import Awaitable, Callable, Iterable
from typing import TypeAlias

from textual import work
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.selection import Selection
from textual.widget import Widget

from ragforge.domain.errors import RagforgeError
from ragforge.domain.printable import cut_line, printable
from ragforge.domain.turns import CallStatus, ToolCall
from ragforge.domain.words import counted
from ragforge.tui.widgets.diff_view import DiffView
from ragforge.tui.widgets.fold import Fold, FoldState
from ragforge.tui.widgets.more_line import MoreLine
from ragforge.tui.widgets.text_rows import TextLine, TextRows
from ragforge.tui.widgets.tool_words import (
    FAILED_LINES_SHOWN,
    GLYPHS,
    about,
    outcome,
    outcome_lines,
    size_words,
    time_words,
    without_ending,
)
from ragforge.tui.widgets.turn_record import Called

OUTPUT_LINES_SHOWN = 30
LINE_CHARS_MAX = 1_000
TAIL_LINES_SHOWN = 4
"""The number of lines shown of a tool that still runs."""
WHOLE_CHARS_MAX = 2_000_000
"""The number of characters drawn of a whole output; a terminal is no place to read more."""

TOLD_FROM_MS = 1_000
"""For a user, anything faster is instantaneous."""
WAITS = "waiting for you"
_DIFF = "diff"

LoadOutput: TypeAlias = Callable[[ToolCall], Awaitable[str]]
"""Loads the whole result of a call, wherever it is stored."""

_STYLES = {
    None: "$foreground-muted",
    CallStatus.OK: "$text-success",
    CallStatus.FAILED: "$text-error",
    CallStatus.DENIED: "$text-warning",
    CallStatus.INTERRUPTED: "$text-warning",
}


class ToolHead(Widget, can_focus=True):
    """The line itself, truncated to the available width."""

    FOCUS_ON_CLICK = False

    def __init__(self, entry: Called) -> None:
        super().__init__()
        self._entry = entry
        self.now_s: float | None = None

    @property
    def status(self) -> CallStatus | None:
        """The status of the call; None while it runs."""
        if self._entry.call is not None:
            return self._entry.call.status
        return CallStatus.INTERRUPTED if self._entry.cut_off else None

    def words(self) -> tuple[str, str, list[str]]:
        """Return name, subject and facts, the most important first."""
        call = self._entry.call
        if call is not None:
            is_timed = call.status is not CallStatus.DENIED and call.duration_ms >= TOLD_FROM_MS
            took = [time_words(call.duration_ms)] if is_timed else []
            facts = [*filter(None, [outcome(call)]), *took]
        elif self._entry.cut_off:
            facts = ["interrupted"]
        elif self._entry.is_asked:
            facts = [WAITS]
        else:
            elapsed_s = int(self.now_s - self._entry.started_s) if self.now_s is not None else 0
            facts = [f"{elapsed_s} s"] if elapsed_s else []
        return self._entry.name, about(self._entry), facts

    def render(self) -> Content:
        """Draw glyph, name, subject, facts; the least important left out if there is no room."""
        name, subject, facts = self.words()
        width = self.content_size.width
        while len(facts) > 1 and len(name) + len(subject) + len(" · ".join(facts)) + 7 > max(width, 40):
            facts.pop()
        tail = "".join(f" · {fact}" for fact in facts)
        room = max(8, width - len(name) - len(tail) - 4)
        subject_content = Content(subject).truncate(room, ellipsis=True) if subject else Content("")
        return Content.assemble(
            (GLYPHS[self.status], _STYLES[self.status]),
            (f" {printable(name)}{' ' if subject else ''}", "bold"),
            subject_content,
            (tail, "$foreground-muted"),
        )

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """Return the whole line, without truncation."""
        name, subject, facts = self.words()
        return " · ".join([f"{GLYPHS[self.status]} {name} {subject}".rstrip(), *facts]), "\n"


class ToolCallView(Fold):
    """A tool call. Edits start with their diff open; a failed call shows its last lines."""

    def __init__(self, entry: Called, *, load_output: LoadOutput | None) -> None:
        super().__init__()
        self._entry = entry
        self._load_output = load_output
        self._head = ToolHead(entry)
        self._body: ToolBody | DiffView | None = None
        self._tail: TextRows | None = None
        self._outcome: TextRows | None = None
        """The reason of a refusal, or the last lines of a failure, while it is not open."""
        self._ended = False
        self._ready = False
        """Until its line is mounted, nothing else may be: it would be placed above it."""

    @property
    def is_open(self) -> bool:
        return self._body is not None

    @property
    def is_whole(self) -> bool:
        """Whether all of it is shown, which a diff alone is not."""
        return isinstance(self._body, ToolBody)

    @property
    def state(self) -> FoldState:
        return _DIFF if isinstance(self._body, DiffView) else self.is_open

    def restore(self, state: FoldState) -> None:
        """Restore the state: a diff that was open is opened again."""
        if state != self.state:
            self.set_open(state is True)
            if state == _DIFF:
                self._show_diff()

    def compose(self) -> ComposeResult:
        yield self._head

    def on_mount(self) -> None:
        self._ready = True
        self.sync(now_s=None)

    def sync(self, *, now_s: float | None) -> None:
        """Draw the current state. now_s: the time to count to while it runs."""
        if not self._ready:
            return
        self._head.now_s = now_s
        self._head.refresh(layout=False)
        if self._entry.call is None:
            self._show_tail(self._entry.output if not self._entry.cut_off else "")
        elif not self._ended:
            self._ended = True
            self._show_tail("")
            if self._body is not None:
                self.set_open(False)
                self.set_open(True)
            elif self._entry.call.diff:
                self._show_diff()
            elif self._entry.is_own:
                self.set_open(True)  # a user who runs a command wants to read its output
            self._show_outcome()

    def _show_tail(self, output: str) -> None:
        """Show the last lines of a running tool's output."""
        if not output.strip():
            if self._tail is not None:
                self._tail.remove()
                self._tail = None
            return
        lines = printable(output).rstrip("\n").split("\n")[-TAIL_LINES_SHOWN:]
        shown = [TextLine(cut_line(line, 200)) for line in lines]
        if self._tail is None:
            self._tail = TextRows(shown, classes="tool-tail")
            self.mount(self._tail)
        else:
            self._tail.set_lines(shown)

    def _show_diff(self) -> None:
        if self._entry.call is not None and self._entry.call.diff:
            self._body = DiffView(self._entry.call.diff, classes="tool-body")
            self.mount(self._body)

    def _show_outcome(self) -> None:
        """Show the reason of a refusal, or the last lines of a failure, unless the whole is shown."""
        if self._outcome is not None:
            self._outcome.remove()
            self._outcome = None
        call = self._entry.call
        if call is not None and not self.is_whole and (lines := outcome_lines(call)):
            kind = "error" if call.status is CallStatus.FAILED else "plain"
            shown = [TextLine(cut_line(line, 200), kind=kind) for line in lines]
            self._outcome = TextRows(shown, classes="tool-tail")
            self.mount(self._outcome)

    def set_open(self, is_open: bool) -> None:
        """Show the whole, or only the line; do nothing before the line is mounted."""
        if not self._ready:
            return
        if self._body is not None:
            self._body.remove()
            self._body = None
        if is_open:
            self._body = ToolBody(self._entry, load_output=self._load_output)
            self.mount(self._body)
        self._show_outcome()


class ToolBody(Widget):
    """Input and output of a call: its diff, else its arguments; then what the model received."""

    def __init__(self, entry: Called, *, load_output: LoadOutput | None) -> None:
        super().__init__(classes="tool-body")
        self._entry = entry
        self._load_output = load_output

    def compose(self) -> ComposeResult:
        """Yield input, then output."""
        call = self._entry.call
        if call is not None and call.diff:
            yield DiffView(call.diff)
        elif not self._entry.is_own and (text := input_text(self._entry)):
            yield TextRows(_cut_lines(printable(text).split("\n")), classes="tool-input")
        if call is None:
            return
        lines = printable(call.result).rstrip("\n").split("\n")
        if self._entry.is_own:
            lines = without_ending(lines)
        more = self._more_words(call, lines)
        if self._entry.is_own and call.status is CallStatus.FAILED:  # nobody opened it: show why it failed
            if more:
                yield MoreLine(more)
            shown = lines[-OUTPUT_LINES_SHOWN:]
            rows = [
                *_cut_lines(shown[:-FAILED_LINES_SHOWN]),
                *_cut_lines(shown[-FAILED_LINES_SHOWN:], kind="error"),
            ]
            yield TextRows(rows, classes="tool-output")
            return
        yield TextRows(_cut_lines(lines[:OUTPUT_LINES_SHOWN]), classes="tool-output")
        if more:
            yield MoreLine(more)

    def _more_words(self, call: ToolCall, lines: list[str]) -> str:
        """Return what is left out; empty if nothing is."""
        hidden = len(lines) - OUTPUT_LINES_SHOWN
        if call.result_blob is not None:
            return f"… all of it: {size_words(call.result_chars)}"
        if hidden > 0:
            return f"… {counted(hidden, 'more line')}"
        if any(len(line) > LINE_CHARS_MAX for line in lines):
            return "… whole lines"
        return ""

    def on_more_line_pressed(self, event: MoreLine.Pressed) -> None:
        """Show the whole output in a box that scrolls."""
        event.stop()
        self._show_whole(event.line)

    @work(exclusive=True)
    async def _show_whole(self, line: MoreLine) -> None:
        call = self._entry.call
        if call is None:
            return
        line.set_text("… reading")
        text = call.result
        if call.result_blob is not None and self._load_output is not None:
            try:
                text = await self._load_output(call)
            except (RagforgeError, OSError) as error:
                line.set_text(f"… the whole output cannot be read: {error}")
                return
        rows = TextRows(cut_line(printable(text).rstrip("\n"), WHOLE_CHARS_MAX))
        await self.query_one(".tool-output").remove()
        await line.remove()
        await self.mount(VerticalScroll(rows, classes="tool-whole"))


def input_text(entry: Called) -> str:
    """Return the arguments for reading: a command alone, else a line each, long ones below their name."""
    if entry.name == "todo":
        return ""  # its result is the list
    if set(entry.args) == {"command"}:
        return f"$ {entry.args['command']}"
    return "\n".join(_argument_lines(entry.args.items()))


def _argument_lines(items: Iterable[tuple[str, object]]) -> Iterable[str]:
    for name, value in items:
        text = str(value)
        yield f"{name}:\n{text}" if "\n" in text else f"{name}: {text}"


def _cut_lines(lines: list[str], *, kind: str = "plain") -> list[TextLine]:
    return [TextLine(cut_line(line, LINE_CHARS_MAX), kind=kind) for line in lines]
