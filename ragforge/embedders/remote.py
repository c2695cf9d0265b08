"""An embedder behind a network: texts in batches, truncated to the model's limit; validated answers."""

import asyncio
import math
from array import array
from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct

from ragforge.domain import timeouts
from ragforge.domain.errors import AnswerUnusable, ContextTooLong
from ragforge.domain.usage import Usage
from ragforge.domain.vectors import DIMENSIONS_MAX, Vector
from ragforge.embedders.http import Connection

BYTES_PER_TOKEN = 2
"""English and code have 3 to 4, Chinese 3; what is still too long is halved when the service says so."""
BYTES_MIN = 256
"""If a text was truncated to this, its length is not the reason."""
CHARS_PER_TOKEN = 4
"""For the estimate if a service does not count tokens."""
EMPTY = "(nothing)"
"""Replaces a text without a word: services reject the empty one."""


class Answered(Struct, frozen=True):
    """The vectors of each text in order, and the number of tokens read, if the service reports it."""

    rows: Sequence[Sequence[float]]
    input_tokens: int | None = None


class Wire(Protocol):
    """The protocol of a service. `encode` and `decode` run in a thread."""

    path: str
    texts_max: int
    """In one request."""
    tokens_max: int
    """In one text."""

    def encode(self, texts: Sequence[str], *, is_query: bool) -> bytes:
        """Return the body of the request."""
        ...

    def decode(self, body: bytes) -> Answered:
        """Return the vectors of the answer. Raises ValueError for an invalid one."""
        ...


class RemoteEmbedder:
    """An embedder over a connection. dimensions: 0 if only the first answer says it."""

    remote = True

    def __init__(self, name: str, wire: Wire, connection: Connection, *, dimensions: int = 0) -> None:
        self.name = name
        self.dimensions = dimensions
        self.usage = Usage()
        self._wire = wire
        self._connection = connection
        self._bytes_max = wire.tokens_max * BYTES_PER_TOKEN

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        """Return a vector for each text, requested in batches. Raises ModelError."""
        vectors: list[Vector] = []
        for start in range(0, len(texts), self._wire.texts_max):
            batch = texts[start : start + self._wire.texts_max]
            vectors += await self._ask(batch, is_query=False, attempts_max=timeouts.EMBEDDER_ATTEMPTS_MAX)
        return vectors

    async def embed_query(self, text: str) -> Vector:
        """Return the vector of a query; requested once, because nobody waits long for it."""
        [vector] = await self._ask([text], is_query=True, attempts_max=1)
        return vector

    async def prepare(self) -> None:
        """Load the HTTP library and find the key. Raises ModelError."""
        await self._connection.prepare()

    async def close(self) -> None:
        await self._connection.close()

    async def _ask(self, texts: Sequence[str], *, is_query: bool, attempts_max: int) -> list[Vector]:
        limit = self._bytes_max
        while True:
            shorter = [cut(text, limit) for text in texts]
            body = await asyncio.to_thread(self._wire.encode, shorter, is_query=is_query)
            try:
                answer = await self._connection.post(self._wire.path, body, attempts_max=attempts_max)
            except ContextTooLong:
                longest = max(len(text.encode()) for text in shorter)
                if longest <= BYTES_MIN:
                    raise
                limit = longest // 2
                continue
            vectors = await self._taken(answer, shorter)
            self._bytes_max = min(self._bytes_max, limit)
            return vectors

    async def _taken(self, answer: bytes, texts: Sequence[str]) -> list[Vector]:
        """Return the vectors of an answer, after checking their number and length."""
        answered, vectors = await asyncio.to_thread(self._read, answer, len(texts))
        lengths = {len(vector) for vector in vectors}
        expected = self.dimensions or min(lengths)
        if lengths != {expected} or expected > DIMENSIONS_MAX:
            raise AnswerUnusable(
                f"{self.name} gave vectors of {', '.join(map(str, sorted(lengths)))} numbers; all must have "
                f"{f'{self.dimensions} as before' if self.dimensions else f'at most {DIMENSIONS_MAX}'}. "
                "If the model behind it was changed, start ragforge again; else choose another embedder."
            )
        self.dimensions = expected
        tokens = answered.input_tokens
        if tokens is None:
            tokens = sum(-(-len(text) // CHARS_PER_TOKEN) for text in texts)
        self.usage += Usage(input_tokens=tokens)
        return vectors

    def _read(self, answer: bytes, count: int) -> tuple[Answered, list[Vector]]:
        try:
            answered = self._wire.decode(answer)
        except (ValueError, RecursionError) as error:
            said = " ".join(str(error).split())[:200]
            raise AnswerUnusable(
                f"What {self.name} answered contains no readable vectors ({said})."
            ) from error
        if len(answered.rows) != count:
            raise AnswerUnusable(
                f"{self.name} gave {len(answered.rows)} vectors for {count} texts: none can be trusted."
            )
        return answered, [self._unit(row) for row in answered.rows]

    def _unit(self, row: Sequence[float]) -> Vector:
        length = math.hypot(*row)
        if not (math.isfinite(length) and length > 0):
            raise AnswerUnusable(f"{self.name} returned a vector of zeros or non-finite numbers.")
        return array("f", [value / length for value in row])


def cut(text: str, bytes_max: int) -> str:
    """Return the start of the text in this many bytes, as valid Unicode; EMPTY if there is no word."""
    data = text[:bytes_max].encode("utf-8", "replace")
    return data[:bytes_max].decode("utf-8", "ignore") if text.strip() else EMPTY
