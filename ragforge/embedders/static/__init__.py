"""The included embedder: no network, no key, 8 MB.

Each word piece has a row of 256 numbers, distilled from all-MiniLM-L6-v2 by scripts/make_static_embedder.py.
The vector of a text is the sum of its pieces' rows, normalised to length 1. See NOTICE beside this file. A
single text takes 0.1 ms, one of many 0.06 ms.
"""

import asyncio
import itertools
import threading
from array import array
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from ragforge.domain.blas import load_numpy
from ragforge.domain.errors import UsageError
from ragforge.domain.language.words import words_of
from ragforge.domain.usage import Usage
from ragforge.domain.vectors import Vector
from ragforge.embedders.base import OwnEmbedder
from ragforge.embedders.static.wordpiece import WordPieces

FOLDER = Path(__file__).parent
DIMENSIONS = 256
TEXT_CHARS_MAX = 20_000
"""What is read of a text. The mean of so many words hardly moves any more."""

PIECES_AT_ONCE = 4_096
"""How many rows are taken together: 5 MB while they are summed; more would gain little."""
UNKNOWN = "[UNK]"


class StaticEmbedder:
    """Sums of rows. A text without known pieces has the vector of the vocabulary's `[UNK]`."""

    name = "static:minilm-256-2"
    dimensions = DIMENSIONS
    remote = False
    usage = Usage()

    def __init__(self, folder: Path = FOLDER) -> None:
        self._folder = folder

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        """Return a vector for each text. Raises UsageError if the installed file is damaged or missing."""
        return await asyncio.to_thread(self.vectors, texts)

    async def embed_query(self, text: str) -> Vector:
        """Return the vector without stop words, of which questions have many; a sum ignores word order."""
        [vector] = await self.embed([" ".join(words_of(text)) or text])
        return vector

    async def prepare(self) -> None:
        """Read the vocabulary. Raises UsageError."""
        await self.embed([""])

    async def close(self) -> None:
        """Nothing to release."""

    def vectors(self, texts: Sequence[str]) -> list[Vector]:
        """Like `embed`, in this thread. Raises UsageError."""
        with _loading:
            table = _table(self._folder)
        return table.vectors(texts)


class _Table:
    """The mapped file, of which only the rows in use are read."""

    def __init__(self, folder: Path) -> None:
        load_numpy()  # 0.13 s; this is a thread
        import numpy as np

        try:
            pieces = (folder / "vocabulary.txt").read_text(encoding="utf-8").splitlines()
            mapped = np.load(folder / "matrix.npy", mmap_mode="r")
            self._unknown = pieces.index(UNKNOWN)
        except (OSError, ValueError, EOFError) as error:
            raise _damaged(folder, str(error)) from error
        if mapped.shape != (len(pieces), DIMENSIONS) or mapped.dtype != np.int8:
            raise _damaged(folder, f"{len(pieces)} pieces, but a table of {mapped.shape}")
        # A plain view: indexing a memmap costs as much again as the work itself.
        self._rows: np.ndarray[Any, np.dtype[np.int8]] = mapped.view(np.ndarray)
        self._unknown_length = float(np.linalg.norm(self._rows[self._unknown].astype(np.float32)))
        self._pieces = WordPieces(pieces)

    def vectors(self, texts: Sequence[str]) -> list[Vector]:
        vectors: list[Vector] = []
        waiting: list[list[int]] = []
        pieces = 0
        for text in texts:
            waiting.append(self._pieces.of(text[:TEXT_CHARS_MAX]) or [self._unknown])
            pieces += len(waiting[-1])
            if pieces >= PIECES_AT_ONCE:
                vectors += self._sums(waiting)
                waiting, pieces = [], 0
        return vectors + self._sums(waiting) if waiting else vectors

    def _sums(self, places: Sequence[Sequence[int]]) -> list[Vector]:
        """Return a vector for each list of positions. Sums of integers are exact, however they are
        computed."""
        import numpy as np

        rows = self._rows.take(list(itertools.chain.from_iterable(places)), axis=0).astype(np.float32)
        ends = itertools.pairwise([0, *itertools.accumulate(map(len, places))])
        # Slice by slice: `reduceat` goes down the columns, which takes ten times as long.
        sums = np.stack([rows[start:end].sum(axis=0) for start, end in ends])
        lengths = np.sqrt((sums * sums).sum(axis=1, keepdims=True))
        # Opposite pieces may cancel out.
        sums = np.where(lengths > 0, sums, self._rows[self._unknown])
        lengths = np.where(lengths > 0, lengths, self._unknown_length)
        return [array("f", row.tobytes()) for row in (sums / lengths).astype(np.float32)]


_loading = threading.Lock()


@cache
def _table(folder: Path) -> _Table:
    """Return the file, read once per process. It is never changed."""
    return _Table(folder)


def _damaged(folder: Path, said: str) -> UsageError:
    return UsageError(
        f"The embedder's file in {folder} cannot be used ({said}). Install ragforge again, or choose another "
        "with memory.embedder."
    )


EMBEDDER = OwnEmbedder(("static",), lambda _, parts: StaticEmbedder())
