"""Whether a long session opens as fast as a short one: its line in the list, then its newest turns.

Each time the store is opened by a machine without data of the session, so that everything comes from the
database. Queries are counted where the driver says that it sends one, in a separate round, because listening
costs time.
"""

import logging
import statistics
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from msgspec.structs import replace

from parts.carry import ANSWER, call_of, next_turn
from parts.places import empty_graph, ratios
from ragforge.domain.ids import new_id, now
from ragforge.domain.messages import ModelMessage
from ragforge.domain.turns import ConversationSession, Project, Step, ToolCall, Turn, TurnStatus
from ragforge.memory.window import WindowLimits
from ragforge.session.conversation import SESSIONS_LISTED_MAX
from ragforge.session.history import newest_turns, read_window
from ragforge.store.base import Record, Store
from ragforge.store.open import open_store

TURNS = {"short": 10, "long": 5_000}
NEWEST = 10
"""As many as the short session has, so that both read the same."""
ROUNDS = 12
LOADED = 1_000
STEP_CHARS = 34
HEADER = f"{'store':<10} {'':<{STEP_CHARS}} {'10 turns: ms':>13} {'queries':>7}  {'5,000 turns':>21}  ratios"

CARRIERS_OWN = "RETURN fenced, late"
"""In the two queries that a store sends in the background as it opens, to have them planned."""

Measured = dict[str, float]


async def measure(urls: Sequence[str]) -> None:
    """Measure both sessions in SQLite, then in each server."""
    histories = {name: history(turns) for name, turns in TURNS.items()}
    with TemporaryDirectory() as folder:
        await _compared(f"sqlite://{folder}/ragforge.db", "SQLite", histories)
    for url in urls:
        async with empty_graph(url) as graph:
            await _compared(url, graph.version_text, histories)


def history(turns: int) -> list[Record]:
    """Return a project with one session without branches, one tool call per turn."""
    project = Project(new_id(), "bench", now())
    session_id = new_id()
    made: list[Turn] = []
    steps: list[Step] = []
    calls: list[ToolCall] = []
    for index in range(turns):
        begun = next_turn(session_id, made[-1].id if made else None, index)
        call, step = call_of(begun, 0)
        calls.append(call)
        steps += [step, Step(begun.id, 1, ModelMessage("gemini", "some-model", ANSWER))]
        made.append(ended(begun))
    session = ConversationSession(session_id, project.id, "/bench", now(), now(), head=made[-1].id)
    return [project, session, *made, *steps, *calls]


def ended(turn: Turn) -> Turn:
    """Return the turn, finished."""
    return replace(turn, status=TurnStatus.FINISHED, assistant=ANSWER, ended_at=now())


async def _compared(url: str, name: str, histories: Mapping[str, list[Record]]) -> None:
    with TemporaryDirectory() as folder:
        store = await open_store(url, machine_dir=Path(folder))
        for records in histories.values():
            for start in range(0, len(records), LOADED):
                await store.archive.load(records[start : start + LOADED])
        await store.close()
    times: dict[str, dict[str, list[float]]] = {kind: {} for kind in histories}
    # Alternating, so that a busy machine slows both. The first round warms the server up.
    for number in range(ROUNDS + 1):
        for kind, records in histories.items():
            for step, took_ms in (await _opened(url, records, _clock)).items():
                if number:
                    times[kind].setdefault(step, []).append(took_ms)
    sent = {kind: await _opened(url, records, _counter) for kind, records in histories.items()}
    for step, short in times["short"].items():
        long = times["long"][step]
        parts = "  ".join(
            f"{min(ms):8.2f} {statistics.median(ms):8.2f} {count:3.0f}"
            for ms, count in ((short, sent["short"][step]), (long, sent["long"][step]))
        )
        verdict = "" if sent["short"][step] == sent["long"][step] else "  OTHER NUMBER OF QUERIES"
        print(f"{name:<10} {step:<{STEP_CHARS}} {parts}  {ratios(long, short)}{verdict}", flush=True)


Watched = Callable[[Callable[[], Awaitable[object]]], Awaitable[float]]


async def _opened(url: str, records: Sequence[Record], watched: Watched) -> Measured:
    """What is observed of each step of opening, in order."""
    project, session = records[0], records[1]
    assert isinstance(project, Project)
    assert isinstance(session, ConversationSession)
    with TemporaryDirectory() as folder:
        store = await open_store(url, machine_dir=Path(folder))
        try:
            found: Measured = {}
            for name, step in _steps(store, project.id, session).items():
                found[name] = await watched(step)
        finally:
            await store.close()
    return found


def _steps(
    store: Store, project_id: str, session: ConversationSession
) -> Mapping[str, Callable[[], Awaitable[object]]]:
    """Open, like the interface and `session/open.py`."""
    return {
        "the list": lambda: store.sessions.recent(project_id=project_id, limit=SESSIONS_LISTED_MAX),
        f"the newest {NEWEST} turns": lambda: newest_turns(store, session.head, NEWEST),
        "claim it": lambda: store.sessions.claim(session.id),
        f"the newest {NEWEST}, claimed": lambda: newest_turns(store, session.head, NEWEST),
        "what it cost": lambda: store.usage.by_model(session_id=session.id),
        "for the model (10 or some 200 turns)": lambda: read_window(store, session.head, WindowLimits()),
    }


async def _clock(step: Callable[[], Awaitable[object]]) -> float:
    began = time.perf_counter()
    await step()
    return (time.perf_counter() - began) * 1000


async def _counter(step: Callable[[], Awaitable[object]]) -> float:
    with queries_sent() as sent:
        await step()
    return len(sent)


@contextmanager
def queries_sent() -> Iterator[list[str]]:
    """Collect what the driver sends meanwhile, a text per query."""
    sent: list[str] = []

    class Listener(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            message = record.getMessage()
            if "C: RUN " in message and CARRIERS_OWN not in message:
                sent.append(message)

    logger, listener = logging.getLogger("neo4j.io"), Listener()
    before, passed_on = logger.level, logger.propagate
    logger.addHandler(listener)
    logger.setLevel(logging.DEBUG)
    logger.propagate = False
    try:
        yield sent
    finally:
        logger.removeHandler(listener)
        logger.setLevel(before)
        logger.propagate = passed_on
