"""Which messages are nothing but a request to forget something."""

import pytest

from ragforge.memory.forget_request import CHARS_MAX, ForgetRequest, forget_request


@pytest.mark.parametrize(
    "message",
    [
        "forget that",
        "Forget this.",
        "Please forget that one!",
        "ok, forget that please",
        "can you forget what I just said",
        "Don't remember that.",
        "stop remembering this",
        "oublie ça",
        "Oublie cela, s'il te plaît.",
        "non, oublie ça",
        "Tu peux oublier ce que je viens de dire.",
        "ne retiens pas ça",
    ],
)
def test_it_may_say_nothing_else(message: str) -> None:
    assert forget_request(message) == ForgetRequest()


@pytest.mark.parametrize(
    ("message", "statement"),
    [
        ("forget that we use port 8443", "we use port 8443"),
        (
            "Please forget the fact that the staging host is db-2.internal.",
            "the staging host is db-2.internal",
        ),
        ("Forget that I prefer tabs!", "I prefer tabs"),
        ("oublie qu'on utilise Redis", "on utilise Redis"),
        ("Oublie que je préfère les tabulations.", "je préfère les tabulations"),
    ],
)
def test_it_may_name_a_statement(message: str, statement: str) -> None:
    assert forget_request(message) == ForgetRequest(statement)


@pytest.mark.parametrize(
    "message",
    [
        "forget that approach, use a queue",
        "forget that approach",
        "forget that test",
        "forget that and run the tests",
        "forget that the tests fail, fix the linter",
        "forget that the tests fail and fix the linter",
        "forget that it is slow for now",
        "Forget that. Use a queue.",
        "forget it",
        "forget about the VPN",
        "forget everything",
        "Why did you forget that?",
        "forget that?",
        "don't forget that we use port 8443",
        "did you forget that",
        "Write a function forget(that)",
        "forget that\nwe use port 8443",
        " forget that",
        "oublie",
        "oublie ça et lance les tests",
        "oublie cette approche",
        "oublie que c'est lent, corrige le test",
        "n'oublie pas ça",
        "n'oublie pas que le port est 8443",
        "oublie ça ?",
        "",
        f"forget that we use {'x' * CHARS_MAX}",
    ],
)
def test_any_other_message_is_for_the_model(message: str) -> None:
    assert forget_request(message) is None
