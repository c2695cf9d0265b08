"""How well similar tasks are found, and who is warned about what failed before.

    python benchmarks/tried.py [FILE.jsonl] [--embedder NAME] [--curve]

Lines are tasks, in order of time, `{"task", "day", "request", "done", "outcome": "kept" or how it failed,
"reason", "files", "topic"}`, then queries, `{"query", "text", "similar": [task ...], "warn": [task ...]}`;
without a file those of `tasks.jsonl` in this folder. The weights were fitted to all files `tasks*.jsonl`;
`tried_fit.py` prints the figures of each with weights of the others. `tasks_library.jsonl` is from one
project; `tasks_shop.jsonl`, `tasks_rover.jsonl` and `tasks_warehouse.jsonl` are by another writer and have
many near misses; `radio_tasks.jsonl` is by a third, and nothing was fitted to it.
Printed are precision and recall of what is similar, how many of the warnings are given, and how many
of the queries without one are warned.

--embedder: as in memory.embedder; `minilm` and `e5` need their packages, such as with PYTHONPATH=packages/e5
after `make e5`. --curve: the same for other thresholds.
"""

import argparse
import asyncio
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ragforge.domain.errors import UsageError
from ragforge.embedders.base import Embedder
from ragforge.embedders.registry import open_embedder
from ragforge.embedders.static import StaticEmbedder
from ragforge.memory.recall.similarity import (
    WARNINGS_MAX,
    WEIGHTS,
    Problem,
    measured_by,
    problem_of,
    scores,
    similar_min,
)

OWN = Path(__file__).with_name("tasks.jsonl")
GOALS = "goals: precision .8 at recall .5, warnings .7, warned without a warning at most .1"

Line = Mapping[str, Any]


def read(path: Path) -> tuple[list[Line], list[Line]]:
    """Return the tasks and the queries. Exits if a line cannot be read."""
    lines: list[Line] = []
    for number, text in enumerate(path.read_text("utf-8").splitlines(), 1):
        try:
            if text.strip():
                lines.append(dict(json.loads(text)))
        except ValueError as error:
            raise SystemExit(f"{path}, line {number}: {error}. See the top of {__file__}.") from error
    tasks, queries = [each for each in lines if "task" in each], [each for each in lines if "query" in each]
    if not tasks or not queries:
        raise SystemExit(f"{path} has no tasks or no queries. See the top of {__file__}.")
    return tasks, queries


def problems_of(tasks: Sequence[Line]) -> list[Problem]:
    """Return the tasks prepared for comparison."""
    return [
        problem_of(
            each["request"],
            each["done"],
            files=each["files"],
            reason=each["reason"] or "",
            at=datetime.fromisoformat(each["day"]).replace(tzinfo=UTC),
        )
        for each in tasks
    ]


async def cosines_of(
    problems: Sequence[Problem], queries: Sequence[Line], embedder: Embedder
) -> list[list[float]] | None:
    """Return a row per query, with the cosine of each task's vector; None for the included embedder.

    Raises UsageError.
    """
    if embedder.name == StaticEmbedder.name:
        return None
    there = await embedder.embed([each.text for each in problems])
    rows: list[list[float]] = []
    for each in queries:
        vector = await embedder.embed_query(each["text"])
        rows.append([sum(a * b for a, b in zip(vector, one, strict=True)) for one in there])
    return rows


async def table_of(tasks: Sequence[Line], queries: Sequence[Line], embedder: Embedder) -> list[list[float]]:
    """Return a row per query, with a score per task. Raises UsageError."""
    problems = problems_of(tasks)
    rows = await cosines_of(problems, queries, embedder)
    return [
        [each or 0.0 for each in scores(query["text"], problems, rows and rows[at], embedder=embedder.name)]
        for at, query in enumerate(queries)
    ]


def report(
    tasks: Sequence[Line], queries: Sequence[Line], table: Sequence[Sequence[float]], least: float
) -> str:
    """Return one line of figures."""
    hits = told = wanted = warned = due = given = false = 0
    for query, row in zip(queries, table, strict=True):
        similar = [(score, each) for score, each in zip(row, tasks, strict=True) if score >= least]
        found = {each["task"] for _, each in similar}
        failed = sorted((pair for pair in similar if pair[1]["outcome"] != "kept"), key=lambda pair: -pair[0])
        warnings = {each["task"] for _, each in failed[:WARNINGS_MAX] if each["reason"]}
        hits, told, wanted = (
            hits + len(found & set(query["similar"])),
            told + len(found),
            wanted + len(query["similar"]),
        )
        due, given = due + len(query["warn"]), given + len(warnings & set(query["warn"]))
        warned, false = warned + (not query["warn"]), false + (not query["warn"] and bool(warnings))
    return (
        f"at {least:.2f}: precision {_share(hits, told)}, recall {_share(hits, wanted)}; "
        f"warnings {_share(given, due)}; warned without a warning {false} of {warned}"
    )


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.2f}" if whole else "-"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("file", type=Path, nargs="?", default=OWN, metavar="FILE.jsonl")
    parser.add_argument("--embedder", default="static", metavar="NAME")
    parser.add_argument("--curve", action="store_true")
    chosen = parser.parse_args()
    tasks, queries = read(chosen.file)
    try:
        embedder = open_embedder(chosen.embedder, find_key=lambda _: None, endpoints={}, environ={})
        if embedder.name not in WEIGHTS:
            raise SystemExit(f"No weights are known for {embedder.name}.")
        table = asyncio.run(table_of(tasks, queries, embedder))
    except UsageError as error:
        raise SystemExit(str(error)) from error
    print(f"{len(tasks)} tasks, {len(queries)} queries, by {embedder.name}; {GOALS}")
    print(report(tasks, queries, table, similar_min(measured_by(embedder.name))))
    if chosen.curve:
        for step in range(1, 20):
            print(report(tasks, queries, table, step / 20))


if __name__ == "__main__":
    main()
