"""What holds for whatever a user writes and a model answers."""

import json
import re
from datetime import UTC, datetime
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from ragforge.domain.memories import MEMORY_CHARS_MAX, AssociationKind, MemorySource, MemoryType, memory_id
from ragforge.domain.messages import TextPart
from ragforge.domain.summaries import SummaryMethod
from ragforge.domain.turns import Turn, TurnStatus
from ragforge.memory.answer import read_answer
from ragforge.memory.excerpts import escaped
from ragforge.memory.material import Material, Understanding
from ragforge.memory.memories import new_memory
from ragforge.memory.salvage import read_object
from ragforge.memory.sentences import cut_sentence, cut_words
from ragforge.memory.summarise import roll_up_offline, understand_offline

NOON = datetime(2026, 3, 4, 12, tzinfo=UTC)

WORDS = (
    *(
        "We'll use MySQL. ",
        "never ",
        "on va utiliser ",
        "instead of ",
        "PostgreSQL",
        "yesterday ",
        "\n",
        "```\n",
    ),
    *(
        "I prefer ",
        "il faut que ",
        "port 8080 ",
        "src/a.py ",
        "? ",
        "hier ",
        "> ",
        '"',
        "« ",
        "\ud800",
        "İ",
        "  ",
    ),
)
texts = st.one_of(
    st.text(max_size=300),
    st.lists(st.sampled_from(WORDS), max_size=60).map("".join),
    st.text(alphabet=st.characters(), min_size=1, max_size=8).map(lambda piece: piece * 500),
)
values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=30)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=12,
)
relations = st.fixed_dictionaries(
    {
        "kind": st.sampled_from(["same", "updates", "contradicts", "supports", "worse"]),
        "to": st.sampled_from(["m1", "m2", "m3", "n1", "n2", "n9", ""]),
    }
)
memories = st.fixed_dictionaries(
    {"type": st.sampled_from([*MemoryType, "hunch"]), "content": texts},
    optional={
        "id": st.sampled_from(["n1", "n2", "n3", "m1"]),
        "said_by": st.sampled_from(["user", "assistant", "tool", ""]),
        "confidence": st.one_of(st.floats(), st.floats(0, 1), st.none()),
        "importance": st.one_of(st.floats(), st.floats(0, 1), st.none()),
        "topic": texts,
        "scope": st.sampled_from(["session", "project", "global", "all"]),
        "relations": st.one_of(values, st.lists(relations, max_size=4)),
    },
)
lists = st.one_of(values, st.lists(texts, max_size=4))
parts = st.fixed_dictionaries(
    {"id": st.sampled_from(["t1", "t2", "t3", "t9"])},
    optional={
        "memories": st.one_of(values, st.lists(st.one_of(memories, values), max_size=5)),
        "constraints": lists,
        "findings": lists,
        "files": lists,
        "topics": lists,
        "summary": st.one_of(texts, values),
    },
)
answers = st.one_of(
    st.fixed_dictionaries({"turns": st.lists(st.one_of(parts, values), max_size=5)}), parts, values
)


def a_material(user: str, assistant: str = "", *, number: int = 1, near: bool = False) -> Material:
    turn = Turn(
        f"turn{number}",
        "session",
        None,
        number,
        (TextPart(user),),
        NOON,
        TurnStatus.FINISHED,
        assistant,
    )
    known = tuple(
        new_memory(f"Known {n}.", type, project_id="project", at=NOON, source=MemorySource.USER)
        for n, type in enumerate([MemoryType.DECISION, MemoryType.FACT], 1)
    )
    return Material(turn, "project", near=known if near else ())


def check(found: Understanding, material: Material) -> None:
    """Everything that the stores and the other levels rely on."""
    summary = found.summary
    assert 0 < len(summary.text) <= 1_200
    assert summary.covers == (material.turn.id,)
    assert summary.at == material.turn.started_at
    assert all(0 < len(quote) <= 300 for quote in summary.constraints)
    said = " ".join(material.user.split())
    assert all(quote in said for quote in summary.constraints)
    lists = (summary.files, summary.findings, summary.tools, summary.topics, summary.constraints)
    assert all(len(set(items)) == len(items) <= 30 for items in lists)
    assert "".join([summary.text, *(item for items in lists for item in items)]).encode() is not None
    for memory in found.memories:
        assert memory.id == memory_id(
            memory.content, scope=memory.scope, project_id="project", session_id=memory.session_id
        )
        assert 0 < len(memory.content) <= MEMORY_CHARS_MAX
        assert 0 <= memory.importance <= 1
        assert 0 <= memory.confidence <= 1
        assert material.turn.id in memory.turns
        assert (memory.content + memory.topic).encode() is not None
    assert len({memory.id for memory in found.memories}) == len(found.memories)
    ids = {memory.id: memory for memory in found.memories}
    for link in found.associations:
        assert link.from_id in ids
        assert link.from_id != link.to_id
        if link.kind is AssociationKind.UPDATES:
            assert ids[link.from_id].confidence >= 0.5


@given(texts, texts)
@settings(max_examples=60)
def test_any_text_has_a_summary_that_can_be_stored(user: str, assistant: str) -> None:
    material = a_material(user, assistant, near=True)
    check(understand_offline(material), material)
    assert understand_offline(material) == understand_offline(material)


@given(st.lists(st.tuples(texts, texts), min_size=1, max_size=12))
@settings(max_examples=40)
def test_any_summaries_roll_up_within_bounds(turns: list[tuple[str, str]]) -> None:
    children = [
        understand_offline(a_material(*turn, number=number)).summary for number, turn in enumerate(turns)
    ]
    made = roll_up_offline(children)
    assert 0 < len(made.text) <= 1_200
    assert made.turn_count == len(children)
    assert made.covers == tuple(child.id for child in children)
    assert {quote for child in children for quote in child.constraints} == set(made.constraints)


@given(answers, st.lists(texts, min_size=1, max_size=3), st.booleans())
@settings(max_examples=100)
def test_any_answer_is_read_into_what_can_be_stored(answer: Any, users: list[str], near: bool) -> None:
    materials = [a_material(user, number=number, near=near) for number, user in enumerate(users)]
    found = read_answer(json.dumps(answer), materials, model="gemini:a")
    assert set(found) <= {material.turn.id for material in materials}
    known = {memory.id for material in materials for memory in material.near}
    for material in materials:
        if material.turn.id in found:
            check(found[material.turn.id], material)
            known |= {memory.id for memory in found[material.turn.id].memories}
            assert all(link.to_id in known for link in found[material.turn.id].associations)


@given(st.text(max_size=400))
def test_any_text_can_be_an_answer(text: str) -> None:
    read_answer(text, [a_material("a")], model="gemini:a")
    assert isinstance(read_object(text), dict)


def test_truncated_json_from_the_model_dropping_every_extracted_fact() -> None:
    """Cut at every character, an answer keeps all turns that were whole and every memory that was."""
    contents = [f'We use "tool {n}" \\ \U0001f600.' for n in range(6)]
    memories = [
        {"id": f"n{n}", "type": "decision", "content": content, "said_by": "user", "confidence": 1.0}
        for n, content in enumerate(contents)
    ]
    parts = [
        {"id": f"t{n + 1}", "memories": memories[2 * n : 2 * n + 2], "summary": f"Summary {n}."}
        for n in range(3)
    ]
    materials = [a_material("a", number=n) for n in range(3)]
    for ascii in (True, False):
        text = json.dumps({"turns": parts}, ensure_ascii=ascii)
        for end in range(len(text) + 1):
            cut = text[:end]
            found = read_answer(cut, materials, model="gemini:a")
            kept = [
                memory.content
                for n in range(3)
                if f"turn{n}" in found
                for memory in found[f"turn{n}"].memories
            ]
            whole = [
                m
                for m, written in zip(contents, memories, strict=True)
                if json.dumps(written, ensure_ascii=ascii) in cut
            ]
            assert kept[: len(whole)] == whole
            assert set(kept) <= set(contents)
            for n, part in enumerate(parts):
                if json.dumps(part, ensure_ascii=ascii) in cut:
                    assert found[f"turn{n}"].summary.text == part["summary"]
                    assert found[f"turn{n}"].summary.method is SummaryMethod.MODEL


@given(st.data())
@settings(max_examples=100)
def test_an_answer_with_a_hole_never_raises(data: st.DataObject) -> None:
    text = json.dumps(
        {"turns": [{"id": "t1", "memories": [], "summary": "One."}, {"id": "t2", "summary": "Two."}]}
    )
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    broken = text[:start] + data.draw(st.text(max_size=5)) + text[end:]
    materials = [a_material("a", number=number) for number in (1, 2)]
    found = read_answer(broken, materials, model="gemini:a")
    for material in materials:
        if material.turn.id in found:
            check(found[material.turn.id], material)


@given(texts, st.integers(2, 400))
def test_what_is_cut_fits(text: str, chars_max: int) -> None:
    assert len(cut_words(text, chars_max)) <= chars_max
    assert len(cut_sentence(text, chars_max)) <= chars_max


@given(st.text(alphabet="<>/ tTuUrRnN\n\tperson", max_size=80))
def test_no_tag_of_ours_is_left_in_what_is_shown(text: str) -> None:
    assert not re.search(r"<\s*/?\s*(turn|person)\b", escaped(text), re.IGNORECASE)
    assert escaped(escaped(text)) == escaped(text)
