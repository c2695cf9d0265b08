"""What the commits of a turn with three tool calls, one step each, cost, in an empty and in a full store.

They are compared with the least that durability costs here: the same bytes appended to a file and fsynced.
Both are measured alternately in the same run, so that a busy machine slows both.
"""

import asyncio
import os
import statistics
import tempfile
import time
from collections.abc import Awaitable
from dataclasses import dataclass
from pathlib import Path

from seed import seeded

from ragforge.domain.ids import new_id, now
from ragforge.domain.messages import CallRequest, ModelMessage, TextPart
from ragforge.domain.turns import (
    CallStatus,
    ConversationSession,
    Project,
    Step,
    ToolCall,
    Turn,
    TurnEnd,
    TurnStatus,
)
from ragforge.store.base import Store
from ragforge.store.open import open_store

ROUNDS = 60
TURNS = (0, 100_000)
KINDS = ("start", "step 1", "call 1", "step 2", "call 2", "step 3", "call 3", "end")


class Clock:
    """Times of commits and of bare fsyncs, in milliseconds, a list per kind."""

    def __init__(self, file: Path) -> None:
        self.commits: dict[str, list[float]] = {kind: [] for kind in KINDS}
        self.fsyncs: dict[str, list[float]] = {kind: [] for kind in KINDS}
        self._file = os.open(file, os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)

    async def measure(self, kind: str, write: Awaitable[None], stored: object) -> None:
        """Time the commit, then the append of as many bytes as the value's text has."""
        began = time.perf_counter()
        await write
        self.commits[kind].append((time.perf_counter() - began) * 1000)
        content = repr(stored).encode()
        began = time.perf_counter()
        os.write(self._file, content)
        os.fsync(self._file)
        self.fsyncs[kind].append((time.perf_counter() - began) * 1000)

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)


@dataclass(slots=True)
class Bench:
    """A store that is written to, and how long it took."""

    store: Store
    session_id: str
    clock: Clock
    head: str | None = None


async def measure(folder: Path) -> dict[int, Clock]:
    """Write ROUNDS turns into each store, alternately, so that a busy machine slows all alike."""
    benches = {turns: await open_bench(folder / str(turns), turns) for turns in TURNS}
    for index in range(ROUNDS):
        for bench in benches.values():
            await write_turn(bench, index)
    for bench in benches.values():
        bench.clock.close()
        await bench.store.close()
    return {turns: bench.clock for turns, bench in benches.items()}


async def open_bench(folder: Path, turns: int) -> Bench:
    """Return a store with `turns` turns, and a new session in it."""
    folder.mkdir()
    path = seeded(folder / "store.db", turns=turns)
    store = await open_store(f"sqlite://{path}", machine_dir=folder)
    project = Project(new_id(), "bench", now())
    await store.projects.add(project)
    session = ConversationSession(new_id(), project.id, "/bench", now(), now())
    await store.sessions.add(session)
    return Bench(store, session.id, Clock(folder / "appended"))


async def write_turn(bench: Bench, index: int) -> None:
    """Write a turn with three tool calls, below the last."""
    store, clock = bench.store, bench.clock
    said = f"The parser drops the last line of file {index} when it lacks a newline; please find out why."
    turn = Turn(new_id(), bench.session_id, bench.head, index, (TextPart(said),), now(), model="gemini:a")
    await clock.measure("start", store.turns.start(turn), turn)
    for number in range(3):
        request = CallRequest(new_id(), "read", {"path": f"src/parser_{number}.py"})
        step = Step(turn.id, number, ModelMessage("gemini", "some-model", "Let me look.", (request,)))
        call = ToolCall(
            request.id, turn.id, number, 0, "read", request.args, CallStatus.OK, RESULT, now(), duration_ms=3
        )
        await clock.measure(f"step {number + 1}", store.turns.save_step(step), step)
        await clock.measure(f"call {number + 1}", store.calls.add(call, step), call)
    last = Step(turn.id, 3, ModelMessage("gemini", "some-model", ANSWER))
    end = TurnEnd(turn.id, TurnStatus.FINISHED, ANSWER, now(), last_step=last)
    await clock.measure("end", store.turns.end(end), end)
    bench.head = turn.id


RESULT = "\n".join(f"{line:5}  def rule_{line}(text): return text.split({line})" for line in range(60))
ANSWER = "The loop ends at the last newline, so what follows it is never read. " * 12


def print_table(clocks: dict[int, Clock]) -> None:
    """Print a line per kind of commit and size."""
    print(f"{'turns':>8} {'commit':<8} {'min ms':>8} {'median':>8} | {'fsync min':>9} {'median':>8} | over")
    for turns, clock in clocks.items():
        for kind in KINDS:
            commits, fsyncs = clock.commits[kind], clock.fsyncs[kind]
            over = statistics.median(commits) - statistics.median(fsyncs)
            print(
                f"{turns:>8} {kind:<8} {min(commits):8.2f} {statistics.median(commits):8.2f} | "
                f"{min(fsyncs):9.2f} {statistics.median(fsyncs):8.2f} | {over:+6.2f}"
            )
    totals = {turns: _total(clock.commits) for turns, clock in clocks.items()}
    empty, full = (totals[turns] for turns in TURNS)
    print(f"a whole turn: {empty:.2f} ms empty, {full:.2f} ms at {TURNS[1]} turns: {full / empty:.2f} times")


def _total(times: dict[str, list[float]]) -> float:
    return sum(statistics.median(values) for values in times.values())


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        clocks = asyncio.run(measure(Path(folder)))
    print_table(clocks)


if __name__ == "__main__":
    main()
