"""How long background work waits, and how it stands."""

from msgspec import Struct


class KeptMemory(Struct, frozen=True):
    """A memory that is new, and the words of what it replaces."""

    id: str
    content: str
    replaced: tuple[str, ...] = ()


class KeptOfTurn(Struct, frozen=True):
    """What was kept of one turn. number: counts them in this run, from 1."""

    number: int
    session_id: str
    memories: tuple[KeptMemory, ...]


class Progress(Struct, frozen=True):
    """How it stands, for the status line and `/context`."""

    turns: int = 0
    """Turns that still wait for their summary, as far as was looked."""
    vectors: int = 0
    """What still waits for its vector, as far as was looked."""
    note: str = ""
    """Why it waits or goes on without a model, for a user; empty when all is well."""
    payments: int = 0
    """How often something was paid in this run: what it has cost is another sum after each."""
    kept: tuple[KeptOfTurn, ...] = ()
    """What was kept of the turns of this run that were understood last, the newest at the end."""


class Timing(Struct, frozen=True):
    """How long things wait."""

    start_s: float = 1.0
    """What is left from before begins so long after opening, which it shall not slow down."""
    gather_s: float = 0.3
    """What is done for many at once waits so long for more."""
    pause_s_first: float = 2.0
    """After a failure; it doubles with each further one."""
    pause_s_max: float = 300.0
    final_s: float = 600.0
    """After a failure that no waiting cures, such as a wrong key."""
    patience_s: float = 60.0
    """How long an outage may last before turns of earlier runs are summarised without the model."""
    call_s_max: float = 180.0
    """A call of the model that takes longer has failed."""
    lease_s: float = 60.0
    """A turn that another process began to summarise is left to it for so long."""

    def pause_s(self, failures: int) -> float:
        """How long to wait after so many failures in a row."""
        return min(self.pause_s_max, self.pause_s_first * 2 ** min(failures - 1, 20))
