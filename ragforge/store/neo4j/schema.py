"""The constraints and indexes: the required ones, the existing ones, and those for an embedder.

`schema.cypher` at the top of the repository contains the same in plain Cypher.
"""

import asyncio
import time
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ragforge.domain import timeouts
from ragforge.domain.errors import StoreUnavailable, UsageError
from ragforge.domain.memories import MemorySort
from ragforge.domain.vectors import DIMENSIONS_MAX
from ragforge.store.memory_rules import BY_KIND, TOPIC
from ragforge.store.neo4j.connection import Graph
from ragforge.store.neo4j.rows import Label

DEFAULT_DIMENSIONS = 256
WORDS_INDEX = "conversation_words"
TURN_VECTORS = "turn_embedding"
SUMMARY_VECTORS = "summary_embedding"
MEMORY_VECTORS = "memory_embedding"

VECTOR_OWNERS = (
    (TURN_VECTORS, Label.TURN),
    (SUMMARY_VECTORS, Label.SUMMARY),
    (MEMORY_VECTORS, Label.MEMORY),
)

FILTERS = ("projectId", "sessionId", "embeddingModel")
"""Properties by which servers that can do so filter a search by meaning inside the index."""
FILTERS_SINCE = (2026, 1)

STALE_SLICE = 20_000
STALE_BATCH = 500


class Kind(StrEnum):
    """The kinds of constraints and indexes, as SHOW INDEXES and SHOW CONSTRAINTS call them."""

    UNIQUE = "UNIQUENESS"
    RANGE = "RANGE"
    WORDS = "FULLTEXT"
    VECTORS = "VECTOR"
    OTHER = "OTHER"
    """Kinds that are not ours."""


class Definition(Struct, frozen=True):
    """One constraint or index. dimensions: of vectors, else 0."""

    name: str
    kind: Kind
    labels: tuple[str, ...]
    properties: tuple[str, ...]
    dimensions: int = 0

    @property
    def create(self) -> str:
        """The statement that creates it, if there is none of the name."""
        nodes = f"(n:{'|'.join(self.labels)})"
        each = ", ".join(f"n.{name}" for name in self.properties)
        match self.kind:
            case Kind.UNIQUE:
                return f"CREATE CONSTRAINT {self.name} IF NOT EXISTS FOR {nodes} REQUIRE {each} IS UNIQUE"
            case Kind.RANGE:
                return f"CREATE INDEX {self.name} IF NOT EXISTS FOR {nodes} ON ({each})"
            case Kind.WORDS:
                options = "{indexConfig: {`fulltext.analyzer`: 'whitespace'}}"
                return (
                    f"CREATE FULLTEXT INDEX {self.name} IF NOT EXISTS FOR {nodes} ON EACH [{each}] "
                    f"OPTIONS {options}"
                )
            case Kind.VECTORS:
                return self._create_vectors(nodes)
            case Kind.OTHER:
                raise ValueError(f"{self.name} is not ours to make")

    @property
    def drop(self) -> str:
        """The statement that removes it, if it exists."""
        return f"DROP {'CONSTRAINT' if self.kind is Kind.UNIQUE else 'INDEX'} {self.name} IF EXISTS"

    def _create_vectors(self, nodes: str) -> str:
        vector, *filters = (f"n.{name}" for name in self.properties)
        config = f"{{`vector.dimensions`: {self.dimensions}, `vector.similarity_function`: 'cosine'}}"
        # The older language has no filters, and the older server does not know the newer language.
        language, on = (
            ("CYPHER 25 ", f"{vector} WITH [{', '.join(filters)}]") if filters else ("", f"({vector})")
        )
        return (
            f"{language}CREATE VECTOR INDEX {self.name} IF NOT EXISTS FOR {nodes} ON {on} "
            f"OPTIONS {{indexConfig: {config}}}"
        )


class Standing(Struct, frozen=True):
    """An existing constraint or index. Constraints count as their index, which has their name."""

    definition: Definition
    state: str
    """ONLINE, POPULATING or FAILED."""
    percent: float
    failure: str = ""
    options_fit: bool = True
    """Whether words are split at spaces, and vectors compared by their cosine."""

    @property
    def words(self) -> str:
        """The state for people: "online", "populating 40 %"."""
        match self.state:
            case "POPULATING":
                return f"populating {self.percent:.0f} %"
            case "FAILED":
                return f"failed: {' '.join(self.failure.split())[:200]}"
            case _:
                return self.state.lower()


def _unique(name: str, label: Label, key: str = "id") -> Definition:
    return Definition(name, Kind.UNIQUE, (str(label),), (key,))


def _range(name: str, label: Label, *keys: str) -> Definition:
    return Definition(name, Kind.RANGE, (str(label),), keys)


LASTING: tuple[Definition, ...] = (
    _unique("project_id", Label.PROJECT),
    _unique("session_id", Label.SESSION, "sessionId"),
    _unique("turn_id", Label.TURN),
    _unique("step_id", Label.STEP),
    _unique("call_id", Label.CALL),
    _unique("summary_id", Label.SUMMARY),
    _unique("memory_id", Label.MEMORY),
    _unique("usage_id", Label.USAGE),
    _unique("derived_id", Label.DERIVED),
    _unique("version_id", Label.VERSION),
    _unique("branch_id", Label.BRANCH),
    _unique("move_id", Label.MOVE),
    _unique("lease_id", Label.LEASE),
    _unique("person_id", Label.PERSON),
    _unique("database_id", Label.DATABASE),
    _unique("migration_version", Label.MIGRATION, "version"),
    _range("session_project", Label.SESSION, "projectId"),
    _range("session_activity", Label.SESSION, "lastActivity"),
    _range("session_time", Label.SESSION, "projectId", "lastActivity"),
    _range("session_carried", Label.SESSION, "carriedAt"),
    _range("session_owed", Label.SESSION, "projectId", "carriedAt"),
    _range("session_awaits", Label.SESSION, "awaitsChars"),
    _range("turn_owed", Label.TURN, "summaryDue"),
    *(
        _range(f"{name}_{what}", label, *properties)
        for name, label in (("turn", Label.TURN), ("summary", Label.SUMMARY), ("memory", Label.MEMORY))
        for what, properties in (
            ("stale", ("embeddingStale",)),
            ("embedded", ("embeddingModel", "embeddingDimensions")),
        )
    ),
    _range("turn_session", Label.TURN, "sessionId"),
    _range("turn_project", Label.TURN, "projectId"),
    _range("turn_at", Label.TURN, "timestamp"),
    _range("turn_time", Label.TURN, "projectId", "timestamp"),
    _range("step_turn", Label.STEP, "turnId"),
    _range("call_turn", Label.CALL, "turnId"),
    _range("call_tool", Label.CALL, "toolName"),
    _range("summary_session", Label.SUMMARY, "sessionId"),
    _range("summary_project", Label.SUMMARY, "projectId"),
    _range("summary_time", Label.SUMMARY, "projectId", "timestamp"),
    _range("summary_method", Label.SUMMARY, "method", "level"),
    _range("summary_outdated", Label.SUMMARY, "outdated"),
    _range("session_head", Label.SESSION, "headId"),
    _range("memory_project", Label.MEMORY, "projectId"),
    _range("memory_session", Label.MEMORY, "sessionId"),
    _range("memory_scope", Label.MEMORY, "scope"),
    _range("memory_kind", Label.MEMORY, "projectId", *BY_KIND),
    _range("memory_owner", Label.MEMORY, "owner", *BY_KIND),
    _range("memory_time", Label.MEMORY, "projectId", "created"),
    _range("memory_important", Label.MEMORY, "projectId", str(MemorySort.IMPORTANCE), "created"),
    _range("memory_recent", Label.MEMORY, "projectId", "updated", "created"),
    _range("memory_used", Label.MEMORY, "projectId", "accessCount", "created"),
    _range("memory_topic_important", Label.MEMORY, "projectId", TOPIC, str(MemorySort.IMPORTANCE), "created"),
    _range("usage_time", Label.USAGE, "timestamp"),
    _range("usage_project", Label.USAGE, "projectId", "timestamp"),
    _range("turn_person", Label.TURN, "person", "timestamp"),
    _range("usage_person", Label.USAGE, "person", "timestamp"),
    _range("usage_session", Label.USAGE, "sessionId"),
    _range("derived_owner", Label.DERIVED, "ownerId"),
    _range("derived_time", Label.DERIVED, "projectId", "kind", "timestamp"),
    _range("version_time", Label.VERSION, "projectId", "timestamp", "id"),
    _range("version_session", Label.VERSION, "sessionId"),
    _range("version_turn", Label.VERSION, "turnId"),
    _range("branch_project", Label.BRANCH, "projectId"),
    _range("move_time", Label.MOVE, "projectId", "timestamp", "id"),
    _range("move_session", Label.MOVE, "sessionId"),
    _range("turn_text", Label.TURN, "embeddingHash"),
    _range("summary_text", Label.SUMMARY, "embeddingHash"),
    _range("memory_text", Label.MEMORY, "embeddingHash"),
    _range("memory_forgotten", Label.MEMORY, "forgottenAt"),
    Definition(
        WORDS_INDEX,
        Kind.WORDS,
        (str(Label.SUMMARY), str(Label.TURN), str(Label.MEMORY), str(Label.CALL), str(Label.VERSION)),
        ("searchUser", "searchReply", "searchNear", "searchTools", "searchDate", "searchScope"),
    ),
)
"""The definitions that do not depend on the embedder."""


def vector_indexes(dimensions: int, *, filters: bool) -> tuple[Definition, ...]:
    """Return the indexes for vectors of this length; filters: with the properties to filter by."""
    properties = ("embedding", *(FILTERS if filters else ()))
    return tuple(
        Definition(name, Kind.VECTORS, (str(label),), properties, dimensions) for name, label in VECTOR_OWNERS
    )


def wanted_now(graph: Graph, embedder: str, dimensions: int) -> tuple[Definition, ...]:
    """Return all required definitions, for this embedder; empty before there was any."""
    filters = bool(embedder) and filters_inside(graph.version)
    return (*LASTING, *vector_indexes(dimensions, filters=filters))


def filters_inside(version: Sequence[int]) -> bool:
    """Whether a server of this version searches vectors with a filter inside the index."""
    return tuple(version) >= FILTERS_SINCE


async def standing(graph: Graph) -> dict[str, Standing]:
    """Return the existing constraints and indexes, including foreign ones, by name."""
    rows = await graph.read(
        "SHOW INDEXES YIELD name, type, labelsOrTypes, properties, options, state, populationPercent, "
        "failureMessage, owningConstraint WHERE type <> 'LOOKUP'"
    )
    return {row["name"]: _standing(row) for row in rows}


async def find(graph: Graph, wanted: Iterable[Definition]) -> list[tuple[Definition, Standing | None]]:
    """Return each of these with the existing one that corresponds to it."""
    found = await standing(graph)
    return [(one, _find(one, found)) for one in wanted]


async def await_online(graph: Graph, wanted: Sequence[Definition], *, wait_s: float) -> bool:
    """Wait at most this long until these are filled; return whether they are.

    Raises StoreUnavailable if one failed.
    """
    until = time.monotonic() + wait_s
    while True:
        found = [one for _, one in await find(graph, wanted)]
        if failed := [one for one in found if one and one.state == "FAILED"]:
            raise StoreUnavailable(
                f"An index of Neo4j at {graph.address.shown} could not be filled: "
                f"{failed[0].definition.name} {failed[0].words}. Look into the server's debug.log, "
                "then run ragforge db check --repair."
            )
        if all(one and one.state == "ONLINE" for one in found):
            return True
        if time.monotonic() >= until:
            return False
        await asyncio.sleep(timeouts.NEO4J_SCHEMA_POLL_S)


async def use_embedder(graph: Graph, model: str, dimensions: int, *, wait_s: float = 2.0) -> bool:
    """Make the vector indexes fit this embedder, and wait this long for them to be filled.

    Returns whether any was rebuilt: then the server has forgotten all its query plans, and plans each again.
    Vectors of the same model and another length are removed, so that they are computed again; another model's
    stay and are not found. Raises UsageError for dimensions outside 1..4096.
    """
    if not 1 <= dimensions <= DIMENSIONS_MAX:
        raise UsageError(f"An embedder makes vectors of 1 to {DIMENSIONS_MAX} numbers, not of {dimensions}.")
    wanted = vector_indexes(dimensions, filters=filters_inside(graph.version))
    known = await graph.read(f"MATCH (d:{Label.DATABASE}) RETURN d.embedder AS model, d.dimensions AS length")
    in_use = known == [{"model": model, "length": dimensions}]
    if not in_use:
        # First: if this is interrupted, the next call still finds another embedder in use, and continues.
        await forget_vectors(graph, model=model, other_than=dimensions)
    made = await _fit(graph, wanted)
    if not in_use:
        await graph.write(
            f"MATCH (d:{Label.DATABASE}) SET d.embedder = $model, d.dimensions = $dimensions",
            model=model,
            dimensions=dimensions,
        )
    await await_online(graph, wanted, wait_s=wait_s)
    return made


async def _fit(graph: Graph, wanted: Sequence[Definition]) -> bool:
    """Rebuild those that differ or are missing; return whether there were any."""
    made = False
    for _ in range(timeouts.NEO4J_SCHEMA_ATTEMPTS_MAX):
        found = await standing(graph)
        wrong = [one for one in wanted if not fits(one, found.get(one.name))]
        if not wrong:
            break
        made = True
        for one in wrong:
            # Another process may do the same: the second one finds it done.
            await graph.run(one.drop)
            await graph.run(one.create)
    return made


async def forget_vectors(graph: Graph, *, model: str, other_than: int) -> int:
    """Remove the model's vectors of another length, to be computed again; return their number."""
    taken = 0
    for _, label in VECTOR_OWNERS:
        while True:
            (row,) = await graph.run(
                f"MATCH (n:{label}) WHERE n.embeddingModel = $model AND n.embedding IS NOT NULL "
                f"AND size(n.embedding) <> $dimensions WITH n LIMIT {STALE_SLICE} "
                "CALL (n) { REMOVE n.embedding, n.embeddingModel, n.embeddingHash "
                f"SET n.embeddingStale = true }} IN TRANSACTIONS OF {STALE_BATCH} ROWS "
                "RETURN count(*) AS taken",
                model=model,
                dimensions=other_than,
            )
            taken += row["taken"]
            if row["taken"] < STALE_SLICE:
                break
    return taken


def fits(wanted: Definition, found: Standing | None) -> bool:
    """Whether the existing one is as wanted, whatever its state."""
    return found is not None and found.definition == wanted and found.options_fit


def _find(wanted: Definition, found: Mapping[str, Standing]) -> Standing | None:
    """Return the one of the name, or else an equivalent one: that makes a second unnecessary."""
    if wanted.name in found:
        return found[wanted.name]
    if wanted.kind not in (Kind.UNIQUE, Kind.RANGE):
        return None  # these are queried by their names
    return next((one for one in found.values() if fits(replace(wanted, name=one.definition.name), one)), None)


def _standing(row: Mapping[str, Any]) -> Standing:
    config: Mapping[str, Any] = row["options"].get("indexConfig", {})
    similarity = str(config.get("vector.similarity_function", "COSINE"))
    definition = Definition(
        name=row["name"],
        kind=_kind(row),
        # Two kinds of nodes may come in any order; the properties' order has a meaning.
        labels=tuple(sorted(row["labelsOrTypes"] or ())),
        properties=tuple(row["properties"] or ()),
        dimensions=int(config.get("vector.dimensions", 0)),
    )
    return Standing(
        definition,
        state=row["state"],
        percent=float(row["populationPercent"]),
        failure=row["failureMessage"] or "",
        options_fit=(
            similarity.upper() == "COSINE"
            and config.get("fulltext.analyzer", "whitespace") == "whitespace"
            and not config.get("fulltext.eventually_consistent", False)
        ),
    )


def _kind(row: Mapping[str, Any]) -> Kind:
    if row["owningConstraint"]:
        return Kind.UNIQUE
    return Kind(row["type"]) if row["type"] in set(Kind) else Kind.OTHER
