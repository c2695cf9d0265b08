"""The timing of background work, and its state."""

from msgspec import Struct


class KeptMemory(Struct, frozen=True):
    """A new memory, and the texts it replaces."""

    id: str
    content: str
    replaced: tuple[str, ...] = ()


class KeptOfTurn(Struct, frozen=True):
    """What was kept of one turn. number: counts them in this run, from 1."""

    number: int
    session_id: str
    memories: tuple[KeptMemory, ...]


class Progress(Struct, frozen=True):
    """The state of background work, for the status line and `/context`."""

    turns: int = 0
    """Turns without a summary, as far as known."""
    vectors: int = 0
    """Texts without a vector, as far as known."""
    note: str = ""
    """Why it waits or continues without a model, for a user; empty if all is well."""
    payments: int = 0
    """How many payments there were in this run: the cost changes with each."""
    kept: tuple[KeptOfTurn, ...] = ()
    """What was kept of this run's turns understood last, the newest at the end."""


class Timing(Struct, frozen=True):
    """The delays."""

    start_s: float = 1.0
    """Earlier work starts this long after opening, which it must not slow down."""
    gather_s: float = 0.3
    """Work that is done in batches waits this long for more."""
    pause_s_first: float = 2.0
    """After a failure; doubled with each further one."""
    pause_s_max: float = 300.0
    final_s: float = 600.0
    """After a failure that waiting cannot cure, such as a wrong key."""
    patience_s: float = 60.0
    """How long an outage may last before turns of earlier runs are summarised without the model."""
    call_s_max: float = 180.0
    """A model call that takes longer has failed."""
    lease_s: float = 60.0
    """A turn that another process started to summarise is left to it for this long."""

    def pause_s(self, failures: int) -> float:
        """Return how long to wait after so many failures in a row."""
        return min(self.pause_s_max, self.pause_s_first * 2 ** min(failures - 1, 20))
