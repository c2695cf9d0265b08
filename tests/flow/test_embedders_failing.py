"""Embedders whose server refuses, breaks off or answers nonsense, and what is told of it."""

from collections.abc import AsyncIterator

import pytest

from ragforge.config.schema import BUILT_IN_ENDPOINTS
from ragforge.domain.errors import (
    AnswerUnusable,
    ModelOverloaded,
    ModelRefusedKey,
    ModelUnknown,
    ModelUnreachable,
    UsageError,
)
from ragforge.embedders.registry import open_embedder
from tests.flow.embedding import GEMINI_2, TEXTS, of_gemini, of_openai
from tests.standins.gemini import Cut, GeminiStandIn, HtmlError, QuotaPerDay, RateLimited, Raw, ServerError
from tests.standins.openai import End, Failure, OpenAIStandIn
from tests.standins.openai import Raw as RawBytes


@pytest.fixture
async def openai() -> AsyncIterator[OpenAIStandIn]:
    async with OpenAIStandIn(key="sk-right") as server:
        yield server


@pytest.mark.parametrize(
    "failure", [RateLimited(0.0), ServerError(503), HtmlError(502), Cut("rst"), Cut("fin")]
)
async def test_gemini_is_asked_again_when_it_was_busy_or_the_line_broke(
    gemini: GeminiStandIn, failure: object
) -> None:
    gemini.script_embeddings(failure)
    embedder = of_gemini(gemini)
    assert len(await embedder.embed(TEXTS)) == 3
    await embedder.close()
    assert len(gemini.asked("batchEmbedContents")) == 2


async def test_a_question_is_not_asked_again_because_nobody_waits_for_it(gemini: GeminiStandIn) -> None:
    gemini.script_embeddings(ServerError(503))
    embedder = of_gemini(gemini)
    with pytest.raises(ModelOverloaded):
        await embedder.embed_query("parser")
    await embedder.close()
    assert len(gemini.asked("batchEmbedContents")) == 1


async def test_the_quota_of_the_day_is_final(gemini: GeminiStandIn) -> None:
    gemini.script_embeddings(QuotaPerDay())
    embedder = of_gemini(gemini)
    with pytest.raises(ModelOverloaded, match="daily quota"):
        await embedder.embed(TEXTS)
    await embedder.close()
    assert len(gemini.asked("batchEmbedContents")) == 1


async def test_after_three_failures_it_is_told(gemini: GeminiStandIn) -> None:
    gemini.script_embeddings(RateLimited(0.0), RateLimited(0.0), RateLimited(0.0))
    embedder = of_gemini(gemini)
    with pytest.raises(ModelOverloaded, match="Tried 3 times"):
        await embedder.embed(TEXTS)
    await embedder.close()


@pytest.mark.parametrize(
    "body",
    [
        {"embeddings": [{"values": [1.0] * 3072}]},
        {"embeddings": [{"values": [1.0] * 3072}] * 4},
        {"embeddings": [{"values": [1.0] * 768}] * 3},
        {"embeddings": [{"values": [0.0] * 3072}] * 3},
        {"embeddings": [{"values": []}] * 3},
        {"embeddings": [{"values": [float("nan")] * 3072}] * 3},
        {"embeddings": [{"values": [float("inf")] * 3072}] * 3},
        {"embeddings": [{"values": [None] * 3072}] * 3},
        {"embeddings": [{"values": ["1"] * 3072}] * 3},
        {"embeddings": []},
        {"embedding": {"values": [1.0] * 3072}},
        {},
    ],
    ids=lambda body: str(body)[:40],
)
async def test_what_is_no_vector_for_each_text_is_refused(
    gemini: GeminiStandIn, body: dict[str, object]
) -> None:
    gemini.script_embeddings(Raw(body))
    embedder = of_gemini(gemini)
    with pytest.raises(AnswerUnusable):
        await embedder.embed(TEXTS)
    assert len(await embedder.embed(TEXTS)) == 3
    await embedder.close()


@pytest.mark.parametrize("body", ["<html>welcome</html>", "", "[]", {"data": [{"embedding": [1e999]}]}])
async def test_what_is_no_answer_of_an_endpoint_is_refused(openai: OpenAIStandIn, body: object) -> None:
    openai.script_embeddings(Failure(200, body))
    embedder = of_openai(openai)
    with pytest.raises(AnswerUnusable):
        await embedder.embed(TEXTS)
    await embedder.close()


async def test_vectors_too_long_for_a_store_are_refused(openai: OpenAIStandIn) -> None:
    openai.embedding_dimensions = 5_000
    embedder = of_openai(openai)
    with pytest.raises(AnswerUnusable, match="4096"):
        await embedder.embed(TEXTS)
    await embedder.close()


async def test_a_wrong_key_is_told_without_it(gemini: GeminiStandIn, openai: OpenAIStandIn) -> None:
    for embedder in (of_gemini(gemini, key="sk-wrong"), of_openai(openai, key="sk-wrong")):
        with pytest.raises(ModelRefusedKey, match="_KEY") as caught:
            await embedder.embed(TEXTS)
        assert "sk-wrong" not in str(caught.value)
        await embedder.close()


async def test_a_key_that_is_given_later_is_found(gemini: GeminiStandIn) -> None:
    keys: list[tuple[str, str]] = []
    environ = {"GOOGLE_GEMINI_BASE_URL": gemini.url}
    embedder = open_embedder(
        GEMINI_2, find_key=lambda _: keys[-1] if keys else None, endpoints={}, environ=environ
    )
    assert embedder is not None
    with pytest.raises(ModelRefusedKey, match="/model"):
        await embedder.embed(TEXTS)
    for key in ("two words", "wrong"):
        keys.append((key, "the keyring"))
        with pytest.raises(ModelRefusedKey, match="the keyring"):
            await embedder.embed(TEXTS)
    keys.append((gemini.key, "the keyring"))
    assert len(await embedder.embed(TEXTS)) == 3
    await embedder.close()


async def test_a_model_that_is_not_there_is_named(openai: OpenAIStandIn) -> None:
    embedder = of_openai(openai, model="other")
    with pytest.raises(ModelUnknown, match="other"):
        await embedder.embed(TEXTS)
    await embedder.close()


async def test_a_server_that_is_away_is_told_at_once() -> None:
    async with OpenAIStandIn() as server:
        embedder = of_openai(server)
    with pytest.raises(ModelUnreachable, match="Cannot get vectors from mine at http://127"):
        await embedder.embed(TEXTS)
    await embedder.close()


@pytest.mark.parametrize(
    ("variable", "value"),
    [("SSL_CERT_FILE", "/nowhere/ca.pem"), ("HTTPS_PROXY", "socks5://127.0.0.1:9"), ("HTTPS_PROXY", "::")],
)
async def test_an_environment_that_cannot_be_is_told(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str
) -> None:
    monkeypatch.setenv(variable, value)
    environ = {"GOOGLE_GEMINI_BASE_URL": "https://192.0.2.1"}
    embedder = open_embedder(GEMINI_2, find_key=lambda _: ("key", "KEY"), endpoints={}, environ=environ)
    assert embedder is not None
    with pytest.raises(ModelUnreachable, match="SSL_CERT_FILE"):
        await embedder.embed_query("parser")
    await embedder.close()


@pytest.mark.parametrize("url", ["nonsense", "ftp://127.0.0.1", "http://[", "http://127.0.0.1:99999"])
async def test_an_address_that_cannot_be_is_told(url: str) -> None:
    embedder = open_embedder(
        GEMINI_2, find_key=lambda _: ("key", "KEY"), endpoints={}, environ={"GOOGLE_GEMINI_BASE_URL": url}
    )
    assert embedder is not None
    with pytest.raises(ModelUnreachable, match="address"):
        await embedder.embed_query("parser")
    await embedder.close()


async def test_a_line_that_breaks_within_an_answer_is_told(openai: OpenAIStandIn) -> None:
    cut = RawBytes([b'{"data": [{"embedding": [1.0,'], content_type="application/json", end=End.RESET)
    openai.script_embeddings(cut)
    embedder = of_openai(openai)
    with pytest.raises(ModelUnreachable):
        await embedder.embed(TEXTS)
    assert len(await embedder.embed(TEXTS)) == 3
    await embedder.close()


@pytest.mark.parametrize(
    "name", ["gemini", "gemini:", "gemini:gemini-3.8-flash", "nobody:model", "model2vec:", "static:other", ""]
)
def test_a_name_of_no_embedder_is_told_with_those_there_are(name: str) -> None:
    with pytest.raises(UsageError, match="gemini:gemini-embedding-2"):
        open_embedder(name, find_key=lambda _: None, endpoints=BUILT_IN_ENDPOINTS, environ={})
