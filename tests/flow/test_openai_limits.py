"""How large a window is taken to be, and which models there are, as each kind of server tells it."""

from pathlib import Path

import pytest

from ragforge.domain.errors import ModelRefusedKey
from ragforge.domain.messages import TextPart, UserMessage
from ragforge.providers.base import ModelLimits, ModelRequest
from ragforge.providers.openai_compatible import OpenAICompatibleProvider
from ragforge.providers.openai_compatible.limits import Window, limits_of
from tests.flow.running import environ, opened, say
from tests.standins.openai import Flavour, OpenAIStandIn


async def no_blob(digest: str) -> bytes:
    raise AssertionError(digest)


def provider_for(
    server: OpenAIStandIn, *, configured: int | None = None, model: str = "qwen3:8b"
) -> OpenAICompatibleProvider:
    return OpenAICompatibleProvider(
        model,
        name=server.flavour.value,
        base_url=server.base_url,
        api_key=None,
        key_source="",
        load_blob=no_blob,
        context_tokens_max=configured,
    )


@pytest.mark.parametrize(
    ("flavour", "context_tokens"),
    [
        (Flavour.OPENROUTER, 20_000),
        (Flavour.VLLM, 20_000),
        (Flavour.LLAMA_SERVER, 20_000),
        (Flavour.LM_STUDIO, 20_000),
        (Flavour.OLLAMA, 20_000),
        (Flavour.OPENAI, 8_192),
    ],
)
async def test_the_server_is_believed_where_it_tells(flavour, context_tokens):
    async with OpenAIStandIn(flavour, models=("qwen3:8b", "other"), context_tokens=20_000) as server:
        provider = provider_for(server)
        assert (await provider.limits()).context_tokens_max == context_tokens
        smaller = provider_for(server, configured=4_000)
        assert (await smaller.limits()).context_tokens_max == 4_000
        for made in (provider, smaller):
            await made.close()


async def test_it_is_asked_once():
    async with OpenAIStandIn(Flavour.VLLM, models=("qwen3:8b",)) as server:
        provider = provider_for(server)
        assert await provider.limits() == await provider.limits() == ModelLimits(32_768, 8_192)
        assert len(server.requests) == 1
        await provider.close()


async def test_ollama_is_asked_again_after_an_answer_until_the_model_is_loaded():
    async with OpenAIStandIn(
        Flavour.OLLAMA, models=("qwen3:8b",), context_tokens=4_096, loaded=False
    ) as server:
        provider = provider_for(server)
        asked = list[int]()
        for loaded in (False, True, True):
            server.loaded = loaded
            server.requests.clear()
            for _ in range(2):
                assert (await provider.limits()).context_tokens_max == (4_096 if loaded else 8_192)
            asked.append(sum(seen.path.endswith("/api/show") for seen in server.requests))
            async for _ in provider.stream(ModelRequest("", (UserMessage((TextPart("Hello"),)),))):
                pass
        assert asked == [1, 1, 0]
        await provider.close()


async def test_a_turn_asks_for_a_window_that_nobody_tells_once_before_its_request(tmp_path: Path):
    config = tmp_path / "config" / "config.toml"
    config.parent.mkdir()
    async with OpenAIStandIn() as server:
        config.write_text(f'[endpoints.here]\nbase_url = "{server.base_url}"\n')
        async with opened(tmp_path, environ(tmp_path, RAGFORGE_MODEL="here:test-model")) as session:
            await say(session, "Hello")
            paths = [seen.path for seen in server.requests]
        assert paths[: paths.index("/v1/chat/completions")] == ["/v1/models"]


async def test_a_server_without_any_such_address_gets_what_is_configured():
    async with OpenAIStandIn(Flavour.OPENAI) as server:
        provider = OpenAICompatibleProvider(
            "m",
            name="mine",
            base_url=server.base_url.replace("/v1", "/nothing"),
            api_key=None,
            key_source="",
            load_blob=no_blob,
            context_tokens_max=50_000,
        )
        assert (await provider.limits()).context_tokens_max == 50_000
        await provider.close()


async def test_a_refused_key_is_told_when_limits_are_asked():
    async with OpenAIStandIn(key="right") as server:
        with pytest.raises(ModelRefusedKey):
            await provider_for(server).limits()


@pytest.mark.parametrize(
    ("window", "configured", "is_local", "expected"),
    [
        (Window(), None, True, 8_192),
        (Window(), None, False, 128_000),
        (Window(), 64_000, True, 64_000),
        (Window(trained=4_096), None, True, 4_096),
        (Window(trained=262_144), None, True, 8_192),
        (Window(trained=262_144), 32_000, True, 32_000),
        (Window(told=16_000, trained=262_144), None, True, 16_000),
        (Window(told=16_000), 64_000, True, 16_000),
        (Window(told=16_000), 8_000, False, 8_000),
    ],
)
def test_the_smallest_of_what_is_known_counts(window, configured, is_local, expected):
    limits = limits_of(window, configured=configured, is_local=is_local)
    assert limits.context_tokens_max == expected
    assert 0 < limits.output_tokens_max <= expected // 4


async def test_the_models_are_listed_by_name():
    async with OpenAIStandIn(Flavour.OLLAMA, models=("qwen3:8b", "gemma:2b")) as server:
        provider = provider_for(server)
        assert await provider.models() == ["gemma:2b", "qwen3:8b"]
        await provider.close()
