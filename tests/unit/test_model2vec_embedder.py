"""Folders of the model2vec form, read by that library."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from model2vec import StaticModel
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace

from ragforge.domain.errors import UsageError
from ragforge.domain.vectors import Vector, check_vector
from ragforge.embedders.base import Embedder
from ragforge.embedders.registry import open_embedder

WORDS = ["[UNK]", "cat", "dog", "car"]
ROWS = [[0, 0, 0, 0], [1, 0.9, 0, 0], [0.9, 1, 0, 0], [0, 0, 2, 3]]


def make_folder(folder: Path, rows: list[list[float]] = ROWS) -> Path:
    tokenizer = Tokenizer(WordLevel({word: place for place, word in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    StaticModel(np.array(rows, np.float32), tokenizer, normalize=True).save_pretrained(folder)
    return folder


def opened(folder: Path) -> Embedder:
    made = open_embedder(f"model2vec:{folder}", find_key=lambda _: None, endpoints={}, environ={})
    assert made is not None
    return made


def cosine(one: Vector, other: Vector) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))


async def test_a_folder_is_an_embedder(tmp_path: Path) -> None:
    embedder = opened(make_folder(tmp_path / "mine"))
    assert embedder.dimensions == 4  # known before anything is loaded
    cat, dog, car = await embedder.embed(["cat", "dog dog", "car"])
    assert cosine(cat, dog) > 0.99
    assert cosine(cat, car) < 0.01
    assert cosine(await embedder.embed_query("dog"), dog) == pytest.approx(1)
    assert await embedder.embed([]) == []


@pytest.mark.parametrize("text", ["", " ", "unheard", "\ud800", "\x00"])
async def test_a_text_of_which_nothing_is_known_has_a_vector(tmp_path: Path, text: str) -> None:
    [vector] = await opened(make_folder(tmp_path / "mine")).embed([text])
    check_vector(vector, of="the text")


async def test_the_name_is_the_models_wherever_its_folder_lies(tmp_path: Path) -> None:
    here = opened(make_folder(tmp_path / "a" / "mine"))
    there = opened(make_folder(tmp_path / "b" / "mine"))
    other = opened(make_folder(tmp_path / "c" / "mine", [*ROWS[:3], [0, 0, 2, 4]]))
    assert here.name == there.name != other.name
    assert here.name.startswith("model2vec:mine-")


async def test_a_folder_that_is_missing_is_not_looked_for_on_the_network(tmp_path: Path) -> None:
    embedder = opened(tmp_path / "minishlab" / "potion-base-8M")
    assert embedder.dimensions == 0
    with pytest.raises(UsageError, match="There is no folder"):
        await embedder.embed(["cat"])


@pytest.mark.parametrize("damage", ["empty", "no tokenizer", "cut", "not numbers"])
async def test_a_folder_that_holds_no_model_is_told(tmp_path: Path, damage: str) -> None:
    folder = make_folder(tmp_path / "mine")
    weights = folder / "model.safetensors"
    match damage:
        case "empty":
            for file in folder.iterdir():
                file.unlink()
        case "no tokenizer":
            (folder / "tokenizer.json").unlink()
        case "cut":
            weights.write_bytes(weights.read_bytes()[:20])
        case _:
            make_folder(folder, [[float("nan")] * 4] * 4)
    embedder = opened(folder)
    with pytest.raises(UsageError, match=str(folder)):
        await embedder.embed(["cat"])


def test_without_the_library_it_is_said_how_to_get_it(tmp_path: Path) -> None:
    make_folder(tmp_path / "mine")
    # A module of that name which cannot be imported stands where the library would be.
    (tmp_path / "model2vec.py").write_text("raise ImportError('not here')")
    script = (
        "import asyncio, sys; from pathlib import Path;"
        "from ragforge.embedders.model2vec import Model2VecEmbedder as M;"
        f"asyncio.run(M(Path({str(tmp_path / 'mine')!r})).embed(['cat']))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert "pip install 'ragforge[model2vec]'" in ran.stderr
