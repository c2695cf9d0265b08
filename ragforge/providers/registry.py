"""The providers, and opening one by its name.

A name is `provider:model`. A module here with a `PROVIDER` is one by its own name; so is every endpoint of
the settings, through the chat completions protocol. Each is imported when it is named.
"""

from collections.abc import Mapping

from msgspec import Struct

from ragforge.config.schema import BUILT_IN_ENDPOINTS, Endpoint
from ragforge.domain.discovery import discover, find_one
from ragforge.domain.errors import UsageError
from ragforge.providers.base import OwnProtocol, ProviderParts
from ragforge.providers.validity import WellFormedProvider

PACKAGE = __name__.rpartition(".")[0]
LOCAL = "local"
SEARCH = "search"
"""The model of the provider `local`, which its name may omit."""


class ModelName(Struct, frozen=True):
    """A model as the user names it; `local` has none."""

    provider: str
    model: str

    def __str__(self) -> str:
        return f"{self.provider}:{self.model}" if self.model else self.provider


def provider_names(endpoints: Mapping[str, Endpoint] = BUILT_IN_ENDPOINTS) -> list[str]:
    """Return every provider. Imports all."""
    return sorted({*discover(PACKAGE, "PROVIDER", OwnProtocol), *endpoints})


def own_protocol(name: str) -> OwnProtocol | None:
    """Return the provider with a protocol of its own that has this name, or None."""
    return find_one(PACKAGE, name, "PROVIDER", OwnProtocol)


def parse_model(text: str, *, endpoints: Mapping[str, Endpoint] | None = None) -> ModelName:
    """Parse the name: `provider:model`, `gemini-...` alone, or `local`.

    The provider is checked if the endpoints are given, otherwise only when it is opened.
    Raises UsageError that names the available ones.
    """
    name = text.strip()
    provider, colon, model = name.partition(":")
    provider, model = provider.strip().lower(), model.strip()
    if not colon and provider.startswith("gemini-"):
        return ModelName("gemini", provider)
    if provider == LOCAL and model in ("", SEARCH):
        return ModelName(LOCAL, "")
    if not provider or not model or any(char.isspace() for char in name):
        known = provider_names(BUILT_IN_ENDPOINTS if endpoints is None else endpoints)
        example = f"{provider}:MODEL" if provider in known else "gemini:gemini-3.8-flash"
        raise UsageError(
            f"Not a model name: {text!r}. Write provider:name, such as {example}. "
            f"Providers: {', '.join(known)}."
        )
    if endpoints is not None:
        _check_provider(provider, endpoints, name)
    return ModelName(provider, model)


def searches_web(name: ModelName, endpoints: Mapping[str, Endpoint]) -> bool:
    """Whether the model's provider has a web search of its own."""
    if own := own_protocol(name.provider):
        return own.searches(name.model)
    endpoint = endpoints.get(name.provider)
    return bool(endpoint and endpoint.search_tool)


def open_provider(name: ModelName, *, parts: ProviderParts) -> WellFormedProvider:
    """Return the provider for a model, not yet connected. If `find_key` may be slow, call it in a thread.

    Raises UsageError for an unknown provider, ModelRefusedKey if it needs a key and has none.
    """
    _check_provider(name.provider, parts.endpoints, str(name))
    # The user's endpoints take precedence, except over our own names, which no file may redefine.
    if own := own_protocol(name.provider):
        return WellFormedProvider(own.open(name.model, parts))
    from ragforge.providers.openai_compatible import open_endpoint

    return WellFormedProvider(open_endpoint(name.provider, name.model, parts))


def _check_provider(provider: str, endpoints: Mapping[str, Endpoint], name: str) -> None:
    if provider not in endpoints and own_protocol(provider) is None:
        known = provider_names(endpoints)
        raise UsageError(
            f"Unknown provider {provider!r}; available are {', '.join(known)}. "
            f"For a model of Ollama, write ollama:{name}. Add other services to the settings as endpoints."
        )
