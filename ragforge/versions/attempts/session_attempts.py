"""What was attempted for a session: alternatives that run or ran last, results of a merge to choose from."""

from msgspec import Struct

from ragforge.session.state import Session
from ragforge.versions.attempts.candidates import Candidates
from ragforge.versions.attempts.group import Group


class Attempts(Struct):
    """The session's attempts; they end with it."""

    group: Group | None = None
    undecided: Candidates | None = None

    async def close(self) -> None:
        """End what still runs in copies."""
        if self.group:
            await self.group.close()


def attempts_of(session: Session) -> Attempts:
    """The attempts of the session; none yet where nothing was attempted."""
    found = session.live.attempts
    if not isinstance(found, Attempts):
        found = Attempts()
        session.end_with(found)
    return found
