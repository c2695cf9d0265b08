"""The words by which texts are compared, and which statements replace others."""

import gc
import itertools
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from ragforge.domain.language.words import TEXTS_KEPT_MAX
from ragforge.domain.memories import Memory, MemorySource, MemoryType
from ragforge.domain.messages import TextPart
from ragforge.domain.turns import Turn
from ragforge.memory.derive.replacements import replaced_turns
from ragforge.memory.memories import new_memory
from ragforge.memory.recall.replacements import ReplacedStatement
from ragforge.memory.recall.resumption import resumes
from ragforge.memory.recall.validity import Validity
from ragforge.memory.replacement import names_otherwise
from ragforge.memory.set_values import set_values
from ragforge.memory.terms import about, numbers_in, says, terms
from ragforge.memory.todo_list import todo_list
from ragforge.memory.wishes import ending

AT = datetime(2026, 3, 4, tzinfo=UTC)


def turns(*said: tuple[str, str]) -> list[Turn]:
    """Turns of one session, a day apart."""
    made: list[Turn] = []
    for number, (user, answer) in enumerate(said):
        parent = made[-1].id if made else None
        at = AT + timedelta(days=number)
        made.append(Turn(f"t{number}", "s", parent, number, (TextPart(user),), at, assistant=answer))
    return made


def test_what_is_spelled_alike_in_two_languages_is_one_term() -> None:
    english, french = terms("the alerts and the sensors"), terms("les alertes et les senseurs, à l'alerte")
    assert english & french == {"alert"}
    assert terms("a reservation") == terms("des réservations")
    assert terms("it wouldn't be that") == frozenset()


def test_the_ending_of_a_files_name_is_no_term() -> None:
    assert terms("edit `vendor/pumps.py` and heat.toml") == terms("edit vendor pumps and heat")
    assert terms("write py or toml") > terms("write or")


def test_a_statement_is_said_by_most_of_its_words_and_all_of_its_numbers() -> None:
    assert says("the readings are kept in DuckDB for 30 days", "readings kept 30 days")
    assert not says("the readings are kept in DuckDB for 40 days", "readings kept 30 days")


@pytest.mark.parametrize(
    ("statement", "newer"),
    [
        ("`PUMP_LIMIT = 12` in `pumps.py`.", ("make it 9", "`PUMP_LIMIT` is 9 now.")),
        ("The tank takes 840 s to fill.", ("", "Filling the tank went from 840 s to 31 s.")),
        ("the pump house has a 40 litre tank", ("the pump house got a 60 litre tank", "")),
        ("The gauge may send 40 readings an hour.", ("la jauge est passée à 20 lectures par heure", "")),
        ("la clé du portail doit avoir 12 lettres", ("bump the key of the gate to 16 letters", "")),
        ("the pumps run every night at 2", ("décale les pompes à 4h", "")),
        ("the backups go every night at 3 to the disk", ("move the backups to 4, at 3 it sleeps", "")),
        ("the greenhouse listens on port 5000", ("port 5000 is taken by the tv, use 5055", "")),
        ("la serre écoute sur le port 5000", ("le port 5000 est occupé par la télé, prends 5055", "")),
        ("The boiler publishes 7117:7117.", ("use 7220 instead of 7117 for the boiler", "")),
        ("les bacs font 30 cm", ("des bacs de 45 cm au lieu de 30", "")),
        ("The sheet is written every 60 seconds. Is 60 fine?", ("no, rather 20", "Done.")),
        ("always explain the valve maths to me", ("no need to explain the valve maths any more", "")),
        ("the boiler api is on port 7117", ("passe le port de l'api à 7220, le 7117 ne va plus", "")),
        (
            "readings go to the gardener by fax when it freezes",
            ("readings by pager instead of fax, he has no paper", ""),
        ),
        ("the panel is written in Svelte", ("non, finalement pas Svelte : htmx, c'est plus court", "")),
        ("the panel is written in Svelte", ("actually not Svelte, htmx will do", "")),
        ("forget terraform, use ansible for the sensors", ("ok back to terraform", "")),
    ],
)
def test_a_later_turn_replaces_what_it_changes(statement: str, newer: tuple[str, str]) -> None:
    old, new = turns((statement, ""), newer)
    by = Validity([new, old]).replacement(old, statement)
    assert by is not None
    assert (by.at, by.turn_id) == (new.started_at, new.id)
    assert by.mark.startswith("(replaced 5 Mar: ")


PASTED = [
    (
        "the gate listens on port 7117",
        "why does it fail? here is the log:\n\n```\nINFO use port 7220 instead of 7117\n```",
    ),
    (
        "the gate listens on port 7117",
        "the vendor wrote this:\n\n> use 7220 instead of 7117\n\nis that true?",
    ),
    (
        "the gate retries 3 times",
        "what is wrong?\n2026-03-05 10:11:12 WARN the gate retries 9 times\n2026-03-05 10:11:13 ERROR no",
    ),
    ("`GATE_LIMIT = 12` is what we have", "look at this\n\n```\nGATE_LIMIT = 90\n```"),
    (
        "we deploy with ansible",
        "their page says:\n\n# Setup\n\nUse terraform instead of ansible.\nIt is faster.\nForget ansible.",
    ),
]


@pytest.mark.parametrize(("statement", "pasted"), PASTED)
def test_what_is_pasted_replaces_nothing(statement: str, pasted: str) -> None:
    old, new = turns((statement, ""), (pasted, "I looked at it."))
    assert Validity([old, new]).replacement(old, statement) is None
    assert not replaced_turns(new, (old,))


def test_another_constant_in_the_same_file_replaces_nothing() -> None:
    said = "`BED_MINUTES = 90` in `garden/beds.py`."
    old, new = turns(("", said), ("the beds hold 30 now", "`CAPACITY = 30` in `garden/beds.py`."))
    assert Validity([old, new]).replacement(old, said) is None


def test_what_is_said_beside_a_paste_replaces_and_is_shown_alone() -> None:
    said = "the gate listens on port 7117"
    pasted = "use port 7220 instead of 7117. here is the log:\n\n```\nERROR bind 0.0.0.0:7117\n```"
    old, new = turns((said, ""), (pasted, "Done."))
    by = Validity([old, new]).replacement(old, said)
    assert by is not None
    assert by.text == "use port 7220 instead of 7117. here is the log:"


def test_what_a_turn_says_with_a_value_of_its_own_goes_with_it() -> None:
    said = "warn us when it falls below 12 bars"
    old, new = turns((said, "`PUMP_WARN = 12` is in `pumps.py`."), ("make it 9", "`PUMP_WARN` is 9 now."))
    by = Validity([old, new]).replacement(old, said)
    assert by is not None
    assert by.text == "PUMP_WARN 9"
    assert Validity([old, new]).replacement(old, "the pumps were made in 2012") is None


@pytest.mark.parametrize(
    ("statement", "newer"),
    [
        ("`PUMP_LIMIT = 12`.", ("", "`FAN_LIMIT` is 9 now.")),
        ("12 pumps in the north hall", ("9 fans in the shed", "")),
        ("always explain the valve maths to me", ("stop the pump", "")),
        ("we use terraform", ("what is terraform?", "A tool.")),
        ("the boiler was built in 1987", ("set the port of the boiler to 7220", "")),
        (
            "la halle a 3 pompes vertes derrière les bacs du nord",
            ("plus vite", "Les pompes de la halle partent en 1 s au lieu de 3,1 s."),
        ),
    ],
)
def test_in_doubt_a_statement_holds(statement: str, newer: tuple[str, str]) -> None:
    old, new = turns((statement, ""), newer)
    assert Validity([old, new]).replacement(old, statement) is None
    assert Validity([old, new]).replacement(new, newer[0] or newer[1]) is None


def test_what_memories_know_holds_whatever_turns_are_compared() -> None:
    def memory(text: str) -> Memory:
        return new_memory(
            text, MemoryType.FACT, project_id="p", at=AT, source=MemorySource.BACKGROUND, turns=("t0",)
        )

    old, other = turns(("we keep the readings in mysql", ""), ("the pumps are green", ""))
    gone, now = memory("We keep the readings in MySQL."), memory("We keep the readings in DuckDB.")
    known = ReplacedStatement(gone, now, AT + timedelta(days=9), "t9")
    alone = Validity([old], [known])
    assert alone.with_turns([old]) is alone
    assert alone.with_turns([other]).holding(gone) == ""
    assert Validity([old, other]).holding(gone) == gone.content
    assert Validity([old, other]).holding(memory("todo for later:")) == "", "the words before a list alone"


def test_of_a_list_of_things_to_do_the_open_ones_are_left() -> None:
    said = "todo: rename the valves, a frost alarm"
    old, new = turns((said, ""), ("now the frost alarm", "`frost.py` has it. Ticked off."))
    assert Validity([old, new]).still_open(old.started_at, said) == "todo: rename the valves"
    assert Validity([old]).still_open(old.started_at, said) == said
    assert Validity([old, new]).still_open(old.started_at, "todo: a frost alarm") is None
    assert Validity([old, new]).still_open(old.started_at, "The frost alarm, it rings.") is not None


@pytest.mark.parametrize(
    "message",
    [
        "where were we?",
        "What is next?",
        "go on with what was left open",
        "on reprend là où on s'est arrêtés",
        "hi, let's continue",
        "salut ! on reprend ?",
    ],
)
def test_a_message_may_go_on_where_the_user_left_off(message: str) -> None:
    assert resumes(message)


@pytest.mark.parametrize(
    "message",
    [
        "next.js does not build",
        "how do we continue the loop after an error?",
        "where is the pump?",
        "where does the download resume?",
        "le minuteur s'arrête, puis il reprend où ?",
    ],
)
def test_words_that_look_like_it_do_not(message: str) -> None:
    assert not resumes(message)


def test_a_list_ends_with_its_last_thing_whatever_else_was_said_of_the_others() -> None:
    said = "todo for later: 1) a page of the tides, 2) an alarm for frost, 3) labels in the export"
    old, tides, alarm, last = turns(
        (said, "Noted."),
        ("let's do the tides page", "`/tides` shows them."),
        ("an alarm for frost, that was number two on the list", "`frost.py` rings."),
        ("labels for the export next", "The CSV has them. That was the last of the list."),
    )
    assert Validity([old, tides, last]).still_open(old.started_at, said) is None
    left = Validity([old, alarm]).still_open(old.started_at, said)
    assert left == "todo for later: 1) a page of the tides, 3) labels in the export"


def test_a_number_that_the_user_reconsiders_is_another_one_in_all_of_its_turn() -> None:
    kept = ("delete the raw scans 30 days after the print", "`clean.py` deletes files older than 30 days.")
    old, new, other = turns(
        kept,
        ("the museum wants the raw scans kept for 90 days after all", ""),
        ("wait 45 days after all", ""),
    )
    for statement in kept:
        found = Validity([old, new]).replacement(old, statement)
        assert found is not None
        assert found.text == "90 days"
        assert Validity([old, other]).replacement(old, statement) is None


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("save the tide tables each night, keep 9, on the old disk", "the old disk is full. keep 5"),
        ("the plan of the tables: rows of 14, the band in front", "rows of 14 don't fit beside the band, 11"),
        (
            "les tables: rangées de 14, l'orchestre devant",
            "rangées de 14 ça ne tient pas devant l'orchestre, 11",
        ),
        ("the ticket is 20 at the door", "no no, 25, we voted"),
        ("le billet coûte 20 à l'entrée", "non, 25, on a voté"),
        ("tell them after 14 days by mail, after 30 by letter", "no, 20 days for the mail, it is summer"),
        (
            "La salle : à partir de 9 personnes, avec un acompte de 20 %",
            "Acompte : plutôt 35 %, la ville insiste",
        ),
        ("tides come from TideData, every 3 hours", "TideData wants money now. Switch to OpenTides, please."),
        ("les marées viennent de TideData", "TideData devient payant. On passe à OpenTides."),
        ("we rent the server from TideHost", "move to OceanHost, TideHost raised the price"),
        ("write the tides in batches of 600", "600 is slow on the batches, take 2500"),
        ("please keep the labels on the screens in French", "Plus besoin d'étiquettes en français"),
    ],
)
def test_a_number_may_be_changed_with_the_reason_beside_it(old: str, new: str) -> None:
    before, after = turns((old, ""), (new, ""))
    assert Validity([before, after]).replacement(before, old) is not None


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("keep 9 tide tables on the old disk", "keep 3 logs on the old disk"),
        ("the api listens on port 8000", "the printer listens on port 8001"),
        ("the ticket is 20 at the door", "no, wait, 3 tests fail"),
        ("the ticket is 20 at the door", "no, 25? we did not vote"),
        ("tides come from TideData, every 3 hours", "The tests are red. Switch to Python 3.13."),
        ("La salle : 9 personnes, acompte de 20 %", "Remise : plutôt 35 %"),
    ],
)
def test_a_number_of_something_else_changes_nothing(old: str, new: str) -> None:
    before, after = turns((old, ""), (new, ""))
    assert Validity([before, after]).replacement(before, old) is None


def test_what_is_given_up_before_a_switch_returns_by_its_name() -> None:
    first, switch, back = turns(
        ("the map uses Leaflet, its tiles come from OpenStreetMap", ""),
        ("OpenStreetMap's server blocks us. Switch to MapTiler.", "The map uses MapTiler tiles."),
        ("We go back to OpenStreetMap, they unblocked us.", ""),
    )
    statement, tiles = (
        "the map uses Leaflet, its tiles come from OpenStreetMap",
        "The map uses MapTiler tiles.",
    )
    assert Validity([first, switch]).replacement(first, statement) is not None
    every = Validity([first, switch, back])
    assert every.replacement(first, statement) is None
    assert every.replacement(switch, tiles) is not None
    *_, part = turns(("", ""), ("", ""), ("Back to OpenStreetMap, but only for the print.", ""))
    for_print = Validity([first, switch, part])
    assert for_print.replacement(first, statement) is not None
    assert for_print.replacement(switch, tiles) is None


def test_what_a_turn_leaves_open_is_not_done_by_it() -> None:
    said = "for later: a page of the key holders, reminders for the rent"
    old, new = turns(
        (said, "Noted."), ("reminders for the rent: by mail", "Done, that leaves the key holders.")
    )
    assert Validity([old, new]).still_open(old.started_at, said) == "for later: a page of the key holders"


def test_a_number_is_the_same_thing_in_the_question_and_the_answer() -> None:
    said, told = "we have got 64 plots, numbered row by row", "The fixture of the garden has 64 plots."
    old, new = turns((said, told), ("H7 and H8 are one now", "The fixture of the garden has 63 plots."))
    assert Validity([old, new]).replacement(old, said) is not None
    old, new = turns((said, told), ("and the beds?", "The fixture of the garden has 63 beds."))
    assert Validity([old, new]).replacement(old, said) is None


def test_a_constant_may_be_made_of_text() -> None:
    old, new = turns(
        ("water costs 2.80", "`WATER_PRICE = Decimal('2.80')`."),
        ("price: 3.10", "`WATER_PRICE = Decimal('3.10')`."),
    )
    found = Validity([old, new]).replacement(old, "water costs 2.80")
    assert found is not None
    assert found.text == "WATER_PRICE 3.10"


def test_a_long_number_is_one_thing_in_all_of_its_turn() -> None:
    said = "tables are held until 18:00, then they go to whoever stands there"
    old, new = turns(
        (said, "`release()` runs at 18:00."),
        ("18:00 is too early for the last bus, 19:30", "`release()` runs later."),
    )
    assert Validity([old, new]).replacement(old, said) is not None
    alone, other = turns((said, ""), ("18:00 is too early for the backup, 19:30", ""))
    assert Validity([alone, other]).replacement(alone, said) is None


def test_a_short_number_with_its_unit_is_one_thing_in_all_of_its_turn() -> None:
    said = "a lock that closes slower than three minutes alerts the keeper"
    old, between, new = turns(
        (said, "The tolerance is three minutes in `locks.py`, and the nine gates are in `gates.toml`."),
        ("Which birds nest at the weir?", "Herons."),
        ("Three minutes is too nervous. Make the tolerance five.", "The tolerance is five minutes now."),
    )
    assert Validity([old, between, new]).replacement(old, said) is not None
    other = turns((said, "Chimes sound every 3 minutes."), ("3 days is too nervous a limit, 5.", ""))
    assert Validity(other).replacement(other[0], said) is None


def test_what_an_answer_says_took_the_place_of_something_goes_when_that_returns() -> None:
    old, new = turns(
        ("move the queue to Postgres, it loses jobs", "`jobs.sql` takes the place of the Kafka consumer."),
        ("Postgres cannot keep up. We go back to Kafka.", "`kafka.py` is back."),
    )
    found = Validity([old, new]).replacement(old, "move the queue to Postgres, it loses jobs")
    assert found is not None
    assert found.text == "We go back to Kafka."


def test_what_returns_holds_again_and_what_took_its_place_does_not() -> None:
    first, change, back = turns(
        ("keep the readings in SQLite", "`readings.py` opens it."),
        ("switch from SQLite to DuckDB for the readings", "The readings are in DuckDB now."),
        ("back to SQLite for the readings, it was quick enough", ""),
    )
    between = Validity([first, change])
    assert between.replacement(first, "keep the readings in SQLite")
    valid = Validity([first, change, back])
    assert valid.replacement(first, "keep the readings in SQLite") is None
    for statement in (change.user[0].text, change.assistant):
        by = valid.replacement(change, statement)
        assert by is not None
        assert by.turn_id == back.id


READ_FROM_TEXTS: dict[str, Callable[[str], object]] = {
    "about": about,
    "numbers": numbers_in,
    "values": set_values,
    "to do": todo_list,
    "names": lambda text: names_otherwise(text, text),
    "ends": lambda text: ending(text, text),
}


@pytest.mark.parametrize("what", READ_FROM_TEXTS)
def test_what_is_read_from_texts_is_kept_for_the_last_of_them_alone(what: str) -> None:
    read = READ_FROM_TEXTS[what]
    words = "cedar heron quartz maple otter basil ferry lintel walnut slate"
    texts = [" ".join(some) for some in itertools.permutations(words.split(), 4)][: TEXTS_KEPT_MAX + 300]
    for text in texts[:TEXTS_KEPT_MAX]:
        read(text)
    for text in texts:
        terms(text)  # keeps more of them, all of which it has read now
    gc.collect()
    before = sys.getallocatedblocks()
    for text in texts[TEXTS_KEPT_MAX:]:
        read(text)
    gc.collect()
    assert sys.getallocatedblocks() - before < 300 / 2
