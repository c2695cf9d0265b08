"""Laws of values that change: whatever the words, the old value does not stand unmarked, and nothing else is
marked."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from ragforge.domain.ids import new_id
from ragforge.domain.messages import TextPart
from ragforge.domain.turns import Turn
from ragforge.memory.recall.validity import Replacement, Validity

AT = datetime(2026, 3, 4, 12, tzinfo=UTC)
NUMBERS = {
    "en": [
        ("request timeout", "90 seconds", "30 seconds"),
        ("request timeout", "90 seconds", "2 minutes"),
        ("retry delay", "500 ms", "250 ms"),
        ("upload limit", "20 MB", "50"),
        ("gateway port", "8443", "9443"),
        ("session lifetime", "12 hours", "24 hours"),
        ("batch size", "400", "250"),
    ],
    "fr": [
        ("délai d'attente", "90 secondes", "30 secondes"),
        ("quota d'envoi", "20 Mo", "50 Mo"),
        ("port du serveur", "8443", "9443"),
        ("nombre de lignes par page", "50 lignes", "25"),
    ],
}
NAMES = {
    "en": [
        ("staging region", "Frankfurt", "Paris"),
        ("release manager", "Ada", "Grace"),
        ("build tool", "webpack", "esbuild"),
        ("deploy day", "Tuesday", "Thursday"),
        ("primary database", "MySQL", "PostgreSQL"),
    ],
    "fr": [
        ("responsable des versions", "Ada", "Grace"),
        ("outil de build", "webpack", "esbuild"),
        ("prestataire de facturation", "Stripe", "Adyen"),
    ],
}
GIVEN = {
    "en": ["the {s} is {o}", "our {s} is {o}", "set the {s} to {o}", "{s}: {o}"],
    "fr": ["le {s} c'est {o}", "{s} : {o}"],
}
CHANGES = {
    "en": [
        "the {s} is {n} now",
        "change the {s} to {n}",
        "change the {s} from {o} to {n}",
        "no, the {s} should be {n}",
        "the {s} was {o}, now it's {n}",
        "from now on the {s} is {n}",
        "the {s} is {n}, not {o}",
    ],
    "fr": [
        "change le {s} en {n}",
        "le {s} c'est maintenant {n}",
        "non, le {s} doit être {n}",
        "le {s} était {o}, maintenant c'est {n}",
        "désormais le {s} c'est {n}",
    ],
}
NUMBER_CHANGES = {
    "en": [
        "{o} is too slow for the {s}, make it {n}",
        "a {s} of {o} is too much, make it {n}",
        "use {n} as {s}, {o} was too much",
        "{n} is enough for the {s}",
        "cut the {s} to {n}",
        "forget the {s} of {o}, take {n}",
        "the {s} is no longer {o}, it is {n}",
        "we raised the {s} to {n} yesterday",
    ],
    "fr": [
        "{o} c'est trop pour le {s}, mets {n}",
        "le {s} n'est plus de {o} mais de {n}",
        "baisse le {s} à {n}",
        "{n} suffit pour le {s}",
        "finalement on part sur {n} pour le {s}",
        "le {s} à {n} au lieu de {o}",
    ],
}
NAME_CHANGES = {
    "en": [
        "use {n} instead of {o} as {s}",
        "let's switch the {s} to {n}",
        "we moved from {o} to {n}",
        "replace {o} with {n}",
        "{o} is too slow, use {n} as {s}",
        "drop {o}, take {n}",
        "forget {o}, let's use {n}",
    ],
    "fr": [
        "{n} au lieu de {o} comme {s}",
        "passe le {s} de {o} à {n}",
        "remplace {o} par {n}",
        "on passe de {o} à {n}",
    ],
}
BEHIND = {
    "en": [
        "make it {n}",
        "no, {n}",
        "hm, rather {n}",
        "actually {n}",
        "sorry, I meant {n}",
        "{n} instead",
        "not {o}, {n}",
        "change it to {n}",
    ],
    "fr": [
        "non, {n}",
        "non, plutôt {n}",
        "en fait {n}",
        "pardon, je voulais dire {n}",
        "pas {o}, {n}",
        "{n} au lieu de {o}",
        "change {o} en {n}",
    ],
}
NUMBERS_BEHIND = {
    "en": [
        "{o} is too slow, make it {n}",
        "change {o} to {n}",
        "on second thought {n}",
        "too much. {n}",
        "lower it to {n}",
        "{n} is better",
    ],
    "fr": ["mets {n}", "{o} c'est trop lent, mets {n}", "{n} c'est mieux", "descends à {n}", "trop. {n}"],
}
OTHERS = {
    "en": [
        "add 2 tests for it",
        "run it 3 times",
        "wait 5 minutes",
        "it took 30 seconds",
        "option 2",
        "go on with item 4",
        "thanks, 10/10",
        "python 3.12 please",
        "why 90?",
        "is 30 enough?",
        "yes, all 3",
        "no, look at line 40",
        "not now, in 10 minutes",
        "just 1 and 3",
        "make it a function",
        "no, thanks",
        "not now, later",
        "no, Ada wrote that",
        "better names please",
        "make it faster",
        "hm, rather slow",
    ],
    "fr": [
        "ajoute 2 tests",
        "lance-le 3 fois",
        "attends 5 minutes",
        "ça a pris 30 secondes",
        "étape 3 maintenant",
        "non, le test 3 échoue",
        "pas maintenant, dans 10 minutes",
        "pourquoi 90 ?",
        "non, merci",
        "plutôt lent",
        "non, plus tard",
        "mets plus court",
        "pas maintenant, demain",
        "change en liste",
    ],
}
ANSWERS = ("Done.", "I wrote it to `config.toml`.", "Fait.")
languages = st.sampled_from(["en", "fr"])


def turn(text: str, number: int, parent: Turn | None, answer: str = "Done.") -> Turn:
    above = parent.id if parent else None
    at = AT + timedelta(minutes=number)
    return Turn(new_id(), "s", above, number, (TextPart(text),), at, model="m", assistant=answer)


def after(statement: str, message: str, *, behind: bool, answer: str) -> Replacement | None:
    """What takes the place of the statement once the message was said, right behind it or later."""
    said = turn(statement, 0, None, answer)
    between = turn("rename the helper in utils", 1, said)
    later = turn(message, 2, said if behind else between)
    return Validity([said, later]).replacement(said, statement)


@given(st.data(), languages, st.booleans(), st.booleans(), st.sampled_from(ANSWERS))
@settings(max_examples=200)
def test_a_value_that_changed_is_marked(
    data: st.DataObject, language: str, named: bool, behind: bool, answer: str
) -> None:
    subject, old, new = data.draw(st.sampled_from((NAMES if named else NUMBERS)[language]))
    more = (NAME_CHANGES if named else NUMBER_CHANGES)[language]
    short = BEHIND[language] + ([] if named else NUMBERS_BEHIND[language])
    words = {"s": subject, "o": old, "n": new}
    statement = data.draw(st.sampled_from(GIVEN[language])).format(**words)
    message = data.draw(st.sampled_from(short if behind else CHANGES[language] + more)).format(**words)
    by = after(statement, message, behind=behind, answer=answer)
    assert by is not None, (statement, message)
    assert new.split()[0] in by.text


@given(st.data(), languages, st.booleans(), st.sampled_from(ANSWERS))
@settings(max_examples=200)
def test_a_message_about_something_else_changes_nothing(
    data: st.DataObject, language: str, named: bool, answer: str
) -> None:
    subject, old, _ = data.draw(st.sampled_from((NAMES if named else NUMBERS)[language]))
    statement = data.draw(st.sampled_from(GIVEN[language])).format(s=subject, o=old)
    message = data.draw(st.sampled_from(OTHERS[language]))
    assert after(statement, message, behind=True, answer=answer) is None, (statement, message)


@given(st.data(), languages)
def test_another_thing_keeps_its_value(data: st.DataObject, language: str) -> None:
    pairs = st.sampled_from(NUMBERS[language])
    subject, old, _ = data.draw(pairs)
    other, other_old, new = data.draw(pairs.filter(lambda each: each[0] != subject))
    statement = data.draw(st.sampled_from(GIVEN[language])).format(s=subject, o=old)
    change = data.draw(st.sampled_from(CHANGES[language] + NUMBER_CHANGES[language]))
    message = change.format(s=other, o=other_old, n=new)
    assert after(statement, message, behind=False, answer="Done.") is None, (statement, message)


@pytest.mark.parametrize("messages", [("make it 60", "no, 30"), ("60 c'est mieux", "non, plutôt 30")])
def test_a_value_that_changed_twice_is_marked_with_the_last(messages: tuple[str, str]) -> None:
    first = turn("the request timeout is 90 seconds", 0, None)
    second = turn(messages[0], 1, first)
    third = turn(messages[1], 2, second)
    by = Validity([first, second, third]).replacement(first, "the request timeout is 90 seconds")
    assert by is not None
    assert (by.turn_id, by.text) == (third.id, messages[1])


@pytest.mark.parametrize(
    ("statement", "change", "back"),
    [
        (
            "the tram headway is 20 minutes",
            "the tram headway is 60 minutes",
            "no, back to 20 minutes after all",
        ),
        ("the request timeout is 90 seconds", "make it 60", "no, back to 90"),
        ("le délai d'attente est de 90 secondes", "mets 60", "non, 90"),
    ],
)
def test_a_value_that_holds_again_is_not_marked(statement: str, change: str, back: str) -> None:
    first = turn(statement, 0, None)
    second = turn(change, 1, first)
    assert Validity([first, second]).replacement(first, statement)
    third = turn(back, 2, second)
    valid = Validity([first, second, third])
    assert valid.replacement(first, statement) is None
    by = valid.replacement(second, change)
    assert by is not None
    assert by.text == back


@pytest.mark.parametrize(
    ("statement", "times"),
    [
        ("the tram headway is {} minutes", "on sundays"),
        ("set the pump interval to {} minutes", "in winter"),
        ("la cadence du tram est de {} minutes", "le dimanche"),
    ],
)
def test_another_value_at_certain_times_replaces_only_a_part(statement: str, times: str) -> None:
    given, at_times, always = statement.format(20), f"{statement.format(60)} {times}", statement.format(30)
    first = turn(given, 0, None)
    second = turn(at_times, 1, first)
    by = Validity([first, second]).replacement(first, given)
    assert by is not None
    assert (by.in_part, by.text) == (True, at_times)
    third = turn(always, 2, second)
    by = Validity([first, second, third]).replacement(first, given)
    assert by is not None
    assert (by.in_part, by.text) == (False, always)


def test_a_number_that_may_answer_what_was_asked_changes_nothing() -> None:
    first = turn("the batch size is 400", 0, None, "Which case shall I start with, and how many?")
    answer = turn("let's say 250", 1, first)
    assert Validity([first, answer]).replacement(first, "the batch size is 400") is None
    objected = turn("no, make it 250", 1, first)
    assert Validity([first, objected]).replacement(first, "the batch size is 400")


def test_what_is_said_later_counts_though_the_clock_was_set_back() -> None:
    first = turn("the request timeout is 90 seconds", 9, None)
    second = replace(turn("change the request timeout to 30 seconds", 2, first), index=10)
    valid = Validity([first, second])
    assert valid.replacement(first, "the request timeout is 90 seconds")
    assert valid.replacement(second, "change the request timeout to 30 seconds") is None
