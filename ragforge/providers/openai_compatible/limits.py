"""The limits of a model behind a chat completions service, as far as the service reports them.

The protocol has no field for it, but most servers add one, each its own:

    OpenRouter, Groq      GET /models             context_length, context_window; top_provider.*
    vLLM                  GET /models             max_model_len
    llama-server          GET /props              default_generation_settings.n_ctx
    LM Studio             GET /api/v0/models/ID   loaded_context_length
    Ollama                POST /api/show          parameters: num_ctx
                          GET /api/ps             context_length, while the model is loaded

What a model was trained for (n_ctx_train, max_context_length, Ollama's model_info) is only an upper
bound: these servers start models with less, and Ollama then silently cuts what is longer.
"""

import re
from typing import Protocol
from urllib.parse import quote

from msgspec import Struct

from ragforge.domain.json import JsonObject, JsonValue, as_list, as_object
from ragforge.providers.base import ModelLimits

CONTEXT_TOKENS_LOCAL = 8_192
"""Assumed for a server on this machine that reports nothing: what most are started with, or more."""

CONTEXT_TOKENS_REMOTE = 128_000
"""Assumed for a service that reports nothing (OpenAI's own does not): all current models accept this."""

OUTPUT_TOKENS_MAX = 16_384
"""Assumed for an answer if nothing is reported, but never more than a quarter of the window."""


class Ask(Protocol):
    """Returns JSON from an address of the server: GET, or POST if there is a body; empty if it has none."""

    async def __call__(self, url: str, body: JsonObject | None = None) -> JsonObject: ...


class Window(Struct, frozen=True):
    """The server's limits; None for what it does not report. trained: an upper bound for those."""

    told: int | None = None
    trained: int | None = None
    output: int | None = None


async def ask_window(ask: Ask, base_url: str, model: str) -> Window:
    """Return the server's limits of the model. Addresses outside the protocol are at the server's root."""
    root = base_url.removesuffix("/v1")
    listed = await ask(f"{base_url}/models")
    entries = [entry for item in as_list(listed.get("data")) if (entry := as_object(item))]
    named = [entry for entry in entries if entry.get("id") == model]
    # llama-server has one model and answers with it whatever name is requested.
    entry = named[0] if named else entries[0] if len(entries) == 1 else {}
    output = _count(as_object(entry.get("top_provider")).get("max_completion_tokens"))
    told = _first(entry, "context_length", "context_window", "max_model_len")
    if told:
        return Window(told, output=output)
    match entry.get("owned_by"):
        case "llamacpp":
            return await _llama_server(ask, root, as_object(entry.get("meta")))
        case "library":
            return await _ollama(ask, root, model)
        case "organization_owner":
            found = await ask(f"{root}/api/v0/models/{quote(model)}")
            return Window(_first(found, "loaded_context_length"), _first(found, "max_context_length"))
        case _:
            return Window(output=output)


def limits_of(window: Window, *, configured: int | None, is_local: bool) -> ModelLimits:
    """Return the limits to use: the smaller of the reported and the configured ones."""
    assumed = CONTEXT_TOKENS_LOCAL if is_local else CONTEXT_TOKENS_REMOTE
    context = min(
        window.told or configured or assumed,
        configured or window.told or assumed,
        window.trained or window.told or configured or assumed,
    )
    return ModelLimits(context, min(window.output or OUTPUT_TOKENS_MAX, context // 4))


async def _llama_server(ask: Ask, root: str, meta: JsonObject) -> Window:
    settings = as_object((await ask(f"{root}/props")).get("default_generation_settings"))
    return Window(_first(settings, "n_ctx") or _first(meta, "n_ctx"), _first(meta, "n_ctx_train"))


async def _ollama(ask: Ask, root: str, model: str) -> Window:
    shown = await ask(f"{root}/api/show", {"model": model})
    info = as_object(shown.get("model_info"))
    trained = next((_count(value) for key, value in info.items() if key.endswith(".context_length")), None)
    parameters = shown.get("parameters")
    found = re.search(r"^num_ctx\s+(\d+)", parameters, re.MULTILINE) if isinstance(parameters, str) else None
    if found:
        return Window(int(found[1]), trained)
    running = [as_object(item) for item in as_list((await ask(f"{root}/api/ps")).get("models"))]
    # Ollama adds the tag `latest` to a name without one.
    names = (model, f"{model}:latest")
    loaded = [_first(entry, "context_length") for entry in running if entry.get("name") in names]
    return Window(next(iter(loaded), None), trained)


def _first(fields: JsonObject, *names: str) -> int | None:
    return next((count for name in names if (count := _count(fields.get(name)))), None)


def _count(value: JsonValue) -> int | None:
    return int(value) if isinstance(value, (int, float)) and value >= 1 else None
