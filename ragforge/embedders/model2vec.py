"""Any static model in a model2vec folder, through that library, which is installed separately."""

import asyncio
import hashlib
import os
import threading
from array import array
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

import msgspec

from ragforge.domain.blas import load_numpy
from ragforge.domain.errors import UsageError
from ragforge.domain.json import JsonObject, JsonValue
from ragforge.domain.usage import Usage
from ragforge.domain.vectors import Vector
from ragforge.embedders.base import OwnEmbedder

if TYPE_CHECKING:  # 0.2 s to import, and not everybody has it
    from model2vec import StaticModel

TEXT_CHARS_MAX = 20_000
"""How much of a text is read; the models themselves stop at some hundred words."""
BATCH = 256
EDGE_BYTES = 65_536
"""Of the file's beginning and end, to distinguish models without reading whole files."""
HEADER_BYTES_MAX = 1_000_000

_FILES = ("model.safetensors", "0_StaticEmbedding/model.safetensors")
_TENSORS = ("embeddings", "embedding.weight")


class Model2VecEmbedder:
    """The model of a folder. A text without known words has the vector with all equal numbers.

    name: the folder's name and a fingerprint of the model, wherever the folder is. dimensions: 0 if the file
    cannot be read, which `embed` then reports.
    """

    remote = False
    usage = Usage()

    def __init__(self, folder: Path) -> None:
        self._folder = folder.expanduser()
        file = next((path for name in _FILES if (path := self._folder / name).is_file()), None)
        self.dimensions = 0 if file is None else _dimensions(file)
        self.name = f"model2vec:{self._folder.name}-{'absent' if file is None else _fingerprint(file)}"
        self._model: StaticModel | None = None
        self._loading = threading.Lock()

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        """Return a vector for each text. Raises UsageError if the library or the model is missing."""
        return await asyncio.to_thread(self._embed, texts)

    async def embed_query(self, text: str) -> Vector:
        """Return the same vector as for a stored text."""
        [vector] = await self.embed([text])
        return vector

    async def prepare(self) -> None:
        """Load the library and the model. Raises UsageError."""
        await self.embed([""])

    async def close(self) -> None:
        """Nothing to release."""

    def _embed(self, texts: Sequence[str]) -> list[Vector]:
        with self._loading:
            if self._model is None:
                self._model = _load(self._folder)
        return [
            vector
            for start in range(0, len(texts), BATCH)
            for vector in self._vectors(self._model, texts[start : start + BATCH])
        ]

    def _vectors(self, model: "StaticModel", texts: Sequence[str]) -> list[Vector]:
        import numpy as np

        clean = [text[:TEXT_CHARS_MAX].encode("utf-8", "replace").decode() for text in texts]
        rows = np.asarray(model.encode(clean, use_multiprocessing=False), np.float32)
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        if not np.isfinite(lengths).all():
            raise UsageError(
                f"The model in {self._folder} contains numbers that are not finite. Choose another model."
            )
        rows = np.where(lengths > 0, rows, np.float32(1))
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        self.dimensions = rows.shape[1]
        return [array("f", row.tobytes()) for row in rows]


def _load(folder: Path) -> "StaticModel":
    if not folder.is_dir():
        # The library would look for it on the network.
        raise UsageError(
            f"There is no folder {folder} with a model. memory.embedder must name one after model2vec:, "
            "or be set to static."
        )
    # Its tokenizer otherwise warns on the terminal about threads when a command is started.
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    try:
        load_numpy()
        from model2vec import StaticModel
    except ImportError as error:
        raise UsageError(
            "model2vec models need the library model2vec, which is not installed. Install it with: pip "
            "install 'ragforge[model2vec]'. Or set memory.embedder to static."
        ) from error
    try:
        return StaticModel.from_pretrained(folder, force_download=False)
    except Exception as error:  # whatever its three libraries raise for files of any kind
        said = " ".join(str(error).split())[:200]
        raise UsageError(
            f"The folder {folder} contains no readable model2vec model ({said}). Choose another with "
            "memory.embedder."
        ) from error


def _fingerprint(file: Path) -> str:
    """Return eight letters that differ from those of another model."""
    try:
        with file.open("rb") as opened:
            size = opened.seek(0, os.SEEK_END)
            opened.seek(0)
            digest = hashlib.sha256(f"{size} ".encode() + opened.read(EDGE_BYTES))
            opened.seek(max(0, size - EDGE_BYTES))
            digest.update(opened.read())
    except OSError:
        return "unreadable"
    return digest.hexdigest()[:8]


def _dimensions(file: Path) -> int:
    """Return the width of the table, from the file's header; 0 if it cannot be read."""
    try:
        with file.open("rb") as opened:
            size = int.from_bytes(opened.read(8), "little")
            head: JsonValue = msgspec.json.decode(opened.read(min(size, HEADER_BYTES_MAX)))
    except (OSError, msgspec.DecodeError, RecursionError):
        return 0
    for name in _TENSORS:
        match cast(JsonObject, head).get(name) if isinstance(head, dict) else None:
            case {"shape": [_, int(width)]}:
                return width
            case _:
                continue
    return 0


EMBEDDER = OwnEmbedder(("model2vec:FOLDER",), lambda rest, _: Model2VecEmbedder(Path(rest)))
