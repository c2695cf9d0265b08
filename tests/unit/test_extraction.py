"""How well the rules find memories and constraints, held a little below what was measured."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from ragforge.domain.memories import MemoryType, Strength
from ragforge.memory.answer import PARTS
from ragforge.memory.context import text_tokens
from ragforge.memory.extract import memories_in, statements_in
from tests.extraction.__main__ import main
from tests.extraction.measure import ALL, CONSTRAINTS, SETS, load, material, measure_offline
from tests.extraction.statements import measure_statements, read_statements

EVERYDAY = Path(__file__).parents[1] / "extraction" / "everyday.jsonl"
IN_PASSING = EVERYDAY.with_name("in_passing.jsonl")
OTHER_WRITERS = EVERYDAY.with_name("other_writers.jsonl")


@pytest.mark.parametrize(
    ("name", "precision", "recall", "constraint_precision", "constraint_recall"),
    [("tuned", 0.92, 0.96, 0.96, 0.96), ("held_out", 0.81, 0.88, 0.84, 0.84)],
)
def test_offline_extraction_stays_as_good_as_measured(
    name: str, precision: float, recall: float, constraint_precision: float, constraint_recall: float
) -> None:
    measured = measure_offline(load(name))
    memories, constraints = measured.counts(ALL), measured.counts(CONSTRAINTS)
    assert memories.precision >= precision, measured.table()
    assert memories.recall >= recall, measured.table()
    assert constraints.precision >= constraint_precision, measured.table()
    assert constraints.recall >= constraint_recall, measured.table()


def test_of_what_people_type_all_day_little_is_kept_that_should_not_be() -> None:
    found = measure_statements(read_statements(EVERYDAY)).counts("all", "all")
    assert found.precision >= 0.73, found
    assert found.recall >= 0.8, found


def test_what_other_writers_say_is_found_as_measured() -> None:
    """They saw neither the rules nor the training messages. Other messages of most of them are trained on."""
    report = measure_statements(read_statements(OTHER_WRITERS))
    for language, precision, recall in (("en", 0.72, 0.52), ("fr", 0.77, 0.55)):
        found = report.counts("language", language)
        assert found.precision >= precision, report.table()
        assert found.recall >= recall, report.table()


def test_what_is_said_in_passing_is_found_in_both_languages() -> None:
    """In longer messages, among thanks, stories and jobs. None of them is trained on."""
    report = measure_statements(read_statements(IN_PASSING))
    for language, precision, recall in (("en", 0.79, 0.74), ("fr", 0.76, 0.65)):
        found = report.counts("language", language)
        assert found.precision >= precision, report.table()
        assert found.recall >= recall, report.table()
    assert report.strength.recall >= 0.8, report.table()


@pytest.mark.parametrize(("sentences", "place"), [(200, 0.0), (200, 0.5), (200, 1.0), (2_000, 1.0)])
def test_a_rule_in_a_long_message_is_kept(sentences: int, place: float) -> None:
    story = "We talked about the garden for a while, and then somebody brought a cake to the office."
    said = [story] * sentences
    said.insert(int(sentences * place), "Never edit files under vendored/.")
    (found,) = [each for each in statements_in(" ".join(said)) if "vendored" in each.text]
    assert found.type is MemoryType.PREFERENCE


def test_strength_and_what_it_is_about_cost_few_tokens_a_turn() -> None:
    """In the schema of the call about a turn, and in the answers of these turns in the mean."""
    items = [item for name in SETS for item in load(name)]
    materials = [material(number, item) for number, item in enumerate(items)]
    whole = json.dumps(PARTS["memories"])
    without = whole.replace(f'"strength": {{"type": "string", "enum": {json.dumps(list(Strength))}}}, ', "")
    without = without.replace('"applies_to": {"type": "array", "items": {"type": "string"}}, ', "")
    without = without.replace('"strength", "applies_to", ', "")
    assert "strength" not in without
    assert "applies_to" not in without
    said = [
        json.dumps({"strength": memory.strength, "applies_to": memory.applies_to}, ensure_ascii=False)
        for each in materials
        for memory in memories_in(each)[0]
    ]
    grown = text_tokens(whole) - text_tokens(without) + sum(map(text_tokens, said)) / len(items)
    assert 0 < grown <= 80


def test_the_set_is_large_in_both_languages_and_a_third_of_it_holds_nothing() -> None:
    items = [item for name in SETS for item in load(name)]
    assert len(items) >= 120
    assert len({item["user"] for item in items}) == len(items)
    french = sum(item["lang"] == "fr" for item in items)
    assert 0.4 < french / len(items) < 0.6
    empty = sum(not item["memories"] and not item["constraints"] for item in items)
    assert empty / len(items) > 1 / 3
    assert {gold["type"] for item in items for gold in item["memories"]} == set(MemoryType)
    assert all(quote in item["user"] for item in items for quote in item["constraints"])


def message(user: str, *expect: dict[str, Any], group: str = "decision") -> str:
    line = {"id": "m1", "language": "en", "group": group, "before": None, "user": user, "expect": expect}
    return json.dumps(line)


def test_a_file_of_annotated_messages_is_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    decision = {
        "kinds": ["decision", "fact"],
        "text": "Orders are stored in PostgreSQL.",
        "span": "use PostgreSQL for orders",
    }
    other = {"kinds": ["goal"], "text": "Be done in May.", "span": "in May"}
    file = tmp_path / "messages.jsonl"
    lines = (
        message("We decided to use PostgreSQL for orders. It ends in May.", decision, other),
        message("We decided to use MySQL for orders.", group="ironic"),
    )
    file.write_text("\n".join(lines))
    monkeypatch.setattr(sys, "argv", ["extraction", str(file), "--mistakes"])
    assert main() == 0
    printed = capsys.readouterr().out
    rows = {" ".join(line.split()[:-5]): line.split()[-5:] for line in printed.splitlines() if line}
    assert rows["all"] == ["0.50", "0.50", "1", "2", "2"]
    assert rows["kind goal"] == ["1.00", "0.00", "0", "0", "1"]
    assert rows["group ironic"] == ["0.00", "1.00", "0", "1", "0"]
    assert "- m1 (decision) missed goal: in May" in printed
    file.write_text('{"user": 1}')
    assert main() == 2
    assert "line 1: not an annotated message" in capsys.readouterr().err


def test_the_measure_of_annotated_messages_counts_what_binds_and_what_it_is_about() -> None:
    def report(strength: str, about: list[str]) -> list[tuple[int, int]]:
        gold = {
            "kinds": ["preference"],
            "text": "",
            "span": "bower",
            "strength": strength,
            "applies_to": about,
        }
        item = {"user": "never use bower", "language": "en", "group": "constraint", "before": None}
        measured = measure_statements([item | {"expect": [gold | {"strength": strength}]}])
        return [(each.right, each.there) for each in (measured.strength, measured.applies_to)]

    assert report("must", ["Bower", "npm"]) == [(1, 1), (1, 1)]
    assert report("should", ["npm"]) == [(0, 1), (0, 1)]
    assert report("must", []) == [(1, 1), (0, 0)]
