"""Text that arrives in pieces."""

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragforge.domain.text_pieces import TextPieces

any_text = st.text(st.characters(exclude_categories=()), max_size=5)
"""Halves of surrogate pairs are cut in pieces too."""


@given(st.lists(any_text | st.none(), max_size=20))
def test_the_pieces_make_up_the_text(pieces: list[str | None]) -> None:
    collected, text = TextPieces(), ""
    for piece in pieces:  # None: joined in between
        if piece is None:
            assert collected.joined() == text
            continue
        collected.add(piece)
        text += piece
    assert (collected.joined(), collected.chars) == (text, len(text))
    assert collected.joined() is collected.joined()


@pytest.mark.parametrize("chars", [4, 1_000])
def test_pieces_take_little_more_than_their_text(chars: int) -> None:
    text = "abcd" * 50_000
    tracemalloc.start()
    try:
        collected = TextPieces()
        for at in range(0, len(text), chars):
            collected.add(text[at : at + chars])
        arrived, _ = tracemalloc.get_traced_memory()
        collected.joined()
        joined, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert arrived < 1.2 * len(text)
    assert joined < 1.1 * len(text)
    assert peak < 2.3 * len(text)
