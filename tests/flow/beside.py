"""Background work in tests: sessions whose waits are short, and answers that fit what is asked."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from ragforge.domain.schedule import Timing
from ragforge.domain.summaries import Summary
from ragforge.session.background import Background
from ragforge.session.open import close_session, close_workspace, new_session, open_workspace
from ragforge.session.state import Session
from tests.standins.gemini import Finish, JsonText, Recorded, Tokens

QUICK = Timing(
    start_s=0.0,
    gather_s=0.01,
    pause_s_first=0.02,
    pause_s_max=0.1,
    final_s=0.3,
    patience_s=0.0,
    call_s_max=20.0,
    lease_s=2.0,
)
WAIT_S = 60.0
MANY_TOKENS = Tokens(prompt=1_000_000, candidates=100_000)


@asynccontextmanager
async def beside(tmp_path: Path, env: dict[str, str], *, timing: Timing = QUICK) -> AsyncIterator[Session]:
    """A new session in the project folder, with background work that waits for nothing long."""
    project = tmp_path / "project"
    project.mkdir(exist_ok=True)
    opened = await open_workspace(cwd=project, flags={}, environ=env)
    workspace = replace(opened, background=Background(timing))
    session = await new_session(workspace)
    try:
        yield session
    finally:
        await close_session(session)
        await close_workspace(workspace)


async def until(fact: Callable[[], Awaitable[Any]], *, timeout_s: float = WAIT_S) -> Any:
    """What the question gives, as soon as that is something."""
    async with asyncio.timeout(timeout_s):
        while not (found := await fact()):
            await asyncio.sleep(0.01)
    return found


async def done(session: Session) -> None:
    """Return when the turns of this run have what they are owed."""
    background = session.workspace.background
    await background.finish(timeout_s=WAIT_S)
    async with asyncio.timeout(WAIT_S):
        while (
            background.progress.turns
        ):  # what was left behind too, of which it may not know yet that it is done
            await asyncio.sleep(0.01)


async def summaries_of(session: Session, level: int = 1) -> list[Summary]:
    return await session.workspace.store.summaries.of_session(session.id, level=level)


async def all_embedded(session: Session) -> bool:
    embedder = session.workspace.recall.embedder
    assert embedder is not None
    return not await session.workspace.store.vectors.lacking(embedder.name)


def an_answer(
    schema: dict[str, Any], summary: str, memories: tuple[dict[str, Any], ...] = ()
) -> dict[str, Any]:
    """What a model answers to the schema: of each turn, or of all the summaries, this summary."""
    rest: dict[str, Any] = {"findings": [], "topics": []}
    turns = schema["properties"].get("turns")
    if turns is None:
        return {**rest, "summary": summary}
    ids = turns["items"]["properties"]["id"]["enum"]
    own = {"constraints": [], "files": [], "memories": list(memories), "summary": summary}
    return {"turns": [{"id": turn, **rest, **own} for turn in ids]}


def a_memory(content: str, type: str = "decision", **more: Any) -> dict[str, Any]:
    return {
        "id": "m1",
        "type": type,
        "content": content,
        "said_by": "user",
        "confidence": 0.9,
        "importance": None,
        "topic": "",
        "scope": "project",
        "relations": [],
        **more,
    }


def by_the_model(
    summary: str = "It was understood.", *memories: dict[str, Any], tokens: Tokens | None = None
):
    """A reply for every request that carries a schema."""

    def reply(request: Recorded) -> Any:
        assert request.schema is not None
        text = JsonText(an_answer(request.schema, summary, memories))
        return (text, Finish(usage=tokens)) if tokens else text

    return reply
