"""What a decision takes the place of by its words, without a model: what it plainly names, else nothing."""

import pytest

from ragforge.domain.memories import AssociationKind, Memory, MemoryType
from ragforge.memory.summarise import understand_offline
from tests.unit.test_understanding import a_material


def known(words: str) -> Memory:
    """The memory that the rules make of an earlier turn."""
    [memory] = understand_offline(a_material(words, id="earlier")).memories
    return memory


def replaced(old: Memory, words: str) -> bool:
    found = understand_offline(a_material(words, near=(old,)))
    assert any(memory.type is MemoryType.DECISION for memory in found.memories), "it is a decision itself"
    ends = [(link.kind, link.to_id, link.turn) for link in found.associations]
    assert ends in ([], [(AssociationKind.UPDATES, old.id, "turn")])
    return bool(ends)


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        # A decision, or a fact that says what the project is made with.
        ("We'll use MySQL for the orders.", "We use PostgreSQL instead of MySQL."),
        ("We use MySQL for the orders.", "We use PostgreSQL instead of MySQL."),
        ("We use MySQL for the orders.", "We use PostgreSQL instead of MySQL for the orders."),
        ("We use MySQL for the orders.", "We're using PostgreSQL instead of MySQL now."),
        ("Our database is MySQL 8.", "Let's use SQLite rather than MySQL."),
        ("Our backend runs on Django.", "We'll go with FastAPI instead of Django."),
        ("We deploy with Heroku.", "Let's deploy to Hetzner instead of Heroku."),
        ("We go with Foobar for the queue.", "We use Bazqux instead of Foobar."),
        ("We'll use spaces in the sources.", "Let's use tabs instead of spaces."),
        ("We'll use PostgreSQL.", "Let's use MySQL instead of Postgres."),
        ("We'll use Redis for the cache.", "Let's replace Redis with Memcached."),
        ("We'll use Redis for the cache.", "We're moving from Redis to Memcached."),
        ("We'll use MySQL.", "We use PostgreSQL, not MySQL."),
        ("We'll use `pnpm` here.", "Let's use `npm` instead of `pnpm`."),
        ("We use PostgreSQL instead of MySQL.", "We use SQLite instead of PostgreSQL."),
        ("On prend MySQL pour les commandes.", "On prend PostgreSQL à la place de MySQL."),
        ("On utilise MySQL pour les commandes.", "On prend PostgreSQL à la place de MySQL."),
        (
            "On utilise MySQL pour les commandes.",
            "On utilise PostgreSQL au lieu de MySQL pour les commandes.",
        ),
        ("Notre API tourne sur Flask.", "On va utiliser FastAPI plutôt que Flask."),
        ("On part sur Foobar pour les files.", "On prend Bazqux à la place de Foobar."),
        ("On part sur Redis pour le cache.", "On remplace Redis par Memcached."),
    ],
)
def test_what_a_decision_plainly_names_is_replaced(earlier: str, later: str) -> None:
    assert replaced(known(earlier), later)


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        # What goes is not what the other one speaks of, though other words are shared.
        ("We'll use a hand-written parser.", "Let's use tabs instead of spaces in the parser."),
        ("We'll use PostgreSQL for the orders.", "Let's use SQLite instead of MySQL."),
        ("We'll use PostgreSQL.", "We use PostgreSQL instead of MySQL."),
        # The same thing for something else, or only in one place.
        ("We'll use Redis for the queue.", "We use Memcached instead of Redis for the cache."),
        ("We'll use MySQL for the orders.", "Let's use SQLite instead of MySQL in the tests."),
        ("On prend Redis pour la file.", "On prend Memcached à la place de Redis pour le cache."),
        # Another thing that is named after it.
        ("We'll use MySQL Workbench for dumps.", "We use PostgreSQL instead of MySQL."),
        ("On va utiliser Redis Insight.", "On prend Memcached à la place de Redis."),
        # It went there already, or was never taken.
        ("We use PostgreSQL instead of MySQL.", "Let's use SQLite instead of MySQL."),
        ("We won't use MySQL.", "We use PostgreSQL instead of MySQL."),
        ("On n'utilisera pas MySQL.", "On prend PostgreSQL à la place de MySQL."),
        # A fact about it, or about another place.
        ("Staging still runs on MySQL.", "We use PostgreSQL instead of MySQL."),
        ("The MySQL server listens on port 3306.", "We use PostgreSQL instead of MySQL."),
        ("The MySQL server is behind the VPN.", "We use PostgreSQL instead of MySQL."),
        ("We use MySQL dumps for the tests.", "We use PostgreSQL instead of MySQL."),
        # No decision and no fact.
        ("I prefer MySQL.", "We use PostgreSQL instead of MySQL."),
        ("By June we want to migrate from MySQL.", "We use PostgreSQL instead of MySQL."),
        ("Remind me to upgrade MySQL.", "We use PostgreSQL instead of MySQL."),
    ],
)
def test_what_a_decision_does_not_plainly_name_is_not_replaced(earlier: str, later: str) -> None:
    assert not replaced(known(earlier), later)


def test_of_several_a_decision_is_replaced_before_a_fact() -> None:
    fact, decision = known("We use MySQL for the orders."), known("We'll use MySQL for the orders.")
    later = a_material("We use PostgreSQL instead of MySQL.", near=(fact, decision))
    [link] = understand_offline(later).associations
    assert link.to_id == decision.id


@pytest.mark.parametrize(
    "words",
    [
        "Should we use PostgreSQL instead of MySQL?",
        "Maybe we use PostgreSQL instead of MySQL.",
        "The docs say we use PostgreSQL instead of MySQL.",
        "Faut-il prendre PostgreSQL à la place de MySQL ?",
        "Replace MySQL with PostgreSQL in compose.yaml and run it.",
    ],
)
def test_what_is_no_decision_replaces_nothing(words: str) -> None:
    old = known("We'll use MySQL for the orders.")
    assert understand_offline(a_material(words, near=(old,))).associations == ()
