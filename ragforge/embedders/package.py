"""Embedders whose model is a Python package of its own, computed in NumPy: no network and no key.

The package contains `weights.npz`, the arrays as `ragforge.embedders.transformer` names them, and the files
of its vocabulary.
"""

import asyncio
import importlib.util
import threading
import zipfile
from array import array
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from ragforge.domain.blas import load_numpy
from ragforge.domain.errors import UsageError
from ragforge.domain.usage import Usage
from ragforge.domain.vectors import Vector
from ragforge.embedders.base import OwnEmbedder

if TYPE_CHECKING:
    pass  # it is loaded with the first model, which is late on purpose

WEIGHTS = "weights.npz"
WORDS = "words.npy"
"""The table of pieces, if it is too large for `weights.npz`: only the rows that texts need are read."""
TEXT_CHARS_MAX = 20_000
"""How much of a text is split into pieces; the model reads as many of them as it has positions."""
PIECES_AT_ONCE = 512
"""Texts that are computed together: a quarter or half of a second, after which it can be interrupted."""


class Vocabulary(Struct, frozen=True):
    """A text as the model reads it: indexes of pieces in its table. begin, end: what is put around them."""

    split: Callable[[str], list[int]]
    begin: int
    end: int
    size: int


class PackagedModel(Struct, frozen=True):
    """The differences between one model and another.

    setting: its name in `memory.embedder`. vectors: the name of its vectors. read: its vocabulary, by the
    package's folder and arrays; raises OSError, ValueError or LookupError. prefix: what it needs before each
    text that is stored; query_prefix: before each query.
    """

    setting: str
    vectors: str
    read: "Callable[[Path, dict[str, Any]], Vocabulary]"
    prefix: str = ""
    query_prefix: str = ""

    @property
    def embedder(self) -> OwnEmbedder:
        """Return the embedder of the installed package."""
        return OwnEmbedder((self.setting,), lambda _, parts: PackagedEmbedder(self))


class PackagedEmbedder:
    """Create the embedder for the model in a folder; None is that of the installed package.

    dimensions: 0 until the first text.
    """

    remote = False
    usage = Usage()

    def __init__(self, model: PackagedModel, folder: Path | None = None) -> None:
        self.name = model.vectors
        self._model = model
        self._folder = folder
        self.dimensions = 0

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        """Return a vector for each text. Raises UsageError if the package is missing or damaged."""
        return await self._embed(texts, self._model.prefix)

    async def embed_query(self, text: str) -> Vector:
        """Return the vector of a query. Raises as `embed`."""
        [vector] = await self._embed([text], self._model.query_prefix)
        return vector

    async def prepare(self) -> None:
        """Read the package. Raises UsageError."""
        await asyncio.to_thread(self._load)

    async def close(self) -> None:
        """Do nothing: there is nothing to release."""

    async def _embed(self, texts: Sequence[str], prefix: str) -> list[Vector]:
        loaded = await asyncio.to_thread(self._load)
        vectors: list[Vector] = []
        for pieces in loaded.batches([prefix + text for text in texts]):
            vectors += await asyncio.to_thread(loaded.vectors, pieces)
        return vectors

    def _load(self) -> "_Loaded":
        with _loading:
            loaded = _loaded(self._model, self._folder or _installed(self._model.setting))
        self.dimensions = loaded.dimensions
        return loaded


class _Loaded:
    """The files in memory: the table of pieces as it is stored, the layers in 32 bits."""

    def __init__(self, model: PackagedModel, folder: Path) -> None:
        load_numpy()  # before the transformer's file, which imports it
        import numpy as np

        from ragforge.embedders.transformer import Transformer

        try:
            with np.load(folder / WEIGHTS) as file:
                arrays: dict[str, np.ndarray[Any, Any]] = dict(file)
            if "words" not in arrays:
                arrays["words"] = np.load(folder / WORDS, mmap_mode="r")
            self._vocabulary = model.read(folder, arrays)
            self._transformer = Transformer(arrays)
            self._mean: np.ndarray[Any, Any] | None = arrays.get("mean")
            self.dimensions = self._transformer.dimensions
            self.vectors([[self._vocabulary.size - 1]])
        except (OSError, ValueError, LookupError, EOFError, zipfile.BadZipFile) as error:
            raise UsageError(
                f"The model in {folder} cannot be used ({error}). Install ragforge-{model.setting} again, or "
                "set memory.embedder to static."
            ) from error

    def batches(self, texts: Sequence[str]) -> Iterator[list[list[int]]]:
        """Yield the texts as pieces, as many together as are computed at once."""
        batch: list[list[int]] = []
        count, known = 0, self._vocabulary
        for text in texts:
            pieces = known.split(text[:TEXT_CHARS_MAX])[: self._transformer.pieces_max - 2]
            if batch and count + len(pieces) > PIECES_AT_ONCE:
                yield batch
                batch, count = [], 0
            batch.append([known.begin, *pieces, known.end])
            count += len(batch[-1])
        if batch:
            yield batch

    def vectors(self, texts: Sequence[Sequence[int]]) -> list[Vector]:
        import numpy as np

        rows = self._transformer.vectors(texts)
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        if self._mean is not None:
            rows -= self._mean
            rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        return [array("f", row.tobytes()) for row in rows]


_loading = threading.Lock()


@cache
def _loaded(model: PackagedModel, folder: Path) -> _Loaded:
    """Return the files, read once per process, however many projects are open. Nothing changes them."""
    return _Loaded(model, folder)


def _installed(setting: str) -> Path:
    found = importlib.util.find_spec(f"ragforge_{setting}")
    if found is None or found.origin is None:
        raise UsageError(
            f"The embedder {setting} is a separate package, which is not installed. Run `make {setting}` in "
            f"ragforge's sources, then install dist/ragforge_{setting}-*.whl. Or set memory.embedder to "
            "static."
        )
    return Path(found.origin).parent
