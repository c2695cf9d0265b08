"""What is gone, built on something else or not picked is outdated; what only looks like it holds."""

import time
from collections.abc import Callable

import pytest

from ragforge.memory.recall.spoken import WORD_CHARS_MAX, spoken_turn
from ragforge.memory.recall.states import removals
from ragforge.memory.recall.validity import Validity
from ragforge.memory.statements import readable
from ragforge.memory.wishes import may_end
from tests.unit.test_terms import turns

REPLACED = [
    # What the answer, or the user, says is gone.
    (
        "invoices go out through Sendwave",
        "",
        "drop the old mailer",
        "`SendwaveClient` is deleted, `SmtpClient` does it.",
    ),
    (
        "the colours live in `palette_json`",
        "",
        "go ahead",
        "`palette_json` has been removed, the table `colour` has them.",
    ),
    (
        "Les plans sortent de Graphviz",
        "",
        "vas-y",
        "Graphviz est retiré des dépendances, `plan.py` dessine seul.",
    ),
    ("on s'identifie avec EduConnect", "", "En fait EduConnect c'est non, trop long", "Compris."),
    ("search runs on Typesense", "", "I got rid of Typesense this morning", "Good."),
    (
        "for the drafts: redis, one key each",
        "",
        "do it",
        "`DraftStore` writes to Postgres now, the Redis code in it is gone.",
    ),
    # What a name of code, or a part of the project, is built on.
    (
        "tiles to memcached please",
        "`TileCache` sits on Memcached.",
        "files will do",
        "`TileCache` is on Valkey again.",
    ),
    (
        "",
        "Le broker est RabbitMQ, avec des files durables.",
        "on simplifie",
        "Broker sur `redis://redis:6379/1`.",
    ),
    # What a setting is given in code.
    (
        "the lock waits 8 seconds",
        "```\nlock.wait = 8s\n```",
        "longer, it is cold",
        "```\nlock.wait = 12s\n```",
    ),
    # What was not picked.
    (
        "exports to the bank will go over Kafka",
        "",
        "now the exports to the bank. a plain table it is, kafka is one more box",
        "",
    ),
    ("Les menus, Prawn les fait pour l'instant", "", "Prawn met onze secondes par menu. On prend Typst.", ""),
    ("we store the drawings in MongoDB", "", "MongoDB lost drawings twice, so we went with Postgres", ""),
    # What is said to be dead, left or parted with.
    (
        "the seat maps are drawn by Konva",
        "",
        "so Konva is dead for us too, it knows nothing of touch screens",
        "",
    ),
    ("les plans de salle passent par Konva", "", "bon, Konva est mort pour nous, on dessine nous-mêmes", ""),
    ("newsletters go out with Mailcoach", "", "they doubled their prices. bye Mailcoach", ""),
    ("la lettre part avec Mailcoach", "", "adieu Mailcoach, notre serveur suffit", ""),
    ("the box office runs on Render", "", "We leave Render, too many outages", ""),
    ("la billetterie tourne chez Scalingo", "", "on quitte Scalingo, trois pannes en une semaine", ""),
    ("set up yoyo-migrations", "", "swap yoyo-migrations for alembic please, keep the order", ""),
    # A number that rises or falls, or how often something is done.
    (
        "the house keeps 12% of each ticket as its share",
        "",
        "the ensembles grumble about our share, it goes down to 9",
        "",
    ),
    ("our share is 12% of the ticket, and 100% of the drinks", "", "our share drops to 9", ""),
    ("notre commission est de 12 % du billet", "", "la commission descend à 9", ""),
    (
        "the scanner asks the gate every 3 seconds, 30 days are kept",
        "",
        "slow the questions to the gate to one each 20 s",
        "",
    ),
    (
        "le lecteur interroge le portique toutes les 3 secondes",
        "",
        "ralentis le portique à un par 20 s",
        "",
    ),
    # A to-do that was ordered and is there.
    (
        "also todo: a waiting list for sold-out nights",
        "",
        "do the waiting list now",
        "Done: who asks gets a mail when a seat is free.",
    ),
    (
        "à faire : une liste d'attente pour les soirs pleins",
        "",
        "bon, la liste d'attente maintenant",
        "C'est fait : chacun reçoit un mail quand une place se libère.",
    ),
]

HOLDS = [
    # Another thing, or a part alone, is gone.
    (
        "the stations are cached in Redis",
        "",
        "do it",
        "`DraftStore` writes to Postgres now, the Redis code in it is gone.",
    ),
    (
        "payments go through Sendwave",
        "",
        "clean up",
        "`SendwaveTest` was too slow. I removed three unused imports.",
    ),
    ("the colours live in `palette_json`", "", "hm", "Should I say `palette_json` is removed?"),
    ("payments go through Sendwave", "", "what if Sendwave is gone tomorrow", ""),
    ("the tariff cache holds ten minutes", "", "go", "`StationCache` is deleted."),
    ("`Tonemill.Limiter` clips too early", "", "tidy up", "`lib/tonemill/chorus.ex` is removed."),
    # The same, or another part, is built on something.
    (
        "tiles to memcached please",
        "`TileCache` sits on Memcached.",
        "and the fonts?",
        "`FontCache` is on Valkey.",
    ),
    (
        "tiles to memcached please",
        "`TileCache` sits on Memcached.",
        "sure?",
        "`TileCache` still sits on Memcached.",
    ),
    ("", "The database is Postgres 16.", "and the queue", "The queue is RabbitMQ."),
    # It is picked for another purpose, stays, or is only asked about.
    (
        "we store the drawings in MongoDB",
        "",
        "let's use Postgres for the bills, MongoDB stays for the drawings",
        "",
    ),
    (
        "exports to the bank will go over Kafka",
        "",
        "should we go with a plain table instead of kafka for exports?",
        "",
    ),
    (
        "exports to the bank will go over Kafka",
        "",
        "for the mails we went with a table, kafka would be too much",
        "",
    ),
    ("the lock waits 8 seconds", "```\nlock.wait = 8s\n```", "and the door", "```\ndoor.wait = 12s\n```"),
    ("the menu has 8 dishes", "```\nlock.wait = 8s\n```", "longer, it is cold", "```\nlock.wait = 12s\n```"),
    # Nothing is parted with.
    ("the maps are drawn by Leaflet", "", "Leaflet is dead simple, I like it", ""),
    ("the gala is on Tuesday", "", "we leave Tuesday, so hurry", ""),
    ("the box office runs on Render", "", "we leave Render as it is", ""),
    ("we use yoyo-migrations", "", "for the archive, swap yoyo-migrations for alembic", ""),
    # Another number, and something else done as often.
    ("the house keeps 12% of each ticket as its share", "", "the free seats go down to 9", ""),
    ("the scanner asks the gate every 3 seconds", "", "slow the mails to one each 20 s", ""),
    # It is still to do.
    (
        "also todo: a waiting list for sold-out nights",
        "",
        "do the seat map now, the waiting list comes later",
        "Done: the map is drawn by row.",
    ),
    ("also todo: a waiting list for sold-out nights", "", "is the waiting list done?", "Not yet."),
    ("we need `DELETE /seats`, todo, before June", "", "what is left?", "`DELETE /seats` is still missing."),
    ("we need `DELETE /seats`, todo, before June", "", "how?", "`DELETE /seats` will free the seat."),
    # It is down, or a part of it is.
    ("the seat maps come from Garage", "", "Garage is dead, look at its log", ""),
    ("the seat maps come from Garage", "", "the mail server and Garage are dead. restart them", ""),
    ("the seat maps come from Garage", "", "the link to Garage on the help page is dead, take it out", ""),
    ("les plans sont dans Garage", "", "Garage est mort, relance-le", ""),
    ("les plans sont dans Garage", "", "le lien vers Garage est mort : corrige la page", ""),
    # A condition, a negation, or what others do or say.
    ("the seat maps come from Garage", "", "if Garage is dropped, show the last map", ""),
    ("the seat maps come from Garage", "", "the help page says Garage is gone for us", ""),
    ("the seat maps come from Garage", "", "make sure we hear of it when Garage is dead for us", ""),
    ("the box office runs on Render", "", "when we leave Render, the mails stop", ""),
    ("the box office runs on Render", "", "once we quit Render, tell the ensembles", ""),
    ("la billetterie tourne chez Scalingo", "", "quand on quitte Scalingo, préviens les salles", ""),
    ("la billetterie tourne chez Scalingo", "", "dès qu'on sort de Scalingo, le tarif baisse", ""),
    ("we use yoyo-migrations", "", "never swap yoyo-migrations for alembic", ""),
    ("we use yoyo-migrations", "", "you must not trade yoyo-migrations for alembic", ""),
    ("we use yoyo-migrations", "", "don't replace yoyo-migrations with alembic", ""),
    ("we use yoyo-migrations", "", "the choir swapped yoyo-migrations for alembic, they said", ""),
    ("we use yoyo-migrations", "", "they swapped yoyo-migrations for alembic last year", ""),
    ("we use yoyo-migrations", "", "I swapped yoyo-migrations for alembic locally", ""),
    ("we use yoyo-migrations", "", "ask me before you replace yoyo-migrations with alembic", ""),
    ("we use yoyo-migrations", "", "the choir wants to replace yoyo-migrations with alembic", ""),
    ("on utilise yoyo-migrations", "", "demande-moi avant de remplacer yoyo-migrations par alembic", ""),
    ("our share is 12% of the ticket", "", "the report shows that our share drops to 9", ""),
    ("on utilise yoyo-migrations", "", "il ne faut jamais troquer yoyo-migrations contre alembic", ""),
    ("on utilise yoyo-migrations", "", "ils ont troqué yoyo-migrations contre alembic", ""),
    # It rises or falls on a condition or by a fault, or has only a bound.
    ("our share is 12% of the ticket", "", "as soon as our share drops to 9, write to the ensembles", ""),
    ("our share is 12% of the ticket", "", "when our share falls to 9, warn me", ""),
    ("our share is 12% of the ticket", "", "our share drops to 0 with a gift card, that is wrong", ""),
    ("our share is 12% of the ticket", "", "our share went down to 9 in the old hall", ""),
    ("at least 80% of the seats are numbered", "", "the seats go down to 70 in the garden", ""),
    ("notre commission est de 12 % du billet", "", "si la commission descend à 9, écris aux salles", ""),
    ("notre commission est de 12 % du billet", "", "la commission tombe à 0 avec un avoir, corrige", ""),
    ("la jauge doit rester sous 300 places", "", "la jauge monte à 310", ""),
    # Another thing that is measured in time.
    ("a seat is held for 20 minutes", "", "set the seat plan to 3 months", ""),
    # Another deed on the same thing, or only what is there.
    ("todo: tests for the waiting list", "", "do the waiting list now", "Done: who asks gets a mail."),
    ("todo: the waiting list tests", "", "do the waiting list now", "Done: who asks gets a mail."),
    ("todo: translate the waiting list", "", "do the waiting list now", "Done: who asks gets a mail."),
    ("todo: a waiting list", "", "delete the waiting list of the old hall", "Done: it is deleted."),
    ("todo: a waiting list", "", "what about the waiting list", "Done: it is in the plan."),
    ("todo: a waiting list", "", "rename the waiting list", "Done: it is called the queue."),
    ("todo: a waiting list", "", "make the waiting list page green", "Done: it is green."),
    (
        "à faire : tests de la liste d'attente",
        "",
        "renomme la liste d'attente",
        "C'est fait : elle s'appelle file.",
    ),
    ("todo: delete `hall/seats.py`", "", "what does it do?", "`hall/seats.py` holds the seats by row."),
    ("todo: `GET /seats` as CSV", "", "why is it empty?", "`GET /seats` returns a page of HTML."),
    ("à faire : tests de `hall/plan.py`", "", "explique", "`hall/plan.py` dessine le plan."),
    # What was asked for is not what is dropped, or it is not dropped.
    ("no emojis in commits", "", "the commit stuff in the seat log is long, drop it", ""),
    ("always run the linter", "", "my linter rule for the hall is wrong: skip it", ""),
    ("réponds en un paragraphe", "", "le coup du paragraphe, on oublie pas", ""),
]


@pytest.mark.parametrize(("said", "told", "later", "answer"), REPLACED)
def test_what_is_gone_or_not_picked_is_outdated(said: str, told: str, later: str, answer: str) -> None:
    old, new = turns((said, told), (later, answer))
    statement = said or told
    by = Validity([old, new]).replacement(old, statement)
    assert by is not None
    assert by.turn_id == new.id
    assert Validity([old, new]).changes_anything()


@pytest.mark.parametrize(("said", "told", "later", "answer"), HOLDS)
def test_what_only_looks_like_it_holds(said: str, told: str, later: str, answer: str) -> None:
    old, new = turns((said, told), (later, answer))
    assert Validity([old, new]).replacement(old, said or told) is None


def test_of_a_wish_that_ended_in_part_what_is_left_is_shown_without_a_mark() -> None:
    wish = "Keep answers in two lines, and no emojis."
    old, new = turns((wish, ""), ("emojis are fine again", ""))
    assert Validity([old, new]).what_holds(old, wish) == ("Keep answers in two lines", None)
    old, new = turns(("Never deploy on a Friday.", ""), ("Friday mornings are fine by me", ""))
    held, by = Validity([old, new]).what_holds(old, "Never deploy on a Friday.")
    assert held == "Never deploy on a Friday."
    assert by is not None
    assert by.in_part


def test_a_rule_stays_without_what_is_said_of_somebody_who_left() -> None:
    rule = "Never prune in May (Mme Le Braz, she checks the hedges)."
    old, new = turns((rule, ""), ("Mme Le Braz has left, Ida has the hedges", ""))
    valid = Validity([old, new])
    assert valid.replacement(old, rule) is None
    assert valid.still_open(old.started_at, rule) == "Never prune in May."


def test_what_something_was_built_on_meanwhile_is_outdated_and_what_it_is_built_on_again_holds() -> None:
    first, second, third = turns(
        ("the tiles go to Redis", "`TileCache` sits on Redis."),
        ("tiles to caffeine", "`TileCache` is a Caffeine cache in the process now."),
        ("back to redis for the tiles", "`TileCache` is on Redis again."),
    )
    valid = Validity([first, second, third])
    assert valid.replacement(first, "`TileCache` sits on Redis.") is None
    for meanwhile in ("tiles to caffeine", "`TileCache` is a Caffeine cache in the process now."):
        by = valid.replacement(second, meanwhile)
        assert by is not None
        assert by.turn_id == third.id


def test_what_was_meant_for_the_time_without_what_returned_is_outdated() -> None:
    first, meanwhile, third = turns(
        ("the box office runs on Render", ""),
        ("We leave Render. A small machine with podman, nginx in front", ""),
        ("3am again. We go back to Render, same as before", ""),
    )
    valid = Validity([first, meanwhile, third])
    assert valid.replacement(first, "the box office runs on Render") is None
    by = valid.replacement(meanwhile, "A small machine with podman, nginx in front")
    assert by is not None
    assert by.turn_id == third.id


@pytest.mark.parametrize(
    ("promise", "ends"),
    [
        ("I'll ask first from now on.", True),
        ("Understood, no package without asking.", True),
        ("`left-pad` is removed.", False),
    ],
)
def test_what_was_promised_for_a_wish_ends_with_it(promise: str, ends: bool) -> None:
    wish = "from now on ask me before you add any package"
    old, new = turns((wish, f"Sorry. {promise}"), ("you can stop asking me for each library", "Good."))
    by = Validity([old, new]).replacement(old, promise)
    assert (by is not None) is ends


def test_what_no_person_says_as_a_word_is_not_compared() -> None:
    (turn,) = turns((f"drop Typesense {'y' * 60_000} please", "Done."))
    spoken = spoken_turn(turn)
    assert {len(word) for said in spoken.sentences for word in said.split()} <= set(range(WORD_CHARS_MAX + 1))
    assert "drop Typesense" in spoken.own


def test_whether_a_very_long_sentence_allows_something_takes_no_time_by_its_square() -> None:
    def best_s(words: int) -> float:
        took: list[float] = []
        for turn in range(3):  # each sentence is another: what was found of one is kept
            started = time.thread_time()
            may_end(f"we {'never ' * words}{turn}")
            took.append(time.thread_time() - started)
        return min(took)

    best_s(10)
    assert best_s(400) < 8 * best_s(100) + 0.02  # 16 times as long, if it were by the square
    assert may_end("you may push to main now")


def test_what_a_very_long_message_removes_is_found_in_little_more_time_than_it_is_read() -> None:
    message = "the Redis code in it is gone and the retries stay at seven please and " * 600

    def took_s(work: Callable[[str], object], turn: int) -> float:
        text = f"{message}{turn}"  # what was found of one text is kept
        started = time.thread_time()
        work(text)
        return time.thread_time() - started

    removals(["the Redis code in it is gone"])
    read_s = min(took_s(readable, turn) for turn in range(3))
    assert min(took_s(lambda text: removals([text]), turn) for turn in range(3)) < 60 * read_s
    found = removals([message])
    assert len(found) == 600
    assert found[0].topic == found[-1].topic
    assert found[0].concerns("the retries of Redis")
