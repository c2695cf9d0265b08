"""Values for every field of every record, by what its struct says it holds."""

import zlib
from array import array
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any, get_args, get_origin

import msgspec
from hypothesis import strategies as st
from msgspec import Struct

from ragforge.domain.json import JsonObject
from ragforge.domain.records import Description
from ragforge.store.layouts import default_of

TEXTS = st.text(st.characters(exclude_categories=[]), max_size=20)
STORABLE = st.text(st.characters(codec="utf-8"), max_size=20)
"""What comes back from a database as it was: no halves of a surrogate pair."""
ODD = "\"é\" 日本 100 % \n\t\\ {} $x `y` 'z' 🎉"
MOMENTS = st.datetimes(datetime(1970, 1, 1), datetime(9000, 1, 1), timezones=st.just(UTC)).map(
    lambda moment: moment.replace(microsecond=moment.microsecond // 1000 * 1000, fold=0)
)
SIZES = st.integers(0, 2**53)
VECTORS = st.lists(st.floats(width=32, allow_nan=False), max_size=5).map(lambda floats: array("f", floats))


def json_objects(texts: st.SearchStrategy[str], far: int) -> st.SearchStrategy[dict[str, Any]]:
    """JSON with whole numbers up to `far`."""
    values = st.recursive(
        st.none() | st.booleans() | st.integers(-far, far) | st.floats(allow_nan=False) | texts,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
        max_leaves=6,
    )
    return st.dictionaries(texts, values, max_size=3)


def records(description: Description[Any], texts: st.SearchStrategy[str] = TEXTS) -> st.SearchStrategy[Any]:
    """Records with any values in all that is kept of them."""
    fields = {each.name: _values(each.type, texts) for each in description.kept}
    return st.builds(description.struct, **fields)


def _values(of: Any, texts: st.SearchStrategy[str]) -> st.SearchStrategy[Any]:
    simple: dict[Any, st.SearchStrategy[Any]] = {
        **{str: texts, datetime: MOMENTS, int: SIZES, bool: st.booleans(), float: st.floats(0, 1e6)},
        **{array: VECTORS, JsonObject: json_objects(texts, 2**80), type(None): st.none()},
    }
    if of in simple:
        return simple[of]
    if get_origin(of) is Mapping:
        return st.dictionaries(*(_values(each, texts) for each in get_args(of)), max_size=2)
    if get_origin(of) is tuple:
        return st.lists(_values(get_args(of)[0], texts), max_size=3).map(tuple)
    if isinstance(of, type) and issubclass(of, StrEnum):
        return st.sampled_from(of)
    if isinstance(of, type) and issubclass(of, Struct):
        return st.builds(of, **{each.name: _values(each.type, texts) for each in msgspec.structs.fields(of)})
    return st.one_of([_values(each, texts) for each in get_args(of)])


def filled(description: Description[Any], **given: Any) -> Any:
    """A record in which every field holds something, and nothing that it would hold by itself."""
    record = description.struct(
        **{
            each.name: given[each.name] if each.name in given else _told(each.type, each.name)
            for each in description.kept
        }
    )
    for each in description.kept:
        assert each.required or getattr(record, each.name) != default_of(each), each.name
    return record


def _told(of: Any, name: str) -> Any:
    """A value of this type that depends on the name."""
    number = 1 + zlib.crc32(name.encode()) % 10_000
    simple: dict[Any, Any] = {
        **{str: f"{name} {number} {ODD}", int: number, bool: True, float: number / 20_000},
        **{datetime: datetime(2026, 3, 4, 5, tzinfo=UTC) + timedelta(milliseconds=number)},
        **{array: array("f", [0.5, number]), JsonObject: {name: [number, None, {"a": 0.5}]}},
    }
    if of in simple:
        return simple[of]
    if get_origin(of) is Mapping:
        return {name: _told(get_args(of)[1], name)}
    if get_origin(of) is tuple:
        inner = get_args(of)[0]
        kinds = get_args(inner) or (inner, inner)
        return tuple(_told(each, f"{name} {place}") for place, each in enumerate(kinds))
    if isinstance(of, type) and issubclass(of, StrEnum):
        return list(of)[-1]
    if isinstance(of, type) and issubclass(of, Struct):
        return of(
            **{each.name: _told(each.type, f"{name} {each.name}") for each in msgspec.structs.fields(of)}
        )
    (inner,) = (each for each in get_args(of) if each is not type(None))
    return _told(inner, name)
