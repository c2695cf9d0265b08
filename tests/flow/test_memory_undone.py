"""What undoing a turn does to the memories that it said something of."""

import pytest

from ragforge.domain.memories import Memory, MemoryFilter, MemorySource, MemoryType
from ragforge.domain.turns import Turn
from ragforge.memory.memories import new_memory, remember, why
from ragforge.session.memory_tools import save_memory
from ragforge.session.state import Session
from ragforge.session.versions.moves import redo, undo
from ragforge.tools.base import ToSave
from tests.flow.moving import turn
from tests.standins.gemini import GeminiStandIn

MYSQL = "The shop keeps its orders in MySQL."
POSTGRES = "The shop keeps its orders in PostgreSQL."


async def holding(session: Session) -> list[str]:
    """What of these may be put in front of the model."""
    found = await session.workspace.store.memories.find(MemoryFilter())
    return [memory.content for memory in found if memory.content in (MYSQL, POSTGRES)]


async def decided(session: Session, said_in: Turn, words: str, source: MemorySource, *old: Memory) -> Memory:
    """The decision as it is kept by whoever hears of it in the turn."""
    if source is not MemorySource.BACKGROUND:
        wanted = ToSave(words, MemoryType.DECISION, updates=tuple(memory.id for memory in old))
        return (await save_memory(session, wanted, source=source)).memory
    found = new_memory(
        words,
        MemoryType.DECISION,
        project_id=session.workspace.project.id,
        at=said_in.started_at,
        source=source,
        turns=(said_in.id,),
    )
    return await remember(session.workspace.store, found, updates=[memory.id for memory in old])


@pytest.mark.parametrize("source", MemorySource)
async def test_undoing_the_turn_in_which_a_decision_returned_takes_the_return_back(
    session: Session, gemini: GeminiStandIn, source: MemorySource
) -> None:
    standing: list[list[str]] = []
    first = await turn(session, gemini, "Where do we keep the orders?")
    old = await decided(session, first, MYSQL, source)
    second = await turn(session, gemini, "In the other one.")
    new = await decided(session, second, POSTGRES, source, old)
    for words in (MYSQL, POSTGRES):
        # In the same words, without a hint of what it replaces.
        await decided(session, await turn(session, gemini, "And back again."), words, source)
        standing.append(await holding(session))
    assert standing == [[MYSQL], [POSTGRES]]
    standing.clear()
    for move in (undo, undo, undo, redo, redo, redo, undo, undo):
        await move(session)
        standing.append(await holding(session))
    back, there = [MYSQL], [POSTGRES]
    assert standing == [back, there, back, there, back, there, back, there]
    [link] = (await why(session.workspace.store, new)).linked
    assert (link.outgoing, link.other.id) == (True, old.id)
    # What is said in the turn's place counts as ever.
    await decided(session, await turn(session, gemini, "No, after all."), MYSQL, source)
    assert await holding(session) == [MYSQL]
