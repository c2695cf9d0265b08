"""What is said of somebody who left, and what a sentence sets."""

import pytest

from ragforge.memory.departures import who_left, without_actors
from ragforge.memory.set_values import sets_otherwise


@pytest.mark.parametrize(
    ("sentence", "gone"),
    [
        ("Otto left, Ida waters the beds now", {"Otto"}),
        ("Zoé est partie, c'est Paul qui taille les haies", {"Zoé"}),
        ("Ida takes over from Otto", {"Otto"}),
        ("Otto's last day was Thursday", {"Otto"}),
        ("Otto is no longer with us, ask Ida", {"Otto"}),
        ("Dr. van der Loo has left the team", {"van der Loo"}),
        ("Mme Le Braz est partie en retraite mardi (belle fête)", {"Le Braz"}),
        ("M. Sorel n'est plus là", {"Sorel"}),
        ("Ida remplace Mme Le Braz", {"Le Braz"}),
        ("c'était le dernier jour de Zoé", {"Zoé"}),
        ("Zoé est partie chercher du pain", set[str]()),
        ("What's left", set[str]()),
        ("Otto left a note", set[str]()),
        ("what if Otto left?", set[str]()),
        ("on remplace Nginx par Caddy", set[str]()),
    ],
)
def test_who_left_is_named(sentence: str, gone: set[str]) -> None:
    assert who_left(sentence) == gone


def test_of_those_who_left_only_their_own_clauses_go() -> None:
    said = "I am Ida, I do the hedges; Otto waters the beds."
    assert without_actors(said, {"Otto"}) == "I am Ida, I do the hedges"
    assert without_actors("Otto waters the beds.", {"Otto"}) == ""
    assert without_actors(said, {"Zoé"}) == said == without_actors(said, ())
    assert without_actors("Ask Otto about the beds.", {"Otto"}) == "Ask Otto about the beds."
    assert without_actors("Never prune in May (Otto, he checks it).", {"Otto"}) == "Never prune in May."
    assert without_actors("M. Sorel taille les haies, moi les rosiers", {"Sorel"}) == "moi les rosiers"


@pytest.mark.parametrize(
    "statement",
    [
        "the gate of port 8080 failed 3 times",
        "the gate has 16 digits",
        "the fence has 12 digits",
        "is it 12 digits?",
    ],
)
def test_what_is_set_replaces_the_same_in_the_same_unit_alone(statement: str) -> None:
    assert not sets_otherwise("set the gate to 16 digits", statement)
    assert not sets_otherwise("should we set the gate to 16 digits?", "the gate has 12 digits")
    assert sets_otherwise("set the gate to 16 digits", "the gate has 12 digits")
