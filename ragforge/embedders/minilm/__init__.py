"""The model all-MiniLM-L6-v2 in 8 bits, from the package `ragforge-minilm`: no network, no key, 23 MB.

It reads words in their order, which the static embedder does not, and takes 100 times as long: 15 ms for a
question, 60 to 110 ms for a turn.
"""

import asyncio
import importlib.util
import threading
import zipfile
from array import array
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from ragforge.domain.blas import load_numpy
from ragforge.domain.errors import UsageError
from ragforge.domain.usage import Usage
from ragforge.domain.vectors import Vector
from ragforge.embedders.base import OwnEmbedder
from ragforge.embedders.static.wordpiece import WordPieces

PACKAGE = "ragforge_minilm"
WEIGHTS, VOCABULARY = "weights.npz", "vocabulary.txt"
TEXT_CHARS_MAX = 20_000
"""What is cut into pieces of a text, of which the model reads the first 256."""
PIECES_AT_ONCE = 512
"""Of texts that are computed together: a quarter of a second, after which the work can be stopped."""
BEGIN, END = "[CLS]", "[SEP]"


class MiniLMEmbedder:
    """The model of a folder; None is that of the installed package.

    dimensions: 0 until the first text.
    """

    name = "minilm:all-minilm-l6-v2-int8-1"
    remote = False
    usage = Usage()

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self.dimensions = 0

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        """A vector for each text. Raises UsageError where the package is missing or damaged."""
        model = await asyncio.to_thread(self._load)
        vectors: list[Vector] = []
        for pieces in model.batches(texts):
            vectors += await asyncio.to_thread(model.vectors, pieces)
        return vectors

    async def embed_query(self, text: str) -> Vector:
        """The same as for a text that is found: the model makes no difference."""
        [vector] = await self.embed([text])
        return vector

    async def prepare(self) -> None:
        """Read the package. Raises UsageError."""
        await asyncio.to_thread(self._load)

    async def close(self) -> None:
        """There is nothing to release."""

    def _load(self) -> "_MiniLM":
        with _loading:
            model = _model(self._folder or _installed())
        self.dimensions = model.dimensions
        return model


class _MiniLM:
    """The files in memory: the table of pieces in 8 bits, the layers in 32."""

    def __init__(self, folder: Path) -> None:
        load_numpy()  # before the transformer's file, which imports it
        import numpy as np

        from ragforge.embedders.minilm.transformer import Transformer

        try:
            pieces = (folder / VOCABULARY).read_text(encoding="utf-8").splitlines()
            with np.load(folder / WEIGHTS) as arrays:
                self._transformer = Transformer(dict(arrays))
            self._begin, self._end = pieces.index(BEGIN), pieces.index(END)
            self.dimensions = self._transformer.dimensions
            self.vectors([[len(pieces) - 1]])
        except (OSError, ValueError, LookupError, EOFError, zipfile.BadZipFile) as error:
            raise UsageError(
                f"The model in {folder} cannot be used ({error}). Install ragforge-minilm again, or set "
                "memory.embedder to static."
            ) from error
        self._pieces = WordPieces(pieces)

    def batches(self, texts: Sequence[str]) -> Iterator[list[list[int]]]:
        """The texts as pieces, as many together as are computed at once."""
        batch: list[list[int]] = []
        count = 0
        for text in texts:
            pieces = self._pieces.of(text[:TEXT_CHARS_MAX])[: self._transformer.pieces_max - 2]
            if batch and count + len(pieces) > PIECES_AT_ONCE:
                yield batch
                batch, count = [], 0
            batch.append([self._begin, *pieces, self._end])
            count += len(batch[-1])
        if batch:
            yield batch

    def vectors(self, texts: Sequence[Sequence[int]]) -> list[Vector]:
        import numpy as np

        rows = self._transformer.vectors(texts)
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        return [array("f", row.tobytes()) for row in rows]


_loading = threading.Lock()


@cache
def _model(folder: Path) -> _MiniLM:
    """The files, read once in a process, however many projects are open in it. Nothing changes them."""
    return _MiniLM(folder)


def _installed() -> Path:
    found = importlib.util.find_spec(PACKAGE)
    if found is None or found.origin is None:
        raise UsageError(
            "The embedder minilm is a separate package, which is not installed. Run `make minilm` in "
            "ragforge's sources, then install dist/ragforge_minilm-*.whl. Or set memory.embedder to static."
        )
    return Path(found.origin).parent


EMBEDDER = OwnEmbedder(("minilm",), lambda _, parts: MiniLMEmbedder())
