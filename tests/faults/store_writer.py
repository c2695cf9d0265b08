"""A process that writes turns into a store, and says on stdout what was acknowledged.

It forks a child for each line `SESSION COUNT` on stdin; the child claims the session and writes COUNT
turns below its head. Forking saves each child the imports. On stdout, all of one line:
`pid PID`, then `start ID`, `call ID`, `end ID` as each is acknowledged, then `dead PID STATUS`.
"""

import asyncio
import os
import sys
from pathlib import Path

from ragforge.store.open import open_store
from tests.contract.builders import a_call, a_request, a_step, a_turn, an_end

URL, LOCKS = sys.argv[1], Path(sys.argv[2])


def say(line: str) -> None:
    # One write is whole, or was not acknowledged.
    os.write(1, f"{line}\n".encode())


async def write_turns(session_id: str, count: int) -> None:
    store = await open_store(URL, machine_dir=LOCKS)
    await store.sessions.claim(session_id)
    session = await store.sessions.get(session_id)
    assert session is not None
    parent = None if session.head is None else await store.turns.get(session.head)
    for _ in range(count):
        turn = a_turn(session, "asked", parent=parent)
        await store.turns.start(turn)
        say(f"start {turn.id}")
        for index in range(2):
            step = a_step(turn, index, f"step {index} " * 50, a_request())
            call = a_call(step, result="result " * 300)
            await store.calls.add(call, step)
            say(f"call {call.id}")
        await store.turns.end(an_end(turn, f"answer of {turn.id}", last_step=a_step(turn, 2)))
        say(f"end {turn.id}")
        parent = turn
    await store.close()


def main() -> None:
    for line in sys.stdin:
        session_id, count = line.split()
        child = os.fork()
        if child == 0:
            asyncio.run(write_turns(session_id, int(count)))
            os._exit(0)
        say(f"pid {child}")
        _, status = os.waitpid(child, 0)
        say(f"dead {child} {status}")


if __name__ == "__main__":
    main()
