"""Many turns in one session of one process, and what grows with them."""

import asyncio
import gc
import sys
import threading
import tracemalloc
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import apsw

from tests.soak.conversation import ScriptedProvider, conversation, say, usual_calls, words_of

LOOK_EVERY = 100
SETTLED = 1_000
"""Caches fill during the first turns; growth is measured behind them."""


@dataclass(frozen=True)
class Figures:
    """What there is after so many turns. Sizes in KB.

    resident: of the process, without files that are mapped. traced: what Python has allocated, 0 untraced.
    sqlite: what SQLite has, most of it pages.
    """

    turns: int
    resident: float
    traced: float
    sqlite: float
    local: float
    files: int
    threads: int
    tasks: int

    def line(self) -> str:
        return (
            f"{self.turns:,} turns: {self.resident:,.0f} KB resident, {self.traced:,.0f} KB of it traced, "
            f"{self.sqlite:,.0f} KB SQLite's, local.db {self.local:,.0f} KB, "
            f"{self.files} files, {self.threads} threads, {self.tasks} tasks"
        )


def figures(turns: int, data: Path) -> Figures:
    gc.collect()
    traced = tracemalloc.get_traced_memory()[0] / 1024 if tracemalloc.is_tracing() else 0
    local = used_kb(data / "local.db")
    files, threads = sum(1 for _ in Path("/proc/self/fd").iterdir()), threading.active_count()
    sqlite = apsw.memory_used() / 1024
    return Figures(turns, resident_kb(), traced, sqlite, local, files, threads, len(asyncio.all_tasks()))


def used_kb(database: Path) -> float:
    """What its pages hold, also where they stand in the log still."""
    connection = apsw.Connection(str(database), flags=apsw.SQLITE_OPEN_READONLY)
    count, free, size = (connection.pragma(each) for each in ("page_count", "freelist_count", "page_size"))
    connection.close()
    return (count - free) * size / 1024


def resident_kb() -> float:
    status = Path("/proc/self/status").read_text()
    return float(next(line for line in status.splitlines() if line.startswith("RssAnon:")).split()[1])


def growth(seen: Sequence[Figures], value: Callable[[Figures], float]) -> float:
    """KB a turn, by least squares."""
    mean_turns = sum(each.turns for each in seen) / len(seen)
    mean = sum(map(value, seen)) / len(seen)
    over = sum((each.turns - mean_turns) ** 2 for each in seen)
    return sum((each.turns - mean_turns) * (value(each) - mean) for each in seen) / over if over else 0.0


async def talk(folder: Path, count: int) -> list[Figures]:
    """So many turns; the figures every hundred."""
    seen: list[Figures] = []
    async with conversation(folder, ScriptedProvider(usual_calls)) as session:
        for number in range(1, count + 1):
            await say(session, f"Message {number}: {words_of(-number, 20)}")
            if number % LOOK_EVERY == 0:
                seen.append(figures(number, folder / "data"))
                print(seen[-1].line(), flush=True)
    return seen


def soak_turns(folder: Path, count: int, *, traced: bool) -> str:
    """So many turns, and in a sentence what grew behind the first thousand."""
    if traced:
        tracemalloc.start()
    seen = asyncio.run(talk(folder, count))
    settled = [each for each in seen if each.turns >= min(SETTLED, count // 2)]
    if len(settled) < 2:
        return f"Growth is told from {3 * LOOK_EVERY} turns on."
    parts = [f"{growth(settled, lambda each: each.resident):.2f} KB a turn resident"]
    if traced:
        parts.append(f"{growth(settled, lambda each: each.traced):.2f} KB traced")
    parts.append(f"{growth(settled, lambda each: each.sqlite):.2f} KB SQLite's")
    parts.append(f"{growth(settled, lambda each: each.local):.2f} KB in local.db")
    first, last = settled[0], settled[-1]
    flat = ", ".join(
        f"{name} {getattr(first, name)} to {getattr(last, name)}" for name in ("files", "threads", "tasks")
    )
    return f"Turns {first.turns:,} to {last.turns:,}: {', '.join(parts)}; {flat}"


if __name__ == "__main__":
    print(soak_turns(Path(sys.argv[1]), int(sys.argv[2]), traced=sys.argv[3] == "traced"))
