"""What is likely outdated where no rule knows, by the weights that ship."""

import json
from collections import defaultdict

import pytest

from ragforge.memory.recall.likely_changes import (
    LIKELY,
    WEIGHTS,
    later_turn,
    outdated_by,
    probability,
    signals,
)
from ragforge.memory.recall.replacements import Link
from ragforge.memory.recall.validity import Validity
from tests.unit.test_terms import turns
from training.changes import HERE, Pair, pairs_of, scored, weights_of

LEFT_OUT = ("courses", "ferries", "railway")
"""In both languages."""
SAID, CHANGED = (
    "the nightly report goes to the whole sales team by mail",
    "from now on the nightly report goes to Slack instead, nobody in sales reads that mail any more",
)


@pytest.fixture(scope="module")
def projects() -> dict[str, list[Pair]]:
    return {path.stem: pairs_of(path) for path in sorted(HERE.glob("*.jsonl"))}


def test_the_weights_are_those_of_the_projects(projects: dict[str, list[Pair]]) -> None:
    made = weights_of([pair for each in projects.values() for pair in each])
    assert made == pytest.approx(json.loads(WEIGHTS.read_text("utf-8")), abs=0.01)


def test_in_projects_left_out_most_marks_are_right(projects: dict[str, list[Pair]]) -> None:
    learned = [pair for name, each in projects.items() if name not in LEFT_OUT for pair in each]
    weights, sums = weights_of(learned), defaultdict[str, int](int)
    for name in LEFT_OUT:
        marked = {each for each, share in scored(projects[name], weights).items() if share >= LIKELY}
        outdated = {each.statement for each in projects[name] if each.is_outdated}
        sums["right"] += len(marked & outdated)
        sums["marked"] += len(marked)
        sums["outdated"] += len(outdated)
    assert sums["right"] / sums["marked"] >= 0.65
    assert sums["right"] / sums["outdated"] >= 0.3


def test_what_is_likely_outdated_is_marked_as_perhaps_replaced_where_turns_are_linked() -> None:
    old, new = turns((SAID, "Noted."), (CHANGED, "Done."))
    by = Validity([old, new], links=[Link(old.id, new.id, is_sure=False)]).replacement(old, SAID)
    assert by is not None
    assert not by.is_whole
    assert by.mark.startswith("(perhaps replaced 5 Mar: from now on the nightly report goes to Slack")
    assert Validity([old, new]).replacement(old, SAID) is None, "turns that are not linked are not compared"


@pytest.mark.parametrize(
    "later",
    [
        "does the nightly report still go to the whole sales team?",
        "the coffee machine is broken",
        "add a chart of the stock to the nightly report",
    ],
)
def test_a_question_and_work_on_the_same_change_nothing(later: str) -> None:
    assert not outdated_by(SAID, later_turn(later, "Done."), of_user=True, is_next=False)


def test_turns_with_nothing_in_common_are_not_compared() -> None:
    by = later_turn("the coffee machine is broken", "I am sorry.")
    assert signals(SAID, by, of_user=True, is_next=False) is None
    found = signals(SAID, later_turn(CHANGED, ""), of_user=True, is_next=False)
    assert found is not None
    assert 0 < probability(found[0]) < 1


def test_a_rule_is_left_to_the_words_that_are_known_to_end_it() -> None:
    later = later_turn("from now on restart the kiln on Sundays after all", "Done.")
    assert signals("never restart the kiln on a Sunday", later, of_user=True, is_next=False) is None
    assert signals("the kiln rests on a Sunday", later, of_user=True, is_next=False) is not None


def test_numbers_in_words_are_compared_with_digits() -> None:
    assert later_turn("it takes twenty pots", "Set to five minutes.") == later_turn(
        "it takes 20 pots", "Set to 5 minutes."
    )


def test_a_rule_over_two_lines_is_its_user_s() -> None:
    rule = "never restart the kiln\non a Sunday"
    old, new = turns(
        (rule, "Noted."), ("the thermostat is new", "The kiln may be restarted on a Sunday now.")
    )
    valid = Validity([old, new], links=[Link(old.id, new.id, is_sure=False)])
    assert valid.replacement(old, "never restart the kiln on a Sunday") is None
