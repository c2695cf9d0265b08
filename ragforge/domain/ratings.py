"""The user's ratings of turns."""

from msgspec import Struct

from ragforge.domain.derivations import DerivedKind

STARS_MAX = 5


class Rating(Struct, frozen=True):
    """How satisfied the user was with a turn."""

    stars: int
    """From 1 to 5."""

    @property
    def satisfaction(self) -> float:
        """The same from 0 to 1."""
        return (self.stars - 1) / (STARS_MAX - 1)


KIND = DerivedKind("Rating", Rating, relation="RATES")
