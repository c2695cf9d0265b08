"""The contract of an embedder."""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from msgspec import Struct

from ragforge.config.schema import Endpoint
from ragforge.domain.usage import Usage
from ragforge.domain.vectors import Vector


class Embedder(Protocol):
    """Makes vectors of texts. Constructing one is cheap: what is slow is loaded in a thread at first use."""

    name: str
    """What stands with each vector: model, dimensions and version of whatever is put around the text.
    Vectors of different names are never compared. Such as `static:minilm-256-2`."""
    dimensions: int
    """How many numbers a vector has; 0 where only the first answer tells, see `learn_dimensions`."""
    remote: bool
    """A network lies between: it costs, may be slow, and sees the text."""
    usage: Usage
    """What it has used so far; all zero for a local one."""

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        """A vector of length 1 for each text, to be found later. Any number of texts, any length.

        A text of which nothing is known (empty, only symbols) has a vector too.
        Raises ModelError (its subclasses say which) when a service fails; ragforge.domain.errors.UsageError
        where a file of a model cannot be used.
        """
        ...

    async def embed_query(self, text: str) -> Vector:
        """The vector of what is looked for. Raises as `embed`."""
        ...

    async def prepare(self) -> None:
        """Load what is slow to load, so that the next vector waits for nothing but itself; asks no service.

        Raises as `embed`. Never needed, and quick when it was done before.
        """
        ...

    async def close(self) -> None:
        """Release connections."""
        ...


class EmbedderParts(Struct, frozen=True):
    """What embedders are made of; each takes what it needs.

    find_key: the key of a provider and where it came from; called in a thread, when a vector is wanted first.
    """

    find_key: Callable[[str], tuple[str, str] | None]
    endpoints: Mapping[str, Endpoint]
    environ: Mapping[str, str]


class OwnEmbedder(Struct, frozen=True):
    """A kind of embedder: the `EMBEDDER` of the module that is called as its name in the settings begins.

    names: how it is written there. open: the embedder, of which nothing is loaded yet, by what follows the
    colon. Raises UsageError for a name that none has.
    """

    names: tuple[str, ...]
    open: Callable[[str, EmbedderParts], Embedder]

    @property
    def takes_rest(self) -> bool:
        """Whether something follows a colon."""
        return any(":" in name for name in self.names)


async def learn_dimensions(embedder: Embedder) -> int:
    """How many numbers its vectors have; asks for one where that is not known yet. Raises as `embed`."""
    if not embedder.dimensions:
        await embedder.embed_query("dimensions")
    return embedder.dimensions


def other_embedder(in_use: str, name: str) -> str:
    """That a database is embedded by another than the one of this name, and what to do; empty where not."""
    if in_use in ("", name):
        return ""
    return (
        f"This database uses the embedder {in_use}, but memory.embedder here is {name}, so search uses "
        "words only. Set memory.embedder to the same, or run `ragforge db embedder NAME` to change the "
        "database for everybody."
    )
