"""Convert values of the domain to columns, and records to tables."""

import json
from collections.abc import Collection, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Any, Generic, TypeVar

from msgspec import Struct
from msgspec.structs import fields

from ragforge.domain.errors import Conflict
from ragforge.domain.messages import ImagePart, Parts
from ragforge.domain.records import Description
from ragforge.store import layouts
from ragforge.store.json_text import (
    images_from_json,
    images_to_json,
    storable,
    to_json,
    user_from_json,
    user_to_json,
)
from ragforge.store.layouts import Form, Layout, form_of
from ragforge.store.sqlite.connection import Bindings, Connection, Row

R = TypeVar("R", bound=Struct)

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
EVER = -(1 << 62)
"""Earlier than all times: a condition that is always true still uses an index."""


def to_ms(moment: datetime) -> int:
    """Return milliseconds since 1970; a moment without a time zone is local."""
    return (moment.astimezone(UTC) - EPOCH) // timedelta(milliseconds=1)


def from_ms(ms: int) -> datetime:
    """The inverse of `to_ms`, in UTC."""
    return EPOCH + timedelta(milliseconds=ms)


def _texts_to_json(texts: Collection[str]) -> str:
    return to_json([storable(text) for text in texts])


def _texts_of(text: str) -> tuple[str, ...]:
    return tuple(json.loads(text))


FORMS: Mapping[object, Form] = {
    **layouts.FORMS,
    bool: Form(of=bool),
    datetime: Form(to_ms, from_ms),
    tuple[str, ...]: Form(_texts_to_json, _texts_of),
    Parts: Form(user_to_json, user_from_json),
    tuple[ImagePart, ...]: Form(images_to_json, images_from_json),
}
"""Types whose column differs from the record's value; all others are stored unchanged."""


class RecordTable(Generic[R]):
    """The table of a record, as lists of columns for the statements that read and write it."""

    def __init__(
        self,
        description: Description[R],
        *,
        joined: Mapping[str, str] = MappingProxyType({}),
        forms: Mapping[object, Form] = MappingProxyType({}),
    ) -> None:
        """joined: fields that are not columns of this table, and the SQL that reads them.

        forms: of types that have none in FORMS.
        """
        infos = [
            each
            for each in fields(description.struct)
            if each.name in joined or each.name not in description.derived
        ]
        found = {each.name: form_of(each, {**FORMS, **forms}) for each in infos}
        own = {name: form for name, form in found.items() if name not in joined}
        self._own = Layout(description.struct, own, description.column)
        self._whole = Layout(
            description.struct,
            found,
            lambda name: joined.get(name, f"{description.kind}.{description.column(name)}"),
        )
        self.select = ", ".join(self._whole.names)
        """The columns of a query for `record`."""
        self.names = self._own.names
        self.columns = ", ".join(self.names)
        self.marks = ", ".join("?" * len(self.names))
        self.named = ", ".join(f":{name}" for name in self.names)
        """Placeholders for `bound`."""
        self.excluded = ", ".join(f"{name} = excluded.{name}" for name in self.names if name != "id")
        """The assignments of an upsert."""

    def values(self, record: R) -> list[Any]:
        """Return the stored values of the record in `columns`."""
        return self._own.values(record)

    def bound(self, record: R, **more: object) -> Mapping[str, object]:
        """Return the values by column, each made when it is bound, and `more`.

        So a large record's JSON is not held while SQLite makes a row of its own copy.
        """
        return _Bound(self._own, record, more)

    def record(self, row: Row) -> R:
        """Return the record of a row that begins with `select`."""
        return self._whole.record(row)


class _Bound(Mapping[str, object], Generic[R]):
    """Values that are made on request, and not kept."""

    def __init__(self, layout: Layout[R], record: R, more: Mapping[str, object]) -> None:
        self._layout = layout
        self._record = record
        self._more = more

    def __getitem__(self, name: str) -> object:
        return self._more[name] if name in self._more else self._layout.value(self._record, name)

    def __iter__(self) -> Iterator[str]:
        return iter((*self._more, *self._layout.names))

    def __len__(self) -> int:
        return len(self._more) + len(self._layout.names)


def one(connection: Connection, sql: str, values: Bindings = ()) -> Row | None:
    """Return the first row, or None."""
    return next(connection.execute(sql, values), None)


def new_key(connection: Connection) -> int:
    """Return the next key of something with a row of words; call it within the transaction that uses it."""
    (key,) = next(
        connection.execute(
            "SELECT max((SELECT coalesce(max(key), 0) FROM turn), "
            "(SELECT coalesce(max(key), 0) FROM tool_call), "
            "(SELECT coalesce(max(key), 0) FROM summary), "
            "(SELECT coalesce(max(key), 0) FROM memory), "
            "(SELECT coalesce(max(key), 0) FROM version)) + 1"
        )
    )
    return key


def project_key(connection: Connection, identifier: str) -> int:
    """Return the key of the project, or of the one it was merged into. Raises Conflict as `key_of`."""
    key = key_of(connection, "project", identifier)
    row = one(
        connection,
        "SELECT into_.key FROM project JOIN project AS into_ ON into_.id = project.merged_into "
        "WHERE project.key = ?",
        (key,),
    )
    return row[0] if row else key


def key_of(connection: Connection, table: str, identifier: str) -> int:
    """Return the key for this id. Raises Conflict if it is not stored (any more)."""
    # The table's name is one of ours, never external input.
    row = one(connection, f"SELECT key FROM {table} WHERE id = ?", (identifier,))
    if row is None:
        raise Conflict(f"The {table} {identifier} is not in the store; it may have been deleted.")
    return row[0]
