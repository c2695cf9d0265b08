"""The events of a turn as lines: nothing is redrawn, and no colour is needed."""

import sys

from ragforge.domain.context import ContextBlock
from ragforge.domain.events import (
    AgentEvent,
    ConstraintsMet,
    ContextBuilt,
    Notice,
    RetryWaiting,
    StepEnded,
    TextDelta,
    ToolEnded,
    ToolStarted,
    TurnEnded,
    WebSearched,
)
from ragforge.domain.printable import printable
from ragforge.domain.turns import CallStatus, ToolCall, TurnStatus
from ragforge.domain.web_search import as_lines
from ragforge.domain.words import counted
from ragforge.tui.widgets.tool_words import about, changed_words, outcome, outcome_lines
from ragforge.tui.widgets.turn_record import Called

DIFF_LINES_SHOWN = 40
_STATUS_WORDS = {
    CallStatus.OK: "done",
    CallStatus.FAILED: "failed",
    CallStatus.DENIED: "denied",
    CallStatus.INTERRUPTED: "interrupted",
}


class LinePrinter:
    """Prints to standard output, everything made safe for the terminal."""

    def __init__(self) -> None:
        self._is_within_line = False
        self._called: dict[str, str] = {}
        """The description of each running call, by its id."""

    def line(self, text: str = "") -> None:
        """Print a separate line, or several."""
        self._write(("\n" if self._is_within_line else "") + printable(text) + "\n")

    def end_line(self) -> None:
        """Start a new line for what follows."""
        if self._is_within_line:
            self._write("\n")

    def part(self, text: str) -> None:
        """Print a piece of a line, which what follows continues."""
        self._write(printable(text))

    def typed(self, text: str) -> None:
        """Print the echo of keys, in which a backspace goes back."""
        self._write("\b".join(map(printable, text.split("\b"))))

    def _write(self, text: str) -> None:
        if text:
            self._is_within_line = not text.endswith("\n")
            sys.stdout.write(text)
            sys.stdout.flush()

    def show(self, event: AgentEvent) -> None:
        """Print the event."""
        match event:
            case TextDelta(text):
                self.part(text)
            case StepEnded():
                self.end_line()
            case WebSearched(search):
                self.line(as_lines(search))
            case ContextBuilt(_, block):
                self._recalled(block)
            case ToolStarted(call_id, name, args, summary):
                self._called[call_id] = f"{name} {about(Called(call_id, name, args, summary))}".rstrip()
                self.line(f"Tool: {self._called[call_id]}")
            case ToolEnded(call):
                self._ended(call)
            case RetryWaiting(delay_s=delay_s):
                self.line(event.words(delay_s))
            case ConstraintsMet(hits=hits, asked=False):
                for hit in hits:
                    self.line(f"Against your rule: {hit.found}. {hit.words}")
            case Notice(text):
                self.line(text)
            case TurnEnded():
                self._turn_ended(event)
            case _:
                pass

    def _recalled(self, block: ContextBlock) -> None:
        if block.items:
            self.line(f"Recalled: {counted(len(block.items), 'item')}. /context shows them.")
        if block.limited:
            self.line(block.limited)

    def _ended(self, call: ToolCall) -> None:
        came = outcome(call)
        status = _STATUS_WORDS[call.status]
        words = f"{status}, {came}" if came and came != status else status
        self.line(f"Tool {words}: {self._called.pop(call.id, call.name)}")
        for each in outcome_lines(call):
            self.line(f"    {each}")
        lines = call.diff.splitlines() if call.status is CallStatus.OK else []
        for each in lines[:DIFF_LINES_SHOWN]:
            self.line(f"    {each}")
        if len(lines) > DIFF_LINES_SHOWN:
            self.line(f"    {counted(len(lines) - DIFF_LINES_SHOWN, 'more line')}; /diff shows all.")

    def _turn_ended(self, event: TurnEnded) -> None:
        turn = event.turn
        if turn.status in (TurnStatus.FAILED, TurnStatus.INTERRUPTED, TurnStatus.STOPPED):
            self.line(
                f"Turn {turn.status}: {turn.error.strip()}" if turn.error.strip() else f"Turn {turn.status}."
            )
        if event.version and (words := changed_words(event.version)):
            self.line(words)
