"""Output of programs, made clean however it is cut into pieces."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from ragforge.shell.process_output import OutputBuffer, OutputCleaner

PIECES = [
    *(
        b"text",
        b"\x1b",
        b"[",
        b"31m",
        b"\x1b[0m",
        b"\x1b]0;title\x07",
        b"\x1b]8;;x\x1b\\",
        b"\x1b(B",
        b"\r",
        b"\n",
    ),
    *(
        b"\r\n",
        b"\x00",
        b"\x08",
        b"\xff",
        b"\xc3",
        b"\xa9",
        b"\xe2\x82\xac",
        b"\x9b",
        b"\x1bP",
        b";1m",
        b"\t",
    ),
]
outputs = st.lists(st.sampled_from(PIECES) | st.binary(max_size=4), max_size=12).map(b"".join)


def clean(pieces: list[bytes]) -> str:
    cleaner = OutputCleaner()
    return "".join(cleaner.feed(piece) for piece in pieces) + cleaner.close()


@given(outputs, st.lists(st.integers(0, 60), max_size=5))
def test_the_pieces_in_which_output_arrives_do_not_matter(output: bytes, cuts: list[int]) -> None:
    places = [0, *sorted(cuts), len(output)]
    pieces = [output[start:end] for start, end in itertools.pairwise(places)]
    assert clean(pieces) == clean([output])


@given(outputs)
def test_no_control_character_is_left_but_tab_and_newline(output: bytes) -> None:
    assert all(char in "\n\t" or ord(char) >= 32 for char in clean([output]))
    assert not any(0x7F <= ord(char) <= 0x9F for char in clean([output]))


@given(st.text(st.characters(codec="utf-8", exclude_categories=["C"])))
def test_plain_text_is_left_alone(text: str) -> None:
    assert clean([text.encode()]) == text


def test_an_endless_escape_sequence_does_not_hold_everything_back() -> None:
    cleaner = OutputCleaner()
    said = "".join(cleaner.feed(b"\x1b]0;" + b"x" * 4000) for _ in range(3))
    assert "x" in said


@given(st.lists(st.text("abc", max_size=9), max_size=20), st.integers(0, 10), st.integers(1, 10))
def test_a_buffer_keeps_head_and_tail_and_counts_the_rest(texts: list[str], head: int, tail: int) -> None:
    buffer = OutputBuffer(head_chars_max=head, tail_chars_max=tail)
    for text in texts:
        buffer.append(text)
    whole = "".join(texts)
    said = buffer.text()
    if len(whole) <= head + tail:
        assert said == whole
    else:
        assert said.startswith(whole[:head])
        assert said.endswith(whole[-tail:])
        assert f"{len(whole) - head - tail:,} characters" in said
