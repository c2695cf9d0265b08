"""Embeddings: the meaning of a text as a point; near points have similar meanings."""

import math
from array import array
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct

from ragforge.domain.errors import UsageError
from ragforge.domain.records import Description, RecordKind

if TYPE_CHECKING:  # before Python 3.12 an array takes no type at run time
    Vector: TypeAlias = array[float]
else:
    Vector = array
"""32-bit floats (`array("f", ...)`), stored bit for bit."""

DIMENSIONS_MAX = 4096


class OwnerKind(StrEnum):
    """What can have an embedding."""

    TURN = "turn"
    SUMMARY = "summary"
    MEMORY = "memory"


class Owner(Struct, frozen=True):
    """The thing whose text was embedded."""

    kind: OwnerKind
    id: str


class Embedding(Struct, frozen=True):
    """An owner's vector; a newer one of the same owner replaces it."""

    owner: Owner
    model: str
    text_hash: str
    """SHA-256 of the embedded text, in hex: the same text is never embedded twice."""
    vector: Vector


EMBEDDING = Description(RecordKind.EMBEDDING, Embedding, key=("owner.kind", "owner.id"))


class Nearby(Struct, frozen=True):
    """A search by meaning, and its scope. Empty means everywhere."""

    vector: Vector
    model: str
    """Only vectors of this model are compared."""
    project_id: str | None = None
    session_id: str | None = None
    kinds: tuple[OwnerKind, ...] = tuple(OwnerKind)
    since: datetime | None = None
    until: datetime | None = None
    """Before this moment."""
    limit: int = 20


class Near(Struct, frozen=True):
    """An owner near the vector. score: (1 + cosine) / 2, from 0 to 1."""

    owner: Owner
    score: float


def check_vector(vector: Vector, *, of: str) -> None:
    """Raise UsageError for a vector that cannot be compared."""
    if not vector:
        wrong = "is empty"
    elif vector.typecode != "f":
        wrong = "does not hold 32-bit floats"
    elif len(vector) > DIMENSIONS_MAX:
        wrong = f"has {len(vector)} values, more than {DIMENSIONS_MAX}"
    elif not math.isfinite(sum(vector)):
        wrong = "holds a value that is no finite number"
    elif not any(vector):
        wrong = "holds only zeros"
    else:
        return
    raise UsageError(f"The vector of {of} {wrong}. Embed the text again, or choose another embedder.")
