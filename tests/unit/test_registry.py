"""Names of models, and which provider they open."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragforge.config.schema import BUILT_IN_ENDPOINTS, Endpoint
from ragforge.domain.errors import ModelRefusedKey, RagforgeError, UsageError
from ragforge.domain.search import Hit
from ragforge.providers.base import ProviderParts
from ragforge.providers.gemini import GeminiProvider
from ragforge.providers.local import LocalProvider
from ragforge.providers.openai_compatible import OpenAICompatibleProvider
from ragforge.providers.registry import ModelName, open_provider, parse_model, provider_names

ENDPOINTS = {**BUILT_IN_ENDPOINTS, "office": Endpoint("https://models.example/v1", "OFFICE_KEY", 50_000)}


async def no_blob(digest: str) -> bytes:
    raise AssertionError(digest)


async def no_search(text: str, limit: int) -> list[Hit]:
    return []


def parts(
    keys: dict[str, tuple[str, str]] | None = None, environ: dict[str, str] | None = None
) -> ProviderParts:
    return ProviderParts(
        find_key=(keys or {}).get,
        load_blob=no_blob,
        search=no_search,
        endpoints=ENDPOINTS,
        environ=environ or {},
    )


def test_these_providers_are_found():
    named = {"gemini", "llama-server", "lmstudio", "local", "ollama", "openai", "openrouter", "vllm"}
    assert named <= set(provider_names())
    assert "office" in provider_names(ENDPOINTS)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("gemini:gemini-3.8-flash", ModelName("gemini", "gemini-3.8-flash")),
        ("gemini-3.8-flash", ModelName("gemini", "gemini-3.8-flash")),
        (" Ollama:qwen3:8b ", ModelName("ollama", "qwen3:8b")),
        ("openrouter:qwen/qwen3-coder:free", ModelName("openrouter", "qwen/qwen3-coder:free")),
        ("vllm:Qwen/Qwen3-8B", ModelName("vllm", "Qwen/Qwen3-8B")),
        ("local", ModelName("local", "")),
        ("local:search", ModelName("local", "")),
    ],
)
def test_a_name_is_the_provider_and_all_that_follows(text, name):
    assert parse_model(text) == name
    assert parse_model(str(name)) == name


@pytest.mark.parametrize("text", ["", ":", "ollama", "ollama:", ":x", "qwen3", "ollama:two words", "a\nb:c"])
def test_what_is_no_name_says_how_to_write_one(text):
    with pytest.raises(UsageError, match="Write provider:name") as caught:
        parse_model(text)
    assert "ollama" in str(caught.value)


@given(st.text(max_size=30))
def test_any_text_is_a_name_that_parses_to_itself_or_an_error(text):
    try:
        name = parse_model(text, endpoints=ENDPOINTS)
    except RagforgeError:
        return
    assert parse_model(str(name), endpoints=ENDPOINTS) == name


def test_an_unknown_provider_says_which_there_are():
    with pytest.raises(
        UsageError, match=r"Unknown provider 'qwen3'; available are gemini, .*office.*ollama:qwen3:8b"
    ):
        parse_model("qwen3:8b", endpoints=ENDPOINTS)
    with pytest.raises(UsageError, match="Unknown provider 'qwen3'"):
        open_provider(parse_model("qwen3:8b"), parts=parts())


def test_each_name_opens_its_provider():
    keys = {"gemini": ("g-key", "GEMINI_API_KEY"), "office": ("o-key", "the keyring")}
    made = [
        open_provider(parse_model(text), parts=parts(keys))
        for text in ("gemini-3.8-flash", "local", "ollama:qwen3:8b", "office:big")
    ]
    assert [type(provider.inner) for provider in made] == [
        GeminiProvider,
        LocalProvider,
        OpenAICompatibleProvider,
        OpenAICompatibleProvider,
    ]
    assert [(provider.name, provider.model) for provider in made] == [
        ("gemini", "gemini-3.8-flash"),
        ("local", "search"),
        ("ollama", "qwen3:8b"),
        ("office", "big"),
    ]


@pytest.mark.parametrize(
    ("text", "where"), [("gemini-3.8-flash", "aistudio.google.com"), ("office:big", "OFFICE_KEY")]
)
def test_a_missing_key_says_where_to_put_one(text, where):
    with pytest.raises(ModelRefusedKey, match=where):
        open_provider(parse_model(text), parts=parts())


def test_an_endpoints_own_variable_holds_its_key():
    assert open_provider(parse_model("office:big"), parts=parts(environ={"OFFICE_KEY": "k"})).name == "office"
