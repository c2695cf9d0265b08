"""Create ragforge/embedders/static: the output of the model all-MiniLM-L6-v2 for each word piece, in 8 MB.

    python scripts/make_static_embedder.py [--weights FOLDER] [--out FOLDER]

Each of the 30,522 entries of the vocabulary is run through the model alone, as `[CLS] piece [SEP]`; the mean
of the output is its vector. The mean of all is subtracted, the 256 directions in which they differ most are
kept, frequent pieces are shortened (Zipf's law on the vocabulary's order), and the whole is rounded to 8 bits
with one scale. A text is then the sum of the rows of its pieces, and the model is no longer needed.

Takes about a minute on one core. The same machine produces the same bytes; another may round a few values
differently.
"""

import shutil
from pathlib import Path
from typing import Any

from minilm_weights import Array, minilm, np, options

from ragforge.embedders.transformer import Transformer

CLS, SEP = "[CLS]", "[SEP]"
DIMENSIONS = 256
RARE = 1e-4
"""Pieces that are more frequent than this lose most of their weight."""
BATCH = 512

OUT = Path(__file__).resolve().parent.parent / "ragforge" / "embedders" / "static"


def main() -> None:
    chosen = options(__doc__.splitlines()[0], OUT)
    with minilm(chosen.weights) as (arrays, vocabulary):
        pieces = vocabulary.read_text(encoding="utf-8").splitlines()
        rows = _reduce(_encode_alone(Transformer(arrays), pieces))
        chosen.out.mkdir(parents=True, exist_ok=True)
        np.save(chosen.out / "matrix.npy", _to_int8(rows * _rarity(len(pieces))[:, None]))
        shutil.copyfile(vocabulary, chosen.out / "vocabulary.txt")
    print(f"Made {chosen.out / 'matrix.npy'} of {len(pieces)} pieces, {DIMENSIONS} dimensions each.")


def _encode_alone(model: Transformer, pieces: list[str]) -> Array:
    """Return the model's output for each piece between its two marks."""
    cls, sep = pieces.index(CLS), pieces.index(SEP)
    texts = [(cls, piece, sep) for piece in range(len(pieces))]
    return np.concatenate(
        [model.vectors(texts[start : start + BATCH]) for start in range(0, len(texts), BATCH)]
    )


def _reduce(rows: Array) -> Array:
    """Return the rows in the directions in which they differ most, whose signs are fixed."""
    centred = rows.astype(np.float64) - rows.mean(axis=0, dtype=np.float64)
    _, directions = np.linalg.eigh(centred.T @ centred)
    kept = directions[:, ::-1][:, :DIMENSIONS]
    kept = kept * np.sign(kept[np.abs(kept).argmax(axis=0), np.arange(DIMENSIONS)])
    return (centred @ kept).astype(np.float32)


def _rarity(count: int) -> Array:
    """Return a weight for each piece: the vocabulary is in order of frequency, from which Zipf's law gives a
    share."""
    shares = 1 / np.arange(2, count + 2)
    shares /= shares.sum()
    return (RARE / (RARE + shares)).astype(np.float32)


def _to_int8(rows: Array) -> np.ndarray[Any, np.dtype[np.int8]]:
    """Return it rounded, with one scale for all. It is not stored: sums are normalised to length 1."""
    return np.round(rows * (127 / np.abs(rows).max())).astype(np.int8)


if __name__ == "__main__":
    main()
