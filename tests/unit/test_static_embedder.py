"""The embedder that ships: what it makes of texts, good and bad."""

import math
import shutil
import subprocess
import sys
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ragforge.domain.errors import UsageError
from ragforge.domain.vectors import Vector, check_vector
from ragforge.embedders.static import DIMENSIONS, FOLDER, TEXT_CHARS_MAX, StaticEmbedder
from ragforge.embedders.static.wordpiece import WordPieces, split_words

PIECES = ["[UNK]", "un", "##aff", "##able", "we", "##ll", "!", "中", "cafe", "e", "a"]


def cosine(one: Vector, other: Vector) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))


@pytest.fixture(scope="module")
def embedder() -> StaticEmbedder:
    return StaticEmbedder()


async def test_texts_that_mean_alike_are_nearer_than_others(embedder: StaticEmbedder) -> None:
    query = await embedder.embed_query("Which database did we choose?")
    alike, other = await embedder.embed(
        ["We picked PostgreSQL as our SQL storage engine.", "The cat sleeps on the warm roof."]
    )
    assert cosine(query, alike) > cosine(query, other) + 0.1


async def test_a_text_has_one_vector_alone_and_among_many(embedder: StaticEmbedder) -> None:
    texts = [f"text {number} about the parser" for number in range(300)]
    many = await embedder.embed(texts)
    [alone] = await embedder.embed([texts[217]])
    assert many[217] == alone


async def test_a_question_is_compared_without_its_stop_words(embedder: StaticEmbedder) -> None:
    question, alone = "What is it that the parser doesn't read?", "Who are you?"
    assert [await embedder.embed_query(question)] == await embedder.embed(["parser read"])
    assert [await embedder.embed_query(alone)] == await embedder.embed([alone])


@pytest.mark.parametrize("text", ["", " \n", "\x00\x07", "ᚠᚢᚦ" * 50, "☃", "\ud800", "x" * 101])
async def test_a_text_of_which_nothing_is_known_has_a_vector(embedder: StaticEmbedder, text: str) -> None:
    [vector] = await embedder.embed([text])
    check_vector(vector, of="the text")
    assert cosine(vector, vector) == pytest.approx(1, abs=1e-5)


async def test_a_book_is_read_up_to_a_limit(embedder: StaticEmbedder) -> None:
    start = "word " * (TEXT_CHARS_MAX // 5)
    cut, whole = await embedder.embed([start, start + "database " * 1_000_000])
    assert cut == whole


async def test_many_long_texts_take_little_memory(embedder: StaticEmbedder) -> None:
    await embedder.embed(["warm"])
    texts = ["the parser reads tokens, and then some. " * 500] * 40
    tracemalloc.start()
    try:
        await embedder.embed(texts)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 40_000_000


async def test_nothing_in_nothing_out(embedder: StaticEmbedder) -> None:
    assert await embedder.embed([]) == []


@given(st.lists(st.text(max_size=60), max_size=5))
@example(["\u0130", "ß", "\ufffd"])
async def test_every_text_has_a_vector_of_length_1(embedder: StaticEmbedder, texts: list[str]) -> None:
    vectors = await embedder.embed(texts)
    assert len(vectors) == len(texts)
    for vector in vectors:
        assert vector.typecode == "f"
        assert len(vector) == DIMENSIONS == embedder.dimensions
        assert math.isclose(cosine(vector, vector), 1, abs_tol=1e-5)


@given(st.text(alphabet=st.characters(codec="ascii"), max_size=60), st.text(max_size=60))
async def test_case_accents_and_the_space_around_make_no_difference(
    embedder: StaticEmbedder, ascii_text: str, text: str
) -> None:
    lower, upper, spaced = await embedder.embed(
        [ascii_text.lower(), ascii_text.upper(), f"\n {ascii_text.lower()}\t"]
    )
    assert lower == upper == spaced
    decomposed, composed = await embedder.embed([f"{text} cafe\u0301", f"{text} café"])
    assert decomposed == composed


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("unaffable", ["un", "##aff", "##able"]),
        ("UNAFFABLE we'll", ["un", "##aff", "##able", "we"]),  # "'" and "ll" are unknown, and left out
        ("weUnaffable", ["we", "un", "##aff", "##able"]),
        ("we!we", ["we", "!", "we"]),
        ("中we中", ["中", "we", "中"]),
        ("café CAFE\u0301", ["cafe", "cafe"]),
        ("wello", []),  # one piece is missing, so the whole word is
        ("we\u00adll", ["we", "##ll"]),  # a soft hyphen is not seen
        ("we\u00a0we", ["we", "we"]),
        ("we\x00ll", ["we", "##ll"]),
        ("", []),
    ],
)
def test_words_are_the_longest_pieces_from_the_left(text: str, pieces: list[str]) -> None:
    assert [PIECES[place] for place in WordPieces(PIECES).of(text)] == pieces


@given(st.text())
def test_words_hold_no_space_and_no_capital(text: str) -> None:
    for word in split_words(text):
        assert not any(char.isspace() and char < "\x80" for char in word)
        assert not any("A" <= char <= "Z" for char in word)


@given(st.text(alphabet=st.characters(codec="ascii")))
def test_ascii_is_split_as_any_other_text(text: str) -> None:
    # An ideograph makes the general way be taken.
    assert [*split_words(text), "中"] == [word for word in split_words(f"{text} 中") if word]


@pytest.mark.parametrize("damage", ["no file", "cut", "another shape", "no vocabulary", "text"])
async def test_a_damaged_file_is_told_and_what_to_do(tmp_path: Path, damage: str) -> None:
    import numpy as np

    folder = tmp_path / "static"
    shutil.copytree(FOLDER, folder, ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    matrix = folder / "matrix.npy"
    match damage:
        case "no file":
            matrix.unlink()
        case "cut":
            matrix.write_bytes(matrix.read_bytes()[:1_000])
        case "another shape":
            np.save(matrix, np.ones((5, 5), np.int8))
        case "no vocabulary":
            (folder / "vocabulary.txt").unlink()
        case _:
            matrix.write_bytes(b"not a matrix")
    with pytest.raises(UsageError, match=r"memory\.embedder"):
        await StaticEmbedder(folder).embed(["text"])


def test_nothing_slow_is_loaded_before_the_first_text() -> None:
    script = (
        "import ragforge.embedders.registry as r, sys;"
        "print(r.open_embedder('static', find_key=lambda _: None, endpoints={}, environ={}).name);"
        "print([n for n in ('numpy', 'google', 'httpx2', 'model2vec', 'tokenizers') if n in sys.modules])"
    )
    said = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert said == "static:minilm-256-2\n[]\n"
