"""The embedder of the package ragforge-e5, with a small file of weights of the form that `make e5` reads."""

import importlib
import itertools
import os
import struct
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragforge.domain.errors import UsageError
from ragforge.domain.vectors import Vector, check_vector
from ragforge.embedders.base import Embedder, learn_dimensions
from ragforge.embedders.registry import open_embedder
from ragforge.embedders.transformer import Transformer
from ragforge.embedders.unigram import UNKNOWN_LESS, Unigram

PIECES = [
    "<s>",
    "<pad>",
    "</s>",
    "<unk>",
    "▁",
    "▁query",
    ":",
    "▁le",
    "▁chien",
    "▁the",
    "dog",
    "▁dog",
    "s",
    "\x85",
]
SCORES = [0, 0, 0, 0, -3, -4, -3, -4, -5, -3, -6, -5, -4, -9]
WIDTH, INNER, HEADS, LAYERS, POSITIONS, BLOCK = 32, 64, 2, 2, 12, 32
SCRIPTS = Path(__file__).parents[2] / "scripts"


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        monkeypatch.setenv(name, os.environ.get(name, "1"))  # as it is put back after the script set it
    monkeypatch.syspath_prepend(SCRIPTS)
    return importlib.import_module("make_e5")


@pytest.fixture
def package(tmp_path: Path, script: ModuleType, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package as `make e5` makes it, installed."""
    folder = tmp_path / "ragforge_e5"
    arrays, pieces = script.read(made_file()[0])
    script.write(folder, arrays | {"mean": np.full(WIDTH, 0.1, np.float32)}, pieces)
    (folder / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    return folder


def made_file() -> tuple[bytes, dict[str, np.ndarray]]:
    """A file of weights, and the numbers in it by the names that the transformer has for them."""
    random = np.random.default_rng(1)
    tensors: list[tuple[str, int, bytes]] = []

    def exact(name: str, *shape: int) -> np.ndarray:
        made = random.normal(size=shape).astype("<f4")
        tensors.append((name, 0, made.tobytes()))
        return made

    def blocks(name: str, rows: int, columns: int) -> np.ndarray:
        made, data = np.empty((rows, columns), np.float32), b""
        for row, start in itertools.product(range(rows), range(0, columns, BLOCK)):
            factor, numbers = np.float16(random.uniform(0.01, 0.05)), random.integers(0, 16, BLOCK)
            low, high = numbers[: BLOCK // 2], numbers[BLOCK // 2 :]
            data += factor.tobytes() + bytes((low | high << 4).astype(np.uint8))
            made[row, start : start + BLOCK] = (numbers - 8) * np.float32(factor)
        tensors.append((name, 1, data))
        return made

    def norm(name: str) -> np.ndarray:
        return np.stack([exact(f"{name}.w", WIDTH), exact(f"{name}.b", WIDTH)])

    plain = {"words": blocks("emb.word", len(PIECES), WIDTH), "heads": np.array(HEADS)}
    plain["positions"] = exact("emb.pos", POSITIONS, WIDTH) + exact("emb.type", 2, WIDTH)[0]
    plain["norm"] = norm("emb.ln")
    shapes = {"attended": ("ao", WIDTH, WIDTH), "inner": ("fi", INNER, WIDTH), "outer": ("fo", WIDTH, INNER)}
    for number in range(LAYERS):
        plain[f"{number}.attention"] = np.concatenate(
            [blocks(f"l{number}.{each}.w", WIDTH, WIDTH) for each in "qkv"]
        )
        plain[f"{number}.attention.bias"] = np.concatenate(
            [exact(f"l{number}.{each}.b", WIDTH) for each in "qkv"]
        )
        for name, (short, rows, columns) in shapes.items():
            plain[f"{number}.{name}"] = blocks(f"l{number}.{short}.w", rows, columns)
            plain[f"{number}.{name}.bias"] = exact(f"l{number}.{short}.b", rows)
        plain[f"{number}.attended_norm"] = norm(f"l{number}.aln")
        plain[f"{number}.norm"] = norm(f"l{number}.oln")
    return file_of(tensors), plain


def file_of(tensors: list[tuple[str, int, bytes]]) -> bytes:
    texts = [piece.encode() for piece in PIECES]
    ends = [0, *itertools.accumulate(map(len, texts))]
    count = len(PIECES)
    head = b"E5S1" + struct.pack("<I7ifi", 1, WIDTH, LAYERS, HEADS, INNER, count, POSITIONS, 2, 1e-12, BLOCK)
    head += struct.pack("<5iQ", count, 0, 2, 1, 3, ends[-1]) + struct.pack(f"<{count + 1}I", *ends)
    head += struct.pack(f"<{count}f", *SCORES) + b"".join(texts)
    head += struct.pack("<iI", 1, 9) + struct.pack("<IBI", ord("ﬁ"), 1, ord("f"))
    size = len(head) + 4 + sum(2 + len(name) + 21 for name, _, _ in tensors)
    table, data = struct.pack("<i", len(tensors)), b""
    for name, kind, numbers in tensors:
        length = len(numbers) // 18 * BLOCK if kind else len(numbers) // 4
        table += struct.pack("<H", len(name)) + name.encode()
        table += struct.pack("<BIQQ", kind, length, size + len(data), len(numbers))
        data += numbers
    return head + table + data


def opened() -> Embedder:
    return open_embedder("e5", find_key=lambda _: None, endpoints={}, environ={})


def cosine(one: Vector, other: Vector) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))


async def test_vector_is_what_the_model_of_the_file_makes_without_the_mean(package: Path):
    embedder = opened()
    assert (await learn_dimensions(embedder), embedder.name[:3], embedder.remote) == (WIDTH, "e5:", False)
    pieces = ["<s>", "▁query", ":", "▁the", "▁dog", "s", "</s>"]
    [row] = Transformer(made_file()[1]).vectors([[PIECES.index(each) for each in pieces]])
    wanted = row / np.linalg.norm(row) - 0.1
    wanted /= np.linalg.norm(wanted)
    assert np.allclose(await embedder.embed_query("the  dogs\n"), wanted, atol=1e-5)
    assert cosine((await embedder.embed(["the dogs"]))[0], await embedder.embed_query("the dogs")) > 0.999


@pytest.mark.parametrize("text", ["", " \n", "☃", "\ud800", "\x00", "\x85", "x" * 30_000, "dog " * 100])
async def test_any_text_has_a_vector(package: Path, text: str):
    [vector] = await opened().embed([text])
    check_vector(vector, of="the text")
    assert cosine(vector, vector) == pytest.approx(1, abs=1e-5)


async def test_without_the_package_it_is_said_how_to_get_it():
    with pytest.raises(UsageError, match=r"Run `make e5`.*ragforge_e5-\*\.whl"):
        await opened().embed(["dog"])


@pytest.mark.parametrize("damage", ["no words", "cut", "fewer pieces", "no pieces", "no mark for the end"])
async def test_a_damaged_package_is_told_and_what_to_do(package: Path, damage: str):
    words, pieces = package / "words.npy", package / "pieces.txt"
    match damage:
        case "no words":
            words.unlink()
        case "cut":
            words.write_bytes(words.read_bytes()[:200])
        case "fewer pieces":
            pieces.write_text("\n".join(PIECES[:-1]))
        case "no pieces":
            pieces.unlink()
        case _:
            pieces.write_text("\n".join(["x" if each == "</s>" else each for each in PIECES]))
    with pytest.raises(UsageError, match=r"Install ragforge-e5 again"):
        await opened().embed(["dog"])


@pytest.mark.parametrize("damage", ["another file", "blocks of 64"])
def test_a_file_of_another_form_is_refused_by_the_script(script: ModuleType, damage: str):
    data = made_file()[0]
    place = 4 + 4 + 7 * 4 + 4
    other = b"GGUF" + data[4:] if damage == "another file" else data[:place] + b"\x40" + data[place + 1 :]
    with pytest.raises(SystemExit, match="form" if damage == "another file" else "64"):
        script.read(other)


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("le chien", ["▁le", "▁chien"]),
        ("dogs", ["▁dog", "s"]),
        ("ＤＯＧ the\u200bdog", ["▁", "<unk>", "<unk>", "<unk>", "▁the", "▁dog"]),
        ("dog\x07", ["▁dog"]),
        ("\ufeff▁dog ", ["▁dog"]),
        ("", []),
    ],
)
def test_words_are_cut_as_the_vocabulary_says(text: str, pieces: list[str]):
    assert [PIECES[place] for place in Unigram(PIECES, SCORES, unknown=3).of(text)] == pieces


@given(
    st.text("abc", max_size=9), st.dictionaries(st.text("abc", min_size=1, max_size=4), st.integers(-9, -1))
)
def test_no_other_cut_of_a_word_scores_higher(word: str, known: dict[str, int]):
    pieces, scores = ["<unk>", "▁", *known], [0.0, -1.0, *map(float, known.values())]
    unknown = min(scores) - UNKNOWN_LESS

    def score(parts: list[str]) -> float | None:
        each = [scores[pieces.index(part)] if part in pieces else unknown for part in parts]
        return sum(each) if all(len(part) == 1 or part in pieces for part in parts) else None

    def cuts(text: str) -> list[list[str]]:
        if not text:
            return [[]]
        return [[text[:end], *rest] for end in range(1, len(text) + 1) for rest in cuts(text[end:])]

    best = max(found for parts in cuts("▁" + word) if (found := score(parts)) is not None)
    chosen = Unigram(pieces, scores, unknown=0).of(word) if word else []
    made = sum(scores[place] if place else unknown for place in chosen)
    assert made == (best if word else 0.0)
