"""Lines that are not part of the conversation: notices, retries, how a turn ended."""

from math import ceil

from ragforge.domain.events import RetryWaiting
from ragforge.domain.printable import one_line
from ragforge.domain.turns import Turn, TurnStatus
from ragforge.tui.widgets.plain import PlainText


class NoticeLine(PlainText):
    """A sentence of the program."""


class RetryLine(PlainText):
    """`429, again in 8 s, 2 of 5 (Esc cancels)`, counting down."""

    def __init__(self, event: RetryWaiting, *, waited_s: float) -> None:
        super().__init__(retry_words(event, waited_s=waited_s))
        self._event = event

    @property
    def event(self) -> RetryWaiting:
        """The wait that is shown."""
        return self._event

    def tick(self, *, waited_s: float) -> None:
        """Count down."""
        self.set_text(retry_words(self._event, waited_s=waited_s))


class SilenceLine(PlainText):
    """`… no word from the model for 12 s (Esc interrupts)`, counting."""

    def __init__(self, silent_s: float) -> None:
        super().__init__(silence_words(silent_s))

    def tick(self, silent_s: float) -> None:
        """Count on."""
        self.set_text(silence_words(silent_s))


class TurnEndLine(PlainText):
    """How the turn ended, where it did not just finish."""


def retry_words(event: RetryWaiting, *, waited_s: float) -> str:
    """The line of a wait that has lasted for so long."""
    left_s = max(0, ceil(event.delay_s - waited_s))
    when = f"again in {left_s} s" if left_s else "trying again"
    return f"↻ {one_line(event.reason)}, {when}, {event.attempt} of {event.attempts_max} (Esc cancels)"


def silence_words(silent_s: float) -> str:
    """The line of a model that has said nothing for so long."""
    return f"… no word from the model for {int(silent_s)} s (Esc interrupts)"


def end_words(turn: Turn) -> str:
    """What is said under a turn that did not just finish; empty for one that did."""
    error = turn.error.strip()
    match turn.status:
        case TurnStatus.INTERRUPTED:
            return f"■ interrupted: {error}" if error else "■ interrupted"
        case TurnStatus.FAILED:
            return f"✗ {error or 'The turn failed.'}"
        case TurnStatus.STOPPED:
            return f"■ stopped: {error}" if error else "■ stopped"
        case TurnStatus.RUNNING | TurnStatus.WAITING | TurnStatus.FINISHED | TurnStatus.CONTINUED:
            return ""
