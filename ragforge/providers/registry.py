"""Which providers there are, and opening one by its name.

A name is `provider:model`. Three providers have a protocol of their own and a line in `_OPENERS`; every
endpoint of the settings is a provider too, by its own name, through the chat completions protocol.
"""

from collections.abc import Callable, Mapping

from msgspec import Struct, field

from ragforge.config.schema import BUILT_IN_ENDPOINTS, Endpoint
from ragforge.domain import timeouts
from ragforge.domain.errors import ModelRefusedKey, UsageError
from ragforge.providers.base import LoadBlob, Provider
from ragforge.providers.gemini import GeminiProvider
from ragforge.providers.local import MODEL, LocalProvider, Search
from ragforge.providers.openai_compatible import OpenAICompatibleProvider
from ragforge.providers.validity import WellFormedProvider

FindKey = Callable[[str], tuple[str, str] | None]
"""A provider's key and where it was found, or None."""


class ModelName(Struct, frozen=True):
    """A model as the person names it; `local` has none."""

    provider: str
    model: str

    def __str__(self) -> str:
        return f"{self.provider}:{self.model}" if self.model else self.provider


class ProviderParts(Struct, frozen=True):
    """What providers are made of; each takes what it needs."""

    find_key: FindKey
    load_blob: LoadBlob
    search: Search
    endpoints: Mapping[str, Endpoint] = field(default_factory=lambda: BUILT_IN_ENDPOINTS)
    environ: Mapping[str, str] = field(default_factory=dict[str, str])
    thinking_level: str | None = None
    show_thoughts: bool = True
    attempts_max: int = 5
    delay_s_max: float = timeouts.RETRY_DELAY_S_MAX
    idle_timeout_s: float = 120.0


def provider_names(endpoints: Mapping[str, Endpoint] = BUILT_IN_ENDPOINTS) -> list[str]:
    """Every provider that can be named."""
    return sorted({*_OPENERS, *endpoints})


def parse_model(text: str, *, endpoints: Mapping[str, Endpoint] | None = None) -> ModelName:
    """The name in the text: `provider:model`, `gemini-...` alone, or `local`.

    The provider is checked where the endpoints are given, otherwise only when it is opened.
    Raises UsageError that says what there is.
    """
    name = text.strip()
    provider, colon, model = name.partition(":")
    provider, model = provider.strip().lower(), model.strip()
    if not colon and provider.startswith("gemini-"):
        return ModelName("gemini", provider)
    if provider == "local" and model in ("", MODEL):
        return ModelName("local", "")
    known = provider_names(BUILT_IN_ENDPOINTS if endpoints is None else endpoints)
    if not provider or not model or any(char.isspace() for char in name):
        example = f"{provider}:MODEL" if provider in known else "gemini:gemini-3.8-flash"
        raise UsageError(
            f"Not the name of a model: {text!r}. Write provider:name, such as {example}; "
            f"providers are {', '.join(known)}."
        )
    if endpoints is not None:
        _check_provider(provider, known, name)
    return ModelName(provider, model)


def open_provider(name: ModelName, *, parts: ProviderParts) -> WellFormedProvider:
    """The provider for a model, not yet connected. Where `find_key` may be slow, call it in a thread.

    Raises UsageError for a provider that is not there, ModelRefusedKey where it needs a key and has none.
    """
    _check_provider(name.provider, provider_names(parts.endpoints), str(name))
    # What the person set up under a name wins, but for ours, which no file may redefine.
    return WellFormedProvider(_OPENERS.get(name.provider, _open_endpoint)(name, parts))


def _check_provider(provider: str, known: list[str], name: str) -> None:
    if provider not in known:
        raise UsageError(
            f"There is no provider {provider!r}; there are {', '.join(known)}. "
            f"A model of Ollama, for example, is named ollama:{name}; other services are added to the "
            "settings as endpoints."
        )


def _open_gemini(name: ModelName, parts: ProviderParts) -> Provider:
    key = parts.find_key("gemini")
    if key is None:
        raise ModelRefusedKey(
            "Gemini needs a key and there is none. Get one at https://aistudio.google.com/apikey, then "
            "paste it after /model, or set GEMINI_API_KEY."
        )
    value, source = key
    return GeminiProvider(
        name.model,
        api_key=value,
        key_source=source,
        load_blob=parts.load_blob,
        base_url=parts.environ.get("GOOGLE_GEMINI_BASE_URL") or None,
        thinking_level=parts.thinking_level,
        show_thoughts=parts.show_thoughts,
        attempts_max=parts.attempts_max,
        delay_s_max=parts.delay_s_max,
        idle_timeout_s=parts.idle_timeout_s,
    )


def _open_local(_: ModelName, parts: ProviderParts) -> Provider:
    return LocalProvider(parts.search)


def _open_endpoint(name: ModelName, parts: ProviderParts) -> Provider:
    endpoint = parts.endpoints[name.provider]
    key = None
    # An endpoint that needs no key gets none, even if one is kept under its name.
    if endpoint.key_env:
        value = parts.environ.get(endpoint.key_env, "").strip()
        key = parts.find_key(name.provider) or ((value, endpoint.key_env) if value else None)
    if endpoint.key_env and key is None:
        raise ModelRefusedKey(
            f"{name.provider} needs a key for {endpoint.base_url} and there is none. "
            f"Set {endpoint.key_env} in the environment, or choose the model with /model and enter one."
        )
    value, source = key or (None, "")
    return OpenAICompatibleProvider(
        name.model,
        name=name.provider,
        base_url=endpoint.base_url,
        api_key=value,
        key_source=source,
        load_blob=parts.load_blob,
        context_tokens_max=endpoint.context_tokens_max,
        attempts_max=parts.attempts_max,
        delay_s_max=parts.delay_s_max,
        idle_timeout_s=parts.idle_timeout_s,
    )


_OPENERS: Mapping[str, Callable[[ModelName, ProviderParts], Provider]] = {
    "gemini": _open_gemini,
    "local": _open_local,
}
