"""Laws of the words that the graph's index holds: nothing that is stored or asked can be more than words."""

import re
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from ragforge.domain.search import HitKind
from ragforge.store.index_text import IndexText, turn_text
from ragforge.store.neo4j.search_words import index_props, lucene, lucene_scope, scope_tokens
from ragforge.store.text import keywords, stemmer

AT = datetime(2026, 3, 1, tzinfo=UTC)
TOKEN_UNITS_MAX = 255
"""Where Lucene cuts, in UTF-16."""
# What Java calls white, and so parts words in Lucene.
JAVA_WHITE = re.compile("[\t-\r\x1c-\x1f \u1680\u2000-\u2006\u2008-\u200a\u2028\u2029\u205f\u3000]+")

texts = st.one_of(st.text(), st.text(st.characters(categories=["L", "N", "M", "Co", "Cs"]), min_size=100))
names = st.text("abAB12_ é数据库ーデ。，", max_size=80)
lucene_texts = st.text(st.sampled_from('ab1 "\\+-&|!(){}[]^~*?:/<>=\0é\u0301数🦜'), max_size=60)


@given(st.one_of(texts, lucene_texts, names))
def test_every_word_that_is_asked_for_is_one_word_of_the_index(text: str) -> None:
    row = turn_text(text, "", near=(), calls=(), at=AT)
    props = index_props(row, scope="", cut=stemmer())
    held = f"{props['searchUser']} {props['searchNear']}"
    words = [word for word in JAVA_WHITE.split(held) if word]
    assert all(len(word.encode("utf-16-le")) // 2 <= TOKEN_UNITS_MAX for word in words)
    asked = lucene(keywords(text, stemmer(), limit=32), scope="")
    for part in re.findall(r'"([^"]*)"', asked):
        assert part in words


@given(st.one_of(texts, lucene_texts), st.one_of(texts, lucene_texts))
def test_a_question_has_one_shape_whatever_is_asked(text: str, scope: str) -> None:
    stems = keywords(text, stemmer(), limit=32)
    asked = lucene(stems, scope=lucene_scope(project_id=scope, session_id=scope))
    shape = re.sub(r'"[^"\\\s]*"', "W", asked)
    wanted = " ".join("W" * len(stems))
    searched = f"searchUser:({wanted})^1.0 searchReply:({wanted})^0.1 searchNear:({wanted})^0.3 "
    searched += f"searchTools:({wanted})^0.5 searchDate:({wanted})^0.5"
    within = "+searchScope:(W W)^0 +searchScope:(W)^0 " if scope else ""
    assert shape == f"{within}+({searched})"


@given(st.one_of(texts, lucene_texts), st.one_of(texts, lucene_texts))
def test_a_scope_is_three_words_and_tells_its_ids_apart(project: str, session: str) -> None:
    project, session = project or "p", session or "s"
    tokens = scope_tokens(project, session, HitKind.TURN).split()
    assert len(tokens) == 3
    assert all(token.isascii() and token.isalnum() for token in tokens)
    others = scope_tokens(session, project, HitKind.TURN).split()
    assert (tokens[0] == others[0]) == (tokens[1] == others[1])


@given(st.integers(min_value=0))
def test_long_words_are_one_where_sqlite_says_so(more: int) -> None:
    first, second = ("z" * (32_768 + extra) for extra in (0, more % 100))
    third = "z" * 32_767
    held = [
        index_props(IndexText(user=each), scope="", cut=stemmer())["searchUser"]
        for each in (first, second, third)
    ]
    assert held[0] == held[1] != held[2]
