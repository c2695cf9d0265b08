"""The contract of an embedder."""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from msgspec import Struct

from ragforge.config.schema import Endpoint
from ragforge.domain.usage import Usage
from ragforge.domain.vectors import Vector


class Embedder(Protocol):
    """Computes vectors of texts. Construction must be cheap: load slow parts in a thread on first use."""

    name: str
    """Stored with each vector: model, dimensions and version of whatever is put around the text.
    Vectors of different names are never compared. Such as `static:minilm-256-2`."""
    dimensions: int
    """How many numbers a vector has; 0 if only the first answer tells, see `learn_dimensions`."""
    remote: bool
    """Whether it uses the network: it costs, may be slow, and receives the text."""
    usage: Usage
    """Its usage so far; all zero for a local one."""

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        """Return a vector of length 1 for each text to be stored. Any number of texts, any length.

        A text without any known word (empty, only symbols) has a vector too.
        Raises ModelError (its subclasses say which) if a service fails; ragforge.domain.errors.UsageError if
        a model file cannot be used.
        """
        ...

    async def embed_query(self, text: str) -> Vector:
        """Return the vector of a query. Raises like `embed`."""
        ...

    async def prepare(self) -> None:
        """Load slow parts, so that the next vector is fast; sends no request.

        Raises like `embed`. Optional, and fast if it was done before.
        """
        ...

    async def close(self) -> None:
        """Release connections."""
        ...


class EmbedderParts(Struct, frozen=True):
    """What embedders are created from; each uses what it needs.

    find_key: returns the key of a provider and its source; called in a thread, when the first vector is
    needed.
    """

    find_key: Callable[[str], tuple[str, str] | None]
    endpoints: Mapping[str, Endpoint]
    environ: Mapping[str, str]


class OwnEmbedder(Struct, frozen=True):
    """A kind of embedder: the `EMBEDDER` of the module with the name that its setting starts with.

    names: how it is written in settings. open: returns the embedder, with nothing loaded yet, for the text
    after the colon. Raises UsageError for an unknown name.
    """

    names: tuple[str, ...]
    open: Callable[[str, EmbedderParts], Embedder]

    @property
    def takes_rest(self) -> bool:
        """Whether the name is followed by a colon and more."""
        return any(":" in name for name in self.names)


async def learn_dimensions(embedder: Embedder) -> int:
    """Return the length of its vectors; requests one if that is not known yet. Raises like `embed`."""
    if not embedder.dimensions:
        await embedder.embed_query("dimensions")
    return embedder.dimensions


def other_embedder(in_use: str, name: str) -> str:
    """Return the notice that the database uses another embedder, and what to do; empty if it does not."""
    if in_use in ("", name):
        return ""
    return (
        f"This database uses the embedder {in_use}, but memory.embedder here is {name}, so search uses "
        "words only. Set memory.embedder to the same, or run `ragforge db embedder NAME` to change the "
        "database for everybody."
    )
