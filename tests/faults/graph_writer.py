"""A process that writes turns into a graph, as its stdin says, and tells on stdout what was acknowledged.

    python -m tests.faults.graph_writer URL MACHINE_DIR SESSION

It claims the session and prints `ready`. Lines on stdin are `start`, `call`, `end`, `speak` (a whole turn),
`lost` and `settle`; each is answered by what was acknowledged, as JSON, and then by a line of text: `done`,
or what was asked for. It closes the store when stdin ends.
"""

import asyncio
import json
import os
import sys
from pathlib import Path

from ragforge.store.base_conversations import Claim
from ragforge.store.open import open_store
from tests.faults.graph import Said, Speaker, arrived


def say(line: str) -> None:
    # One write is whole, or was not acknowledged.
    os.write(1, f"{line}\n".encode())


def tell(said: Said) -> None:
    say(json.dumps(said))


async def obey(speaker: Speaker, claim: Claim, order: str) -> str:
    match order:
        case "start":
            await speaker.start()
        case "call":
            await speaker.call()
        case "end":
            await speaker.end()
        case "speak":
            await speaker.speak()
        case "settle":
            await arrived(speaker.store)
        case "lost":
            return claim.lost or "no"
        case _:
            raise AssertionError(f"unknown: {order}")
    return "done"


async def main(url: str, machine_dir: Path, session_id: str) -> None:
    store = await open_store(url, machine_dir=machine_dir)
    claim = await store.sessions.claim(session_id)
    session = await store.sessions.get(session_id)
    assert session is not None
    last = None if session.head is None else await store.turns.get(session.head)
    speaker = Speaker(store, session, last=last, tell=tell)
    say("ready")
    while order := await asyncio.to_thread(sys.stdin.readline):
        say(await obey(speaker, claim, order.strip()))
    await store.close()
    say("closed")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], Path(sys.argv[2]), sys.argv[3]))
