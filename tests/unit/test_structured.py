"""Which schemas a service is asked to hold a model to."""

import pytest

from ragforge.domain.json import JsonObject
from ragforge.providers.openai_compatible.json_answers import is_strict

NAME: JsonObject = {"name": {"type": "string"}}


def closed(properties: JsonObject, **more: object) -> JsonObject:
    return {
        "type": "object",
        "properties": properties,
        "required": [*properties],
        "additionalProperties": False,
        **more,
    }


@pytest.mark.parametrize(
    "schema",
    [
        closed(NAME),
        closed({"list": {"type": "array", "items": closed(NAME)}}),
        closed({"maybe": {"anyOf": [{"type": "string"}, {"type": "null"}]}}),
        closed({"kind": {"type": "string", "enum": ["fact", "goal"]}}),
        # Names of properties are no words of a schema.
        closed({"maxLength": {"type": "integer"}}),
    ],
)
def test_closed_objects_are_strict(schema: JsonObject) -> None:
    assert is_strict(schema)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": NAME, "required": ["name"]},
        closed(NAME, required=[]),
        closed(NAME, required="name"),
        closed({"list": {"type": "array", "items": {"type": "object", "properties": NAME}}}),
        closed({"text": {"type": "string", "maxLength": 300}}),
        closed({"maybe": {"anyOf": [closed(NAME), {"type": "object"}]}}),
        closed({"odd": True}),
        closed(NAME, **{"$defs": {}}),
    ],
)
def test_open_objects_and_unknown_words_are_not(schema: JsonObject) -> None:
    assert not is_strict(schema)
