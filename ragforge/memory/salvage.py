"""JSON that a model wrote, as far as it can be read."""

import json
import re

from ragforge.domain.json import JsonObject, JsonValue

OBJECTS_MAX = 100
"""How many are looked for behind a flaw."""

# Outside of texts they are spaces, and within texts JSON forbids them: as spaces they harm in neither place.
_CONTROLS = dict.fromkeys(range(32), " ")


def read_object(text: str) -> JsonObject:
    """The object in the text, whatever stands around it; of a cut or malformed one all that came before the
    flaw and is whole. Empty where there is none."""
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
    """The objects that begin so, wherever they stand, whole or not: for what lies behind a flaw."""
    starts = [found.start() for found in begin.finditer(text)][:OBJECTS_MAX]
    return [read_object(text[start:]) for start in starts]


def _beginning(text: str) -> JsonValue:
    """What can be read of text that is no whole JSON."""
    # Imported here: it takes 0.08 s, and most answers are whole.
    from pydantic_core import from_json

    def readable(length: int) -> JsonValue:
        try:
            return from_json(text[:length], allow_inf_nan=False, allow_partial=True)
        except ValueError:
            return None

    # A beginning that can be read has only such beginnings, so the longest is found by halving.
    good, bad = 1, len(text) + 1
    while bad - good > 1:
        middle = (good + bad) // 2
        good, bad = (middle, bad) if readable(middle) is not None else (good, middle)
    return readable(good)
