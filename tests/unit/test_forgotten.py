"""Which sentences say what was forgotten, and what is left of a text without them."""

from datetime import timedelta

import pytest
from msgspec.structs import replace

from ragforge.domain.messages import CallRequest, ModelMessage
from ragforge.memory.forgotten import MARK, NOTHING, Forgotten
from ragforge.tui.widgets.turn_record import FORGOTTEN, Noted, StoredTurns, records_of
from tests.contract.builders import NOON, a_memory, a_project, a_session, a_turn

PORT = "The staging gateway listens on port 9443."
SAME = (
    ("I prefer tabs over spaces.", "Understood, I will indent using tabs."),
    (PORT, "Staging's secure endpoint sits at 9443"),
    (PORT, 'listen = "0.0.0.0:9443"'),
    ("Answer in French, with code comments in English.", "From here on I reply to you in French."),
    ("We deploy on Fridays only.", "Releases go out at the end of the week, on Friday."),
    ("My name is Ada and I maintain billing.", "As Ada, you look after the billing code."),
    ("The shop keeps its orders in PostgreSQL.", "For order storage we settled on Postgres."),
    ("Never push to main without a review.", "I won't push straight to main; a review comes first."),
    ("Keep commit messages short.", "Brief commit messages from now on."),
    ("The importer tries 8 times.", "So 8 tries for the importer, then."),
    ("On déploie avec Ansible.", "Le déploiement passe par Ansible."),
    ("Do it.", "do it!"),
)
OTHER = (
    ("I prefer tabs over spaces.", "The parser strips trailing spaces in each line."),
    (PORT, "The staging database was migrated yesterday."),
    (PORT, "It is 94430 bytes long."),
    ("We deploy on Fridays only.", "The deploy script fails on the first try."),
    ("The shop keeps its orders in PostgreSQL.", "The shop keeps its orders in mysql."),
    ("The shop keeps its orders in PostgreSQL.", "The orders page shows the wrong total."),
    ("Never push to main without a review.", "The main function returns an exit code."),
    ("Keep commit messages short.", "The last commit broke the build."),
    ("N'utilise jamais docker ici.", "N'utilise jamais pip ici."),
    ("Don't ever run docker in this project.", "Don't ever run pip in this project."),
)


def forgotten(content: str, *turns: str) -> Forgotten:
    return Forgotten([replace(a_memory(a_project(), content), turns=turns, forgotten_at=NOON)])


@pytest.mark.parametrize(("statement", "sentence"), SAME)
def test_what_says_the_same_is_cut(statement: str, sentence: str) -> None:
    cut = forgotten(statement).cut(f"First this happened. {sentence}\nThen something else.")
    assert cut == f"First this happened. {MARK}\nThen something else."


@pytest.mark.parametrize(("statement", "sentence"), OTHER)
def test_what_says_something_else_stays(statement: str, sentence: str) -> None:
    assert not forgotten(statement).holds(sentence)


def test_only_what_was_said_before_is_cut() -> None:
    gone = forgotten(PORT)
    assert gone.cut(PORT, at=NOON) == MARK
    assert gone.cut(PORT, at=NOON + timedelta(milliseconds=1)) == PORT
    assert NOTHING.cut(PORT) == PORT


def test_what_is_one_persons_is_cut_from_nothing_that_others_said() -> None:
    mine, theirs = (a_turn(a_session(a_project()), PORT, started_at=NOON) for _ in range(2))
    memory = replace(a_memory(a_project(), PORT), forgotten_at=NOON, turns=())
    others = {"ada": {theirs.session_id}, "bob": {mine.session_id}}
    for owner, kept in (("ada", {theirs.id}), ("bob", {mine.id}), ("", set()), ("eve", set())):
        gone = Forgotten([replace(memory, owner=owner)], others=others)
        assert {turn.id for turn in (mine, theirs) if gone.turn(turn) == turn} == kept
        assert gone.cut(PORT) == MARK
    said_there = Forgotten([replace(memory, owner="ada", turns=(theirs.id,))], others=others)
    assert said_there.turn(theirs) != theirs


def test_the_turn_in_which_it_was_said_says_so_and_less_of_it_stays() -> None:
    turn = a_turn(a_session(a_project()), "Where do we keep orders? And fix the typo.", started_at=NOON)
    gone = forgotten("The shop keeps its orders in PostgreSQL.", turn.id)
    assert gone.turn(turn).user[0].text == f"{MARK} And fix the typo."  # type: ignore[union-attr]
    [record] = records_of(StoredTurns([turn], forgotten={turn.id}))
    assert record.entries == [Noted(FORGOTTEN)]


def test_a_message_that_says_it_anywhere_is_made_anew() -> None:
    native = {"parts": [{"thought": "The port is 9443."}, {"text": "Fine."}]}
    message = ModelMessage("gemini", "m", "Fine.", native=native)
    gone = forgotten(PORT)
    assert gone.message(message) == replace(message, native=None)
    call = CallRequest("c", "write", {"path": "a.toml", "lines": ["port = 9443", "other = 1"]})
    asks = replace(message, calls=(call,), native=None)
    [cleaned] = gone.message(asks).calls  # type: ignore[union-attr]
    assert cleaned.args == {"path": "a.toml", "lines": [MARK, "other = 1"]}
    untouched = replace(message, native={"parts": [{"text": "Fine."}]})
    assert gone.message(untouched) is untouched
