"""Values of the domain as nodes of the graph: one node each, flat properties under fixed names.

Ids of what a node belongs to are properties too (`sessionId`, `parentId`): the relationships that people
follow are created from them, and every row can be read, stored and compared by itself. Times are Neo4j's own,
in UTC. None is stored as an absent property.

Properties whose names begin with `search` are derived from the others, for the full-text index: they contain
the stems that SQLite's index would contain, so that both stores find the same (see `store/index_text.py`).
"""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Generic, TypeAlias, TypeVar

from msgspec import Struct
from msgspec.structs import FieldInfo, fields

from ragforge.domain.messages import ImagePart, Parts, TextPart, parts_from_json, parts_to_json, text_of
from ragforge.domain.records import Description
from ragforge.domain.summaries import SUMMARY, Summary
from ragforge.domain.turns import PROJECT, SESSION, STEP, TOOL_CALL, TURN, CallStatus, Step, ToolCall, Turn
from ragforge.domain.usage import Usage
from ragforge.store import layouts
from ragforge.store.json_text import from_json, images_from_json, images_to_json, storable, to_json
from ragforge.store.layouts import Form, Layout, Part, default_of, form_of

R = TypeVar("R", bound=Struct)

Props: TypeAlias = dict[str, Any]
"""A node's properties: text, numbers, truth values, datetimes in UTC, lists of text."""


class Label(StrEnum):
    """The labels of our nodes; the id of a session is `sessionId`, that of all others `id`."""

    PROJECT = "Project"
    SESSION = "ConversationSession"
    TURN = "ConversationTurn"
    STEP = "ConversationStep"
    CALL = "ToolCall"
    SUMMARY = "ConversationSummary"
    MEMORY = "Memory"
    USAGE = "Usage"
    """A model call that is not a step of a turn."""
    DERIVED = "Derived"
    VERSION = "Version"
    BRANCH = "Branch"
    MOVE = "CheckoutLog"
    PERSON = "Person"
    """A person who wrote turns. Created with them, from their `person`."""
    DATABASE = "RagforgeDatabase"
    """One node: the database's id, its schema's version, and the current embedder."""
    MIGRATION = "RagforgeMigration"
    LEASE = "RagforgeLease"


def utc(moment: datetime) -> datetime:
    """Return the moment in UTC, to the millisecond, as the other store has it."""
    moment = moment.astimezone(UTC)
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)


def _texts(texts: Sequence[str]) -> list[str]:
    return [storable(text) for text in texts]


def _words(parts: Parts) -> str:
    return storable(text_of(parts))


def _parts_json(parts: Parts) -> str | None:
    """Return the parts, if they are more than one text that can be read as it is."""
    match parts:
        case (TextPart(text, ""),) if text == storable(text):
            return None
        case _:
            return to_json(parts_to_json(parts))


def _parts_of(words: str, parts: str | None) -> Parts:
    return parts_from_json(from_json(parts)) if parts else (TextPart(words),)


def _result_json(text: str) -> str:
    return to_json({"text": storable(text)})


def _result_of(result: str) -> str:
    return json.loads(result)["text"]


def _person(id: str) -> str | None:
    return storable(id) or None


def _images_json(images: Sequence[ImagePart]) -> str | None:
    return images_to_json(images) if images else None


def _images_of(text: str | None) -> tuple[ImagePart, ...]:
    return images_from_json(text) if text else ()


FORMS: Mapping[object, Form] = {
    **layouts.FORMS,
    datetime: Form(utc),
    tuple[str, ...]: Form(_texts, tuple),
    Parts: Form(of=_parts_of, parts=(Part("user_message", to=_words), Part("user_parts", to=_parts_json))),
    tuple[ImagePart, ...]: Form(_images_json, _images_of),
}
"""Conversions for types that are different in a node; all else is stored as it is."""


class RecordNode(Generic[R]):
    """A record as properties of a node."""

    def __init__(
        self,
        description: Description[R],
        *,
        forms: Mapping[object, Form] = MappingProxyType({}),
        more: str = "",
    ) -> None:
        """forms: for types that have none in FORMS, and for fields, by name, with another one.

        more: other properties that are read.
        """
        absent = {*description.later, *description.derived}
        whole = {
            each.name: _or_default(form, each) if each.name in absent else form
            for each in fields(description.struct)
            for form in (forms.get(each.name) or form_of(each, {**FORMS, **forms}),)
        }
        own = {each.name: whole[each.name] for each in description.kept}
        self._own = Layout(description.struct, own, description.property_name)
        self._whole = Layout(description.struct, whole, description.property_name)
        self.own = self._own.names
        """The properties that the record is made of."""
        self.names = (*self.own, *more.split())
        """The properties that are read."""

    def row(self, record: R, **more: Any) -> Props:
        """Return the record as properties, and more of them."""
        return dict(zip(self.own, self._own.values(record), strict=True)) | more

    def record(self, row: Mapping[str, Any]) -> R:
        """Return the inverse of `row`. Derived properties are read if the row has them."""
        return self._whole.record([*map(row.get, self._whole.names)])


def _or_default(form: Form, field: FieldInfo) -> Form:
    """Return the form for an optional value: older nodes lack newer properties."""

    def of(*values: Any) -> Any:
        if all(value is None for value in values):
            return default_of(field)
        return values[0] if form.of is None else form.of(*values)

    return Form(form.to, of, form.parts)


PROJECTS = RecordNode(PROJECT)
SESSIONS = RecordNode(SESSION, more="writerEpoch writerMachine")
TURNS = RecordNode(
    TURN,
    # Missing if nobody is known: no node is created for it.
    forms={"person": Form(_person)},
    more="projectId charCount searchNear nearChild takenOver",
)
STEPS = RecordNode(STEP, more="id sessionId")
# `toolResult` is what the model received, as JSON; the whole is in a blob.
CALLS = RecordNode(
    TOOL_CALL,
    forms={"result": Form(_result_json, _result_of)},
    more="sessionId projectId success",
)
SUMMARIES = RecordNode(SUMMARY, more="charCount")

project_row, project_of = PROJECTS.row, PROJECTS.record
session_row, session_of = SESSIONS.row, SESSIONS.record
turn_of, step_of, call_of, summary_of = TURNS.record, STEPS.record, CALLS.record, SUMMARIES.record


def turn_row(turn: Turn, *, project_id: str) -> Props:
    """Return the turn as a node."""
    chars = len(storable(text_of(turn.user))) + len(turn.assistant)
    return TURNS.row(turn, projectId=project_id, charCount=chars)


def step_key(turn_id: str, index: int) -> str:
    """Return the id of a step's node."""
    return f"{turn_id}/{index}"


def step_row(step: Step, *, session_id: str) -> Props:
    """Return the step as a node."""
    return STEPS.row(step, id=step_key(step.turn_id, step.index), sessionId=session_id)


def call_row(call: ToolCall, *, session_id: str, project_id: str) -> Props:
    """Return the tool call as a node."""
    return CALLS.row(call, sessionId=session_id, projectId=project_id, success=call.status is CallStatus.OK)


def summary_row(summary: Summary) -> Props:
    """Return the summary as a node; `covers` becomes its SUMMARIZES relationships."""
    return SUMMARIES.row(summary, charCount=len(summary.text))


def usage_row(usage: Usage, cost_usd: float | None) -> Props:
    """Return tokens and their price as properties."""
    return {
        **{TURN.property_name(part.name): getattr(usage, part.path) for part in FORMS[Usage].parts},
        "costUsd": cost_usd,
    }
