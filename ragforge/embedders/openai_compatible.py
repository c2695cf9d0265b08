"""Embedders behind `POST /embeddings`: OpenAI, Ollama, llama-server, vLLM, LM Studio.

Not tried with the services themselves: it follows their documentation and is tested against a stand-in.
The length of a vector is known only from the first answer, so `dimensions` is 0 until then and not part of
the name; vectors of another length than the newest are never compared with them.
"""

from collections.abc import Callable, Mapping, Sequence
from urllib.parse import urlsplit

import msgspec

from ragforge.config.schema import Endpoint
from ragforge.domain.json import read_in_threads
from ragforge.domain.urls import is_this_machine
from ragforge.domain.usage import tokens_told
from ragforge.embedders.http import Connection
from ragforge.embedders.refusals import Service
from ragforge.embedders.remote import Answered, RemoteEmbedder

TEXTS_MAX = 64
TOKENS_MAX = 8_191
"""OpenAI's limit. Smaller models report that a text is too long, and get shorter ones from then on."""
VERSION = 1
"""Increased with any change of what is put around a text, which now is nothing."""


def open_openai_compatible(
    model: str,
    *,
    name: str,
    endpoint: Endpoint,
    find_key: Callable[[str], tuple[str, str] | None],
    environ: Mapping[str, str],
) -> RemoteEmbedder:
    """Return the embedder of a model of an endpoint."""

    def find() -> tuple[str, str] | None:
        value = environ.get(endpoint.key_env or "", "").strip()
        return find_key(name) or ((value, endpoint.key_env or "") if value else None)

    base_url = endpoint.base_url.rstrip("/")
    connection = Connection(
        Service(name, base_url, model, is_this_machine(urlsplit(base_url).hostname or "")),
        find_key=find,
        key_header="Authorization",
        key_prefix="Bearer ",
        # An endpoint that needs no key gets none, even if one is kept under its name.
        needs_key=endpoint.key_env is not None,
    )
    return RemoteEmbedder(f"{name}:{model}-{VERSION}", _OpenAIWire(model), connection)


class _Row(msgspec.Struct):
    embedding: list[float]
    index: int | None = None


class _Usage(msgspec.Struct):
    prompt_tokens: int = 0


@read_in_threads
class _List(msgspec.Struct):
    data: list[_Row]
    usage: _Usage | None = None


class _OpenAIWire:
    path = "embeddings"
    texts_max = TEXTS_MAX
    tokens_max = TOKENS_MAX

    def __init__(self, model: str) -> None:
        self._model = model

    def encode(self, texts: Sequence[str], *, is_query: bool) -> bytes:
        del is_query  # the protocol makes no difference
        return msgspec.json.encode({"model": self._model, "input": texts, "encoding_format": "float"})

    def decode(self, body: bytes) -> Answered:
        answer = msgspec.json.decode(body, type=_List)
        rows = answer.data
        # Servers that work in parallel may give them in another order, and then number them.
        if {row.index for row in rows} == set(range(len(rows))):
            rows = sorted(rows, key=lambda row: row.index or 0)
        told = tokens_told(answer.usage.prompt_tokens) if answer.usage else 0
        return Answered([row.embedding for row in rows], told or None)
