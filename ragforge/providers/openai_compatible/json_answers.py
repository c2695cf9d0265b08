"""Answers with a schema: how services are asked for them, and how a service without them is recognised.

Strict means that the service enforces the schema token by token. OpenAI accepts only some schemas as strict,
and rejects the others; local servers make a grammar of any. Written from OpenAI's documentation of
structured outputs, tried against a stand-in only.
"""

import json

from ragforge.domain.json import JsonObject, JsonValue, as_list, as_object

ASKED = "Answer with one JSON object and nothing else, no words and no fence around it. Its JSON Schema:"
"""The beginning of the system text for a service without schemas."""

_STRICT_WORDS = frozenset(
    (
        *("type", "enum", "const", "description", "title", "anyOf", "properties", "required", "items"),
        *("additionalProperties", "pattern", "format", "multipleOf", "minItems", "maxItems"),
        *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"),
    )
)


def response_format(schema: JsonObject) -> JsonObject:
    """Return the field of a chat request that asks for an object of the schema."""
    named: JsonObject = {"name": "answer", "schema": schema, "strict": is_strict(schema)}
    return {"type": "json_schema", "json_schema": named}


def told(system: str, schema: JsonObject) -> str:
    """Return the system text with the schema in words."""
    words = f"{ASKED}\n{json.dumps(schema, ensure_ascii=False)}"
    return f"{system}\n\n{words}" if system else words


def is_strict(schema: JsonValue) -> bool:
    """Whether OpenAI accepts the schema as strict: objects closed, all properties required, known words."""
    if not isinstance(schema, dict) or not _STRICT_WORDS.issuperset(schema):
        return False
    properties = as_object(schema.get("properties"))
    if schema.get("type") == "object" or "properties" in schema:
        required = schema.get("required", [])
        if schema.get("additionalProperties") is not False or not isinstance(required, list):
            return False
        if set(properties) != {name for name in required if isinstance(name, str)}:
            return False
    within = [*properties.values(), *as_list(schema.get("anyOf"))]
    if "items" in schema:
        within.append(schema["items"])
    return all(map(is_strict, within))
