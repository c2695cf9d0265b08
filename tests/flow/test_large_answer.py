"""What a large answer takes of memory, from the service to the store."""

import threading
import tracemalloc
from collections.abc import Iterator
from contextlib import aclosing, contextmanager
from pathlib import Path

import apsw

from ragforge.domain.events import TurnEnded
from ragforge.domain.messages import TextPart
from ragforge.domain.turns import Turn, TurnStatus
from ragforge.session.state import Session
from ragforge.session.turn import submit
from tests.flow.running import User, environ, opened, say
from tests.standins.openai import OpenAIStandIn, Raw, delta, sse

PIECE = 'A line of an answer with a "quoted word" and its end.\n' * 80
PIECES = 1_000
CHARS = len(PIECE) * PIECES
RATIO_MAX = 5
FLAGS: dict[str, object] = {"memory.enabled": False, "memory.embedder": "standin:vectors"}
"""No model in this process, whose loading would be measured too."""


async def follow(session: Session, text: str) -> Turn | None:
    """The turn as it ended; its other events are dropped as they come."""
    turn = None
    async with aclosing(submit(session, (TextPart(text),), User().approve)) as events:
        async for event in events:
            if isinstance(event, TurnEnded):
                turn = event.turn
    return turn


@contextmanager
def most_used() -> Iterator[list[int]]:
    """The bytes that Python and SQLite hold together, looked at all the time; the first before it begins."""
    used, ended = [apsw.memory_used()], threading.Event()

    def look() -> None:
        while not ended.wait(0.001):
            used.append(tracemalloc.get_traced_memory()[0] + apsw.memory_used())

    tracemalloc.start()
    looking = threading.Thread(target=look)
    looking.start()
    try:
        yield used
    finally:
        ended.set()
        looking.join()
        tracemalloc.stop()


async def test_a_large_answer_takes_at_most_five_times_its_size(tmp_path: Path) -> None:
    config = tmp_path / "config" / "config.toml"
    config.parent.mkdir()
    async with OpenAIStandIn() as server:
        config.write_text(f'[endpoints.standin]\nbase_url = "{server.base_url}"\n')
        env = environ(tmp_path, RAGFORGE_MODEL="standin:test-model")
        async with opened(tmp_path, env, flags=FLAGS) as session:
            await say(session, "warm up")  # what is imported and opened for any turn
            chunks = [sse(delta(content=PIECE))] * PIECES
            server.script(Raw([*chunks, sse(delta(finish="stop")), sse("[DONE]")]))
            in_store = apsw.memory_used()
            with most_used() as used:
                turn = await follow(session, "write a lot")
            store_kept = apsw.memory_used() - in_store
    assert turn is not None
    assert (turn.status, len(turn.assistant)) == (TurnStatus.FINISHED, CHARS - 1)  # without its last \n
    assert max(used) - used[0] <= RATIO_MAX * CHARS
    assert store_kept <= 1.5 * CHARS
