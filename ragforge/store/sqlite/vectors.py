"""The embeddings in SQLite: found by comparing with all of the scope, exactly."""

import json
from array import array
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import apsw

from ragforge.domain.errors import UsageError
from ragforge.domain.vectors import (
    DIMENSIONS_MAX,
    Embedding,
    Near,
    Nearby,
    Owner,
    OwnerKind,
    check_vector,
)
from ragforge.store.json_text import storable
from ragforge.store.sqlite.connection import Connection, Database, Row
from ragforge.store.sqlite.owed import has_vector
from ragforge.store.sqlite.rows import one, to_ms

if TYPE_CHECKING:
    from ragforge.store.sqlite.vector_cache import VectorCache

OWNERS = {
    OwnerKind.TURN: "SELECT turn.key, 0, project, session, turn.started_at FROM turn "
    "JOIN session ON session.key = turn.session WHERE turn.id = ?",
    OwnerKind.SUMMARY: "SELECT summary.key, level, project, session, at FROM summary "
    "JOIN session ON session.key = summary.session WHERE summary.id = ?",
}

ID = "coalesce((SELECT id FROM turn WHERE key = {0}), (SELECT id FROM summary WHERE key = {0}))"

SELECT = f"SELECT level, {ID.format('owner')}, model, text_hash, dimensions, vector FROM embedding"

# What another embedder made comes from the index alone; that of a turn which runs again waits for its end.
LACKING = f"""
SELECT level, {ID.format("lacking.key")} FROM (
    SELECT owed.key, level, at FROM owed JOIN session ON session.key = owed.session
    WHERE vector AND (:project IS NULL OR project = :project)
    UNION
    SELECT owner, level, at FROM embedding
    WHERE (model < :model OR model > :model OR model = :model AND dimensions != :dimensions)
        AND (:project IS NULL OR project = :project)
    ORDER BY at DESC, 1 DESC LIMIT -1
) AS lacking
WHERE level OR EXISTS (SELECT 1 FROM turn WHERE turn.key = lacking.key AND ended_at IS NOT NULL)
LIMIT max(0, :limit)
"""


class SqliteVectors:
    """Implements `Vectors`."""

    def __init__(self, database: Database) -> None:
        self._database = database
        # Belongs to the thread of the reads.
        self._cache: VectorCache | None = None

    async def use(self, model: str, dimensions: int) -> None:
        """Remember the embedder in use. Raises UsageError for dimensions outside 1..4096."""
        if not 1 <= dimensions <= DIMENSIONS_MAX:
            raise UsageError(
                f"An embedder of {dimensions} dimensions cannot be used; it must have 1 to {DIMENSIONS_MAX}."
            )

        def write(connection: Connection) -> None:
            connection.execute("UPDATE embedder SET model = ?, dimensions = ?", (storable(model), dimensions))

        await self._database.write(write)

    async def save(self, embeddings: Sequence[Embedding]) -> None:
        """Keep them, many at once; those whose owner is not stored are left out.

        Raises UsageError for a vector that is empty, zero, not finite, or longer than 4096.
        """
        for embedding in embeddings:
            check_vector(embedding.vector, of=f"{embedding.owner.kind} {embedding.owner.id}")
        if embeddings:
            await self._database.write(lambda connection: put_embeddings(connection, embeddings))

    async def get(self, owners: Sequence[Owner]) -> list[Embedding]:
        """Those that there are, in the order of the owners."""

        def read(connection: Connection) -> list[Embedding]:
            keys = (_place(connection, owner) for owner in owners)
            found = (embedding_by_key(connection, place[0]) for place in keys if place is not None)
            return [embedding for embedding in found if embedding is not None]

        return await self._database.read(read)

    async def lacking(self, model: str, *, project_id: str | None = None, limit: int = 100) -> list[Owner]:
        """Ended turns and summaries without a vector of it, or whose text changed since; newest first."""

        def read(connection: Connection) -> list[Owner]:
            project = scope_key(connection, "project", project_id)
            if project == NOWHERE:
                return []
            values = {
                "model": storable(model),
                "dimensions": _dimensions(connection, storable(model)),
                "project": project,
                "limit": limit,
            }
            return [
                Owner(_kind(level), identifier) for level, identifier in connection.execute(LACKING, values)
            ]

        return await self._database.read(read)

    async def nearest(self, nearby: Nearby) -> list[Near]:
        """The nearest, best first, ties by id. Raises UsageError for a vector that `save` would refuse."""
        check_vector(nearby.vector, of="the question")

        def read(connection: Connection) -> list[Near]:
            return [
                Near(Owner(kind, identifier), score)
                for _, kind, identifier, score in self.nearest_in(connection, nearby)
            ]

        return await self._database.read(read)

    def nearest_in(self, connection: Connection, nearby: Nearby) -> list[tuple[int, OwnerKind, str, float]]:
        """The nearest as (key, kind, id, score), on the thread of the reads."""
        scope = {
            "project": scope_key(connection, "project", nearby.project_id),
            "session": scope_key(connection, "session", nearby.session_id),
        }
        if nearby.limit <= 0 or not nearby.kinds or NOWHERE in scope.values():
            return []
        cache = self._fresh_cache(connection, nearby)
        if cache is None:
            return []
        found = cache.nearest(
            nearby.vector,
            **scope,
            since=None if nearby.since is None else to_ms(nearby.since),
            turns=OwnerKind.TURN in nearby.kinds,
            summaries=OwnerKind.SUMMARY in nearby.kinds,
            limit=nearby.limit,
        )
        owners = connection.execute(
            f"SELECT owner, level, {ID.format('owner')} FROM json_each(?) JOIN embedding ON owner = value",
            (json.dumps(list(found)),),
        )
        named = [(key, _kind(level), identifier, found[key]) for key, level, identifier in owners]
        return sorted(named, key=lambda each: (-each[3], each[2]))[: nearby.limit]

    def scores_in(self, connection: Connection, nearby: Nearby, keys: Iterable[int]) -> dict[int, float]:
        """How near these are, as far as they have a vector of the model, on the thread of the reads."""
        cache = self._fresh_cache(connection, nearby)
        return {} if cache is None else cache.scores(nearby.vector, keys)

    def _fresh_cache(self, connection: Connection, nearby: Nearby) -> "VectorCache | None":
        """All vectors that may be compared, or None where there are none."""
        model, dimensions = storable(nearby.model), len(nearby.vector)
        if not one(
            connection, "SELECT 1 FROM embedding WHERE model = ? AND dimensions = ?", (model, dimensions)
        ):
            return None
        cache = self._cache
        if cache is None or (cache.model, cache.dimensions) != (model, dimensions):
            # NumPy takes a tenth of a second to import; most commands compare no vectors.
            from ragforge.store.sqlite.vector_cache import VectorCache

            self._cache = cache = VectorCache(model, dimensions)
        cache.refresh(connection)
        return cache


NOWHERE = -1


def scope_key(connection: Connection, table: str, identifier: str | None) -> int | None:
    """The key of the project or session, None where none is asked for, NOWHERE where it is not stored."""
    if not identifier:
        return None
    found = one(connection, f"SELECT key FROM {table} WHERE id = ?", (identifier,))
    return NOWHERE if found is None else found[0]


def is_embedded(connection: Connection, embedding: Embedding) -> bool:
    """Whether its owner has a vector of that text by that model."""
    place = _place(connection, embedding.owner)
    stored = place and one(connection, "SELECT model, text_hash FROM embedding WHERE owner = ?", (place[0],))
    return stored == (storable(embedding.model), embedding.text_hash)


def put_embeddings(connection: Connection, embeddings: Sequence[Embedding]) -> int:
    """Keep those whose owner is stored, and how many they are. The vectors were checked."""
    connection.execute("UPDATE embedder SET changes = changes + 1")
    kept = 0
    for embedding in embeddings:
        place = _place(connection, embedding.owner)
        if place is None:
            continue
        connection.execute(
            "INSERT OR REPLACE INTO embedding (owner, level, project, session, at, change, model, "
            "dimensions, text_hash, vector) "
            "VALUES (?, ?, ?, ?, ?, (SELECT changes FROM embedder), ?, ?, ?, ?)",
            (
                *place,
                storable(embedding.model),
                len(embedding.vector),
                embedding.text_hash,
                embedding.vector.tobytes(),
            ),
        )
        has_vector(connection, place[0])
        kept += 1
    return kept


def move_embeddings(connection: Connection, owners: Iterable[int]) -> None:
    """Bring what they are filtered by in line with their owners."""
    connection.execute("UPDATE embedder SET changes = changes + 1")
    connection.executemany(
        "UPDATE embedding SET change = (SELECT changes FROM embedder), (level, project, session, at) = ("
        "SELECT 0, session.project, session.key, turn.started_at FROM turn "
        "JOIN session ON session.key = turn.session WHERE turn.key = owner UNION ALL "
        "SELECT summary.level, session.project, session.key, summary.at FROM summary "
        "JOIN session ON session.key = summary.session WHERE summary.key = owner) WHERE owner = ?",
        [(owner,) for owner in owners],
    )


def drop_embeddings(connection: Connection, owners: Iterable[int]) -> None:
    """Remove those of owners that go."""
    connection.execute("UPDATE embedder SET removals = removals + 1")
    connection.executemany("DELETE FROM embedding WHERE owner = ?", [(owner,) for owner in owners])


def embedding_by_key(connection: Connection, owner: int) -> Embedding | None:
    """The embedding of the turn or summary with this key."""
    row = one(connection, f"{SELECT} WHERE owner = ?", (owner,))
    return None if row is None else embedding_of(row)


def embedding_of(row: Row) -> Embedding:
    """The embedding of a row of SELECT. Raises CorruptError where its vector is cut."""
    level, identifier, model, text_hash, dimensions, content = row
    if len(content) != dimensions * array("f").itemsize:
        raise apsw.CorruptError(
            f"the vector of {_kind(level)} {identifier} is cut; check and repair the store"
        )
    return Embedding(Owner(_kind(level), identifier), model, text_hash, array("f", content))


def _place(connection: Connection, owner: Owner) -> Row | None:
    """Key, level, project, session and time of an owner that is stored."""
    return one(connection, OWNERS[owner.kind], (owner.id,))


def _kind(level: int) -> OwnerKind:
    return OwnerKind.SUMMARY if level else OwnerKind.TURN


def _dimensions(connection: Connection, model: str) -> Any:
    """How many the model's vectors must have, or None where another model is in use."""
    found = one(connection, "SELECT dimensions FROM embedder WHERE model = ?", (model,))
    return None if found is None else found[0]
