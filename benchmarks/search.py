"""What a search costs at 100,000 turns: by words inside a process, and as the command that a user types.

The command also compares meaning: each turn has a vector of the included embedder. Its time is compared with
that of `python -c "import typer"`, which any command line of this kind takes.
"""

import argparse
import asyncio
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from datetime import timedelta
from pathlib import Path

from hybrid import filled, matrix_of
from msgspec.structs import replace
from seed import START, project_id, seeded, session_id, words_of

from ragforge.domain.search import Query
from ragforge.embedders.static import StaticEmbedder
from ragforge.memory.recall.search import Recall, search
from ragforge.store.open import open_store

TURNS = 100_000
QUERIES = 200
RUNS = 15


async def measure(path: Path) -> None:
    """Print the times of questions of two to six words, in each scope."""
    # The seed's own words, else nothing is found.
    words = words_of(random.Random(1))
    questions = [words.piece(2, 6) for _ in range(QUERIES)]
    since = START + timedelta(days=200)
    store = await open_store(f"sqlite://{path}", machine_dir=path.parent)
    print(f"{'scope':<22} {'p50 ms':>8} {'p95 ms':>8} {'max ms':>8} {'hits':>6}")
    for name, query in {
        "everything": Query(""),
        "the largest project": Query("", project_id=project_id(0)),
        "a small project": Query("", project_id=project_id(3)),
        "one session": Query("", session_id=session_id(900)),
        "everything, since": Query("", since=since),
    }.items():
        times: list[float] = []
        hits = 0
        for text in questions:
            asked = replace(query, text=text)
            began = time.perf_counter()
            hits += len((await search(Recall(store), asked)).found)
            times.append((time.perf_counter() - began) * 1000)
        times.sort()
        print(
            f"{name:<22} {times[len(times) // 2]:8.1f} {times[len(times) * 95 // 100]:8.1f} "
            f"{times[-1]:8.1f} {hits / QUERIES:6.1f}"
        )
    await store.close()


def time_command(arguments: list[str], environment: dict[str, str]) -> tuple[float, float]:
    """Return the milliseconds of a process, elapsed and of the processor."""
    began, used = time.perf_counter(), processor_s()
    subprocess.run(arguments, env=environment, check=True, capture_output=True)
    return (time.perf_counter() - began) * 1000, (processor_s() - used) * 1000


def processor_s() -> float:
    """Return the processor time of all ended processes that were started here."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def compare_commands(path: Path) -> None:
    """Print the command's time compared with that of importing typer, measured alternately."""
    environment = {
        **os.environ,
        "RAGFORGE_STORE": f"sqlite://{path}",
        "RAGFORGE_DATA_DIR": str(path.parent / "data"),
        "RAGFORGE_CONFIG_DIR": str(path.parent / "config"),
    }
    command = [
        str(Path(sys.executable).with_name("ragforge")),
        "search",
        "--all",
        "--json",
        "ragforge bricle pladi",
    ]
    times: dict[str, list[tuple[float, float]]] = {"search": [], "typer": []}
    for _ in range(RUNS):
        times["search"].append(time_command(command, environment))
        times["typer"].append(time_command([sys.executable, "-c", "import typer"], environment))
    for number, by in enumerate(("clock", "processor")):
        for which, of in (("least", min), ("median", statistics.median)):
            search, typer = (of(each[number] for each in times[name]) for name in ("search", "typer"))
            print(
                f"{by}, {which}: ragforge search {search:.0f} ms, import typer {typer:.0f} ms, "
                f"{search / typer:.2f} times"
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=TURNS)
    turns = parser.parse_args().turns
    with tempfile.TemporaryDirectory() as folder:
        path = seeded(Path(folder) / "store.db", turns=turns)
        asyncio.run(measure(path))
        embedder = StaticEmbedder()
        asyncio.run(filled(path, matrix_of(turns, embedder.dimensions), embedder.name))
        compare_commands(path)


if __name__ == "__main__":
    main()
