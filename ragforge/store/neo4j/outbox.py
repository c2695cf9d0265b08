"""The local half of the store: rows that were written here, durable before they are sent.

A row is a whole node of the graph, with the names of those properties that the graph does not have yet.
What waits is a state, not a log: carrying a row twice changes nothing, and a row that changed five times
while the server was unreachable is carried once. Rows stay after they were carried, so that a session
continues without the server.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from time import time_ns
from typing import Any, TypeVar

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from ragforge.store.archive_items import DESCRIPTIONS
from ragforge.store.damage_words import explained
from ragforge.store.files import Role, StoreFile
from ragforge.store.neo4j.rows import Label, Props
from ragforge.store.sqlite.connection import Connection, Database
from ragforge.store.sqlite.prepare import Schema, prepare
from ragforge.store.sqlite.rows import from_ms, one

T = TypeVar("T")

EMBEDDING = "Embedding"
"""Not a node: a vector on its way to its owner. Its row is removed when it has arrived."""
ASSOCIATION = "Association"
"""Not a node: a link between two memories."""

TIMES = frozenset(
    each.property_name(field.name)
    for each in DESCRIPTIONS.values()
    for field in each.kept
    if field.type in (datetime, datetime | None)
)
"""Properties that are times, of any label."""


def with_times(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the row with its times converted from milliseconds, which the driver reads faster."""
    times = {name: from_ms(row[name]) for name in TIMES & row.keys() if row[name] is not None}
    return {**row, **times}


class Cargo(StrEnum):
    """Rows that are carried together, by one query; in this order: the later depend on the earlier."""

    CONVERSATION = "conversation"
    SUMMARIES = "summaries"
    VERSIONS = "versions"
    MEMORIES = "memories"
    VECTORS = "vectors"


CARGO = {
    Label.SUMMARY: Cargo.SUMMARIES,
    Label.VERSION: Cargo.VERSIONS,
    Label.BRANCH: Cargo.VERSIONS,
    Label.MOVE: Cargo.VERSIONS,
    Label.MEMORY: Cargo.MEMORIES,
    ASSOCIATION: Cargo.MEMORIES,
    Label.USAGE: Cargo.MEMORIES,
    Label.DERIVED: Cargo.MEMORIES,
    EMBEDDING: Cargo.VECTORS,
}
"""Of the labels that are not part of a conversation."""
OWNED = (Cargo.CONVERSATION, Cargo.SUMMARIES)
"""What belongs to a session and is written by its writer."""

SELECT = "SELECT label, id, change, waits_since, epoch, fresh, complete, dirty, props FROM row"


class OutboxRow(Struct, frozen=True):
    """A node as it is known here."""

    label: str
    id: str
    props: Props
    change: int = 0
    waits: bool = False
    epoch: int = 0
    fresh: bool = False
    """Created here. If the graph has it nevertheless, only what changed since is written to it."""
    complete: bool = False
    dirty: frozenset[str] = field(default_factory=frozenset[str])

    @property
    def cargo(self) -> Cargo:
        """The cargo that it is carried with."""
        return CARGO.get(self.label, Cargo.CONVERSATION)

    @property
    def session_id(self) -> str | None:
        """The session whose writer writes it; None if anybody may write it."""
        return self.props.get("sessionId") if self.cargo in OWNED else None


def _row_of(found: tuple[Any, ...]) -> OutboxRow:
    """Return the row from a result of SELECT."""
    label, identifier, change, waits_since, epoch, fresh, complete, dirty, props = found
    values: Props = msgspec.json.decode(props)
    for name in TIMES & values.keys():
        if values[name] is not None:
            values[name] = datetime.fromisoformat(values[name])
    return OutboxRow(
        label,
        identifier,
        values,
        change=change,
        waits=waits_since > 0,
        epoch=epoch,
        fresh=bool(fresh),
        complete=bool(complete),
        dirty=frozenset(msgspec.json.decode(dirty)),
    )


KEPT_ROWS_MAX = 5_000
"""Carried rows that are kept for times without a server; older ones are removed when the file is opened."""

FIRST = """
CREATE TABLE row (
    label TEXT NOT NULL,
    id TEXT NOT NULL,
    session TEXT,
    turn TEXT, -- whose step or call it is
    change INTEGER NOT NULL, -- number of the write that changed it last; higher is later
    waits_since INTEGER NOT NULL, -- number of the first write that is not carried yet; 0 where none waits
    epoch INTEGER NOT NULL DEFAULT 0, -- of the claim under which it was changed last; 0 without one
    refused TEXT NOT NULL DEFAULT '', -- why the server would not take it
    fresh INTEGER NOT NULL DEFAULT 0, -- made here: all of it is carried, but over nothing that is there
    complete INTEGER NOT NULL DEFAULT 0, -- of a turn: all its steps and calls are here
    dirty TEXT NOT NULL, -- names of the properties that are not carried yet, as JSON
    props TEXT NOT NULL, -- all properties, as JSON
    PRIMARY KEY (label, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX row_waiting ON row (waits_since) WHERE waits_since > 0;
CREATE INDEX row_session ON row (session);
CREATE INDEX row_turn ON row (turn) WHERE turn IS NOT NULL;

CREATE TABLE fact (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
"""


SECOND = "-- An earlier version could not carry rows of derived records."

OUTBOX = Schema(application_id=0x7261676F, steps=(FIRST, SECOND))  # `rago`


WAITS = "waits_since > 0 AND refused = ''"


class Outbox:
    """The file of one database, shared by all processes of this machine."""

    def __init__(self, path: Path) -> None:
        self._database = Database(path)
        self.path = path
        self.claims: dict[str, int] = {}
        """The sessions that this process may write, with the epoch of each claim."""
        self.waiting = 0
        """The number of rows that wait, as of the last write or count here."""

    @property
    def database_id(self) -> str:
        """The database that the rows are for."""
        return self.path.stem

    async def read(self, job: "Callable[[Rows], T]") -> T:
        return await self._database.read(lambda connection: job(Rows(connection, self.claims)))

    async def write(self, job: "Callable[[Rows], T]") -> T:
        """Return the job's result, once all that it wrote is durable."""

        def counted(connection: Connection) -> T:
            rows = Rows(connection, self.claims)
            found = job(rows)
            self.waiting = rows.count_waiting()
            return found

        return await self._database.write(counted)

    async def count(self) -> int:
        """Count the rows that wait, including those of other processes."""
        self.waiting = await self.read(Rows.count_waiting)
        return self.waiting

    async def compact(self) -> None:
        """Remove all traces of earlier contents of rows from the file."""
        await self._database.compact()

    async def close(self) -> None:
        """Release the file."""
        await self._database.close()


def open_outbox(path: Path, *, lock_dir: Path) -> Outbox:
    """Open the outbox in this file, which is created if it is missing. Raises StoreError."""
    with explained(StoreFile(Role.OUTBOX, path)):
        prepare(path, OUTBOX, lock_dir=lock_dir)
    return Outbox(path)


class Rows:
    """The rows, within one transaction."""

    def __init__(self, connection: Connection, claims: Mapping[str, int]) -> None:
        self._connection = connection
        self._claims = claims

    def state(self) -> object:
        """Return a value that changes with every write, by this process or another."""
        return self._connection.pragma("data_version")

    def get(self, label: str, identifier: str | None) -> OutboxRow | None:
        """Return the row, or None if it is not here."""
        if identifier is None:
            return None
        found = one(self._connection, f"{SELECT} WHERE label = ? AND id = ?", (label, identifier))
        return None if found is None else _row_of(found)

    def of_turn(self, label: Label, turn_id: str) -> list[OutboxRow]:
        """Return the turn's steps, or its calls, that are here."""
        return self._all("turn = ? AND label = ?", (turn_id, label))

    def of_session(self, label: Label, session_id: str) -> list[OutboxRow]:
        """Return a session's rows of a kind that are here."""
        return self._all("session = ? AND label = ?", (session_id, label))

    def of_label(self, label: str) -> list[OutboxRow]:
        """Return all rows of a kind that are here."""
        return self._all("label = ?", (label,))

    def turn_waits(self, turn_id: str) -> bool:
        """Return whether anything of the turn is still to be carried."""
        found = one(
            self._connection,
            "SELECT 1 FROM row WHERE waits_since > 0 AND (turn = ? OR (label = ? AND id = ?)) LIMIT 1",
            (turn_id, Label.TURN, turn_id),
        )
        return found is not None

    def put(
        self,
        label: str,
        identifier: str,
        changes: Mapping[str, Any],
        *,
        complete: bool = False,
        along: Collection[str] = (),
        notes: Collection[str] = (),
        surely: bool = False,
    ) -> OutboxRow:
        """Store a new row, or the changes of an existing one; what really changed waits to be carried.

        along: properties that are carried with any other change, because others may have written them there.
        notes: names for `dirty` instead of those of the properties, for changes that set no values.
        surely: carry all, even those that the graph seems to have already, overwriting what it has.
        """
        before = self.get(label, identifier)
        known = before.props if before else {}
        missing = object()
        changed = {name for name, value in changes.items() if surely or known.get(name, missing) != value}
        if before and not changed and before.complete >= complete:
            return before
        changed |= changes.keys() & set(along) if changed else set[str]()
        props = {**known, **changes}
        if before is None and not surely:
            changed = set[str]()
        if notes:
            changed = set(notes)
        row = OutboxRow(
            label,
            identifier,
            props,
            change=self.next_change(),
            waits=True,
            epoch=self._claims.get(props.get("sessionId", ""), 0),
            fresh=before.fresh if before else not surely,
            complete=complete or (before is not None and before.complete),
            dirty=frozenset(changed) | (before.dirty if before else frozenset[str]()),
        )
        self._write(row, waits_since=row.change)
        return row

    def reword(self, label: str, identifier: str, changes: Mapping[str, Any]) -> None:
        """Set these in an existing row; they are carried only if it waits, with the rest of it."""
        row = self.get(label, identifier)
        if row is not None:
            dirty = row.dirty | changes.keys() if row.waits else row.dirty
            props = {**row.props, **changes}
            self._write(replace(row, props=props, dirty=dirty, change=self.next_change()), waits_since=0)

    def add(self, row: OutboxRow) -> None:
        """Add a row that is not here, to be carried as it is."""
        change = self.next_change()
        self._write(replace(row, change=change, waits=True), waits_since=change)

    def keep(self, label: Label, found: Iterable[Props], *, complete: bool = False) -> None:
        """Store the graph's nodes, but never over a row that still waits."""
        for props in found:
            identifier = props["sessionId"] if label is Label.SESSION else props["id"]
            before = self.get(label, identifier)
            if before is None or not before.waits:
                row = OutboxRow(
                    label,
                    identifier,
                    props,
                    change=self.last_change(),
                    epoch=before.epoch if before else 0,
                    complete=complete,
                )
                self._write(row, waits_since=0)

    def set_epoch(self, session_id: str, epoch: int) -> None:
        """Record the session's last claim of writing: a claim without the server continues with its epoch."""
        self._connection.execute(
            "UPDATE row SET epoch = ? WHERE label = ? AND id = ?", (epoch, Label.SESSION, session_id)
        )

    def last_change(self) -> int:
        """Return the number of the last write."""
        return int(self.fact("change") or 0)

    def next_change(self) -> int:
        """Return a number for a write, higher than all before."""
        number = self.last_change() + 1
        self.set_fact("change", str(number))
        return number

    def next_batch(self) -> int:
        """Return a number for a batch, higher than all before; by the clock, so that an old copy works."""
        number = max(int(self.fact("batch") or 0) + 1, time_ns() // 1_000_000)
        self.set_fact("batch", str(number))
        return number

    def count_waiting(self) -> int:
        """Count the rows that are still to be carried and were not refused."""
        found = one(self._connection, f"SELECT count(*) FROM row WHERE {WAITS}")
        return found[0] if found else 0

    def waits_since(self) -> int | None:
        """Return the number of the first write of which more than vectors waits; None if there is none."""
        found = one(
            self._connection,
            f"SELECT waits_since FROM row WHERE {WAITS} AND label != ? ORDER BY waits_since LIMIT 1",
            (EMBEDDING,),
        )
        return found[0] if found else None

    def waiting(self, cargo: Cargo, *, rows_max: int, bytes_max: int) -> list[OutboxRow]:
        """Return the next rows of the cargo to be carried, the longest waiting first."""
        found: list[OutboxRow] = []
        size = 0
        labels = [label for label, its in CARGO.items() if cargo in (its, Cargo.CONVERSATION)]
        within = "NOT IN" if cargo is Cargo.CONVERSATION else "IN"
        for each in self._connection.execute(
            f"{SELECT} WHERE {WAITS} AND label {within} ({', '.join('?' * len(labels))}) "
            "ORDER BY waits_since, change LIMIT ?",
            (*labels, rows_max),
        ):
            size += len(each[-1])
            if found and size > bytes_max:
                break
            found.append(_row_of(each))
        return [*found, *self._sessions_of(found)]

    def all_waiting(self) -> list[OutboxRow]:
        """Return everything that waits, the longest waiting first, including what the server refused."""
        return self._all("waits_since > 0 ORDER BY waits_since, change", ())

    def _sessions_of(self, rows: Sequence[OutboxRow]) -> list[OutboxRow]:
        """Return the missing sessions of new turns among the rows: if deleted, they are created again."""
        known = {row.id for row in rows if row.label == Label.SESSION}
        begun = {row.session_id: None for row in rows if row.label == Label.TURN and row.fresh}
        return [row for each in begun if each not in known and (row := self.get(Label.SESSION, each))]

    def mark_carried(self, rows: Sequence[OutboxRow]) -> None:
        """Mark these versions of the rows as arrived. What changed meanwhile continues to wait."""
        for row in rows:
            sql = (
                "DELETE FROM row WHERE label = ? AND id = ? AND change = ?"
                if row.label == EMBEDDING
                else "UPDATE row SET waits_since = 0, fresh = 0, dirty = '[]' "
                "WHERE label = ? AND id = ? AND change = ?"
            )
            self._connection.execute(sql, (row.label, row.id, row.change))

    def mark_refused(self, row: OutboxRow, reason: str) -> None:
        """Mark a row that the server will never accept as it is; it stays here and `check` reports it."""
        self._connection.execute(
            "UPDATE row SET refused = ? WHERE label = ? AND id = ?", (reason or "refused", row.label, row.id)
        )

    def refused(self) -> list[tuple[str, str, str]]:
        """Return label, id and reason of what the server refused."""
        found = self._connection.execute(
            "SELECT label, id, refused FROM row WHERE refused != '' ORDER BY change"
        )
        return [(label, identifier, reason) for label, identifier, reason in found]

    def retry_refused(self) -> None:
        """Let what was refused be tried again."""
        self._connection.execute("UPDATE row SET refused = '' WHERE refused != ''")

    def forget_session(self, session_id: str, *, waiting_too: bool = False) -> None:
        """Remove a session's rows from here: it is read again, or was deleted."""
        self._connection.execute(
            "DELETE FROM row WHERE session = ? AND (waits_since = 0 OR ?)", (session_id, waiting_too)
        )

    def forget(self, label: str, ids: Iterable[str]) -> None:
        """Remove these rows from here, except those that wait."""
        self._connection.executemany(
            "DELETE FROM row WHERE label = ? AND id = ? AND waits_since = 0",
            [(label, identifier) for identifier in ids],
        )

    def forget_turns(self, turn_ids: Iterable[str]) -> None:
        """Remove the rows of these turns from here."""
        for identifier in turn_ids:
            self._connection.execute(
                "DELETE FROM row WHERE turn = ? OR (label = ? AND id = ?)",
                (identifier, Label.TURN, identifier),
            )

    def forget_all(self) -> None:
        """Remove everything, including what waits."""
        self._connection.execute("DELETE FROM row")

    def prune(self) -> None:
        """Remove the oldest of the carried rows, beyond KEPT_ROWS_MAX."""
        self._connection.execute(
            "DELETE FROM row WHERE waits_since = 0 AND change <= coalesce((SELECT change FROM row "
            "WHERE waits_since = 0 ORDER BY change DESC LIMIT 1 OFFSET ?), -1)",
            (KEPT_ROWS_MAX,),
        )

    def fact(self, name: str) -> str:
        """Return the value stored under this name; empty if there is none."""
        found = one(self._connection, "SELECT value FROM fact WHERE name = ?", (name,))
        return found[0] if found else ""

    def set_fact(self, name: str, value: str) -> None:
        """Store a value under this name."""
        self._connection.execute("INSERT OR REPLACE INTO fact VALUES (?, ?)", (name, value))

    def _all(self, condition: str, values: Sequence[object]) -> list[OutboxRow]:
        return [_row_of(found) for found in self._connection.execute(f"{SELECT} WHERE {condition}", values)]

    def _write(self, row: OutboxRow, *, waits_since: int) -> None:
        # A row that waits keeps its place in the queue when it changes again.
        self._connection.execute(
            "INSERT INTO row "
            "(label, id, session, turn, change, waits_since, epoch, fresh, complete, dirty, props) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (label, id) DO UPDATE SET "
            "session = excluded.session, turn = excluded.turn, change = excluded.change, "
            "waits_since = CASE WHEN row.waits_since > 0 THEN row.waits_since ELSE excluded.waits_since END, "
            "epoch = excluded.epoch, fresh = excluded.fresh, refused = '', complete = excluded.complete, "
            "dirty = excluded.dirty, props = excluded.props",
            (
                row.label,
                row.id,
                row.session_id,
                row.props.get("turnId"),
                row.change,
                waits_since,
                row.epoch,
                row.fresh,
                row.complete,
                msgspec.json.encode(sorted(row.dirty)).decode(),
                msgspec.json.encode(row.props).decode(),
            ),
        )
