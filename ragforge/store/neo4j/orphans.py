"""Rows for a database that is no longer at its address, because it was emptied or replaced.

They wait in the outbox of that database, which has a file of its own. The user decides: they are moved to the
outbox of the current database, with what they depend on as far as it is here, or discarded.
"""

from collections import Counter
from collections.abc import Collection, Mapping
from contextlib import closing
from pathlib import Path

import apsw
from msgspec import Struct
from msgspec.structs import replace

from ragforge.store.neo4j.outbox import ASSOCIATION, EMBEDDING, Outbox, OutboxRow, Rows, open_outbox
from ragforge.store.neo4j.rows import Label
from ragforge.store.sqlite.connection import Connection, raw_connection

ADDRESSES = "addresses"
"""The name of an outbox's fact with the addresses at which its database has answered, one a line."""

_OF_WRITER = ("writerEpoch", "writerMachine")
"""Of a session: its writer in the database that is gone."""

# The graph accepts a row only if what it belongs to exists, so that comes first.
_ORDER = {
    label: place
    for place, label in enumerate(
        (
            *(Label.PROJECT, Label.SESSION, Label.TURN, Label.STEP, Label.CALL, Label.SUMMARY),
            *(
                Label.VERSION,
                Label.BRANCH,
                Label.MOVE,
                Label.MEMORY,
                ASSOCIATION,
                Label.USAGE,
                Label.DERIVED,
                EMBEDDING,
            ),
        )
    )
}


class Stranded(Struct, frozen=True):
    """Rows that wait for one database that is gone. counts: rows by label; titles: of their sessions."""

    database_id: str
    path: Path
    counts: Mapping[str, int]
    titles: tuple[str, ...]

    @property
    def rows(self) -> int:
        """The number of rows."""
        return sum(self.counts.values())


def note_address(rows: Rows, address: str) -> None:
    """Record in an outbox that its database answered at the address."""
    known = set(rows.fact(ADDRESSES).splitlines())
    if address not in known:
        rows.set_fact(ADDRESSES, "\n".join(sorted(known | {address})))


def find_stranded(folder: Path, address: str, *, here: str, known: Collection[str]) -> list[Stranded]:
    """Return what waits in the folder for databases that were at the address, other than the one at `here`.

    known: ids of databases that are at some address. An outbox that knows no address counts if its database
    is at none.
    """
    found: list[Stranded] = []
    for path in sorted(folder.glob("*.db")):
        if path.stem == here:
            continue
        try:
            with closing(raw_connection(path)) as connection:
                stranded = _stranded(connection, path, address, is_known=path.stem in known)
        except apsw.Error:
            # No outbox of ours; opening it by its address reports that.
            continue
        if stranded.rows:
            found.append(stranded)
    return found


def _stranded(connection: Connection, path: Path, address: str, *, is_known: bool) -> Stranded:
    rows = Rows(connection, {})
    at = rows.fact(ADDRESSES).splitlines()
    if address not in at and (at or is_known):
        return Stranded(path.stem, path, {}, ())
    waiting = rows.all_waiting()
    sessions = dict.fromkeys(row.props.get("sessionId") for row in waiting)
    titles = [found.props.get("title") or "" for each in sessions if (found := rows.get(Label.SESSION, each))]
    counts = Counter(row.label for row in waiting)
    return Stranded(path.stem, path, counts, tuple(title for title in titles if title))


async def take_over(stranded: Stranded, into: Outbox, *, lock_dir: Path) -> int:
    """Queue the rows for the current database, with what they depend on; return their number.

    If it is interrupted, repeat it: rows that were moved already are recognised. Raises StoreError.
    """
    outbox = open_outbox(stranded.path, lock_dir=lock_dir)
    try:
        rows = await outbox.read(_with_what_they_rest_on)
        await into.write(lambda here: _take(here, rows))
        await outbox.write(Rows.forget_all)
    finally:
        await outbox.close()
    return len(rows)


async def discard(stranded: Stranded, *, lock_dir: Path) -> None:
    """Remove what waits for the database that is gone, permanently. Raises StoreError."""
    outbox = open_outbox(stranded.path, lock_dir=lock_dir)
    try:
        await outbox.write(Rows.forget_all)
    finally:
        await outbox.close()


def _with_what_they_rest_on(rows: Rows) -> list[OutboxRow]:
    """Return all that waits, and its sessions, previous turns, versions and memories that are here."""
    found: dict[tuple[str, str], OutboxRow] = {}
    left = rows.all_waiting()
    while left:
        row = left.pop()
        if (row.label, row.id) in found:
            continue
        found[row.label, row.id] = row
        left += _rested_on(rows, row)
    return sorted(found.values(), key=_place)


def _rested_on(rows: Rows, row: OutboxRow) -> list[OutboxRow]:
    """Return the rows that a reader needs to make sense of this one, as far as they are here."""
    props = row.props
    wanted = [
        (Label.PROJECT, props.get("projectId")),
        (Label.SESSION, props.get("sessionId")),
        (Label.TURN, props.get("turnId")),
        (Label.TURN, props.get("parentId")),
        (Label.TURN, props.get("headId")),
        (Label.VERSION, props.get("versionId")),
        *((Label.VERSION, each) for each in props.get("parents") or ()),
        *((Label.MEMORY, props.get(end)) for end in ("from", "to")),
    ]
    found = [there for label, identifier in wanted if (there := rows.get(label, identifier))]
    if row.label == Label.SESSION:
        found += [each for label in Label for each in rows.of_session(label, row.id)]
    if row.label == Label.TURN:
        found += [each for label in (Label.STEP, Label.CALL) for each in rows.of_turn(label, row.id)]
    return found


def _place(row: OutboxRow) -> tuple[int, int, str]:
    # Ids of versions and their like increase with time.
    return (
        _ORDER.get(row.label, len(_ORDER)),
        row.props.get("turnIndex") or row.props.get("level") or 0,
        row.id,
    )


def _take(here: Rows, rows: list[OutboxRow]) -> None:
    for row in rows:
        before = here.get(row.label, row.id)
        if before is None:
            props = {name: value for name, value in row.props.items() if name not in _OF_WRITER}
            here.add(replace(row, props=props, epoch=0, fresh=True))
        elif changes := {name: row.props[name] for name in row.dirty & row.props.keys()}:
            here.put(row.label, row.id, changes, surely=True)
