"""More time than the program gives itself, for tests on a busy machine: the one place that loosens it."""

import threading
from collections import Counter
from collections.abc import Generator, Iterable
from contextlib import contextmanager

from ragforge.domain import timeouts

PATIENT_S = 60.0

RECALL = ("GATHER_S_MAX",)
"""What has not been found by then is left out of what is recalled."""
COMMAND = (
    *RECALL,
    *("VERSION_TOLD_AFTER_S", "PROGRESS_LINE_EVERY_S", "HEADLESS_BACKGROUND_S_MAX", "HEADLESS_BACKUP_S_MAX"),
)
"""When a whole process tells that it is slow, or lets go of work."""
SERVER = (
    *("NEO4J_CONNECT_S_MAX", "NEO4J_READ_S_MAX", "NEO4J_WRITE_S_MAX", "NEO4J_STEP_S_MAX", "NEO4J_BULK_S_MAX"),
    *("NEO4J_ANSWER_S_MAX", "NEO4J_ARRIVE_S_MAX", "NEO4J_SETTLE_S_MAX"),
    *("NEO4J_VECTORS_SETTLE_S_MAX", "NEO4J_WARM_UP_S_MAX", "NEO4J_ROLL_UP_S_MAX", "NEO4J_CLAIM_S_MAX"),
    *("NEO4J_DELETE_S_MAX",),
)
"""How long a server has for an answer, where that is not the question."""


def loosen(names: Iterable[str]) -> None:
    """Give these as much time for the rest of this process."""
    for name in names:
        setattr(timeouts, name, max(getattr(timeouts, name), PATIENT_S))


_lock = threading.Lock()
_holders: Counter[str] = Counter()
_usual: dict[str, float] = {}


@contextmanager
def patience(names: Iterable[str]) -> Generator[None]:
    """Give these as much time for as long as this lasts, here or in another thread."""
    names = tuple(names)
    with _lock:
        _usual.update((name, getattr(timeouts, name)) for name in names if not _holders[name])
        _holders.update(names)
        loosen(names)
    try:
        yield
    finally:
        with _lock:
            _holders.subtract(names)
            for name in names:
                if not _holders[name]:
                    setattr(timeouts, name, _usual[name])
