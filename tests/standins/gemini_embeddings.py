"""Embeddings of the Gemini stand-in, and what it is strict about there, after Google's documentation."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from tests.standins.gemini_checks import Refused, count_tokens
from tests.standins.gemini_replies import Cut, Failure, Hang, HtmlError, Json, Raw, Reply, invalid
from tests.standins.gemini_wire import Recorded, Wire
from tests.standins.vectors import vector_of

BATCH_MAX = 100
DIMENSIONS = 3072
TASK_TYPES = {
    "RETRIEVAL_DOCUMENT", "RETRIEVAL_QUERY", "CODE_RETRIEVAL_QUERY", "SEMANTIC_SIMILARITY",
    "CLASSIFICATION", "CLUSTERING", "QUESTION_ANSWERING", "FACT_VERIFICATION",
}  # fmt: skip

Limits = Mapping[str, tuple[int, int]]
"""Tokens that each model takes and gives."""


def embedding_of(body: Json, model: str, limits: Limits) -> Json:
    """One text's. Raises Refused where the real service would answer 400."""
    text = " ".join(part.get("text", "") for part in body.get("content", {}).get("parts", []))
    if not text:
        raise Refused(invalid("content is empty"))
    tokens, tokens_max = count_tokens(text), limits[model][0]
    if tokens > tokens_max:
        words = (
            f"The input token count ({tokens}) exceeds the maximum number of tokens allowed ({tokens_max})."
        )
        raise Refused(invalid(words))
    if "taskType" in body and model != "gemini-embedding-001":
        raise Refused(invalid(f"task_type is not supported by {model}"))
    if body.get("taskType", "RETRIEVAL_QUERY") not in TASK_TYPES:
        raise Refused(invalid(f"Invalid value at 'task_type': {body['taskType']!r}"))
    dimensions = body.get("outputDimensionality", DIMENSIONS)
    # As published: only the full length comes with length 1.
    scale = 1.0 if dimensions == DIMENSIONS else 0.5
    return {"values": [scale * value for value in vector_of(text, dimensions)]}


def embeddings_of(body: Json, model: str, limits: Limits) -> Json:
    """A batch's. Only the newer model tells how much it read."""
    requests = body.get("requests", [])
    if not 0 < len(requests) <= BATCH_MAX:
        raise Refused(
            invalid(f"* BatchEmbedContentsRequest.requests: at most {BATCH_MAX} requests can be in one batch")
        )
    if any(one.get("model") != f"models/{model}" for one in requests):
        raise Refused(
            invalid("* BatchEmbedContentsRequest.requests[0].model: must match the request's model")
        )
    reply: Json = {"embeddings": [embedding_of(one, model, limits) for one in requests]}
    if model != "gemini-embedding-001":
        reply["usageMetadata"] = {"promptTokenCount": count_tokens([one["content"] for one in requests])}
    return reply


async def scripted(reply: Reply, request: Recorded, wire: Wire) -> Json | None:
    """The body to answer with in place of vectors, or None where the reply has been given."""
    match reply:
        case Failure():
            raise Refused(reply)
        case HtmlError(code):
            request.status = code
            await wire.whole(code, "<html><body><h1>Bad gateway</h1></body></html>")
        case Hang():
            await asyncio.Event().wait()
        case Cut(how):
            await wire.cut(how)
        case Raw(chunk):
            assert isinstance(chunk, dict)
            return chunk
        case _:
            raise AssertionError(f"no reply to a call for embeddings: {reply!r}")
    return None
