"""Create packages/minilm/ragforge_minilm: the model all-MiniLM-L6-v2 in 8 bits, in 23 MB.

    python scripts/make_minilm.py [--weights FOLDER] [--out FOLDER]

Each matrix is rounded to 8 bits, with a scale for each of its rows; the rest stays in 32. `make minilm`
builds a wheel from it. Takes some seconds.
"""

import shutil
from pathlib import Path

from minilm_weights import Array, minilm, np, options

OUT = Path(__file__).resolve().parent.parent / "packages" / "minilm" / "ragforge_minilm"
EXACT = ("positions", "norm", ".attended_norm", ".norm", ".bias", "heads")


def main() -> None:
    chosen = options(__doc__.splitlines()[0], OUT)
    with minilm(chosen.weights) as (arrays, vocabulary):
        made: dict[str, np.ndarray] = {}
        for name, array in arrays.items():
            if name.endswith(EXACT):
                made[name] = array
            else:
                made[name], made[f"{name}.scale"] = to_int8(array)
        chosen.out.mkdir(parents=True, exist_ok=True)
        np.savez(chosen.out / "weights.npz", **made)
        shutil.copyfile(vocabulary, chosen.out / "vocabulary.txt")
    size = (chosen.out / "weights.npz").stat().st_size
    print(f"Made {chosen.out / 'weights.npz'}, {size / 1e6:.1f} MB.")


def to_int8(rows: Array) -> tuple[np.ndarray, Array]:
    """Return the rounded matrix, and the factor of each row."""
    scales = np.abs(rows).max(axis=1) / np.float32(127)
    return np.round(rows / scales[:, None]).astype(np.int8), scales


if __name__ == "__main__":
    main()
