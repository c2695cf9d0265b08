"""What a turn comes to without a model, and the pieces of text that it is made of."""

import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from ragforge.domain.memories import (
    IMPORTANCE,
    AssociationKind,
    Memory,
    MemoryScope,
    MemorySource,
    MemoryType,
)
from ragforge.domain.messages import ImagePart, TextPart
from ragforge.domain.summaries import SummaryMethod
from ragforge.domain.turns import CallStatus, ToolCall, Turn, TurnStatus
from ragforge.memory.constraints import constraints_in, word_for_word
from ragforge.memory.material import Material, summary_id
from ragforge.memory.salvage import read_object
from ragforge.memory.sentences import cut_sentence, sentences, with_dates
from ragforge.memory.summarise import roll_up_offline, understand_offline

NOON = datetime(2026, 3, 4, 12, tzinfo=UTC)


def a_material(user: str, assistant: str = "", *, near: tuple[Memory, ...] = (), **values: Any) -> Material:
    calls = values.pop("calls", ())
    turn = Turn(
        **{
            "id": "turn",
            "session_id": "session",
            "parent": None,
            "index": 0,
            "user": (TextPart(user),),
            "started_at": NOON,
            "status": TurnStatus.FINISHED,
            "assistant": assistant,
            **values,
        }
    )
    return Material(turn, "project", calls, near)


def a_call(name: str, **args: Any) -> ToolCall:
    return ToolCall("call", "turn", 0, 0, name, args, CallStatus.OK, "", NOON, 1)


def memories(user: str, *near: Memory, at: datetime = NOON) -> tuple[Memory, ...]:
    return understand_offline(a_material(user, near=near, started_at=at)).memories


def replaced_by(user: str, *near: Memory) -> list[str]:
    links = understand_offline(a_material(user, near=near)).associations
    assert all(link.kind is AssociationKind.UPDATES for link in links)
    return [link.to_id for link in links]


def test_a_summary_begins_with_what_the_user_wanted() -> None:
    answer = (
        "Let me look at that.\n\nI found the cause in src/pool.py: the lock was never released. "
        "I added a `finally`. All 214 tests pass now. Would you like more?"
    )
    calls = (
        a_call("read", path="./src/pool.py"),
        a_call("edit", path="src/pool.py"),
        a_call("read", path="a.md"),
    )
    summary = understand_offline(a_material("The pool hangs. Fix it.", answer, calls=calls)).summary
    assert summary.text.startswith("The pool hangs. Fix it.\n")
    assert "the lock was never released" in summary.text
    assert summary.id == summary_id(1, ["turn"])
    assert (summary.level, summary.covers, summary.at, summary.turn_count) == (1, ("turn",), NOON, 1)
    assert (summary.method, summary.model) == (SummaryMethod.EXTRACTIVE, "")
    assert summary.files == ("src/pool.py", "a.md")
    assert summary.tools == ("read", "edit")
    assert summary.findings[0].startswith("I found the cause")
    assert "pool" in summary.topics


@pytest.mark.parametrize(
    ("user", "assistant", "values"),
    [
        ("", "", {}),
        ("\n \t", "```\ncode\n```", {}),
        ("?!", "...", {"status": TurnStatus.INTERRUPTED}),
        ("\ud800", "\udfff" * 3_000, {"status": TurnStatus.FAILED, "error": "x" * 9_000}),
    ],
)
def test_a_turn_with_hardly_any_text_has_a_summary(user: str, assistant: str, values: dict[str, Any]) -> None:
    summary = understand_offline(a_material(user, assistant, **values)).summary
    assert 0 < len(summary.text) <= 1_200
    assert summary.text.encode()


def test_an_image_alone_is_named() -> None:
    turn = replace(a_material("").turn, user=(ImagePart("a" * 64, "image/png", "plan.png"),))
    assert understand_offline(Material(turn, "project")).summary.text == "[image plan.png]"


def test_search_results_in_place_of_an_answer_are_not_summarised() -> None:
    turn = a_material(
        "Which database?", "1. We'll use PostgreSQL in src/a.py, because it failed.", model="local"
    )
    summary = understand_offline(turn).summary
    assert (summary.text, summary.files, summary.findings) == ("Which database?", (), ())


def test_how_a_turn_ended_is_said() -> None:
    failed = a_material("Go on.", status=TurnStatus.FAILED, error="No answer from the server.")
    assert "(failed) No answer from the server." in understand_offline(failed).summary.text


def test_a_summary_tells_the_date_of_yesterday() -> None:
    summary = understand_offline(a_material("Yesterday it went live.")).summary
    assert summary.text == "Yesterday (2026-03-03) it went live."


def test_facts_stored_with_the_runs_date_instead_of_the_conversations() -> None:
    [memory] = memories("Yesterday we deployed version 2 to production.", at=datetime(2020, 1, 1, tzinfo=UTC))
    assert memory.content == "Yesterday (2019-12-31) we deployed version 2 to production."
    assert memory.created_at == memory.updated_at == datetime(2020, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    "text",
    [
        "Should we use MySQL?",
        "What if we go with MySQL",
        "Maybe we'll use MySQL.",
        "The docs say we'll use MySQL.",
        "> We'll use MySQL.",
        "```\nWe'll use MySQL.\n```",
        'Write "We\'ll use MySQL. I prefer it." into the README',
        "    We'll use MySQL.",
        "Et si on partait sur MySQL ?",
        "On va peut-être utiliser MySQL.",
        "Mon collègue dit qu'on va utiliser MySQL.",
        "Ajoute « On va utiliser MySQL. » au README",
        "are we on Python 3.12",
        "is the api on port 9443",
        "whats the port of the staging server",  # codespell:ignore
        "est ce que le serveur écoute sur 9000",
        "où est la config de staging",
    ],
)
def test_questions_guesses_and_quotes_are_no_memories(text: str) -> None:
    found = understand_offline(a_material(text))
    assert found.memories == ()
    assert found.summary.constraints == ()


def test_what_only_the_assistant_says_is_no_memory() -> None:
    found = understand_offline(
        a_material("Thanks.", "We'll use MySQL. You must never commit. I prefer tabs.")
    )
    assert found.memories == ()
    assert found.summary.constraints == ()


def test_use_postgresql_and_use_mysql_are_near_and_opposites() -> None:
    [old] = memories("We'll use PostgreSQL for the storage layer.")
    other = memories("We'll use React for the interface.")[0]
    fact = memories("Our database is PostgreSQL 16.")[0]
    for words in (
        "Let's use MySQL instead of PostgreSQL.",
        "I changed my mind. Let's go with MySQL.",
        "Finalement on part sur MySQL.",
        "On va utiliser MySQL à la place de PostgreSQL.",
        "J'ai changé d'avis : on prend MySQL.",
    ):
        assert replaced_by(words, other, fact, old) == [old.id], words


def test_three_quick_messages_change_the_decision() -> None:
    [old] = memories("Use PostgreSQL for the database layer")
    assert old.type is MemoryType.DECISION
    queued = "En fait\nj'ai changé d'avis\non va utiliser MySQL à la place"
    [new] = memories(queued, old)
    assert new.type is MemoryType.DECISION
    assert replaced_by(queued, old) == [old.id]


def test_a_decision_about_something_else_replaces_nothing() -> None:
    [old] = memories("We'll use PostgreSQL for the storage layer.")
    for words in (
        "We'll use Redis for sessions.",
        "Let's use tabs instead of spaces.",
        "I changed my mind, let's go with Svelte.",
        "We'll use MySQL for the reporting replica.",
        "Should we use MySQL instead of PostgreSQL?",
    ):
        assert replaced_by(words, old) == [], words


def test_a_decision_can_change_within_one_message() -> None:
    words = "We'll use PostgreSQL. No wait, I changed my mind, let's go with MySQL."
    found = understand_offline(a_material(words))
    old, new = found.memories
    [link] = found.associations
    assert (link.kind, link.from_id, link.to_id) == (AssociationKind.UPDATES, new.id, old.id)


def test_the_user_is_known_everywhere_and_the_project_is_not() -> None:
    [user] = memories("My name is Ada.")
    [project] = memories("This project is a compiler for Lisp.")
    assert (user.type, user.scope) == (MemoryType.IDENTITY, MemoryScope.GLOBAL)
    assert (project.type, project.scope) == (MemoryType.IDENTITY, MemoryScope.PROJECT)
    assert user.source is MemorySource.BACKGROUND
    assert user.turns == ("turn",)


def test_equal_words_are_one_memory() -> None:
    assert len(memories("We'll use MySQL. We'll  use mysql!")) == 1
    assert memories("We'll use MySQL.")[0].id == memories("we'll use MySQL")[0].id


def test_constraints_are_kept_word_for_word() -> None:
    text = "Please look at it.\nNever  commit to main, and il ne faut pas\ttoucher aux tests. Is that fine?"
    assert constraints_in(text) == ("Never commit to main, and il ne faut pas toucher aux tests.",)
    assert constraints_in("It never returns. The build always fails. Ça plante toujours.") == ()
    [long] = constraints_in("Never touch " + "the file and " * 33 + "that.")
    assert len(long) <= 300
    assert long.endswith(("the", "file", "and"))


@pytest.mark.parametrize(
    ("quote", "user", "kept"),
    [
        ("never  commit", "Please NEVER\ncommit.", "NEVER commit"),
        ("don't push", "So don’t push", "don’t push"),
        ("“use tabs”", "I say: use tabs", "use tabs"),
        ("never push", "never commit", ""),
        ("a", "a", ""),
        ("", "anything", ""),
        ("x" * 400, "x" * 500, "x" * 300),
    ],
)
def test_only_what_the_user_said_is_a_constraint(quote: str, user: str, kept: str) -> None:
    assert word_for_word(quote, user) == kept


def test_summaries_of_summaries_keep_all_constraints_and_stay_short() -> None:
    children = [
        understand_offline(
            a_material(
                f"Part {n}. Never touch module{n}.py. " + "More words. " * 200,
                "I found it. " * 200,
                id=f"turn{n}",
                started_at=NOON + timedelta(hours=n),
            )
        ).summary
        for n in range(12)
    ]
    made = roll_up_offline(children)
    assert made.id == summary_id(2, [child.id for child in children])
    assert made.covers == tuple(child.id for child in children)
    assert (made.level, made.turn_count, made.at) == (2, 12, NOON + timedelta(hours=11))
    assert made.constraints == tuple(f"Never touch module{n}.py." for n in range(12))
    assert len(made.text) <= 1_200
    assert all(f"Part {n}." in made.text for n in range(12))
    again = roll_up_offline([made, made])
    assert (again.level, again.turn_count, again.constraints) == (3, 24, made.constraints)


def test_sentences_are_split_where_they_end() -> None:
    text = "Use v1.2 of a.py, e.g. today. Then run it!\n- first point\n- second\n\nA line that goes\non here"
    assert sentences(text) == [
        "Use v1.2 of a.py, e.g. today.",
        "Then run it!",
        "first point",
        "second",
        "A line that goes on here",
    ]
    assert sentences('Say "One. Two." now. Next.') == ['Say "One. Two." now.', "Next."]


def test_cutting_ends_at_a_sentence() -> None:
    assert cut_sentence("One two. Three four. Five six seven.", 25) == "One two. Three four."
    assert cut_sentence("abcdefghij", 5) == "abcd…"


@pytest.mark.parametrize(
    ("text", "dated"),
    [
        ("It ran yesterday.", "It ran yesterday (2026-03-03)."),
        ("Demain on livre", "Demain (2026-03-05) on livre"),
        ("avant-hier et hier", "avant-hier (2026-03-02) et hier (2026-03-03)"),
        ("yesterday (2026-03-03)", "yesterday (2026-03-03)"),
        ("yesterday, 2026-03-03, it ran", "yesterday, 2026-03-03, it ran"),
        ("hierarchy, yesterdays", "hierarchy, yesterdays"),
        ("by Friday, or next Wednesday", "by Friday (2026-03-06), or next Wednesday (2026-03-11)"),
        ("last Wednesday in two weeks", "last Wednesday (2026-02-25) in two weeks (2026-03-18)"),
        ("next week, next month", "next week (2026-03-09), next month (2026-04)"),
        ("d'ici vendredi ou mardi prochain", "d'ici vendredi (2026-03-06) ou mardi prochain (2026-03-10)"),
        ("lundi dernier, dans 3 jours", "lundi dernier (2026-03-02), dans 3 jours (2026-03-07)"),
        ("on Fridays, every Monday", "on Fridays, every Monday"),
    ],
)
def test_days_become_dates(text: str, dated: str) -> None:
    assert with_dates(text, NOON) == dated


def test_a_day_outside_the_calendar_stays_a_word() -> None:
    assert with_dates("yesterday", datetime(1, 1, 1, tzinfo=UTC)) == "yesterday"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", {}),
        ("no", {}),
        ("[1]", {}),
        ('{"a": 1}', {"a": 1}),
        ('```json\n{"a": "x\ny"}\n```', {"a": "x y"}),
        ('{"a": [1, 2', {"a": [1, 2]}),
        ('{"a": "whole", "b": "cut', {"a": "whole"}),
        ('{"a": 1, b: 2}', {"a": 1}),
        ("{" * 50_000, {}),
        ('{"a":' * 5_000, {}),
    ],
)
def test_what_is_whole_of_broken_json_is_read(text: str, value: dict[str, Any]) -> None:
    read = read_object(text)
    assert read == value or text.startswith('{"a":{"a":')


@pytest.mark.parametrize(
    "piece",
    [
        "a",
        "never ",
        "on va ",
        "we use ",
        "/a",
        "a.b",
        "le ",
        "'",
        "`",
        '"',
        "on d",
        "I want to ",
        "Le la le,",
        "(",
        "é",
    ],
)
def test_hostile_text_takes_no_time(piece: str) -> None:
    text = piece * (400_000 // len(piece))
    begin = time.process_time()
    understand_offline(a_material(text, text))
    assert time.process_time() - begin < 3


def test_of_too_many_findings_each_of_the_newest_summaries_has_one() -> None:
    answers = [f"I found cause number {n} in the log. I found number {n} again elsewhere." for n in range(12)]
    children = [
        understand_offline(a_material("Look.", answer, id=f"turn{n}")).summary
        for n, answer in enumerate(answers)
    ]
    assert roll_up_offline(children).findings == tuple(
        f"I found cause number {n} in the log." for n in range(4, 12)
    )


def test_importing_makes_no_pattern_ready() -> None:
    """So that a start that summarises nothing does not pay for the rules."""
    program = (
        "import sys, ragforge.memory.summarise, ragforge.memory.extract as extract;"
        "print(any('_ready' in vars(rule) for rule in extract.RULES.values()),"
        "'ragforge.domain.language.en' in sys.modules)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )
    assert ran.stdout.strip() == "False False"


@pytest.mark.parametrize(
    "words",
    [
        "I prefer tabs over spaces.",
        "From now on, answer in French.",
        "Always run the linter before a commit.",
        "By the way, I prefer short answers. Can you fix the test?",
        "Fix the test, and from now on run the suite with -x.",
        "Keep the commits small so I can review them right now and later, always.",
        "Je préfère les tabulations.",
        "Désormais, réponds en français.",
        "Corrige ça, et désormais mets toujours des types.",
    ],
)
def test_a_standing_wish_matters_as_much_in_whatever_words(words: str) -> None:
    [wish] = memories(words)
    assert (wish.type, wish.importance) == (MemoryType.PREFERENCE, IMPORTANCE[MemoryType.PREFERENCE])


@pytest.mark.parametrize(
    "words",
    [
        "Please explain in detail.",
        "Explain it once more, step by step.",
        "Answer in French this time.",
        "I'd prefer tabs here, just this once.",
        "For now I prefer a list.",
        "Explique en détail, merci.",
        "Réponds en anglais pour cette fois.",
        "Pour le moment je préfère une liste.",
    ],
)
def test_a_wish_for_once_is_no_memory(words: str) -> None:
    assert memories(words) == ()
