"""A session's attempts: alternatives that run or ran last, and merge candidates to choose from."""

from msgspec import Struct

from ragforge.session.state import Session
from ragforge.versions.attempts.candidates import Candidates
from ragforge.versions.attempts.group import Group


class Attempts(Struct):
    """The session's attempts; they end with it."""

    group: Group | None = None
    undecided: Candidates | None = None

    async def close(self) -> None:
        """Stop everything that still runs in copies."""
        if self.group:
            await self.group.close()


def attempts_of(session: Session) -> Attempts:
    """Return the attempts of the session; empty if nothing was attempted."""
    found = session.live.attempts
    if not isinstance(found, Attempts):
        found = Attempts()
        session.end_with(found)
    return found
