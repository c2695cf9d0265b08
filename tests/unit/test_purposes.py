"""What is given up for one purpose is kept for the others."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragforge.memory.recall.passages import Passage, TurnPassages, statement
from ragforge.memory.recall.validity import Validity
from ragforge.memory.replacement import gives_up_part, names_otherwise
from tests.unit.test_replacing import known, replaced
from tests.unit.test_terms import turns

USES = ("the sessions", "the cache", "locks", "the mail queue", "rate limits")
SOME = st.lists(st.sampled_from(USES), min_size=1, max_size=4, unique=True)
LISTED = st.sampled_from([", ", " and ", " and for "])


def used(uses: list[str], between: str) -> str:
    return f"We use Redis for {between.join(uses)}"


@given(SOME, SOME, LISTED, LISTED)
def test_a_use_ends_with_the_last_purpose_that_is_given_up(
    uses: list[str], given_up: list[str], between: str, also: str
) -> None:
    said = used(uses, between)
    for change in (
        used(given_up, also).replace("use", "no longer use"),
        used(given_up, also).replace("use Redis", "use Valkey instead of Redis"),
        f"{used(given_up, also).replace('use', 'do not use')} any more",
    ):
        left, ended = set(uses) - set(given_up), set(uses) & set(given_up)
        assert gives_up_part(change, said) == bool(left and ended), change
        assert names_otherwise(change, said) <= (not left), change
        assert names_otherwise(change, said) or not (ended and not left and len(given_up) == 1), change


@pytest.mark.parametrize(
    ("earlier", "later", "is_whole"),
    [
        ("We use Redis for sessions and for the cache.", "We no longer use Redis for the cache.", False),
        ("We use Redis for the cache.", "We no longer use Redis for the cache.", True),
        (
            "On utilise Kafka pour le suivi et pour les alertes.",
            "On n'utilise plus Kafka pour le suivi.",
            False,
        ),
        ("On utilise Kafka pour le suivi.", "On n'utilise plus Kafka pour le suivi.", True),
        ("We use MySQL in staging and in production.", "We use SQLite instead of MySQL in staging.", False),
    ],
)
def test_a_memory_is_replaced_when_nothing_of_it_holds(earlier: str, later: str, is_whole: bool) -> None:
    assert replaced(known(earlier), later) == is_whole
    old, new = turns((earlier, ""), (later, ""))
    by = Validity([old, new]).replacement(old, earlier)
    assert by is not None
    assert by.in_part == (not is_whole)


def test_what_holds_in_part_is_shown_with_what_does_not() -> None:
    said, change = (
        "Redis keeps files for the sessions and for the cache",
        "We no longer use Redis for the cache",
    )
    old, new, back = turns((said, ""), (change, ""), ("back to Redis for the cache", ""))
    valid = Validity([old, new])
    shown = statement(TurnPassages(old, (Passage(said),)), valid)
    assert shown.text == f"{said} (replaced 5 Mar in part: {change})"
    assert shown.replaced_by == new.id
    assert Validity([old, new, back]).replacement(old, said) is None
