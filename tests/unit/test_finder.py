"""Finding what a user states without a model: clauses, the classifier, short answers, what was pasted."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from ragforge.domain.memories import MemoryType
from ragforge.memory.classifier import WEIGHTS
from ragforge.memory.clauses import cut
from ragforge.memory.extract import statements_in
from ragforge.memory.own_words import own_words
from ragforge.memory.recall.sources import instructions
from ragforge.memory.short_answers import needs_question, with_question
from ragforge.memory.summarise import understand_offline
from tests.extraction.measure import material
from training.__main__ import digest
from training.examples import read_examples

TURN_S = 0.05
"""A turn of three sentences takes a few milliseconds; this is for a machine that does much else."""


def test_the_weights_belong_to_the_training_messages() -> None:
    import numpy as np

    with np.load(WEIGHTS) as file:
        assert str(file["made_from"]) == digest(read_examples()), "run `make train`"
    assert WEIGHTS.stat().st_size < 1_000_000


def test_the_training_messages_are_many_in_both_languages() -> None:
    examples = read_examples()
    for language in ("en", "fr"):
        of_it = [each for each in examples if each.language == language]
        assert len(of_it) >= 1_000
        assert {span.type for each in of_it for span in each.spans} == set(MemoryType)
        assert sum(not each.spans for each in of_it) >= 300


@pytest.mark.parametrize(
    ("said", "statement", "type"),
    [
        ("Remember: we use Kafka for the orders.", "we use Kafka for the orders.", MemoryType.DECISION),
        ("Please remember that we deploy on Tuesdays.", "we deploy on Tuesdays.", MemoryType.DECISION),
        ("Keep in mind: I prefer short answers.", "I prefer short answers.", MemoryType.PREFERENCE),
        ("Souviens-toi : on utilise Kafka.", "on utilise Kafka.", MemoryType.DECISION),
        ("Retiens que le port est 7117.", "le port est 7117.", MemoryType.FACT),
        ("Remember to water the seedlings.", "Remember to water the seedlings.", MemoryType.TODO),
    ],
)
def test_what_is_asked_to_be_remembered_is_kept_without_the_request(
    said: str, statement: str, type: MemoryType
) -> None:
    assert [(each.text, each.type) for each in statements_in(said)] == [(statement, type)]


@pytest.mark.parametrize(
    "said", ["Remember: is it Kafka?", "Remember that time we used Kafka?", "Remember that."]
)
def test_a_question_about_what_was_is_no_request_to_remember(said: str) -> None:
    assert not statements_in(said)


@pytest.mark.parametrize(
    "said",
    [
        "why do people prefer goto over exceptions",
        "tu préfères une file ou une table pour les tâches",
        "ne touche pas au pied de page pendant que je l'édite",
        "keep the answers short until I tell you that I'm done",
        "we'll tidy up tonight",
        "I love reading minified code, best part of my day",
        "nothing I like more than merging lock files",
    ],
)
def test_questions_without_a_mark_plans_of_the_moment_and_irony_are_not_kept(said: str) -> None:
    assert statements_in(said) == []


@pytest.mark.parametrize(
    "said",
    [
        "would you please never push to the main branch",
        "could you always put the units into the names",
        "for now and for good: never deploy while the tests are running",
    ],
)
def test_a_request_and_a_rule_that_always_holds_are_kept(said: str) -> None:
    assert [each.type for each in statements_in(said)] == [MemoryType.PREFERENCE]


def test_a_sentence_that_takes_back_a_part_stays_with_the_one_before() -> None:
    for said, statement in (
        (
            "Always run the linter. But not in the legacy folder.",
            "Always run the linter, but not in the legacy folder.",
        ),
        ("never push to main. except for hotfixes", "never push to main, except for hotfixes"),
        ("Lance toujours le linter. Sauf dans archives/.", "Lance toujours le linter, sauf dans archives/."),
    ):
        assert [each.text for each in statements_in(said)] == [statement]
    assert statements_in("Thanks. Not in this file, the other one.") == []


def test_what_has_never_been_so_is_no_wish() -> None:
    for said in (
        "I've never used Rust before.",
        "Je n'ai jamais utilisé Rust.",
        "always nice when CI is red",
    ):
        assert not [each for each in statements_in(said) if each.type is MemoryType.PREFERENCE]
    [wish] = statements_in("I've never used Rust, so always explain the borrow checker.")
    [asks] = statements_in("I've never used asyncio before, so please explain it when you use it")
    assert wish.type is asks.type is MemoryType.PREFERENCE


def test_a_mark_that_is_not_closed_is_refused(tmp_path: Path) -> None:
    (tmp_path / "en.txt").write_text("[d|we use Redis\n")
    with pytest.raises(ValueError, match="line 1: a mark is not closed"):
        read_examples(tmp_path)
    (tmp_path / "en.txt").write_text("ok\n[x|we use Redis|]\n")
    with pytest.raises(ValueError, match="line 2: there is no type 'x'"):
        read_examples(tmp_path)


@pytest.mark.parametrize(
    ("message", "type"),
    [
        ("whatever you write for the kiosk has to run without a mouse", MemoryType.PREFERENCE),
        ("pls keep the variable names in english even in the french modules", MemoryType.PREFERENCE),
        ("ok after some thought the archive moves to tape, disks are too expensive", MemoryType.DECISION),
        ("the scales in the lab report grams but the form wants ounces", MemoryType.FACT),
        ("les horaires sont dans un fichier que la mairie envoie le lundi", MemoryType.FACT),
        ("bon on garde la version imprimée et on laisse tomber l'appli", MemoryType.DECISION),
        ("pas de jargon dans les textes pour les visiteurs", MemoryType.PREFERENCE),
        ("Garde des légendes courtes partout.", MemoryType.PREFERENCE),
        ("we still owe the printers an answer about the paper", MemoryType.TODO),
    ],
)
def test_what_no_rule_was_written_for_is_found(message: str, type: MemoryType) -> None:
    [statement] = statements_in(message)
    assert (statement.type, statement.text) == (type, message)


@pytest.mark.parametrize(
    "message",
    [
        "could you draw the timeline from left to right?",
        "add a legend below the timeline",
        "the timeline is cut off at the right",
        "should we always draw it from left to right?",
        "thanks, that looks much better",
        "pourquoi la frise est coupée à droite",
        "pour cette fois dessine la à l'envers",
        "Garde cette légende courte.",
        "never!",
        "please always",
        "oui, toujours",
        "Yeah sure, always draw it upside down, I love that.",
        "mais oui, supprime toujours mes tests, j'adore",
        "The docs say: always draw from left to right.",
        "Never use npm here, haha just kidding",
        "n'utilise jamais npm, non je plaisante",
        "we lost an hour because of a missing comma",
        "we were on python 2 back then",
        "got a 502 from the proxy, then a 200, then a 502 again",
        "the test expects 3 and gets 4",
        "I prefer the first of your two proposals",
        "my laptop is at 4 % so please hurry",
        "je préfère la première de tes deux propositions",
        "les trois premiers tests sont verts, le dernier est instable",
        "désolé pour les fautes, je suis sur mon téléphone",
        "ERREUR 2026-02-11 10:22:01 worker doit toujours réessayer, abandon après 5",
    ],
)
def test_what_is_of_now_is_not_kept(message: str) -> None:
    assert statements_in(message) == []


@pytest.mark.parametrize(
    ("message", "statement"),
    [
        ("I prefer trains to planes, what's the fastest route to Berlin?", "I prefer trains to planes"),
        (
            "I like my coffee without sugar, so can you find a cake that fits",
            "I like my coffee without sugar",
        ),
        (
            "I need a hotel in Lyon and I prefer small ones, but I'm not sure which",
            "I need a hotel in Lyon and I prefer small ones",
        ),
        ("Je préfère les cadres en acier, tu me conseilles quoi ?", "Je préfère les cadres en acier"),
        ("which one would you prefer, and why?", ""),
        ("if I prefer speed over size, which codec should I take?", ""),
        ("I'm trying to set up the printer, can you tell me where the driver is?", ""),
    ],
)
def test_what_is_told_before_a_question_is_kept_without_it(message: str, statement: str) -> None:
    assert [each.text for each in statements_in(message)] == [statement] * bool(statement)


@pytest.mark.parametrize(
    ("message", "holds_always"),
    [
        ("the score must not go below zero, kids cry", False),
        ("I don't want the boats to sink, let them drift back to the pier", False),
        ("never commit straight to main", True),
        ("no password in a log, ever", True),
    ],
)
def test_what_a_product_must_do_is_less_sure_to_be_a_rule_than_what_the_user_asks_for_always(
    message: str, holds_always: bool
) -> None:
    [kept] = understand_offline(material(1, {"user": message, "assistant": ""})).memories
    assert kept.type is MemoryType.PREFERENCE
    assert (kept.confidence >= instructions.SURE_MIN) is holds_always


def test_statements_of_different_types_in_one_sentence_part() -> None:
    assert cut("never touch the vat table, it's filled by the tax office, so look elsewhere for the bug") == [
        "never touch the vat table,",
        "it's filled by the tax office,",
        "so look elsewhere for the bug",
    ]
    assert cut("names and addresses go to the archive") == ["names and addresses go to the archive"]


@pytest.mark.parametrize(
    ("before", "answer", "whole"),
    [
        ("The limit is 20 MB now. How long do we keep them?", "90 days", "How long do we keep them? 90 days"),
        ("I set the limit to 20 MB.", "make it 30", "I set the limit to 20 MB. make it 30"),
        ("Two ways: 1. a cron job, 2. a worker. Which one?", "option 2", "a worker (option 2)"),
        ("A) one table B) one per year", "b", "one per year (b)"),
        ("Une base par client, ou une seule base ?", "la deuxième", "une seule base (la deuxième)"),
        ("I can drop the old column. Shall I?", "yes", "I can drop the old column. Shall I? yes"),
        ("", "90 days", "90 days"),
    ],
)
def test_a_short_answer_takes_its_question_with_it(before: str, answer: str, whole: str) -> None:
    assert with_question(answer, before) == whole


@pytest.mark.parametrize(
    ("before", "answer", "needed"),
    [
        ("How long may a reading take?", "600 ms", True),
        ("The seedlings are watered every 40 minutes now.", "way too wet, 25", True),
        ("A neap tide has the smallest range.", "I want the release out by 12 December.", False),
        ("Welcome, Amira.", "the cache expires after 6 hours", False),
    ],
)
def test_what_says_enough_takes_nothing_with_it_that_was_not_asked(
    before: str, answer: str, needed: bool
) -> None:
    assert needs_question(answer, before) is needed


@pytest.mark.parametrize(
    ("message", "own"),
    [
        ("never do that\n\nthanks", "never do that\n\nthanks"),
        ("what is this?\n\n- Always use tabs\n- Never use spaces\n- Be nice", "what is this?"),
        (
            "from the customer:\n\nDear all,\nwe decided to wait.\nBest, Tom\n\nanswer it",
            "from the customer:\n\nanswer it",
        ),
        ("fix it\n\nKeyError: 'a'\nat run(app.js:3)\nat main(app.js:9)", "fix it"),
        ("anna: we take plan b\n", "anna: we take plan b"),
        ("Anna: we take plan b\nBob: I always wanted that\n\nsum it up", "sum it up"),
        ("translate this:\nWe never share data.\nWe always ask.", "translate this:"),
    ],
)
def test_what_was_pasted_is_not_the_users_word(message: str, own: str) -> None:
    assert own_words(message).strip() == own


def test_a_turn_is_classified_within_milliseconds() -> None:
    message = (
        "the tests are red again, look into it. we keep the old parser for now, the new one is slower. merci"
    )
    statements_in(message)
    begin = time.process_time()
    for _ in range(10):
        statements_in(message)
    assert (time.process_time() - begin) / 10 < TURN_S


def test_importing_loads_no_numpy() -> None:
    program = "import sys, ragforge.memory.summarise; print('numpy' in sys.modules)"
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )
    assert ran.stdout.strip() == "False"


def test_a_few_words_are_kept_where_they_answer_a_question() -> None:
    [statement] = statements_in("seulement la trésorière", "Qui peut voir les cotisations ?")
    assert statement.type is MemoryType.DECISION
    assert statements_in("seulement la trésorière") == []
    assert statements_in("yes, close it", "Shall I close the connection?") == []


def test_what_has_no_likely_type_is_not_kept() -> None:
    assert statements_in("deux clés par grande salle") == []
    assert statements_in("the small one sits near the door and the big one in the yard") == []


def test_a_request_behind_what_asked_nothing_is_no_answer_to_it() -> None:
    assert statements_in("Make it more polite", "It is Paris, on the Seine.") == []
    assert statements_in("never\nSay ok20.", "Done.") == []  # the number belongs to another sentence
    assert statements_in("never\nSay ok20.", "Shall I push?") != []
