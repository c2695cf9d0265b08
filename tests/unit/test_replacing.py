"""What a decision takes the place of by its words, without a model: what it plainly names, else nothing."""

import pytest
from msgspec.structs import replace

from ragforge.domain.memories import AssociationKind, Memory, MemorySource, MemoryType
from ragforge.memory.memories import new_memory
from ragforge.memory.summarise import understand_offline
from ragforge.memory.wishes import Ending, ending
from tests.unit.test_understanding import NOON, a_material


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
        # Back again.
        ("Let's switch from SQLite to DuckDB.", "Back to SQLite for the stations."),
        ("On prend DuckDB à la place de SQLite.", "On revient à SQLite pour les stations."),
        # In the same words another product of the same kind, or another name in place of the one.
        ("We keep the readings in MySQL.", "We keep the readings in DuckDB."),
        ("On garde les relevés dans MySQL.", "On garde les relevés dans DuckDB."),
        ("From now on the pumps are written in Pascal.", "No, write the pumps in Erlang instead of Pascal."),
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
        ("We'll use Heroku for the backend of the shop.", "Let's use Netlify for the frontend of the shop."),
        ("We'll use Heroku for the shop.", "Let's use Netlify for the frontend of the shop."),
        ("We keep the readings in MySQL.", "Let's use Redis for the charts of the readings."),
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


def fact(words: str) -> Memory:
    return new_memory(
        words,
        MemoryType.FACT,
        project_id="project",
        at=NOON,
        source=MemorySource.BACKGROUND,
        turns=("earlier",),
    )


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ("The gateway listens on port 8443.", "We decided to move the gateway from 8443 to 9443."),
        ("The gateway listens on port 8443.", "On a décidé de passer la gateway de 8443 à 9443."),
        ("The session timeout is 30 minutes.", "We'll use a session timeout of 20 minutes instead of 30."),
        ("Le délai de session est de 30 minutes.", "On prend un délai de session de 20 minutes et pas 30."),
        ("The batch size is 128.", "Let's use a batch size of 64, not 128."),
        ("We keep logs for 90 days.", "From now on we keep logs 30 days rather than 90."),
    ],
)
def test_a_value_that_changes_replaces_the_old_one(earlier: str, later: str) -> None:
    old = fact(earlier)
    links = understand_offline(a_material(later, near=(old,))).associations
    assert [(link.kind, link.to_id) for link in links] == [(AssociationKind.UPDATES, old.id)]


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ("The gateway listens on port 8443.", "We decided to move the mail server from 8443 to 9443."),
        ("The session timeout is 30 minutes.", "We'll use a session timeout of 20 minutes."),
        ("The gateway listens on port 18443.", "We decided to move the gateway from 8443 to 9443."),
        ("We moved the gateway from 8443 to 7443.", "We decided to move the gateway from 8443 to 9443."),
    ],
)
def test_a_value_that_is_another_ones_stays(earlier: str, later: str) -> None:
    assert not understand_offline(a_material(later, near=(fact(earlier),))).associations


@pytest.mark.parametrize(
    ("said", "now"),
    [
        ("change 8443 to 9443, the other one is taken", "We use port 9443 for the API."),
        ("Change the port from 8443 to 9443.", "We use port 9443 for the API."),
        ("use 9443 instead of 8443", "We use port 9443 for the API."),
        ("9443, not 8443", "We use port 9443 for the API."),
        ("remplace 8443 par 9443", "We use port 9443 for the API."),
    ],
)
def test_a_change_of_a_value_alone_is_one_of_what_has_it(said: str, now: str) -> None:
    old = fact("We use port 8443 for the API.")
    found = understand_offline(a_material(said, near=(old,)))
    assert [memory.content for memory in found.memories] == [now]
    assert [(link.kind, link.to_id) for link in found.associations] == [(AssociationKind.UPDATES, old.id)]


@pytest.mark.parametrize(
    "said",
    [
        "change 8443 to 9443 for the mail server",
        "Should we change 8443 to 9443?",
        "replace 8443 with 9443 in nginx.conf",
    ],
)
def test_a_change_of_a_value_of_something_else_leaves_it(said: str) -> None:
    old = fact("We use port 8443 for the API.")
    assert not understand_offline(a_material(said, near=(old,))).associations


def test_a_change_of_a_value_that_two_have_is_of_neither() -> None:
    near = (fact("We use port 8443 for the API."), fact("The gateway listens on 8443."))
    found = understand_offline(a_material("change 8443 to 9443", near=near))
    assert "We use port 9443 for the API." not in {memory.content for memory in found.memories}


@pytest.mark.parametrize(
    ("todo", "said"),
    [
        ("Remind me to rotate the API keys.", "I've rotated the API keys this morning."),
        ("We still have to write the migration guide.", "The migration guide is written, have a look."),
        ("Il nous reste à écrire le guide de migration.", "Le guide de migration est enfin écrit."),
        ("Faut que je demande les droits sur le bucket.", "J'ai demandé les droits du bucket, ça marche."),
        ("Il faudra ajouter une page /status avant lundi.", "added /status this morning btw, thats done"),
        ("We still have to add a page /status.", "C'est fait, la page /status est ajoutée."),
    ],
)
def test_what_was_to_do_ends_when_it_is_said_to_be_done(todo: str, said: str) -> None:
    old = replace(fact(todo), type=MemoryType.TODO)
    found = understand_offline(a_material(said, near=(old,)))
    assert [(link.kind, link.to_id) for link in found.associations] == [(AssociationKind.UPDATES, old.id)]
    assert MemoryType.EVENT in {memory.type for memory in found.memories}


@pytest.mark.parametrize(
    "said",
    [
        "The API is done.",
        "Les tables sont faites.",
        "I haven't rotated the API keys yet.",
        "Did you rotate the API keys?",
        "The keys are on the table.",
        "Rotate the API keys now.",
    ],
)
def test_what_was_to_do_stays_while_nothing_says_that_it_is_done(said: str) -> None:
    old = replace(fact("Remind me to rotate the API keys."), type=MemoryType.TODO)
    assert not understand_offline(a_material(said, near=(old,))).associations


def test_of_several_things_to_do_one_that_is_done_ends_not_all() -> None:
    old = replace(fact("todo: rotate the API keys, write the migration guide"), type=MemoryType.TODO)
    assert not understand_offline(a_material("I've rotated the API keys.", near=(old,))).associations


@pytest.mark.parametrize(
    ("wish", "later"),
    [
        ("Always print the whole log, not the tail.", "And stop printing the whole log, it is too long."),
        ("Write docstrings for everything.", "No need for docstrings any more."),
        ("Commit messages in English, imperative.", "Don't write commit messages in English any more."),
        ("Never answer in bullet points.", "Bullet points are fine again from now on."),
        (
            "I prefer lookup tables for the tides.",
            "I changed my mind: no lookup tables for the tides any more.",
        ),
        ("Write lookup tables for the tides.", "No more lookup tables for the tides please."),
        ("Je préfère des tables pour les marées.", "Plus de tables pour les marées."),
        ("Explique toujours les macros, je débute.", "Plus besoin d'expliquer les macros, c'est bon."),
        ("Réponds toujours en français.", "Plus la peine de répondre en français."),
        (
            "Ne commente jamais les tests.",
            "Arrête de laisser les tests sans commentaires ; tu peux commenter.",
        ),
    ],
)
def test_a_wish_ends_when_the_user_says_so(wish: str, later: str) -> None:
    old = new_memory(
        wish, MemoryType.PREFERENCE, project_id="p", at=NOON, source=MemorySource.BACKGROUND, turns=("t",)
    )
    found = understand_offline(a_material(later, near=(old,)))
    assert [(link.kind, link.to_id, link.turn) for link in found.associations] == [
        (AssociationKind.UPDATES, old.id, "turn")
    ]


@pytest.mark.parametrize(
    ("wish", "later"),
    [
        ("Never run migrations on prod yourself.", "The migrations on prod are no longer slow."),
        ("Never leave the server running.", "Stop the server."),
        ("Write a test for every bug.", "You can skip the tests for now."),
        ("Stop printing the whole log.", "I said: stop printing the whole log!"),
        ("Never push to the harbour branch.", "Please stop pushing to the harbour branch!"),
        ("Never push to the harbour branch.", "No more pushes to the harbour branch, I said."),
        (
            "Never push to the harbour branch without asking me.",
            "Stop pushing to the harbour branch without asking me.",
        ),
        ("Ne touche jamais à la jetée du port.", "Arrête de toucher à la jetée du port."),
        ("Ne touche plus jamais à la jetée du port.", "Arrête de toucher à la jetée du port."),
        ("Always print the whole log.", "Never stop printing the whole log."),
        ("Réponds toujours en français.", "Le français n'a plus de secret pour toi."),
    ],
)
def test_in_doubt_a_wish_goes_on(wish: str, later: str) -> None:
    assert ending(later, wish) is Ending.NONE
