"""Embedders behind a network, over real HTTP against stand-ins that are strict about what they are asked."""

import asyncio
import threading
from collections.abc import AsyncIterator

import pytest

from ragforge.domain.errors import AnswerUnusable, ContextTooLong
from ragforge.domain.vectors import Vector, check_vector
from ragforge.embedders.base import learn_dimensions
from ragforge.embedders.registry import open_embedder
from tests.flow.embedding import GEMINI_1, GEMINI_2, TEXTS, of_gemini, of_openai
from tests.standins.gemini import GeminiStandIn, Hang
from tests.standins.openai import Failure, Flavour, OpenAIStandIn


@pytest.fixture
async def openai() -> AsyncIterator[OpenAIStandIn]:
    async with OpenAIStandIn(key="sk-right") as server:
        yield server


def cosine(one: Vector, other: Vector) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))


async def test_gemini_gives_each_text_a_vector_of_its_own(gemini: GeminiStandIn) -> None:
    embedder = of_gemini(gemini)
    vectors = await embedder.embed(TEXTS)
    query = await embedder.embed_query("parser tokens")
    await embedder.close()
    assert [len(vector) for vector in vectors] == [3072] * 3
    assert cosine(query, vectors[0]) > cosine(query, vectors[2])
    documents, asked = gemini.asked("batchEmbedContents")
    assert [one["content"]["parts"] for one in documents.body["requests"]] == [
        [{"text": f"title: none | text: {text}"}] for text in TEXTS
    ]
    [one] = asked.body["requests"]
    assert one["content"]["parts"] == [{"text": "task: search result | query: parser tokens"}]
    assert "taskType" not in one
    assert embedder.name == "gemini:gemini-embedding-2-3072-1"


async def test_the_older_gemini_is_told_the_task(gemini: GeminiStandIn) -> None:
    embedder = of_gemini(gemini, GEMINI_1)
    await embedder.embed(["{} braces"])
    await embedder.embed_query("braces")
    await embedder.close()
    documents, query = (request.body["requests"] for request in gemini.asked("batchEmbedContents"))
    assert documents[0]["taskType"] == "RETRIEVAL_DOCUMENT"
    assert documents[0]["content"]["parts"] == [{"text": "{} braces"}]
    assert query[0]["taskType"] == "RETRIEVAL_QUERY"


async def test_many_texts_go_in_batches_and_come_back_in_order(
    gemini: GeminiStandIn, openai: OpenAIStandIn
) -> None:
    texts = [f"word{number}" for number in range(150)]
    for embedder in (of_gemini(gemini), of_openai(openai)):
        vectors = await embedder.embed(texts)
        [alone] = await embedder.embed([texts[149]])
        await embedder.close()
        assert len(vectors) == 150
        assert cosine(vectors[149], alone) == pytest.approx(1, abs=1e-5)
    sizes = [len(request.body["requests"]) for request in gemini.asked("batchEmbedContents")]
    assert sum(sizes) == 151
    assert max(sizes) <= 100
    assert [len(body["input"]) for body in openai.embeddings] == [64, 64, 22, 1]


@pytest.mark.parametrize("name", [GEMINI_1, GEMINI_2])
@pytest.mark.parametrize("text", ["", " \n", "\ud800", "\x00", "☃"])
async def test_gemini_gets_no_text_that_it_refuses(gemini: GeminiStandIn, name: str, text: str) -> None:
    embedder = of_gemini(gemini, name)
    for vector in [*await embedder.embed([text]), await embedder.embed_query(text)]:
        check_vector(vector, of="the text")
    await embedder.close()


@pytest.mark.parametrize("text", ["", " \n", "\ud800", "\x00"])
async def test_an_endpoint_gets_no_text_that_it_refuses(openai: OpenAIStandIn, text: str) -> None:
    embedder = of_openai(openai)
    check_vector(await embedder.embed_query(text), of="the text")
    await embedder.close()


async def test_long_texts_are_cut_to_what_the_model_takes(gemini: GeminiStandIn) -> None:
    embedder = of_gemini(gemini, GEMINI_1)
    await embedder.embed(["word " * 100_000, "汉" * 100_000])
    await embedder.close()
    [request] = gemini.asked("batchEmbedContents")
    for one in request.body["requests"]:
        assert 1_000 < len(one["content"]["parts"][0]["text"].encode()) <= 2 * 2_048


async def test_a_model_with_a_small_window_gets_shorter_texts_from_then_on(openai: OpenAIStandIn) -> None:
    too_long = Failure(500, {"error": {"message": "input is too large to process. increase the batch size"}})
    openai.script_embeddings(too_long, too_long)
    embedder = of_openai(openai)
    await embedder.embed(["word " * 10_000])
    await embedder.embed(["word " * 10_000])
    await embedder.close()
    sizes = [len(body["input"][0]) for body in openai.embeddings]
    assert sizes == [16_382, 8_191, 4_095, 4_095]


async def test_a_server_that_always_says_too_long_is_told_and_has_no_lasting_effect(
    openai: OpenAIStandIn,
) -> None:
    too_long = Failure(400, {"error": {"message": "This model's maximum context length is 0 tokens."}})
    openai.script_embeddings(*[too_long] * 7)
    embedder = of_openai(openai)
    with pytest.raises(ContextTooLong):
        await embedder.embed(["word " * 10_000])
    await embedder.embed(["word " * 10_000])
    await embedder.close()
    sizes = [len(body["input"][0]) for body in openai.embeddings]
    assert sizes == [16_382, 8_191, 4_095, 2_047, 1_023, 511, 255, 16_382]


async def test_usage_is_what_is_told_else_an_estimate(gemini: GeminiStandIn) -> None:
    for name in (GEMINI_2, GEMINI_1):
        embedder = of_gemini(gemini, name)
        await embedder.embed(["x" * 400])
        await embedder.embed_query("x" * 400)
        await embedder.close()
        assert 200 <= embedder.usage.input_tokens <= 225
        assert embedder.usage.output_tokens == 0
    async with OpenAIStandIn(Flavour.LLAMA_SERVER) as server:
        embedder = of_openai(server)
        await embedder.embed(["x" * 400])
        await embedder.close()
        assert embedder.usage.input_tokens == 100


async def test_what_was_loaded_for_a_question_that_was_left_serves_the_next(gemini: GeminiStandIn) -> None:
    found: list[str] = []
    looking = threading.Event()
    go_on = threading.Event()

    def find_key(_: str) -> tuple[str, str]:
        looking.set()
        go_on.wait(10)
        found.append("once")
        return gemini.key, "the keyring"

    environ = {"GOOGLE_GEMINI_BASE_URL": gemini.url}
    embedder = open_embedder(GEMINI_2, find_key=find_key, endpoints={}, environ=environ)
    assert embedder is not None
    asking = asyncio.create_task(embedder.embed_query("parser"))
    await asyncio.to_thread(looking.wait, 10)
    asking.cancel()
    await asyncio.wait([asking])
    go_on.set()
    await embedder.prepare()
    assert gemini.requests == []
    await embedder.embed_query("parser")
    await embedder.close()
    assert found == ["once"]


async def test_leaving_a_question_ends_its_connection(gemini: GeminiStandIn) -> None:
    gemini.script_embeddings(Hang())
    embedder = of_gemini(gemini)
    asking = asyncio.create_task(embedder.embed_query("parser"))
    [request] = await gemini.wait_for_requests(1, action="batchEmbedContents")
    asking.cancel()
    async with asyncio.timeout(180):
        await request.hung_up.wait()
    assert len(await embedder.embed(TEXTS)) == 3
    await embedder.close()


async def test_vectors_are_brought_to_length_1(openai: OpenAIStandIn) -> None:
    openai.script_embeddings(Failure(200, {"data": [{"embedding": [3.0, 4.0]}, {"embedding": [1e-9, 0.0]}]}))
    embedder = of_openai(openai)
    vectors = await embedder.embed(TEXTS[:2])
    await embedder.close()
    assert [list(vector) for vector in vectors] == [pytest.approx([0.6, 0.8]), [1.0, 0.0]]


async def test_vectors_in_another_order_are_put_right(openai: OpenAIStandIn) -> None:
    rows = [{"index": index, "embedding": [float(index + 1), 0.0, 1.0]} for index in range(3)]
    openai.script_embeddings(Failure(200, {"data": rows[::-1]}))
    embedder = of_openai(openai)
    vectors = await embedder.embed(TEXTS)
    await embedder.close()
    assert [vector[0] for vector in vectors] == sorted(vector[0] for vector in vectors)


async def test_the_length_of_vectors_is_learned_and_then_kept_to(openai: OpenAIStandIn) -> None:
    embedder = of_openai(openai)
    before = embedder.name
    assert embedder.dimensions == 0
    assert await learn_dimensions(embedder) == 64 == embedder.dimensions
    assert embedder.name == before == "mine:test-model-1"
    assert await learn_dimensions(embedder) == 64
    assert len(openai.embeddings) == 1
    openai.embedding_dimensions = 32
    with pytest.raises(AnswerUnusable, match="64 as before"):
        await embedder.embed(TEXTS)
    await embedder.close()


async def test_an_endpoint_without_a_key_gets_none() -> None:
    async with OpenAIStandIn() as server:
        embedder = of_openai(server)
        await embedder.embed(TEXTS)
        await embedder.close()
        assert "authorization" not in server.requests[-1].headers
