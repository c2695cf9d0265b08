"""Laws of pastes: nothing is lost, nothing is sent."""

from hypothesis import assume, given
from hypothesis import strategies as st

from ragforge.tui.widgets.paste import (
    BURST_KEYS,
    FOLD_LINES_MIN,
    GAP_S,
    HOLD_S,
    INSTANT_S,
    Burst,
    Folds,
    cleaned,
    snapped,
)

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)
lines = st.lists(st.text("ab []#1\t", max_size=8), min_size=1, max_size=30).map("\n".join)

long_lines = st.lists(st.text("ab", max_size=2), min_size=FOLD_LINES_MIN, max_size=14).map("\n".join)


@given(st.lists(st.tuples(texts.map(cleaned), lines), max_size=5))
def test_what_is_folded_unfolds_to_all_that_was_pasted_and_typed(pieces: list[tuple[str, str]]):
    folds = Folds()
    shown = whole = ""
    for typed, pasted in pieces:
        shown += typed
        shown += folds.fold(pasted, beside=shown)
        whole += typed + pasted
    assert folds.unfold(shown) == whole


@given(st.lists(st.tuples(texts.map(cleaned), long_lines), max_size=4), texts)
def test_what_is_folded_again_unfolds_to_the_same(pieces: list[tuple[str, str]], beside: str):
    text = "".join(typed + pasted for typed, pasted in pieces)
    folds = Folds()
    again = folds.fold_again(text, [pasted for _, pasted in pieces], beside=beside)
    assert folds.unfold(again) == text
    assert not any(
        len(pasted.strip().split("\n")) >= FOLD_LINES_MIN and pasted in again for _, pasted in pieces
    )


@given(lines)
def test_long_pastes_fold_and_short_ones_do_not(pasted: str):
    folds = Folds()
    word = folds.fold(pasted, beside="")
    assert (word == pasted) == (pasted.count("\n") + 1 < FOLD_LINES_MIN)
    assert "\n" not in word or word == pasted


@given(st.lists(long_lines, min_size=2, max_size=4))
def test_each_fold_has_a_word_of_its_own(pastes: list[str]):
    folds = Folds()
    words = [folds.fold(pasted, beside="") for pasted in pastes]
    assert len(set(words)) == len(words)


@given(st.text())
def test_a_cleaned_paste_is_what_the_text_area_keeps(pasted: str):
    text = cleaned(pasted)
    assert text == "\n".join(text.split("\n"))
    assert "\n".join((text + "x").splitlines()) == text + "x"
    assert cleaned(text) == text
    text.encode()


@given(st.text(st.characters(categories=["L", "N", "P", "Zs"]), max_size=40))
def test_cleaning_takes_no_letter_sign_or_space(pasted: str):
    assert cleaned(pasted) == pasted


@given(
    st.text("ab\r", min_size=1, max_size=40),
    st.lists(st.floats(0, INSTANT_S * 0.9), min_size=40, max_size=40),
    st.floats(0, 1e6),
)
def test_no_enter_within_a_paste_is_taken_for_one(pasted: str, gaps: list[float], start_s: float):
    """But the very first key: what follows it tells, later."""
    assume(len(pasted) > 1)
    burst, at_s = Burst(), start_s
    for number, (char, gap_s) in enumerate(zip(pasted, gaps, strict=False)):
        at_s += gap_s
        if char == "\r" and number:
            assert burst.enter_is_text(at_s)
        if char == "\r":
            burst.begin(at_s)
        else:
            burst.text_key(char, at_s)


@given(st.text("abc ", min_size=1, max_size=40), st.lists(st.floats(0.02, 2), min_size=41, max_size=41))
def test_nothing_typed_by_hands_is_a_paste(typed: str, gaps: list[float]):
    burst, at_s = Burst(), 0.0
    for char, gap_s in zip(typed, gaps, strict=False):
        at_s += gap_s
        assert not burst.text_key(char, at_s)
    assert not burst.enter_is_text(at_s + gaps[-1])


@given(st.integers(BURST_KEYS, 50), st.floats(0, HOLD_S * 0.99))
def test_an_enter_soon_after_a_paste_belongs_to_it(length: int, pause_s: float):
    burst, at_s = Burst(), 0.0
    for number in range(length):
        at_s = number * GAP_S / 2
        burst.text_key("ab"[number % 2], at_s)
    assert burst.enter_is_text(at_s + pause_s)
    assert not burst.enter_is_text(at_s + HOLD_S * 1.01)


@given(st.integers(0, 30), st.integers(0, 15), st.integers(1, 15), st.booleans())
def test_no_place_is_left_within_a_folded_paste(column: int, start: int, length: int, forward: bool):
    spans = [(start, start + length)]
    place = snapped(column, spans, forward=forward)
    assert not start < place < start + length
    assert snapped(place, spans, forward=not forward) == place
