"""Names that are made of several words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragforge.domain.compounds import parts_of, parts_within, spaced


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("SessionStore", ["Session", "Store"]),
        ("see maxResults, and maxResults2Go", ["max", "Results", "Results2", "Go"]),
        ("an HTTPServer of parseURL", ["HTTP", "Server", "parse", "URL"]),
        ("my_fooBar.txt", ["foo", "Bar"]),
        ("iPhone", ["Phone"]),  # a letter alone says nothing
        ("utf8Decoder, sha256", ["utf8", "Decoder"]),
        ("plain words, CAPITALS and Titles_here: café, ÉtatMajor2", []),
        ("aBc", ["Bc"]),
        ("用SQLite存储会话。", ["用", "SQLite", "SQ", "Lite", "存储会话", "存储", "储会", "会话"]),
        ("数据 redis", ["数据"]),
        (
            "データベースをredisに",
            ["データベースを", "デー", "ータ", "タベ", "ベー", "ース", "スを", "redis", "に"],
        ),
        ("a" * 60 + "Bcdef", []),  # a key or a blob
        ("", []),
    ],
)
def test_the_parts_of_the_names_in_a_text(text: str, parts: list[str]) -> None:
    assert parts_of(text) == parts


@given(st.text(alphabet="aAbB2_é 数据库ー。"))
def test_parts_stand_where_they_are_said_to(text: str) -> None:
    assert all(text[at:].startswith(part) for at, part in parts_within(text))
    assert spaced(text).replace(" ", "") == text.replace(" ", "")
