"""The structured answer about turns: its schema, and how it is read."""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

import msgspec
from msgspec.structs import replace

from ragforge.domain.json import JsonObject, JsonValue, as_list, read_in_threads
from ragforge.domain.memories import (
    IMPORTANCE,
    INTENTS,
    MEMORY_CHARS_MAX,
    Association,
    AssociationKind,
    Memory,
    MemoryOrigin,
    MemoryScope,
    MemorySource,
    MemoryType,
    Strength,
    normalised,
)
from ragforge.domain.metrics import PREFERENCES_REJECTED, TALLY
from ragforge.domain.summaries import SummaryMethod
from ragforge.memory.authority import is_theirs, may_keep, rests_on, typed
from ragforge.memory.constraints import bound, word_for_word
from ragforge.memory.corrections import CorrectionKind
from ragforge.memory.excerpts import known_of
from ragforge.memory.extract import memories_in
from ragforge.memory.extractive import summary_of
from ragforge.memory.likeness import content_words, share_of
from ragforge.memory.material import (
    CONSTRAINTS_MAX,
    FILES_MAX,
    FINDING_CHARS_MAX,
    FINDINGS_MAX,
    SUMMARY_CHARS_MAX,
    TOPIC_CHARS_MAX,
    TOPICS_MAX,
    Material,
    Understanding,
)
from ragforge.memory.memories import FOUND_OUT, REPLACING_CONFIDENCE_MIN, new_memory
from ragforge.memory.part import AnyPart
from ragforge.memory.salvage import objects_at, read_object
from ragforge.memory.sentences import cut_sentence, cut_words, one_line, with_dates

MEMORIES_MAX = 20
"""The maximum for one turn: more would be a copy of it, not what matters."""
RELATIONS_MAX = 5
ALONE_MAX = 0.6
"""The maximum confidence of a preference that no rule finds in the user's words."""
AGREES_SHARE = 0.5
"""The minimum share of a statement's words in another one that says the same."""
DOUBTFUL = 0.5
"""The confidence if the model gave none, or none that is valid."""
FILE_CHARS_MAX = 300

SAME = "same"


def _closed(properties: Mapping[str, JsonValue]) -> JsonObject:
    """Return an object schema with exactly these properties, all required, as services with strict schemas
    need it."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


_ORIGINS = {"user": MemoryOrigin.SAID, "assistant": MemoryOrigin.ANSWER, "tool": MemoryOrigin.TOOL}
_TEXT: JsonObject = {"type": "string"}
_TEXTS: JsonObject = {"type": "array", "items": _TEXT}
_RELATION = _closed({"kind": {"type": "string", "enum": [SAME, *AssociationKind]}, "to": _TEXT})
_MEMORY = _closed(
    {
        "id": _TEXT,
        "type": {"type": "string", "enum": list(MemoryType)},
        "content": _TEXT,
        "said_by": {"type": "string", "enum": list(_ORIGINS)},
        "confidence": {"type": "number"},
        "importance": {"type": ["number", "null"]},
        "topic": _TEXT,
        "scope": {"type": "string", "enum": list(MemoryScope)},
        "strength": {"type": "string", "enum": list(Strength)},
        "applies_to": _TEXTS,
        "relations": {"type": "array", "items": _RELATION},
    }
)

PARTS: Mapping[str, JsonObject] = {
    "memories": {"type": "array", "items": _MEMORY},
    "constraints": _TEXTS,
    "findings": _TEXTS,
    "files": _TEXTS,
    "topics": _TEXTS,
    "summary": _TEXT,
}
"""The questions about each turn, by name, after the optional parts. The summary comes last, so that it is
missing if an answer was cut off, and the turn is known to be incomplete."""


def schema_for(materials: Sequence[Material], parts: Sequence[AnyPart] = ()) -> JsonObject:
    """Return the schema of an answer about these turns, with these optional parts."""
    optional = {part.name: part.schema for part in parts if part.schema is not None}
    return _of_turns(materials, {**optional, **PARTS})


def memories_schema(materials: Sequence[Material]) -> JsonObject:
    """Return the schema of an answer about only the memories in these turns."""
    return _of_turns(materials, {"memories": PARTS["memories"]})


def _of_turns(materials: Sequence[Material], asked: Mapping[str, JsonObject]) -> JsonObject:
    ids: list[JsonValue] = [f"t{number}" for number in range(1, len(materials) + 1)]
    turn = _closed({"id": {"type": "string", "enum": ids}, **asked})
    return _closed({"turns": {"type": "array", "items": turn}})


_TURN_BEGINS = re.compile(r'\{\s*"id"\s*:\s*"t\d{1,3}"')


@read_in_threads
class _Relation(msgspec.Struct):
    kind: str
    to: str


@read_in_threads
class _Said(msgspec.Struct):
    """A memory as the model wrote it. Everything optional has a default."""

    type: MemoryType
    content: str
    id: str = ""
    said_by: str = "user"
    confidence: float | None = None
    importance: float | None = None
    topic: str | None = None
    scope: str | None = None
    strength: str | None = None
    applies_to: Any = None
    relations: Any = None
    """A list, each item of which is read separately."""


def read_answer(
    text: str, materials: Sequence[Material], *, model: str, parts: Sequence[AnyPart] = ()
) -> dict[str, Understanding]:
    """Return what the answer says about the turns, by their ids, without turns about which nothing can be
    read.

    A turn without a summary but with other readable parts gets an extractive one, which a model's replaces
    later.
    """
    written = _parts_of_turns(text, len(materials))
    known = dict(known_of(materials))
    understood: dict[str, Understanding] = {}
    for number, material in enumerate(materials, 1):
        if own := written.get(f"t{number}"):
            reader = _Reader(material, known)
            understanding = reader.read(own, model)
            if understanding is not None:
                asked = [part for part in parts if part.is_for(material)]
                values = {part.name: part.read(material, own.get(part.name)) for part in asked}
                more = {name: value for name, value in values.items() if value is not None}
                understood[material.turn.id] = replace(understanding, more=more)
    return understood


def _parts_of_turns(text: str, count: int) -> dict[str, JsonObject]:
    """Return the turns' parts by their short ids; the first, if two have the same id."""
    whole = read_object(text)
    written = whole.get("turns")
    if not isinstance(written, list):
        # Models that ignore the schema leave out the list around a single turn.
        written = [whole] if count == 1 and "summary" in whole else []
    parts: dict[str, JsonObject] = {}
    # What follows a flaw is not lost: each turn that begins there is read separately.
    behind = objects_at(text, _TURN_BEGINS) if len(written) < count else []
    for item in [*written, *behind]:
        if isinstance(item, dict):
            id = item.get("id", "t1" if count == 1 else "")
            if isinstance(id, str) and any(name in item for name in PARTS):
                parts.setdefault(id, item)
    return parts


class _Reader:
    """Reads the part about one turn, and remembers memories for the turns after it."""

    def __init__(self, material: Material, known: dict[str, Memory]) -> None:
        self._material = material
        self._known = known
        self._memories: dict[str, Memory] = {}
        self._links: dict[tuple[str, str, str], Association] = {}
        self._refused: set[MemoryType] = set()
        """Types of memories that the model made up for the user."""

    @cached_property
    def _by_rules(self) -> tuple[Memory, ...]:
        """Return the memories that rules find in the user's words."""
        return memories_in(self._material)[0]

    def read(self, part: JsonObject, model: str) -> Understanding | None:
        """Return the contents of the part; None if nothing can be read."""
        for item in as_list(part.get("memories"))[:MEMORIES_MAX]:
            self._read_memory(item)
        if self._refused:
            # Not in the user's words; rules may find it there.
            for memory in self._by_rules:
                if memory.type in self._refused and self._may_keep(memory.content, MemoryType.PREFERENCE):
                    self._memories.setdefault(memory.id, memory)
        at, user = self._material.turn.started_at, typed(self._material.user)
        text = part.get("summary")
        words = with_dates(one_line(text), at) if isinstance(text, str) else ""
        quotes = (word_for_word(quote, user) for quote in _texts(part.get("constraints")))
        constraints = tuple(dict.fromkeys(filter(None, quotes)))[:CONSTRAINTS_MAX]
        findings = _united(part.get("findings"), FINDING_CHARS_MAX, FINDINGS_MAX)
        if not (words or self._memories or constraints or findings):
            return None
        summary = summary_of(self._material)
        files = dict.fromkeys([*summary.files, *_united(part.get("files"), FILE_CHARS_MAX, FILES_MAX)])
        if words:
            summary = replace(
                summary,
                text=cut_sentence(words, SUMMARY_CHARS_MAX),
                method=SummaryMethod.MODEL,
                model=model,
                findings=findings,
                files=tuple(files)[:FILES_MAX],
                topics=_united(part.get("topics"), TOPIC_CHARS_MAX, TOPICS_MAX) or summary.topics,
                # Including what the rules find: losing a demand is the worse mistake.
                constraints=_without_parts([*constraints, *summary.constraints]),
            )
        return Understanding(summary, tuple(self._memories.values()), tuple(self._links.values()))

    def _read_memory(self, item: JsonValue) -> None:
        try:
            said = msgspec.convert(item, _Said, strict=False)
        except msgspec.ValidationError:
            _reject("unreadable", item.get("type") if isinstance(item, dict) else None)
            return
        memory = self._memory(said)
        if memory is None:
            return
        relations = [found for each in as_list(said.relations) if (found := self._relation(each))][
            :RELATIONS_MAX
        ]
        for kind, old in relations:
            if kind == SAME and old.type is memory.type:
                # The earlier words stay; this turn becomes one more source of them.
                memory = self._confirmed(old)
                break
        self._memories.setdefault(memory.id, memory)
        for kind, old in relations:
            self._link(memory, kind, old)
        if said.id and said.id not in self._known:
            self._known[said.id] = memory

    def _confirmed(self, old: Memory) -> Memory:
        """Return the memory as stated again in this turn. This time it was not the user, so a memory
        forgotten meanwhile stays forgotten."""
        turn = self._material.turn
        return replace(
            old,
            turns=(turn.id,),
            updated_at=max(old.updated_at, turn.started_at),
            source=MemorySource.BACKGROUND,
        )

    def _memory(self, said: _Said) -> Memory | None:
        """Return it as a memory of ragforge; None if it is not a valid one."""
        turn = self._material.turn
        content = one_line(said.content)
        if not normalised(content) or (said.said_by != "user" and said.type not in FOUND_OUT):
            _reject("not_the_users" if normalised(content) else "unreadable", said.type)
            return None
        if not self._may_keep(content, said.type):
            self._refused.add(said.type)
            _reject("not_their_words", said.type)
            return None
        scope = MemoryScope(said.scope) if said.scope in set(MemoryScope) else MemoryScope.PROJECT
        importance = _share(said.importance)
        if said.said_by != "user":
            # What a page or a file says is useful in this project at most, and no more important than usual.
            scope = MemoryScope.PROJECT if scope is MemoryScope.GLOBAL else scope
            usual = IMPORTANCE[said.type]
            importance = min(usual, usual if importance is None else importance)
        confidence = _share(said.confidence)
        confidence = DOUBTFUL if confidence is None else confidence
        made = new_memory(
            cut_words(with_dates(content, turn.started_at), MEMORY_CHARS_MAX),
            said.type,
            project_id=self._material.project_id,
            at=turn.started_at,
            source=MemorySource.BACKGROUND,
            session_id=turn.session_id,
            scope=scope,
            importance=importance,
            confidence=confidence,
            topic=cut_words(one_line(said.topic or ""), TOPIC_CHARS_MAX),
            turns=(turn.id,),
            person=self._material.speaker,
            origin=_ORIGINS.get(said.said_by, ""),
        )
        strength = Strength(said.strength) if said.strength in set(Strength) else Strength.NONE
        words = "\n".join([self._material.user, *(each.text for each in self._material.corrections)])
        made = bound(made, strength=strength, named=_texts(said.applies_to), said=words)
        if made.type is MemoryType.PREFERENCE and not _agrees(made, self._by_rules):
            made = replace(made, confidence=min(made.confidence, ALONE_MAX))
        return made

    def _may_keep(self, content: str, type: MemoryType) -> bool:
        """Whether it may be saved: types that need the user's words need them here or in a correction."""
        material = self._material
        return may_keep(content, type, message=material.user, before=material.before) or any(
            rests_on(content, f"{each.of}\n{each.text}")
            if each.kind is CorrectionKind.EDITED
            else is_theirs(content, message=each.text)
            for each in material.corrections
        )

    def _relation(self, item: JsonValue) -> tuple[str, Memory] | None:
        """Return the kind of link and the memory at its end, if both are known."""
        try:
            relation = msgspec.convert(item, _Relation)
        except msgspec.ValidationError:
            return None
        old = self._known.get(relation.to)
        if old is None or relation.kind not in {SAME, *AssociationKind}:
            return None
        return relation.kind, old

    def _link(self, memory: Memory, kind: str, old: Memory) -> None:
        if old.id == memory.id:
            return
        link = AssociationKind.RELATES_TO if kind == SAME else AssociationKind(kind)
        sure = memory.confidence >= REPLACING_CONFIDENCE_MIN and old.type is memory.type
        if link is AssociationKind.UPDATES and not sure:
            link = AssociationKind.RELATES_TO
        turn = self._material.turn
        said_in = turn.id if link is AssociationKind.UPDATES else ""
        new = Association(link, memory.id, old.id, turn.started_at, said_in)
        self._links.setdefault((link, memory.id, old.id), new)


def _reject(reason: str, type: JsonValue) -> None:
    if type in (MemoryType.PREFERENCE, *INTENTS):
        TALLY.count(PREFERENCES_REJECTED, reason)


def _agrees(memory: Memory, others: Iterable[Memory]) -> bool:
    """Whether one of the others is a wish that says the same, in the same words or half of them."""
    return any(
        each.strength and share_of(memory.content, content_words(each.content)) >= AGREES_SHARE
        for each in others
    )


def _texts(value: JsonValue) -> list[str]:
    return [item for item in as_list(value) if isinstance(item, str)]


def _united(value: JsonValue, chars_max: int, count_max: int) -> tuple[str, ...]:
    """Return the texts of a list without duplicates, each on one line and truncated."""
    lines = (cut_words(one_line(text), chars_max) for text in _texts(value))
    return tuple(dict.fromkeys(filter(None, lines)))[:count_max]


def _share(value: float | None) -> float | None:
    """Return the number if it is within 0..1."""
    return value if value is not None and 0 <= value <= 1 else None


def _without_parts(quotes: Sequence[str]) -> tuple[str, ...]:
    """Return the quotes that are not contained in another one."""
    each = list(dict.fromkeys(quotes))
    kept = [one for one in each if not any(one != other and one in other for other in each)]
    return tuple(kept)[:CONSTRAINTS_MAX]


def roll_up_schema() -> JsonObject:
    """Return the schema of an answer about summaries."""
    return _closed({"findings": _TEXTS, "topics": _TEXTS, "summary": _TEXT})


def read_roll_up(text: str) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """Return text, findings and topics; the text is empty if it could not be read."""
    answer = read_object(text)
    summary = answer.get("summary")
    return (
        cut_sentence(one_line(summary), SUMMARY_CHARS_MAX) if isinstance(summary, str) else "",
        _united(answer.get("findings"), FINDING_CHARS_MAX, FINDINGS_MAX),
        _united(answer.get("topics"), TOPIC_CHARS_MAX, TOPICS_MAX),
    )
