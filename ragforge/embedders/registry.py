"""Find the embedder that a setting names."""

from collections.abc import Callable, Mapping

from ragforge.config.schema import Endpoint
from ragforge.domain.discovery import discover, find_one
from ragforge.domain.errors import UsageError
from ragforge.embedders.base import Embedder, EmbedderParts, OwnEmbedder

PACKAGE = __name__.rpartition(".")[0]


def open_embedder(
    name: str,
    *,
    find_key: Callable[[str], tuple[str, str] | None],
    endpoints: Mapping[str, Endpoint],
    environ: Mapping[str, str],
) -> Embedder:
    """Return the embedder for the setting `memory.embedder`; cheap, nothing is loaded or requested yet.

    find_key: returns the key of a provider and its source; called in a thread, when the first vector is
    needed.
    Raises UsageError for an unknown name.
    """
    # Each is imported only when it is named: a search uses one of them, and all take a tenth of its time.
    kind, _, rest = name.strip().partition(":")
    rest, own = rest.strip(), find_one(PACKAGE, kind, "EMBEDDER", OwnEmbedder)
    if own and bool(rest) == own.takes_rest:
        return own.open(rest, EmbedderParts(find_key, endpoints, environ))
    if rest and kind in endpoints:
        from ragforge.embedders.openai_compatible import open_openai_compatible

        return open_openai_compatible(
            rest, name=kind, endpoint=endpoints[kind], find_key=find_key, environ=environ
        )
    known = [each for found in discover(PACKAGE, "EMBEDDER", OwnEmbedder).values() for each in found.names]
    known += [f"{endpoint}:MODEL" for endpoint in sorted(endpoints)]
    raise UsageError(f"Unknown embedder {name!r}; available are {', '.join(known)}.")
