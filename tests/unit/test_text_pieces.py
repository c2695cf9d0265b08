"""Text that arrives in pieces."""

import tracemalloc

from hypothesis import given
from hypothesis import strategies as st

from ragforge.domain.text_pieces import PIECES_MAX, TextPieces


@given(st.lists(st.text(max_size=5) | st.none(), max_size=20), st.sampled_from([1, PIECES_MAX]))
def test_the_pieces_make_up_the_text(pieces: list[str | None], times: int) -> None:
    collected, text = TextPieces(), ""
    for piece in pieces:  # None: joined in between
        if piece is None:
            assert collected.joined() == text
            continue
        for _ in range(times):
            collected.add(piece)
        text += piece * times
    assert (collected.joined(), collected.chars) == (text, len(text))
    assert collected.joined() is collected.joined()


def test_small_pieces_take_little_more_than_their_text() -> None:
    collected, text = TextPieces(), "abcd" * 50_000
    tracemalloc.start()
    try:
        for at in range(0, len(text), 4):
            collected.add(text[at : at + 4])
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 2 * len(text)
