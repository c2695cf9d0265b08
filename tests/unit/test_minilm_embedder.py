"""The embedder of the package ragforge-minilm, with a model of the same form that is made here."""

import math
from pathlib import Path

import numpy as np
import pytest

from ragforge.domain.errors import UsageError
from ragforge.domain.vectors import Vector, check_vector
from ragforge.embedders.base import Embedder, learn_dimensions
from ragforge.embedders.package import PIECES_AT_ONCE
from ragforge.embedders.registry import open_embedder

PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "the", "dog", "man", "bit", "##s"]
WIDTH, INNER, HEADS, LAYERS, PIECES_MAX = 8, 16, 2, 2, 12


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package as `make minilm` makes it, installed."""
    folder = tmp_path / "ragforge_minilm"
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "vocabulary.txt").write_text("\n".join(PIECES))
    np.savez(folder / "weights.npz", **made_arrays())
    monkeypatch.syspath_prepend(tmp_path)
    return folder


def made_arrays() -> dict[str, np.ndarray]:
    random = np.random.default_rng(1)
    arrays: dict[str, np.ndarray] = {"heads": np.array(HEADS, np.float32)}

    def exact(name: str, *shape: int) -> None:
        arrays[name] = random.normal(size=shape).astype(np.float32)

    def rounded(name: str, *shape: int) -> None:
        arrays[name] = random.integers(-127, 128, shape).astype(np.int8)
        arrays[f"{name}.scale"] = random.uniform(0.001, 0.01, shape[0]).astype(np.float32)

    rounded("words", len(PIECES), WIDTH)
    exact("positions", PIECES_MAX, WIDTH)
    exact("norm", 2, WIDTH)
    shapes = {"attention": (3 * WIDTH, WIDTH), "attended": (WIDTH, WIDTH), "inner": (INNER, WIDTH)}
    for number in range(LAYERS):
        for name, shape in {**shapes, "outer": (WIDTH, INNER)}.items():
            rounded(f"{number}.{name}", *shape)
            exact(f"{number}.{name}.bias", shape[0])
        exact(f"{number}.attended_norm", 2, WIDTH)
        exact(f"{number}.norm", 2, WIDTH)
    return arrays


def opened() -> Embedder:
    return open_embedder("minilm", find_key=lambda _: None, endpoints={}, environ={})


def cosine(one: Vector, other: Vector) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))


def reference(arrays: dict[str, np.ndarray], pieces: list[int]) -> np.ndarray:
    """The vector of one text, piece by piece and head by head, in 64 bits."""

    def dense(name: str, rows: list[np.ndarray]) -> list[np.ndarray]:
        weight = arrays[name].astype(float) * arrays[f"{name}.scale"][:, None].astype(float)
        return [weight @ row + arrays[f"{name}.bias"] for row in rows]

    def normed(name: str, rows: list[np.ndarray]) -> list[np.ndarray]:
        factors, added = arrays[name].astype(float)
        return [(row - row.mean()) / math.sqrt(row.var() + 1e-12) * factors + added for row in rows]

    def gelu(x: float) -> float:
        return x * (1 + math.erf(x / math.sqrt(2))) / 2

    words = arrays["words"].astype(float) * arrays["words.scale"][:, None].astype(float)
    state = normed("norm", [words[piece] + arrays["positions"][at] for at, piece in enumerate(pieces)])
    width = WIDTH // HEADS
    for number in range(LAYERS):
        parts = [made.reshape(3, HEADS, width) for made in dense(f"{number}.attention", state)]
        attended = []
        for query, _, _ in parts:
            heads = []
            for head in range(HEADS):
                shares = [math.exp(query[head] @ key[head] / math.sqrt(width)) for _, key, _ in parts]
                taken = sum(share * value[head] for share, (_, _, value) in zip(shares, parts, strict=True))
                heads.append(taken / sum(shares))
            attended.append(np.concatenate(heads))
        added = zip(state, dense(f"{number}.attended", attended), strict=True)
        state = normed(f"{number}.attended_norm", [one + more for one, more in added])
        inner = [np.array([gelu(x) for x in row]) for row in dense(f"{number}.inner", state)]
        added = zip(state, dense(f"{number}.outer", inner), strict=True)
        state = normed(f"{number}.norm", [one + more for one, more in added])
    mean = np.mean(state, axis=0)
    return mean / np.linalg.norm(mean)


async def test_vector_is_what_the_model_of_the_package_makes(package: Path):
    embedder = opened()
    assert await learn_dimensions(embedder) == WIDTH
    [vector] = await embedder.embed(["The dogs bit"])
    pieces = [PIECES.index(piece) for piece in ("[CLS]", "the", "dog", "##s", "bit", "[SEP]")]
    assert np.allclose(vector, reference(made_arrays(), pieces), atol=1e-5)
    assert embedder.name.startswith("minilm:")


async def test_text_has_one_vector_alone_and_among_many(package: Path):
    texts = [" ".join(["dog", "man", "bit"][: 1 + number % 3]) for number in range(PIECES_AT_ONCE)]
    embedder = opened()
    many = await embedder.embed(texts)
    assert len(many) == len(texts)
    for text, vector in list(zip(texts, many, strict=True))[-3:]:
        assert cosine(vector, await embedder.embed_query(text)) == pytest.approx(1, abs=1e-6)
    assert await embedder.embed([]) == []


@pytest.mark.parametrize("text", ["", " \n", "☃", "\ud800", "\x00", "unheard of"])
async def test_a_text_of_which_nothing_is_known_has_a_vector(package: Path, text: str):
    vector = await opened().embed_query(text)
    check_vector(vector, of="the text")
    assert cosine(vector, vector) == pytest.approx(1, abs=1e-5)


async def test_long_text_is_read_up_to_the_last_position(package: Path):
    fits = "dog " * (PIECES_MAX - 2)
    one, other = await opened().embed([fits, fits + "man " * 100])
    assert cosine(one, other) == pytest.approx(1, abs=1e-6)


async def test_without_the_package_it_is_said_how_to_get_it():
    with pytest.raises(UsageError, match="make minilm"):
        await opened().embed(["dog"])


@pytest.mark.parametrize("damage", ["no weights", "cut", "a layer is short", "fewer pieces", "no vocabulary"])
async def test_a_damaged_package_is_told_and_what_to_do(package: Path, damage: str):
    weights, vocabulary = package / "weights.npz", package / "vocabulary.txt"
    match damage:
        case "no weights":
            weights.unlink()
        case "cut":
            weights.write_bytes(weights.read_bytes()[:1_000])
        case "a layer is short":
            np.savez(weights, **{name: made for name, made in made_arrays().items() if name != "1.inner"})
        case "fewer pieces":
            vocabulary.write_text("\n".join([*PIECES, "cat"]))
        case _:
            vocabulary.unlink()
    with pytest.raises(UsageError, match=r"Install ragforge-minilm again"):
        await opened().embed(["dog"])
