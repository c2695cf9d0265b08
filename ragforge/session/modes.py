"""The consent mode of a session."""

from collections.abc import Mapping

from ragforge.domain.approvals import Mode
from ragforge.session.state import Session

MEANING: Mapping[Mode, str] = {
    Mode.ASK: "writes, edits and commands ask first.",
    Mode.ACCEPT_EDITS: "changes of files inside the project need no asking; commands do.",
    Mode.PLAN: "nothing is changed; the model reads and makes a plan.",
    Mode.ALL: "nothing is asked. Only for folders that you could lose.",
}

CYCLE = (Mode.ASK, Mode.ACCEPT_EDITS, Mode.PLAN)
"""What Shift+Tab goes through; `all` has to be typed."""


async def set_mode(session: Session, mode: Mode) -> None:
    """Let the mode hold from the next tool call on. `all` is not remembered for the next start."""
    session.live.mode = mode
    if mode is not Mode.ALL:
        session.change(mode=mode)
        if session.live.stored and not session.live.read_only:
            await session.workspace.store.sessions.set_mode(session.id, mode)


async def cycle_mode(session: Session) -> Mode:
    """The next mode, set."""
    at = CYCLE.index(session.live.mode) if session.live.mode in CYCLE else -1
    mode = CYCLE[(at + 1) % len(CYCLE)]
    await set_mode(session, mode)
    return mode
