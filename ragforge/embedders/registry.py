"""Which embedder a setting names."""

from collections.abc import Callable, Mapping
from pathlib import Path

from ragforge.config.schema import Endpoint
from ragforge.domain.errors import UsageError
from ragforge.embedders.base import Embedder
from ragforge.embedders.static import StaticEmbedder


def open_embedder(
    name: str,
    *,
    find_key: Callable[[str], tuple[str, str] | None],
    endpoints: Mapping[str, Endpoint],
    environ: Mapping[str, str],
) -> Embedder | None:
    """The embedder of the setting `memory.embedder`; cheap, nothing is loaded or asked yet.

    find_key: the key of a provider and where it came from; called in a thread, when a vector is wanted first.
    Raises UsageError for a name that names none.
    """
    # Each is imported where it is named: a search has one of them, and they take a tenth of its time.
    kind, _, rest = name.strip().partition(":")
    rest = rest.strip()
    match kind:
        case "static" if not rest:
            return StaticEmbedder()
        case "gemini" if rest:
            from ragforge.embedders.gemini import open_gemini

            base_url = environ.get("GOOGLE_GEMINI_BASE_URL") or None
            return open_gemini(rest.removeprefix("models/"), find_key=find_key, base_url=base_url)
        case "model2vec" if rest:
            from ragforge.embedders.model2vec import Model2VecEmbedder

            return Model2VecEmbedder(Path(rest))
        case _ if rest and kind in endpoints:
            from ragforge.embedders.openai_compatible import open_openai_compatible

            return open_openai_compatible(
                rest, name=kind, endpoint=endpoints[kind], find_key=find_key, environ=environ
            )
        case _:
            from ragforge.embedders.gemini import MODELS

            known = ["static", *(f"gemini:{model}" for model in MODELS), "model2vec:FOLDER"]
            known += [f"{endpoint}:MODEL" for endpoint in sorted(endpoints)]
            raise UsageError(f"There is no embedder {name!r}; there are {', '.join(known)}.")
