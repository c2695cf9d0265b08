"""What `benchmarks/block.py` says of a line."""

import asyncio
import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from ragforge.domain import timeouts

FILE = Path(__file__).parents[2] / "benchmarks" / "block.py"
PROJECTS = [("brewery", 0, 0.85), ("library_vans", 1, 0.8), ("riding_school", 2, 0.75)]
"""With how many blocks may have an outdated line about the matter, and how many have the main fact."""


@pytest.fixture(scope="module")
def benchmark() -> ModuleType:
    spec = importlib.util.spec_from_file_location("block_benchmark", FILE)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_a_statement_is_in_a_line_by_six_tenths_of_its_content_words(benchmark: ModuleType) -> None:
    statement = "The orchard keeps its ledger in Postgres."
    assert benchmark.says("2026-03-04: the orchard's ledger: we keep it in Postgres", statement)
    assert not benchmark.says("The orchard is watered at noon.", statement)
    assert not benchmark.says("Anything at all.", "the of and")


def test_an_outdated_statement_is_one_of_its_own_turn_with_its_numbers(benchmark: ModuleType) -> None:
    old = benchmark.Outdated("3", "irrigation every 40 minutes")
    assert benchmark.gives("Irrigation runs every 40 minutes.", frozenset({"3"}), old)
    assert not benchmark.gives("Irrigation runs every 40 minutes.", frozenset({"4"}), old)
    assert not benchmark.gives("Irrigation runs every 25 minutes.", frozenset({"3"}), old)


def test_both_forms_are_read_and_what_names_no_turn_is_refused(benchmark: ModuleType, tmp_path: Path) -> None:
    turn = {"turn": 1, "day": "2026-03-04T09:00", "session": 1, "user": "u", "assistant": "a", "files": ["f"]}
    probe = {"probe": "p", "group": "fact", "user": "q", "relevant": [1], "main": [1], "always": []}
    outdated = {"outdated": [{"turn": 1, "text": "a"}]}
    scripted = tmp_path / "scripted.jsonl"
    scripted.write_text("\n".join(map(json.dumps, (turn, probe | outdated))))
    (read,) = benchmark.read(scripted).values()
    assert (read.said[0].files, read.probes[0].outdated) == (("f",), (benchmark.Outdated("1", "a"),))
    of = {"conversation": "c"}
    asked = {"type": "turn", "session": 1, "id": 7, "at": "2026-03-04T09:00", "user": "u", "assistant": "a"}
    question = {"type": "question", "text": "q", "gold": [7], "category": "k"}
    dialogue = tmp_path / "dialogue.jsonl"
    dialogue.write_text("\n".join(map(json.dumps, (asked | of, question | of))))
    (read,) = benchmark.read(dialogue).values()
    assert (read.probes[0].main, read.probes[0].group) == (frozenset({"7"}), "k")
    for wrong in ({**probe, "relevant": [2]}, {"probe": "p"}, "x"):
        scripted.write_text("\n".join(map(json.dumps, (turn, wrong))))
        with pytest.raises(SystemExit):
            benchmark.read(scripted)


@pytest.mark.parametrize(("name", "outdated_max", "main_min"), PROJECTS)
def test_what_changed_in_a_scripted_project_is_current_in_the_block(
    benchmark: ModuleType, tmp_path: Path, name: str, outdated_max: int, main_min: float
) -> None:
    """Changes of mind in many words and two languages: numbers in words, what is dropped, exceptions to
    rules, people who left, what is done."""
    (conversation,) = benchmark.read(FILE.with_name(f"block_{name}.jsonl")).values()

    async def asked() -> list[Any]:
        async with benchmark.workspace_at(tmp_path) as workspace:
            keys = await benchmark.fill(workspace, conversation.said)
            return [await benchmark.ask(workspace, conversation, keys, each) for each in conversation.probes]

    timeouts.GATHER_S_MAX, before = benchmark.PATIENT_S, timeouts.GATHER_S_MAX
    try:
        results = asyncio.run(asked())
    finally:
        timeouts.GATHER_S_MAX = before
    outdated = [line.text for each in results for line in each.lines if line.outdated]
    assert len(outdated) <= outdated_max, outdated
    wanted = [each for each in results if each.probe.main]
    assert sum(bool(each.found & each.probe.main) for each in wanted) >= main_min * len(wanted)
