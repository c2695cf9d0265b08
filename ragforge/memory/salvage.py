"""Read JSON that a model wrote, as far as possible."""

import json
import re

from ragforge.domain.json import JsonObject, JsonValue

OBJECTS_MAX = 100
"""How many objects are looked for after a flaw."""

# Outside of strings they are spaces, and within strings JSON forbids them: as spaces they do no harm.
_CONTROLS = dict.fromkeys(range(32), " ")


def read_object(text: str) -> JsonObject:
    """Return the object in the text, whatever surrounds it; if it is cut or malformed, everything complete
    before the flaw. Empty if there is none."""
    start = text.find("{")
    if start < 0:
        return {}
    written = text[start:].translate(_CONTROLS)
    try:
        value: JsonValue = json.JSONDecoder().raw_decode(written)[0]
    except (ValueError, RecursionError):
        value = _beginning(written)
    return value if isinstance(value, dict) else {}


def objects_at(text: str, begin: re.Pattern[str]) -> list[JsonObject]:
    """Return the objects that begin like this, anywhere, complete or not: for what follows a flaw."""
    starts = [found.start() for found in begin.finditer(text)][:OBJECTS_MAX]
    return [read_object(text[start:]) for start in starts]


def _beginning(text: str) -> JsonValue:
    """Return what can be read of text that is not complete JSON."""
    # Imported here: it takes 0.08 s, and most answers are complete.
    from pydantic_core import from_json

    def readable(length: int) -> JsonValue:
        try:
            return from_json(text[:length], allow_inf_nan=False, allow_partial=True)
        except ValueError:
            return None

    # If a beginning can be read, so can every shorter one; the longest is found by bisection.
    good, bad = 1, len(text) + 1
    while bad - good > 1:
        middle = (good + bad) // 2
        good, bad = (middle, bad) if readable(middle) is not None else (good, middle)
    return readable(good)
