"""Laws of the one order: it depends on the scores alone, and nothing that is better in all comes later."""

import math
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragforge.domain.search import Candidate, HitKind, Related, Relation
from ragforge.memory.recall.fusion import (
    GRAPH_SHARE,
    METADATA_SHARE,
    RRF_K,
    Scores,
    Shares,
    convex,
    ranks,
    reciprocal,
    spread,
    totals,
    weigh,
)
from ragforge.memory.recall.results import HitSource, Key, key_of

KEYS = [(letter, kind) for letter in "abcdef" for kind in (HitKind.TURN, HitKind.MEMORY)]
AT = datetime(2026, 3, 4, tzinfo=UTC)

keys = st.sampled_from(KEYS)
scores = st.dictionaries(keys, st.floats(0, 50, width=16))
meanings = st.dictionaries(keys, st.floats(0, 1, width=16))


def by_rank(words: Scores, near: Scores) -> Shares:
    return reciprocal(convex(words, near))


fusions = pytest.mark.parametrize("fuse", [convex, by_rank])


def in_order(of: dict[Key, float]) -> list[Key]:
    return sorted(of, key=lambda key: (-of[key], key))


@fusions
@given(words=scores, near=meanings, data=st.data())
def test_order_of_what_comes_in_does_not_matter(fuse, words, near, data):
    shuffled = [dict(data.draw(st.permutations(list(each.items())))) for each in (words, near)]
    assert fuse(words, near) == fuse(*shuffled)


@fusions
@given(words=scores, near=meanings)
def test_everything_that_came_in_comes_out_with_what_each_source_said(fuse, words, near):
    fused = fuse(words, near)
    assert fused.keys() == words.keys() | near.keys()
    for key, whys in fused.items():
        said = {why.source: why.score for why in whys}
        known = {HitSource.WORDS: words, HitSource.MEANING: near}
        assert said == {source: of[key] for source, of in known.items() if key in of}


@fusions
@given(words=scores, near=meanings)
def test_better_in_both_is_never_later(fuse, words, near):
    total = totals(fuse(words, near))
    places = (ranks(words), ranks(near))
    nowhere = math.inf
    for better in total:
        for worse in total:
            if all(place.get(better, nowhere) <= place.get(worse, nowhere) for place in places):
                assert total[better] >= total[worse] - 1e-12


@given(words=scores, near=meanings)
def test_scores_have_bounds(words, near):
    assert all(0 <= each <= 1 + 1e-9 for each in totals(convex(words, near)).values())
    assert all(0 < each <= 2 / (RRF_K + 1) for each in totals(by_rank(words, near)).values())


@given(words=scores, near=meanings)
def test_weakest_match_by_words_is_more_than_none(words, near):
    whys = [why for each in convex(words, near).values() for why in each if why.source is HitSource.WORDS]
    assert all(why.share > 0 for why in whys if why.score > 0)


@given(words=scores)
def test_ranks_are_one_to_the_last_and_ties_go_by_id(words):
    found = ranks(words)
    assert sorted(found.values()) == list(range(1, len(words) + 1))
    assert sorted(found, key=found.__getitem__) == in_order(words)


@given(words=st.dictionaries(keys, st.floats(0, 50, width=16), min_size=1))
def test_one_source_alone_keeps_its_order(words):
    for fuse in (convex, by_rank):
        assert in_order(totals(fuse(words, {}))) == in_order(words)


def turn(letter: str) -> Candidate:
    return Candidate(HitKind.TURN, letter, "session", letter, AT)


@given(scores=scores, pairs=st.lists(st.tuples(st.sampled_from("abcdef"), st.sampled_from("abcdef"))))
def test_what_is_beside_gets_a_part_of_the_best_that_leads_to_it(scores, pairs):
    related = [Related(of, Relation.NEIGHBOUR, turn(to)) for of, to in pairs]
    shared = spread({key: score for key, score in scores.items() if key[1] is HitKind.TURN}, related)
    assert shared.keys() == {key_of(each.turn) for each in related}
    for key, [why] in shared.items():
        leads = [scores.get((of, HitKind.TURN), 0.0) for of, to in pairs if to == key[0]]
        assert why.share == GRAPH_SHARE * max(leads)


def memory(letter: str, *, importance: float, days: int, replaced: bool) -> Candidate:
    at = AT - timedelta(days=days)
    return Candidate(HitKind.MEMORY, letter, "session", "", at, importance=importance, replaced=replaced)


memories = st.lists(
    st.builds(
        memory,
        st.sampled_from("abcdef"),
        importance=st.floats(0, 1),
        days=st.integers(0, 10_000),
        replaced=st.booleans(),
    ),
    unique_by=key_of,
)


@given(found=memories)
def test_what_matters_and_is_new_is_a_small_part_of_its_own_score(found):
    score = {key_of(each): 0.5 for each in found}
    shared = weigh(score, found)
    assert shared.keys() == {key_of(each) for each in found if not each.replaced}
    assert all(0 <= why.share <= METADATA_SHARE * 0.5 for [why] in shared.values())
    for one in found:
        for other in found:
            alike = not (one.replaced or other.replaced)
            if alike and one.importance >= other.importance and one.at >= other.at:
                assert shared[key_of(one)][0].share >= shared[key_of(other)][0].share
