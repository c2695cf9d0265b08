"""Names that are made of several words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragforge.domain.compounds import parts_of, spaced, split_compound


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("SessionStore", ["Session", "Store"]),
        ("see maxResults, and maxResults2Go", ["max", "Results", "Results2", "Go"]),
        ("an HTTPServer of parseURL", ["HTTP", "Server", "parse", "URL"]),
        ("my_fooBar.txt", ["foo", "Bar"]),
        ("iPhone", ["Phone"]),  # a letter alone says nothing
        ("utf8Decoder, sha256", ["utf8", "Decoder"]),
        ("plain words, CAPITALS and Titles_here: café", []),
        ("aBc", []),
        ("a" * 60 + "Bcdef", []),  # a key or a blob
        ("", []),
    ],
)
def test_the_parts_of_the_names_in_a_text(text: str, parts: list[str]) -> None:
    assert parts_of(text) == parts


@given(st.text(alphabet="aAbB2_é "))
def test_nothing_is_lost_by_taking_names_apart(text: str) -> None:
    assert "".join(split_compound(text)) == text
    assert spaced(text).replace(" ", "") == text.replace(" ", "")
