"""A process that runs whole turns in a project, each child of it until it is killed or done.

For each line `COUNT` on stdin it forks a child, which resumes the folder's newest session, or begins one, and
says COUNT messages, each in two that are sent quickly. Forking saves each child the imports. On stdout:
`pid PID`, `joined TURN` as the second of a message is stored, `turn NUMBER` as each ends, `dead PID STATUS`.
"""

import asyncio
import os
import sys
from contextlib import aclosing
from pathlib import Path

from ragforge.domain.approvals import Mode
from ragforge.domain.errors import UsageError
from ragforge.domain.events import TurnStarted
from ragforge.domain.messages import TextPart
from ragforge.session.library import newest_session
from ragforge.session.open import close_session, close_workspace, new_session, open_workspace, resume_session
from ragforge.session.queue import join
from ragforge.session.turn import submit
from tests.cli.loaded import load
from tests.flow.running import User

PROJECT = Path(sys.argv[1])
FIRST, SECOND = (TextPart("Do something."),), (TextPart("And quickly."),)


def say(line: str) -> None:
    os.write(1, f"{line}\n".encode())


async def run_turns(count: int) -> None:
    workspace = await open_workspace(cwd=PROJECT, flags={}, environ=dict(os.environ))
    try:
        record = await newest_session(workspace.store, project_id=workspace.project.id, cwd=PROJECT)
        session = (await resume_session(workspace, record)).session
    except UsageError:
        session = await new_session(workspace)
    session.live.consent.mode = Mode.ALL
    for number in range(count):
        async with aclosing(submit(session, FIRST, User().approve)) as events:
            async for event in events:
                if isinstance(event, TurnStarted) and await join(session, SECOND):
                    say(f"joined {event.turn.id}")
        say(f"turn {number}")
    await close_session(session)
    await close_workspace(workspace)


def main() -> None:
    load()
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            asyncio.run(run_turns(int(line)))
            os._exit(0)
        say(f"pid {child}")
        _, status = os.waitpid(child, 0)
        say(f"dead {child} {status}")


if __name__ == "__main__":
    main()
