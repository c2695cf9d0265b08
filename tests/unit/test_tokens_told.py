"""What a service tells of its tokens, made a number that can be kept."""

import pytest

from ragforge.domain.usage import TOKENS_TOLD_MAX, tokens_told


@pytest.mark.parametrize("told", [0, -1, -(10**30), -1e300, float("nan"), float("-inf"), None, "7", [], {}])
def test_what_is_no_number_of_tokens_counts_as_none(told: object) -> None:
    assert tokens_told(told) == 0


@pytest.mark.parametrize("told", [10**9, 10**23, 1e300, float("inf")])
def test_no_number_is_larger_than_a_store_can_keep(told: float) -> None:
    assert tokens_told(told) == TOKENS_TOLD_MAX
    assert tokens_told(told) * 10**9 < 2**63


def test_others_are_taken_as_told() -> None:
    assert tokens_told(1234) == 1234
    assert tokens_told(12.0) == 12
