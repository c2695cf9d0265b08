"""Deadlines of readers: after them, local data answers instead of a server."""

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from time import monotonic

from msgspec import Struct


class Reading(Struct):
    """A reader's deadline."""

    end_s: float
    """By `time.monotonic`."""
    was_late: bool = False
    """Whether a server had not answered by then."""

    @property
    def is_over(self) -> bool:
        """Whether the deadline has passed."""
        return monotonic() >= self.end_s


_reading: ContextVar[Reading | None] = ContextVar("reading", default=None)


@contextmanager
def answered_by(end_s: float) -> Generator[Reading]:
    """Do not wait for a server beyond this moment in the calls within."""
    reading = Reading(end_s)
    token = _reading.set(reading)
    try:
        yield reading
    finally:
        _reading.reset(token)


def seconds_left(limit_s: float) -> float:
    """Return the limit, or the time left until the reader's deadline."""
    reading = _reading.get()
    return limit_s if reading is None else max(0.0, min(limit_s, reading.end_s - monotonic()))


def note_if_late() -> bool:
    """Whether the deadline has passed: then a server that has not answered may still be available."""
    reading = _reading.get()
    if reading is None or not reading.is_over:
        return False
    reading.was_late = True
    return True
