"""The embeddings in SQLite: an exact search over the whole scope."""

import json
from array import array
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import apsw

from ragforge.domain.blas import load_numpy
from ragforge.domain.errors import UsageError
from ragforge.domain.search import HitKind
from ragforge.domain.vectors import (
    DIMENSIONS_MAX,
    Embedding,
    Near,
    Nearby,
    Owner,
    OwnerKind,
    Vector,
    check_vector,
)
from ragforge.store.json_text import storable
from ragforge.store.sqlite.connection import Connection, Database, Row
from ragforge.store.sqlite.owed import EVERYWHERE, FORGOTTEN_LEVEL, MEMORY_LEVEL, REMEMBERED, have_vectors
from ragforge.store.sqlite.places import keys_by_id
from ragforge.store.sqlite.rows import one, to_ms
from ragforge.store.sqlite.vector_tail import ARE_MANY_WAITING, write_codes

if TYPE_CHECKING:
    from ragforge.store.sqlite.vector_cache import VectorCache

# Without a project: in every one. Without a session: in none.
MEMORY_PLACE = f"""
SELECT memory.key AS key,
    CASE WHEN {REMEMBERED} THEN {MEMORY_LEVEL} ELSE {FORGOTTEN_LEVEL} END AS level,
    CASE WHEN scope = 'global' THEN {EVERYWHERE} ELSE memory.project END AS project,
    coalesce((SELECT key FROM session WHERE session.id = memory.session), 0) AS session, created_at AS at
FROM memory
"""

OWNERS = {
    OwnerKind.TURN: "SELECT turn.key, 0, project, session, turn.started_at FROM turn "
    "JOIN session ON session.key = turn.session WHERE turn.id = ?",
    OwnerKind.SUMMARY: "SELECT summary.key, level, project, session, at FROM summary "
    "JOIN session ON session.key = summary.session WHERE summary.id = ?",
    OwnerKind.MEMORY: f"{MEMORY_PLACE} WHERE memory.id = ?",
}

ID = (
    "coalesce((SELECT id FROM turn WHERE key = {0}), (SELECT id FROM summary WHERE key = {0}), "
    "(SELECT id FROM memory WHERE key = {0}))"
)

SELECT = f"SELECT level, {ID.format('owner')}, model, text_hash, dimensions, vector FROM embedding"
OF_KEYS = f"""
SELECT level, {ID.format("owner")}, model, text_hash, dimensions, vector
FROM json_each(?) AS wanted CROSS JOIN embedding ON owner = wanted.value ORDER BY wanted.key
"""

# Another embedder's are found by the index only; that of a turn which runs again waits for its end.
LACKING = f"""
SELECT level, {ID.format("lacking.key")} FROM (
    SELECT owed.key, level, at FROM owed LEFT JOIN session ON session.key = owed.session
        LEFT JOIN memory ON memory.key = owed.key
    WHERE vector AND (:project IS NULL OR coalesce(session.project, memory.project) = :project
        OR memory.scope = 'global')
    UNION
    SELECT owner, level, at FROM embedding
    WHERE (model < :model OR model > :model OR model = :model AND dimensions != :dimensions)
        AND level != {FORGOTTEN_LEVEL} AND (:project IS NULL OR project IN (:project, {EVERYWHERE}))
    ORDER BY at DESC, 1 DESC LIMIT -1
) AS lacking
WHERE level OR EXISTS (SELECT 1 FROM turn WHERE turn.key = lacking.key AND ended_at IS NOT NULL)
LIMIT max(0, :limit)
"""


# What was truncated or emptied is computed again, not copied.
SAME_TEXT = """
SELECT text_hash, vector FROM json_each(:hashes) CROSS JOIN embedding ON text_hash = value
WHERE +model = :model AND dimensions = coalesce(:dimensions, dimensions)
    AND length(vector) = 4 * dimensions AND vector != zeroblob(length(vector))
"""


class SqliteVectors:
    """Implements `Vectors`."""

    def __init__(self, database: Database) -> None:
        self._database = database
        # Belongs to the thread of the parallel reads.
        self._cache: VectorCache | None = None

    async def use(self, model: str, dimensions: int) -> None:
        """Record the embedder in use. Raises UsageError for dimensions outside 1..4096."""
        if not 1 <= dimensions <= DIMENSIONS_MAX:
            raise UsageError(
                f"An embedder of {dimensions} dimensions cannot be used; it must have 1 to {DIMENSIONS_MAX}."
            )

        def write(connection: Connection) -> None:
            connection.execute("UPDATE embedder SET model = ?, dimensions = ?", (storable(model), dimensions))

        await self._database.write(write)
        await self._seal()

    async def in_use(self) -> str:
        """Return the name of the embedder passed to `use` last; empty if there was none."""

        def read(connection: Connection) -> str:
            (model,) = next(connection.execute("SELECT model FROM embedder"))
            return model

        return await self._database.read(read)

    async def save(self, embeddings: Sequence[Embedding]) -> None:
        """Save many at once, except those whose owner is not stored.

        Raises UsageError for a vector that is empty, zero, not finite, or longer than 4096.
        """
        for embedding in embeddings:
            check_vector(embedding.vector, of=f"{embedding.owner.kind} {embedding.owner.id}")
        if embeddings:
            await self._database.write(lambda connection: put_embeddings(connection, embeddings))
            await self._seal()

    async def _seal(self) -> None:
        """Put waiting rows into blocks, some at a time, so that no other write waits for long."""
        while await self._database.write(sealed_some):
            pass

    async def get(self, owners: Sequence[Owner]) -> list[Embedding]:

        def read(connection: Connection) -> list[Embedding]:
            wanted = [(HitKind(owner.kind), owner.id) for owner in owners]
            keys = keys_by_id(connection, wanted)
            there = json.dumps([keys[each] for each in wanted if each in keys])
            return [embedding_of(row) for row in connection.execute(OF_KEYS, (there,))]

        return await self._database.read(read)

    async def lacking(self, model: str, *, project_id: str | None = None, limit: int = 100) -> list[Owner]:
        """Return ended turns, summaries and memories without a current vector of the model, newest first."""

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

    async def same_text(self, model: str, hashes: Sequence[str]) -> dict[str, Vector]:

        def read(connection: Connection) -> dict[str, Vector]:
            rows = connection.execute(
                SAME_TEXT,
                {
                    "hashes": json.dumps(list(hashes)),
                    "model": storable(model),
                    "dimensions": _dimensions(connection, storable(model)),
                },
            )
            return {text_hash: array("f", vector) for text_hash, vector in rows}

        return await self._database.read(read)

    async def nearest(self, nearby: Nearby) -> list[Near]:
        """Return the nearest, best first, ties by id. Raises UsageError for a vector that `save` rejects."""
        check_vector(nearby.vector, of="the question")

        def read(connection: Connection) -> list[Near]:
            near = _named(connection, self.nearest_in(connection, nearby))
            return [Near(owner, score) for _, owner, score in near]

        return await self._database.read_beside(read)

    def nearest_in(self, connection: Connection, nearby: Nearby) -> dict[int, float]:
        """Return the scores of the nearest by the keys of their owners, in a `read_beside`."""
        scope = {
            "project": scope_key(connection, "project", nearby.project_id),
            "session": scope_key(connection, "session", nearby.session_id),
        }
        if nearby.limit <= 0 or not nearby.kinds or NOWHERE in scope.values():
            return {}
        cache = self._fresh_cache(connection, nearby)
        if cache is None:
            return {}
        found = cache.nearest(
            connection,
            nearby.vector,
            **scope,
            since=None if nearby.since is None else to_ms(nearby.since),
            until=None if nearby.until is None else to_ms(nearby.until),
            kinds=nearby.kinds,
            limit=nearby.limit,
        )
        if len(found) <= nearby.limit:
            return found
        # Ties with the last are decided by the ids.
        return {key: score for key, _, score in _named(connection, found)[: nearby.limit]}

    def scores_in(self, connection: Connection, nearby: Nearby, keys: Iterable[int]) -> dict[int, float]:
        """Return the scores of those with a vector of the model, in a `read_beside`."""
        cache = self._fresh_cache(connection, nearby)
        return {} if cache is None else cache.scores(connection, nearby.vector, keys)

    def _fresh_cache(self, connection: Connection, nearby: Nearby) -> "VectorCache | None":
        """Return all vectors that may be compared, or None if there are none."""
        model, dimensions = storable(nearby.model), len(nearby.vector)
        if not one(
            connection, "SELECT 1 FROM embedding WHERE model = ? AND dimensions = ?", (model, dimensions)
        ):
            return None
        cache = self._cache
        if cache is None or (cache.model, cache.dimensions) != (model, dimensions):
            cache = self._new_cache(connection, model, dimensions)
        cache.refresh(connection)
        if cache.is_outgrown:
            cache = self._new_cache(connection, model, dimensions)
            cache.refresh(connection)
        self._cache = cache
        return cache

    def _new_cache(self, connection: Connection, model: str, dimensions: int) -> "VectorCache":
        # NumPy takes a tenth of a second to import; most commands compare no vectors.
        load_numpy()
        from ragforge.store.sqlite.vector_cache import VectorCache

        return VectorCache(connection, model, dimensions)


NOWHERE = -1


def scope_key(connection: Connection, table: str, identifier: str | None) -> int | None:
    """Return the key of the project or session, None if none is requested, NOWHERE if it is not stored."""
    if not identifier:
        return None
    found = one(connection, f"SELECT key FROM {table} WHERE id = ?", (identifier,))
    return NOWHERE if found is None else found[0]


def is_embedded(connection: Connection, embedding: Embedding) -> bool:
    """Whether its owner has a vector of that text by that model."""
    place = _place(connection, embedding.owner)
    stored = place and one(connection, "SELECT model, text_hash FROM embedding WHERE owner = ?", (place[0],))
    return stored == (storable(embedding.model), embedding.text_hash)


def put_embeddings(connection: Connection, embeddings: Sequence[Embedding]) -> None:
    """Save those whose owner is stored. The vectors were checked."""
    write_codes(connection, [owner for owner in put_vectors(connection, embeddings) if owner is not None])


def put_vectors(connection: Connection, embeddings: Sequence[Embedding]) -> list[int | None]:
    """The same without their codes, which are best written together; return the keys of the owners."""
    connection.execute("UPDATE embedder SET changes = changes + 1")
    (change,) = next(connection.execute("SELECT changes FROM embedder"))
    places = [_place(connection, embedding.owner) for embedding in embeddings]
    stored = [(place, each) for place, each in zip(places, embeddings, strict=True) if place is not None]
    connection.executemany(
        "INSERT OR REPLACE INTO embedding (owner, level, project, session, at, change, model, "
        "dimensions, text_hash, vector) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [
            (
                *place,
                change,
                storable(embedding.model),
                len(embedding.vector),
                embedding.text_hash,
                embedding.vector.tobytes(),
            )
            for place, embedding in stored
        ],
    )
    have_vectors(connection, [place[0] for place, _ in stored])
    return [None if place is None else place[0] for place in places]


def move_embeddings(connection: Connection, owners: Iterable[int]) -> None:
    """Update their filter values from their owners."""
    connection.execute("UPDATE embedder SET changes = changes + 1")
    connection.executemany(
        "UPDATE embedding SET change = (SELECT changes FROM embedder), (level, project, session, at) = ("
        "SELECT 0, session.project, session.key, turn.started_at FROM turn "
        "JOIN session ON session.key = turn.session WHERE turn.key = owner UNION ALL "
        "SELECT summary.level, session.project, session.key, summary.at FROM summary "
        "JOIN session ON session.key = summary.session WHERE summary.key = owner UNION ALL "
        f"SELECT level, project, session, at FROM ({MEMORY_PLACE}) WHERE key = owner) WHERE owner = ?",
        [(owner,) for owner in owners],
    )


def drop_embeddings(connection: Connection, owners: Sequence[int]) -> None:
    """Remove those of deleted owners."""
    connection.execute(
        "UPDATE embedder SET removals = removals + 1, "
        # Not if it is behind already: then some were removed without the blocks' knowledge.
        "sealed_removals = sealed_removals + (sealed_removals = removals)"
    )
    for table in ("embedding", "vector_code"):
        connection.executemany(f"DELETE FROM {table} WHERE owner = ?", [(owner,) for owner in owners])
    if owners and one(connection, "SELECT 1 FROM vector_block"):
        load_numpy()
        from ragforge.store.sqlite.vector_blocks import take_out

        take_out(connection, owners)


def seal_afresh(connection: Connection) -> None:
    """Rebuild all blocks from the rows."""
    load_numpy()
    from ragforge.store.sqlite.vector_blocks import unseal

    unseal(connection)
    while sealed_some(connection):
        pass


def sealed_some(connection: Connection) -> bool:
    """Put some waiting rows into blocks, if they are many; return whether they were."""
    if one(connection, ARE_MANY_WAITING) is None:
        return False
    load_numpy()
    from ragforge.store.sqlite.vector_blocks import seal_some

    seal_some(connection)
    return True


def embedding_of(row: Row) -> Embedding:
    """Return the embedding of a row of SELECT. Raises CorruptError if its vector is truncated."""
    level, identifier, model, text_hash, dimensions, content = row
    if len(content) != dimensions * array("f").itemsize:
        raise apsw.CorruptError(
            f"the vector of {_kind(level)} {identifier} is truncated; run ragforge db check --repair"
        )
    return Embedding(Owner(_kind(level), identifier), model, text_hash, array("f", content))


def _named(connection: Connection, found: Mapping[int, float]) -> list[tuple[int, Owner, float]]:
    """Return keys, owners and scores, the best first, ties by id."""
    rows = connection.execute(
        f"SELECT owner, level, {ID.format('owner')} FROM json_each(?) JOIN embedding ON owner = value",
        (json.dumps(list(found)),),
    )
    named = [(key, Owner(_kind(level), identifier), found[key]) for key, level, identifier in rows]
    return sorted(named, key=lambda each: (-each[2], each[1].id))


def _place(connection: Connection, owner: Owner) -> Row | None:
    """Return key, level, project, session and time of a stored owner."""
    return one(connection, OWNERS[owner.kind], (owner.id,))


def _kind(level: int) -> OwnerKind:
    if level < 0:
        return OwnerKind.MEMORY
    return OwnerKind.SUMMARY if level else OwnerKind.TURN


def _dimensions(connection: Connection, model: str) -> Any:
    """Return the dimensions of the model's vectors, or None if another model is in use."""
    found = one(connection, "SELECT dimensions FROM embedder WHERE model = ?", (model,))
    return None if found is None else found[0]
