"""What is likely outdated where no rule knows, by the weights that ship."""

import json
from collections import defaultdict
from pathlib import Path

import pytest

from ragforge.memory.recall import likely_endings
from ragforge.memory.recall.likely_changes import (
    LIKELY,
    WEIGHTS,
    later_turn,
    outdated_by,
    probability,
    signals,
)
from ragforge.memory.recall.likely_endings import always_stands, ending_signs, likely_end
from ragforge.memory.recall.replacements import Link
from ragforge.memory.recall.validity import Validity, may_replace
from tests.unit.test_terms import turns
from training.changes import HERE, Pair, Project, read_project, scored, weights_of, weights_of_wishes

LEFT_OUT = ("courses", "ferries", "railway")
"""In both languages."""
SAID, CHANGED = (
    "the nightly report goes to the whole sales team by mail",
    "from now on the nightly report goes to Slack instead, nobody in sales reads that mail any more",
)


@pytest.fixture(scope="module")
def projects() -> dict[str, Project]:
    return {path.stem: read_project(path) for path in sorted(HERE.glob("*.jsonl"))}


def test_the_weights_are_those_of_the_projects(projects: dict[str, Project]) -> None:
    made = weights_of([pair for each in projects.values() for pair in each.others])
    assert _differ_at_most(made, WEIGHTS, 0.01)


def test_the_weights_for_wishes_are_those_of_the_projects(projects: dict[str, Project]) -> None:
    made = weights_of_wishes([pair for each in projects.values() for pair in each.wishes])
    assert _differ_at_most(made, likely_endings.WEIGHTS, 0.01)


def _differ_at_most(made: dict[str, float], path: Path, most: float) -> bool:
    """Whether these are the weights of the file."""
    stored: dict[str, float] = json.loads(path.read_text("utf-8"))
    return stored.keys() == made.keys() and all(abs(stored[name] - made[name]) <= most for name in made)


def test_in_projects_left_out_most_marks_are_right(projects: dict[str, Project]) -> None:
    weights = weights_of([pair for name in projects.keys() - set(LEFT_OUT) for pair in projects[name].others])
    precision, recall = _measured({name: projects[name].others for name in LEFT_OUT}, weights, LIKELY)
    assert precision >= 0.65
    assert recall >= 0.3


def test_in_projects_left_out_most_marks_of_wishes_are_right(projects: dict[str, Project]) -> None:
    left_out = [name for name in sorted(projects) if name.startswith("rules_")][::2]
    learned = [pair for name in projects.keys() - set(left_out) for pair in projects[name].wishes]
    weights, of_wishes = weights_of_wishes(learned), {name: projects[name].wishes for name in left_out}
    precision, recall = _measured(of_wishes, weights, likely_endings.LIKELY)
    assert precision >= 0.75
    assert recall >= 0.5


def _measured(left_out: dict[str, list[Pair]], weights: dict[str, float], bar: float) -> tuple[float, float]:
    """The precision and the recall of what is marked from the bar on."""
    sums = defaultdict[str, int](int)
    for pairs in left_out.values():
        marked = {each for each, share in scored(pairs, weights).items() if share >= bar}
        outdated = {each.statement for each in pairs if each.is_outdated}
        sums["right"] += len(marked & outdated)
        sums["marked"] += len(marked)
        sums["outdated"] += len(outdated)
    return sums["right"] / sums["marked"], sums["right"] / sums["outdated"]


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


@pytest.mark.parametrize(
    ("wish", "later", "answer"),
    [
        (
            "never restart the kiln on a Sunday",
            "the kiln has a new controller, so restart the kiln on a Sunday whenever you like",
            "Restarted.",
        ),
        (
            "Ne touche jamais au dossier factures/, c'est le comptable qui le tient.",
            "Le comptable est parti, tu peux ranger le dossier factures/ comme tu veux.",
            "J'ai classé `factures/`.",
        ),
    ],
)
def test_what_allows_what_a_wish_is_about_perhaps_ends_it(wish: str, later: str, answer: str) -> None:
    assert likely_end(wish, "Noted.", later_turn(later, answer))


@pytest.mark.parametrize(
    "later",
    [
        "may I restart the kiln on a Sunday?",
        "the oven may be repainted whenever you like",
        "how warm does the kiln get?",
        "please still never restart the kiln on a Sunday",
        "show the temperature of the kiln on the first page",
    ],
)
def test_what_only_speaks_of_the_same_ends_no_wish(later: str) -> None:
    assert not likely_end("never restart the kiln on a Sunday", "Noted.", later_turn(later, "Done."))


@pytest.mark.parametrize(
    ("wish", "later"),
    [
        ("no emojis on the labels", "the emoji on the kiln button should be larger"),
        ("never use stamps", "stamp the report with the date"),
        ("always use the north kiln", "the north kiln fails to start"),
        ("always add a glaze number", "the glaze number is cut off in the list"),
        ("jamais de vernis sur les bols", "le vernis des bols est en rupture dans la boutique"),
    ],
)
def test_an_ordinary_message_about_the_same_ends_no_wish(wish: str, later: str) -> None:
    assert not likely_end(wish, "Noted.", later_turn(later, "Done."))


def test_a_wish_that_perhaps_ended_says_so_where_turns_are_linked() -> None:
    wish = "never commit pictures of the pots to the repository"
    end = "pictures of the pots are small now, so they are welcome in the repository"
    old, new = turns((wish, "Noted."), (end, "Committed `pots/`."))
    by = Validity([old, new], links=[Link(old.id, new.id, is_sure=False)]).replacement(old, wish)
    assert by is not None
    assert not by.is_whole
    assert by.mark.startswith("(perhaps replaced 5 Mar: pictures of the pots are small now")


def test_the_words_that_only_announce_a_wish_are_not_compared() -> None:
    later = later_turn("ok, go on with the second glaze", "The second glaze is in.")
    wish = "never commit pictures of the pots"
    announced = [signs for _, signs in ending_signs(f"one thing before you go on: {wish}", "Noted.", later)]
    assert announced == [signs for _, signs in ending_signs(wish, "Noted.", later)]


def test_that_something_need_not_be_done_is_no_wish_that_may_end() -> None:
    assert always_stands("ask me before you add any package")
    assert not always_stands("you can stop asking me for each package")


def test_words_that_ease_something_are_reason_to_look_for_a_wish() -> None:
    assert may_replace(turns(("carved handles are nice, customers ask for them", "Noted."))[0])
    assert not may_replace(turns(("carved handles are heavy, customers say", "Noted."))[0])


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


def test_a_requirement_of_the_product_is_no_wish_that_is_perhaps_replaced() -> None:
    requirement = "a refund must never be larger than the order"
    old, new = turns((requirement, "Noted."), ("a refund may be larger for vouchers now", "Done."))
    valid = Validity([old, new], links=[Link(old.id, new.id, is_sure=False)])
    assert valid.replacement(old, requirement) is None
