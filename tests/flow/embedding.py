"""Embedders behind a network, opened as the settings open them, for tests."""

from ragforge.config.schema import BUILT_IN_ENDPOINTS, Endpoint
from ragforge.embedders.base import Embedder
from ragforge.embedders.registry import open_embedder
from tests.standins.gemini import GeminiStandIn
from tests.standins.openai import OpenAIStandIn

TEXTS = ["The parser reads tokens.", "Tokens are read by the parser.", "Bananas are yellow."]
GEMINI_2 = "gemini:gemini-embedding-2"
GEMINI_1 = "gemini:gemini-embedding-001"


def of_gemini(server: GeminiStandIn, name: str = GEMINI_2, *, key: str | None = None) -> Embedder:
    found = (key or server.key, "GEMINI_API_KEY") if key != "" else None
    environ = {"GOOGLE_GEMINI_BASE_URL": server.url}
    made = open_embedder(name, find_key=lambda _: found, endpoints=BUILT_IN_ENDPOINTS, environ=environ)
    assert made is not None
    return made


def of_openai(server: OpenAIStandIn, *, model: str = "test-model", key: str = "sk-right") -> Embedder:
    endpoint = Endpoint(server.base_url, "MY_KEY" if server.key else None)
    made = open_embedder(
        f"mine:{model}", find_key=lambda _: None, endpoints={"mine": endpoint}, environ={"MY_KEY": key}
    )
    assert made is not None
    return made
