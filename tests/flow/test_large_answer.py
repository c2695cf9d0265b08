"""What a large answer takes of memory, from the service to the store."""

import tracemalloc
from contextlib import aclosing
from pathlib import Path

import apsw

from ragforge.domain.events import TurnEnded
from ragforge.domain.messages import TextPart
from ragforge.domain.turns import Turn, TurnStatus
from ragforge.session.state import Session
from ragforge.session.turn import submit
from tests.flow.running import User, environ, opened, say
from tests.standins.openai import OpenAIStandIn, Raw, delta, sse

PIECE = 'A line of an answer with a "quoted word" and its end.\n' * 20
PIECES = 2_000
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
            apsw.memory_high_water(reset=True)
            tracemalloc.start()
            try:
                turn = await follow(session, "write a lot")
                _, peak = tracemalloc.get_traced_memory()
            finally:
                tracemalloc.stop()
            store_peak = apsw.memory_high_water() - in_store
            store_kept = apsw.memory_used() - in_store
    assert turn is not None
    assert (turn.status, len(turn.assistant)) == (TurnStatus.FINISHED, CHARS - 1)  # without its last \n
    assert peak <= RATIO_MAX * CHARS
    # Two mebibytes of pages, and while a statement runs its values and the row that is made of them.
    assert store_peak <= 3.5 * CHARS
    assert store_kept <= 1.5 * CHARS
