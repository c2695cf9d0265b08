"""Check a graph and return its problems as sentences: constraints and indexes first, then the laws."""

import asyncio
from collections.abc import AsyncGenerator

from ragforge.domain import timeouts
from ragforge.domain.errors import StoreError, StoreUnavailable
from ragforge.store.neo4j.abandonment import mark_afresh, wrongly_marked
from ragforge.store.neo4j.connection import Graph
from ragforge.store.neo4j.errors import StatementRefused
from ragforge.store.neo4j.laws import Law, laws
from ragforge.store.neo4j.memory_state import CHANGED
from ragforge.store.neo4j.migrations import DatabaseInfo, database_info
from ragforge.store.neo4j.schema import Definition, Kind, Standing, await_online, find, fits, wanted_now

FINDINGS_MAX = 20
"""Of each kind; there may be more."""


async def findings(graph: Graph, *, repair: bool) -> list[str]:
    """Return all violations, at most FINDINGS_MAX of each kind; empty if the graph is sound.

    With repair, what can be derived is rebuilt, and the sentences say so. Raises StoreUnavailable.
    """
    info = await database_info(graph)
    if info is None:
        return [f"The database at {graph.address.shown} is not ragforge's: it has no RagforgeDatabase node."]
    found: list[str] = []
    wanted = wanted_now(graph, info.embedder, info.dimensions)
    async for sentence in _of_schema(graph, wanted, repair=repair):
        found.append(sentence)
    found += await _of_laws(graph, info, repair=repair)
    found += await _of_abandoned(graph, repair=repair)
    if repair:
        await graph.write(CHANGED)
    return found


async def _of_abandoned(graph: Graph, *, repair: bool) -> list[str]:
    """Return the turns that are wrongly marked as abandoned, or wrongly not."""
    wrong = await wrongly_marked(graph)
    for _ in range(timeouts.NEO4J_ABANDONED_LOOKS_MAX - 1):
        if not wrong:
            break
        # An undo may be running at this moment.
        await asyncio.sleep(timeouts.NEO4J_CHECK_PAUSE_S)
        still = set(await wrongly_marked(graph))
        wrong = [turn for turn in wrong if turn in still]
    done = ""
    if wrong and repair:
        await mark_afresh(graph, wrong)
        done = " It was repaired."
    sentence = "Turn {} is marked as abandoned although it is not, or the other way round."
    return [f"{sentence.format(turn)}{done}" for turn in wrong[:FINDINGS_MAX]]


async def _of_schema(
    graph: Graph, wanted: tuple[Definition, ...], *, repair: bool
) -> AsyncGenerator[str, None]:
    made: list[Definition] = []
    for one, there in await find(graph, wanted):
        fault = _fault(one, there)
        if not fault:
            continue
        if there is None and one.kind is Kind.UNIQUE:
            async for sentence in _duplicates(graph, one):
                yield sentence
        if not repair or (there is not None and there.state == "POPULATING"):
            yield fault
            continue
        try:
            if there is not None:
                await graph.run(there.definition.drop)
            await graph.run(one.create, deadline_s=timeouts.NEO4J_LAW_S_MAX)
        except StatementRefused as error:
            yield f"{fault} It could not be created again: {error}"
            continue
        made.append(one)
        yield f"{fault} It was created again."
    if made:
        try:
            if not await await_online(graph, made, wait_s=timeouts.NEO4J_INDEX_FILL_S_MAX):
                yield "The rebuilt indexes are still being filled; searches find more as they fill."
        except StoreUnavailable as error:
            yield str(error)


def _fault(wanted: Definition, there: Standing | None) -> str:
    """Return the problem of a constraint or index; empty if there is none."""
    noun = "constraint" if wanted.kind is Kind.UNIQUE else "index"
    if there is None:
        return f"The {noun} {wanted.name} is missing."
    # An equivalent one has another name.
    if there.definition.name == wanted.name and not fits(wanted, there):
        return f"The {noun} {wanted.name} differs from the expected one."
    return "" if there.state == "ONLINE" else f"The {noun} {wanted.name} is not online: {there.words}."


async def _duplicates(graph: Graph, missing: Definition) -> AsyncGenerator[str, None]:
    """Return what the missing constraint would have prevented."""
    (label,), (key,) = missing.labels, missing.properties
    rows = await graph.read(
        f"MATCH (n:{label}) WHERE n.{key} IS NOT NULL WITH n.{key} AS id, count(*) AS nodes WHERE nodes > 1 "
        "RETURN id, nodes LIMIT $limit",
        deadline_s=timeouts.NEO4J_LAW_S_MAX,
        limit=FINDINGS_MAX,
    )
    for row in rows:
        yield f"There are {row['nodes']} nodes of {label} with the {key} {row['id']}."


async def _of_laws(graph: Graph, info: DatabaseInfo, *, repair: bool) -> list[str]:
    """Return what violates a law and still does a moment later.

    Others may be writing, and a query sees a part of what they commit: that must cause no repair.
    """
    all_laws = laws(embedder=info.embedder, dimensions=info.dimensions)
    seen = [await _breaking(graph, law, info) for law in all_laws]
    if not any(seen):
        return []
    await asyncio.sleep(timeouts.NEO4J_CHECK_PAUSE_S)
    found: list[str] = []
    is_repaired = False
    for law, before in zip(all_laws, seen, strict=True):
        # The repair may have caused violations of a law that was valid until then.
        wrong = await _breaking(graph, law, info) if before or is_repaired else []
        if not is_repaired and len(before) < FINDINGS_MAX:
            wrong = [each for each in wrong if each in before]
        done = ""
        if wrong and repair and law.repair:
            done, is_repaired = await _repaired(graph, law, info), True
        found += [f"{law.sentence.format(each)}{done}" for each in wrong]
    return found


async def _breaking(graph: Graph, law: Law, info: DatabaseInfo) -> list[str]:
    """Return the ids of what violates the law, at most FINDINGS_MAX."""
    rows = await graph.read(
        law.find,
        deadline_s=timeouts.NEO4J_LAW_S_MAX,
        limit=FINDINGS_MAX,
        embedder=info.embedder,
        dimensions=info.dimensions,
    )
    return [row["id"] for row in rows]


async def _repaired(graph: Graph, law: Law, info: DatabaseInfo) -> str:
    """Repair it, and return the result as a sentence."""
    try:
        await graph.run(
            law.repair,
            deadline_s=timeouts.NEO4J_LAW_S_MAX,
            embedder=info.embedder,
            dimensions=info.dimensions,
        )
    except StoreError as error:
        return f" It could not be repaired: {error}"
    return f" {law.repaired}"
