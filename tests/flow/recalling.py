"""Memories, summaries and what the stand-in was sent, for tests of what stands in front of a message."""

import hashlib
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from ragforge.domain.events import AgentEvent, ContextBuilt
from ragforge.domain.ids import new_id, now
from ragforge.domain.memories import Memory, MemoryScope, MemorySource, MemoryType
from ragforge.domain.messages import ModelMessage, TextPart
from ragforge.domain.summaries import Summary
from ragforge.domain.turns import Step, Turn, TurnEnd, TurnStatus
from ragforge.domain.vectors import Embedding, Owner, OwnerKind
from ragforge.memory.block import TAG
from ragforge.memory.material import summary_id
from ragforge.memory.memories import new_memory
from ragforge.session.open import store_session
from ragforge.session.state import Session
from ragforge.store.base import keep_project
from tests.flow.running import of_type
from tests.standins.gemini import GeminiStandIn

LONG_AGO = datetime(2026, 3, 4, 12, tzinfo=UTC)


async def remembered(
    session: Session, text: str, type: MemoryType = MemoryType.DECISION, **values: Any
) -> Memory:
    """A memory that is stored and has its vector; made long ago unless something else is said."""
    workspace = session.workspace
    await keep_project(workspace.store, workspace.project)
    given = {
        "project_id": workspace.project.id,
        "at": LONG_AGO,
        "source": MemorySource.USER,
        "scope": MemoryScope.PROJECT,
        **values,
    }
    memory = new_memory(text, type, **given)
    await workspace.store.memories.save(memory)
    await embedded(session, Owner(OwnerKind.MEMORY, memory.id), text)
    return memory


async def embedded(session: Session, owner: Owner, text: str) -> None:
    embedder = session.workspace.recall.embedder
    assert embedder is not None
    (vector,) = await embedder.embed([text])
    digest = hashlib.sha256(text.encode()).hexdigest()
    await session.workspace.store.vectors.save([Embedding(owner, embedder.name, digest, vector)])


async def said_before(session: Session, words: Sequence[tuple[str, str]]) -> list[Turn]:
    """Turns that are stored in the session as if they had been said long ago, a minute apart."""
    store, turns = session.workspace.store, list[Turn]()
    await store_session(session, said=(TextPart(words[0][0]),))
    for number, (user, answer) in enumerate(words):
        at = LONG_AGO + timedelta(minutes=number)
        turn = Turn(
            new_id(),
            session.id,
            turns[-1].id if turns else session.live.record.head,
            number,
            (TextPart(user),),
            at,
            model="m",
        )
        await store.turns.start(turn)
        step = Step(turn.id, 0, ModelMessage("gemini", "m", answer))
        await store.turns.end(TurnEnd(turn.id, TurnStatus.FINISHED, answer, at, last_step=step))
        turns.append(turn)
    session.change(head=turns[-1].id)
    return turns


async def summarised(
    session: Session, level: int, covers: Sequence[str], text: str, **values: Any
) -> Summary:
    summary = Summary(
        summary_id(level, covers),
        session.workspace.project.id,
        session.id,
        level,
        text,
        tuple(covers),
        LONG_AGO,
        **{"turn_count": len(covers), **values},
    )
    await session.workspace.store.summaries.save(summary)
    return summary


def chats(gemini: GeminiStandIn) -> list[list[dict[str, Any]]]:
    """The contents of each request for an answer, in their order; background calls carry a schema."""
    return [
        request.body["contents"]
        for request in gemini.asked("streamGenerateContent")
        if "responseJsonSchema" not in (config := request.body.get("generationConfig", {}))
        and "responseSchema" not in config
    ]


def texts(content: dict[str, Any]) -> list[str]:
    return [part["text"] for part in content["parts"] if "text" in part]


def block_of(contents: list[dict[str, Any]]) -> str:
    """The block of a request; empty where it carries none."""
    found = [text for content in contents for text in texts(content) if text.startswith(f"<{TAG}>")]
    assert len(found) <= 1
    return found[0] if found else ""


def built(events: Sequence[AgentEvent]) -> ContextBuilt:
    (found,) = of_type(events, ContextBuilt)
    return found


def hours_ago(hours: float) -> datetime:
    return now() - timedelta(hours=hours)
