"""The models that the Gemini stand-in tells of."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import parse_qs, urlsplit

from tests.standins.gemini_replies import Json
from tests.standins.gemini_wire import Recorded

MODELS = {
    "gemini-3.8-flash": (1_048_576, 65_536),
    "gemini-4-carbon": (1_048_576, 65_536),
    "gemini-3.5-flash-lite": (1_048_576, 65_536),
    "gemini-embedding-2": (8_192, 1),
    "gemini-embedding-001": (2_048, 1),
}
"""Tokens that each takes and gives."""


def models_page(request: Recorded, models: Mapping[str, tuple[int, int]]) -> Json:
    """The one that is asked for, or a page of all."""
    if request.model:
        return _model(request.model, models)
    query = parse_qs(urlsplit(request.path).query)
    size = int(query.get("pageSize", ["50"])[0])
    start = int(query.get("pageToken", ["0"])[0])
    names = list(models)
    page: Json = {"models": [_model(name, models) for name in names[start : start + size]]}
    if start + size < len(names):
        page["nextPageToken"] = str(start + size)
    return page


def _model(name: str, models: Mapping[str, tuple[int, int]]) -> Json:
    context_tokens, output_tokens = models[name]
    methods = (
        ["embedContent", "batchEmbedContents"]
        if "embedding" in name
        else ["generateContent", "countTokens", "createCachedContent"]
    )
    return {
        "name": f"models/{name}",
        "version": "001",
        "displayName": name,
        "inputTokenLimit": context_tokens,
        "outputTokenLimit": output_tokens,
        "supportedGenerationMethods": methods,
    }
