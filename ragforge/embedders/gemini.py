"""Gemini's embedders. No test talks to Google; everything that may differ there is in this module.

Called over HTTP as documented for batchEmbedContents, not through google-genai: that library parses the
answer on the event loop (60 ms for 100 texts), takes 0.4 s to import, and makes one vector of several texts
for gemini-embedding-2 unless each is wrapped. Here every text is a separate request within the batch.
"""

from collections.abc import Callable, Mapping, Sequence

import msgspec
from msgspec import Struct

from ragforge.domain.errors import UsageError
from ragforge.domain.json import read_in_threads
from ragforge.domain.usage import tokens_told
from ragforge.embedders.base import EmbedderParts, OwnEmbedder
from ragforge.embedders.http import Connection
from ragforge.embedders.refusals import Service
from ragforge.embedders.remote import Answered, RemoteEmbedder

BASE_URL = "https://generativelanguage.googleapis.com"
API_VERSION = "v1beta"
DIMENSIONS = 3072
TEXTS_MAX = 50
"""The service takes 100, but decoding blocks every thread, the screen's too: 20 ms for 100 texts."""


class _Model(Struct, frozen=True):
    """What a model needs around a text. version: increased with any change of that, because it changes the
    vectors."""

    tokens_max: int
    document: str
    query: str
    document_task: str = ""
    query_task: str = ""
    version: int = 1


MODELS: Mapping[str, _Model] = {
    "gemini-embedding-2": _Model(8_192, "title: none | text: {}", "task: search result | query: {}"),
    "gemini-embedding-001": _Model(2_048, "{}", "{}", "RETRIEVAL_DOCUMENT", "RETRIEVAL_QUERY"),
}


def open_gemini(
    model: str, *, find_key: Callable[[str], tuple[str, str] | None], base_url: str | None
) -> RemoteEmbedder:
    """Return the embedder of a model. Raises UsageError for an unknown one."""
    known = MODELS.get(model)
    if known is None:
        names = ", ".join(f"gemini:{name}" for name in MODELS)
        raise UsageError(f"Unknown embedder gemini:{model}; available are {names}.")
    service = Service("gemini", (base_url or BASE_URL).rstrip("/"), model)
    connection = Connection(
        service, find_key=lambda: find_key("gemini"), key_header="x-goog-api-key", needs_key=True
    )
    name = f"gemini:{model}-{DIMENSIONS}-{known.version}"
    return RemoteEmbedder(name, _GeminiWire(model, known), connection, dimensions=DIMENSIONS)


def _open(rest: str, parts: EmbedderParts) -> RemoteEmbedder:
    base_url = parts.environ.get("GOOGLE_GEMINI_BASE_URL") or None
    return open_gemini(rest.removeprefix("models/"), find_key=parts.find_key, base_url=base_url)


EMBEDDER = OwnEmbedder(tuple(f"gemini:{model}" for model in MODELS), _open)


class _Row(msgspec.Struct):
    values: list[float]


class _EmbeddingUsage(msgspec.Struct, rename="camel"):
    prompt_token_count: int = 0


@read_in_threads
class _Batch(msgspec.Struct, rename="camel"):
    embeddings: list[_Row]
    usage_metadata: _EmbeddingUsage | None = None


class _GeminiWire:
    texts_max = TEXTS_MAX

    def __init__(self, model: str, known: _Model) -> None:
        self.path = f"{API_VERSION}/models/{model}:batchEmbedContents"
        self.tokens_max = known.tokens_max
        self._model = model
        self._known = known

    def encode(self, texts: Sequence[str], *, is_query: bool) -> bytes:
        form = self._known.query if is_query else self._known.document
        task = self._known.query_task if is_query else self._known.document_task
        requests = [
            {
                "model": f"models/{self._model}",
                "content": {"parts": [{"text": form.replace("{}", text)}]},
                **({"taskType": task} if task else {}),
            }
            for text in texts
        ]
        return msgspec.json.encode({"requests": requests})

    def decode(self, body: bytes) -> Answered:
        batch = msgspec.json.decode(body, type=_Batch)
        told = tokens_told(batch.usage_metadata.prompt_token_count) if batch.usage_metadata else 0
        return Answered([row.values for row in batch.embeddings], told or None)
