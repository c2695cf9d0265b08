"""By when a reader wants its answer: in place of a server that is later, what is on this machine answers."""

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from time import monotonic

from msgspec import Struct


class Reading(Struct):
    """What somebody asks of a store who cannot wait for long."""

    end_s: float
    """By `time.monotonic`."""
    was_late: bool = False
    """Whether a server had not answered by then."""

    @property
    def is_over(self) -> bool:
        """Whether that moment has passed."""
        return monotonic() >= self.end_s


_reading: ContextVar[Reading | None] = ContextVar("reading", default=None)


@contextmanager
def answered_by(end_s: float) -> Generator[Reading]:
    """Wait for no server beyond this moment in what is asked within."""
    reading = Reading(end_s)
    token = _reading.set(reading)
    try:
        yield reading
    finally:
        _reading.reset(token)


def seconds_left(limit_s: float) -> float:
    """The limit, or what is left of it until the moment that the reader gave."""
    reading = _reading.get()
    return limit_s if reading is None else max(0.0, min(limit_s, reading.end_s - monotonic()))


def note_if_late() -> bool:
    """Whether that moment is over: then a server that has not answered may still be there."""
    reading = _reading.get()
    if reading is None or not reading.is_over:
        return False
    reading.was_late = True
    return True
