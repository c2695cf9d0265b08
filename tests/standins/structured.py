"""The least that fits a JSON schema, for stand-ins that were not told what to answer."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]


def least_of(schema: Json) -> Any:
    """Empty texts and lists, the smallest numbers, the first of fixed words; nothing that may be left out."""
    if "const" in schema:
        return schema["const"]
    if schema.get("enum"):
        return schema["enum"][0]
    if schema.get("anyOf"):
        return least_of(schema["anyOf"][0])
    kind = schema.get("type", "object")
    match kind[0] if isinstance(kind, list) else kind:
        case "object":
            properties = schema.get("properties", {})
            return {name: least_of(properties[name]) for name in schema.get("required", [])}
        case "array":
            return [least_of(schema["items"])] * schema.get("minItems", 0)
        case "string":
            return "x" * schema.get("minLength", 0)
        case "integer" | "number":
            return schema.get("minimum", 0)
        case "boolean":
            return False
        case _:
            return None
