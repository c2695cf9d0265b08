"""What the user forbids, as it can be held against a call without asking a model."""

from datetime import datetime
from enum import StrEnum

from msgspec import Struct

from ragforge.domain.ids import now
from ragforge.domain.memories import Strength


def spoken_date(at: datetime) -> str:
    """The day as people say it: 3 Nov, and the year where it is not this one."""
    here, today = at.astimezone(), now().astimezone()
    return f"{here.day} {here:%b}" + ("" if here.year == today.year else f" {here.year}")


class Deed(StrEnum):
    """What is not to be done with the objects of a prohibition."""

    USE = "use"
    """To run it, to write it into code, to add it."""
    RUN = "run"
    """To do it: no word of code, but perhaps a command."""
    CHANGE = "change"
    DELETE = "delete"
    DEPEND = "depend"
    """To add any dependency; there are no objects."""


class Prohibition(Struct, frozen=True):
    """One thing that a sentence forbids.

    objects: any of them; each is a path, a pattern of paths, a command or some words. within, outside: where
    it holds and where it does not, as paths or words; empty for everywhere and nowhere.
    """

    deed: Deed
    objects: tuple[str, ...] = ()
    within: tuple[str, ...] = ()
    outside: tuple[str, ...] = ()


class Constraint(Struct, frozen=True):
    """A memory that binds, ready to be held against calls."""

    id: str
    """That of the memory."""
    text: str
    strength: Strength
    said_at: datetime
    turn: str
    """The newest turn in which it was said; empty for one that was told by a command."""
    session: str
    prohibitions: tuple[Prohibition, ...]
    wants: tuple[str, ...] = ()
    """What it speaks of using: a newer constraint allows it again."""


class ConstraintHit(Struct, frozen=True):
    """A call goes against a constraint.

    found: the part of the call that does. since: the newer constraint that allows it again.
    """

    constraint: Constraint
    found: str
    since: Constraint | None = None

    @property
    def words(self) -> str:
        """What the user is told."""
        one = self.constraint
        said = f'You said on {spoken_date(one.said_at)}: "{one.text}"'
        if self.since is None:
            return said
        return f'{said}; and since then, on {spoken_date(self.since.said_at)}: "{self.since.text}"'

    @property
    def binds(self) -> bool:
        """Whether the user has to be asked."""
        return self.constraint.strength is Strength.MUST and self.since is None
