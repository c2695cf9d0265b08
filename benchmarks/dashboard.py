"""The dashboard with few memories and with many, and concepts loaded together and one by one.

    python benchmarks/dashboard.py [MEMORIES] [bolt://HOST:PORT]

A project with 100 memories and one with 100,000, of 500 topics; on a server a fifth has a vector. Printed
are milliseconds, the median of 20: from the command to the listed wishes on the screen, what all the tabs
read (`ragforge dashboard`), then ten concepts in one query and in ten. In SQLite, and in a Neo4j database,
which must be empty, and stays filled.
"""

import argparse
import asyncio
import os
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from statistics import median

from memories import BATCH, made_memories
from msgspec.structs import replace
from textual.app import App

from ragforge.domain.memories import ConceptFilter, Memory, WishOrder
from ragforge.session.conversation import Conversation
from ragforge.session.dashboard import read_dashboard
from ragforge.session.open import close_workspace, new_session, open_workspace
from ragforge.session.state import Workspace
from ragforge.store.base import keep_project
from ragforge.store.neo4j.address import Address
from ragforge.store.neo4j.connection import Graph
from ragforge.store.neo4j.memory_rows import memory_row
from ragforge.store.sqlite.connection import connect
from ragforge.store.sqlite.memory_rows import MEMORIES
from ragforge.tui.screens.dashboard import DashboardScreen
from ragforge.tui.widgets.dashboard_lists import WishTable

FEW, MANY = 100, 100_000
TOPICS, CONCEPTS = 500, 10
RUNS = 20
DIMENSIONS = 256
MODEL = "static:minilm-256-2"
GOAL, CONCEPTS_GOAL = 1.5, 5.0


def memories(project_id: str, count: int) -> list[Memory]:
    """Return this many memories of the project, the same each time."""
    return [
        replace(memory, project_id=project_id, topic=f"topic {number % TOPICS}", access_count=number % 7)
        for number, memory in enumerate(made_memories(count))
    ]


def fill(path: Path, project_id: str, count: int) -> None:
    """Add them as rows, without words and vectors."""
    connection = connect(path)
    [(project,)] = connection.execute("SELECT key FROM project WHERE id = ?", (project_id,))
    with connection:
        connection.executemany(
            f"INSERT INTO memory (key, project, {MEMORIES.columns}) VALUES (?, ?, {MEMORIES.marks})",
            [
                (1_000_000 + number, project, *MEMORIES.values(memory))
                for number, memory in enumerate(memories(project_id, count))
            ],
        )
    connection.close()


async def fill_graph(url: str, project_id: str, count: int) -> None:
    """The same as nodes, a fifth of them with a vector."""
    graph = Graph(Address.from_url(url))
    vector = [1.0, *[0.0] * (DIMENSIONS - 1)]
    rows = [memory_row(memory) for memory in memories(project_id, count)]
    for row in rows[::5]:
        row |= {"embedding": vector, "embeddingModel": MODEL, "embeddingDimensions": DIMENSIONS}
    for start in range(0, count, BATCH):
        await graph.run(
            "UNWIND $rows AS row MATCH (p:Project {id: row.projectId}) "
            "CREATE (p)-[:HAS_MEMORY]->(n:Memory) SET n = row",
            rows=rows[start : start + BATCH],
        )
    await graph.close()


async def ms(work: Callable[[], Awaitable[object]]) -> float:
    """Return the median of some runs, after one that warms up."""
    await work()
    times: list[float] = []
    for _ in range(RUNS):
        began = time.perf_counter()
        await work()
        times.append((time.perf_counter() - began) * 1000)
    return median(times)


async def screen_ms(library: Workspace) -> float:
    """Return the median time until the dashboard's screen lists what is wanted."""
    conversation = Conversation(library, await new_session(library))
    times: list[float] = []
    async with App[None]().run_test(size=(120, 40)) as pilot:
        for _ in range(RUNS + 1):
            began = time.perf_counter()
            screen = DashboardScreen(conversation)
            await pilot.app.push_screen(screen)
            while not screen.query_one(WishTable).rows:
                await asyncio.sleep(0)
            times.append((time.perf_counter() - began) * 1000)
            await pilot.app.pop_screen()
    return median(times[1:])


async def one_by_one(library: Workspace, wanted: ConceptFilter, topics: list[str]) -> None:
    """Load these concepts with one query each."""
    for topic in topics:
        await library.store.memories.concepts(replace(wanted, topics=(topic,)))


async def measure(count: int, url: str) -> tuple[float, float]:
    """Print the reading times of a project with this many memories; return those of opening and of all."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "place"
        place.mkdir()
        env = {**os.environ, "RAGFORGE_DATA_DIR": f"{folder}/data", "RAGFORGE_CONFIG_DIR": f"{folder}/config"}
        env |= {"RAGFORGE_MODEL": "local"} | ({"RAGFORGE_STORE": url} if url else {})
        library = await open_workspace(cwd=place, flags={}, environ=env)
        await keep_project(library.store, library.project)
        if url:
            await library.store.close()
            await fill_graph(url, library.project.id, count)
            library = await open_workspace(cwd=place, flags={}, environ=env)
        else:
            fill(Path(library.store.url.removeprefix("sqlite://")), library.project.id, count)
        opening = await screen_ms(library)
        whole = await ms(lambda: read_dashboard(library, order=WishOrder.KIND, limit=20))
        wanted = ConceptFilter(library.project.id, library.person.id, MODEL, limit=CONCEPTS)
        topics = [each.topic for each in await library.store.memories.concepts(wanted)]
        together = await ms(lambda: library.store.memories.concepts(wanted))
        apart = await ms(lambda: one_by_one(library, wanted, topics))
        mark = f"  below {CONCEPTS_GOAL:g}" if url and apart / together < CONCEPTS_GOAL else ""
        print(
            f"{count:>9,} {opening:9.1f} {whole:9.1f} {together:12.1f} {apart:12.1f} "
            f"{apart / together:7.1f}{mark}",
            flush=True,
        )
        await close_workspace(library)
    return opening, whole


async def compare(title: str, many: int, url: str) -> None:
    """Print both and their ratio."""
    print(f"{title:>9} {'opening':>9} {'all':>9} {'10 together':>12} {'10 apart':>12} {'ratio':>7}")
    few = await measure(FEW, url)
    more = await measure(many, url)
    for name, before, after in zip(("opening", "all"), few, more, strict=True):
        mark = f"  above {GOAL:g}" if name == "opening" and after / before > GOAL else ""
        print(f"{name}: {after / before:.2f} times{mark}")


async def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("memories", nargs="?", type=int, default=MANY)
    parser.add_argument("url", nargs="?", metavar="bolt://HOST:PORT", help="an empty Neo4j database")
    chosen = parser.parse_args()
    await compare("SQLite", chosen.memories, "")
    if chosen.url:
        await compare("Neo4j", chosen.memories, chosen.url)


if __name__ == "__main__":
    asyncio.run(main())
