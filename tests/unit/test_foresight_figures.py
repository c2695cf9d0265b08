"""The figures of foresight, by hand-made vectors and by laws."""

from hypothesis import given
from hypothesis import strategies as st

from ragforge.memory.foresight import (
    PIXEL_BITS,
    description_complexity,
    line_alpha,
    rating_by_meaning,
    rating_by_words,
    rating_of_cosine,
    unexpectedness,
    world_complexity,
)

PIXELS = (10, 20)
AFTER = "a red line"
"""What iteration 1 says of the state that iteration 0 left."""

units_of = st.lists(st.integers(0, 10_000), min_size=1, max_size=30)


def test_the_units_of_a_later_turn_do_not_count():
    # Summing over all counts, iteration 1's too, would give 910.
    assert world_complexity(PIXELS, 0, depth=5, alpha=PIXEL_BITS) == 330
    assert description_complexity(AFTER) == 80
    assert unexpectedness(PIXELS, 0, depth=5, alpha=PIXEL_BITS, description_after=AFTER) == 250


def test_both_sides_have_figures_each_over_its_own_depth():
    pixels = (1, 2, 4, 8, 16, 32)
    individual = world_complexity(pixels, 5, depth=5, alpha=PIXEL_BITS)
    collective = world_complexity(pixels, 5, depth=3, alpha=PIXEL_BITS)
    assert (individual, collective) == (62 * 33, 56 * 33)


@given(units_of, st.data())
def test_a_figure_is_the_same_whatever_comes_later(units: list[int], data: st.DataObject):
    turn = data.draw(st.integers(0, len(units) - 1))
    depth, alpha = data.draw(st.integers(1, 40)), data.draw(st.integers(1, 100))
    text = data.draw(st.text(max_size=50))
    told = {"depth": depth, "alpha": alpha}
    u = unexpectedness(units, turn, **told, description_after=text)
    assert u == unexpectedness(units[: turn + 1], turn, **told, description_after=text)
    assert u == alpha * sum(units[: turn + 1][-depth:]) - 8 * len(text)


def test_a_turn_without_changes_is_negative():
    assert unexpectedness([0], 0, depth=5, alpha=40, description_after="nothing") == -56


def test_ratings_by_words_go_up_at_halves_and_are_absent_for_two_empty_texts():
    assert rating_by_words("a b c", "A B d") == 5
    assert rating_by_words("a", "a b c d") == 3, "2.5"
    assert rating_by_words("a b c", "a b c d") == 8, "7.5"
    assert rating_by_words("a\nb", "b a") == 10
    assert rating_by_words("a", "") == 0
    assert rating_by_words("", " \n") is None


def test_ratings_by_meaning():
    assert rating_by_meaning("the tests of billing pass", "the tests of billing pass") == 10
    assert rating_by_meaning("", "") is None
    assert rating_by_meaning("a red line", "") == 0
    alike = rating_by_meaning("the parser reads dates", "dates are read by the parser")
    apart = rating_by_meaning("the parser reads dates", "two cooks bake bread")
    assert (alike or 0) > (apart or 0)
    assert [rating_of_cosine(each) for each in (-1.0, 0.0, 0.25, 0.449, 1.0000001)] == [0, 0, 3, 4, 10]


def test_alpha_says_which_line_and_what_it_holds():
    assert line_alpha(0, b"") is None
    one = b"x = 1\n"
    assert line_alpha(1, one) == 0 + 8 * 14, "zlib's frame and six letters"
    assert line_alpha(1_000, one * 1_000) == 10 + 1
    assert line_alpha(1_000, one * 1_000) == line_alpha(1_024, one * 1_000)
