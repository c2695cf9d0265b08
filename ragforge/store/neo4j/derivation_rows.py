"""Derived records in the graph, and the queries that write them.

A node has the label `Derived` and its kind's own, and the kind's relationship to its owner. Those data that
a property can store are properties as well, for queries; `data` has all of them, as JSON.
"""

import re
from collections.abc import Sequence
from typing import Any

from ragforge.domain.derivations import DERIVED, Derived, DerivedOwner
from ragforge.domain.json import JsonObject, JsonValue
from ragforge.store.json_text import from_json
from ragforge.store.neo4j.outbox import OutboxRow
from ragforge.store.neo4j.rows import Label, Props, RecordNode

OWNERS = {
    DerivedOwner.PROJECT: (Label.PROJECT, "id"),
    DerivedOwner.SESSION: (Label.SESSION, "sessionId"),
    DerivedOwner.TURN: (Label.TURN, "id"),
}
"""The label of each kind of owner, and the property that is its id."""

_WORD = re.compile(r"_+([A-Za-z0-9])")

# One fragment a kind of owner, because a parameter cannot name the property with a session's id.
# What was forgotten stays forgotten; `replaces` says which record replaces which. An owner that was deleted
# elsewhere gets none.
DERIVED_PARTS = "".join(
    f"""
CALL () {{
  UNWIND $rows.of_{kind} AS row
  MATCH (o:{label} {{{key}: row.owner}})
  FOREACH (_ IN CASE WHEN row.saves THEN [1] ELSE [] END |
    MERGE (new:{Label.DERIVED} {{id: row.id}})
    ON CREATE SET new.timestamp = row.props.timestamp, new.forgottenAt = row.forgotten)
  WITH row, o
  MATCH (n:{Label.DERIVED} {{id: row.id}})
  WITH row, o, n, n.forgottenAt AS forgotten, n.relation AS before,
    row.saves AND (n.timestamp < row.props.timestamp OR n.timestamp = row.props.timestamp
      AND NOT coalesce(n.model <> '' AND row.props.model = '' AND n.hash = row.props.hash, false)) AS saves
  FOREACH (_ IN CASE WHEN saves THEN [1] ELSE [] END | SET n = row.props, n.forgottenAt = forgotten)
  FOREACH (_ IN CASE WHEN row.forgets THEN [1] ELSE [] END | SET n.forgottenAt = row.forgotten)
  WITH o, n, before WHERE saves
  CALL (o, n, before) {{ MATCH (n)-[old]->(o) WHERE type(old) = before AND before <> n.relation DELETE old }}
  SET n:$(n.kind)
  MERGE (n)-[:$(n.relation)]->(o)
}}
"""
    for kind, (label, key) in OWNERS.items()
)


DERIVATIONS = RecordNode(DERIVED, more="id")

derived_of = DERIVATIONS.record


def derived_row(record: Derived) -> Props:
    """Return the record as its row here; see `readable` for what else its node has."""
    return DERIVATIONS.row(record, id=record.id)


def derived_lists(rows: Sequence[OutboxRow]) -> dict[str, list[dict[str, Any]]]:
    """Return the rows in the form that the parts need."""
    derived = [row for row in rows if row.label == Label.DERIVED]
    return {
        f"of_{kind}": [_as_written(row) for row in derived if row.props["ownerKind"] == kind]
        for kind in OWNERS
    }


def _as_written(row: OutboxRow) -> dict[str, Any]:
    own = {name: value for name, value in row.props.items() if name != "forgottenAt"}
    return {
        "id": row.id,
        "owner": row.props["ownerId"],
        "saves": row.fresh or not row.dirty <= {"forgottenAt"},
        "props": readable(from_json(row.props["data"])) | own,
        "forgets": "forgottenAt" in row.dirty,
        "forgotten": row.props["forgottenAt"],
    }


def readable(data: JsonObject) -> Props:
    """Return the data that properties can store, by property name: `open_files` as `openFiles`."""
    named = {_WORD.sub(lambda match: match[1].upper(), name): value for name, value in data.items()}
    return {name: value for name, value in named.items() if name and _fits(value)}


def _fits(value: JsonValue) -> bool:
    match value:
        case bool() | str() | float():
            return True
        case int():
            return -(2**63) <= value < 2**63
        case list():
            kinds = {type(each) for each in value}
            return len(kinds) <= 1 and kinds <= {bool, str, int, float} and all(map(_fits, value))
        case _:
            return False
