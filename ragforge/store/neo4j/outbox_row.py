"""A row of the outbox: a node of the graph as it is known here, and what of it is still to be carried."""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Any

import msgspec
from msgspec import Struct, field

from ragforge.store.neo4j.rows import Label, Props
from ragforge.store.sqlite.rows import from_ms

EMBEDDING = "Embedding"
"""Not a node: a vector on its way to its owner. Its row goes when it has arrived."""
ASSOCIATION = "Association"
"""Not a node: a link between two memories."""

TIMES = frozenset(
    {
        *("createdAt", "startTime", "lastActivity", "timestamp", "endTime"),
        *("created", "updated", "lastAccessed", "forgottenAt", "at"),
    }
)


def with_times(row: Mapping[str, Any]) -> dict[str, Any]:
    """The row with those of its times that came as milliseconds, which the driver reads faster."""
    times = {name: from_ms(row[name]) for name in TIMES & row.keys() if row[name] is not None}
    return {**row, **times}


class Cargo(StrEnum):
    """What is carried together, by one text; the earlier is carried first, for the later rests on it."""

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
    EMBEDDING: Cargo.VECTORS,
}
"""Of the labels that are no part of a conversation."""
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
    """Made here. Should the graph have it all the same, only what changed since is written to it."""
    complete: bool = False
    dirty: frozenset[str] = field(default_factory=frozenset[str])

    @property
    def cargo(self) -> Cargo:
        """What it is carried with."""
        return CARGO.get(self.label, Cargo.CONVERSATION)

    @property
    def session_id(self) -> str | None:
        """The session whose writer writes it; None for what anybody may write."""
        return self.props.get("sessionId") if self.cargo in OWNED else None


def row_of(found: tuple[Any, ...]) -> OutboxRow:
    """The row of what SELECT finds."""
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
