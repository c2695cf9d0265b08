"""What undoing a turn does to the memories that it said something of."""

from typing import Any

import pytest

from ragforge.commands.base import HeadMoved, run_command
from ragforge.domain.memories import Memory, MemoryFilter, MemorySource, MemoryType
from ragforge.domain.moves import Part
from ragforge.domain.turns import Turn
from ragforge.memory.memories import new_memory, remember, why
from ragforge.session.memory_tools import save_memory
from ragforge.session.moves import checkout, redo, rewind, undo
from ragforge.session.state import Session
from ragforge.tools.base import ToSave
from ragforge.versions.branches import start_branch
from ragforge.versions.words import moved_json
from tests.flow.moving import turn, write
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


@pytest.mark.parametrize("source", [MemorySource.BACKGROUND, MemorySource.MODEL])
async def test_undoing_the_turn_in_which_a_decision_returned_takes_the_return_back(
    session: Session, gemini: GeminiStandIn, source: MemorySource
) -> None:
    standing, ended = list[list[str]](), list[list[str]]()
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
        both = await session.workspace.store.memories.get([old.id, new.id])
        ended.append([each.content for each in both if each.valid_to])
    back, there = [MYSQL], [POSTGRES]
    assert ended == [there, back, there, back, there, back, there, back], "what is stored of it"
    assert standing == [back, there, back, there, back, there, back, there]
    [link] = (await why(session.workspace.store, new)).linked
    assert (link.outgoing, link.other.id) == (True, old.id)
    # What is said in the turn's place counts as ever.
    await decided(session, await turn(session, gemini, "No, after all."), MYSQL, source)
    assert await holding(session) == [MYSQL]


async def test_what_you_told_it_to_remember_survives_every_move(
    session: Session, gemini: GeminiStandIn
) -> None:
    """It was said by a command, so no turn's words are all that it rests on."""
    standing: list[list[str]] = []
    await turn(session, gemini, "write one", write("a.txt", "one\n"))
    await start_branch(session.worktree, "first")
    await turn(session, gemini, "write two", write("a.txt", "two\n"))
    await start_branch(session.worktree, "second")
    await run_command(session, "remember", f"decision: {MYSQL}")
    for move in (undo, undo, redo, redo):
        await move(session)
        standing.append(await holding(session))
    await rewind(session, 1, part=Part.CHAT)
    standing.append(await holding(session))
    for target in ("first", "second"):
        await checkout(session, target)
        standing.append(await holding(session))
    assert standing == [[MYSQL]] * 7


@pytest.mark.parametrize("source", [MemorySource.BACKGROUND, MemorySource.MODEL])
@pytest.mark.parametrize("person_first", [True, False])
async def test_what_a_turn_said_too_is_yours_once_you_said_it(
    session: Session, gemini: GeminiStandIn, source: MemorySource, person_first: bool
) -> None:
    said_in = await turn(session, gemini, "We use MySQL.")
    if person_first:
        await run_command(session, "remember", MYSQL)
    await decided(session, said_in, MYSQL, source)
    if not person_first:
        await run_command(session, "remember", MYSQL)
    for move in (undo, redo, undo):
        await move(session)
        assert await holding(session) == [MYSQL]


async def test_what_yours_replaces_stays_replaced_when_the_turn_before_is_undone(
    session: Session, gemini: GeminiStandIn
) -> None:
    first = await turn(session, gemini, "In MySQL.")
    old = await decided(session, first, MYSQL, MemorySource.MODEL)
    second = await turn(session, gemini, "In PostgreSQL, then.")
    await decided(session, second, POSTGRES, MemorySource.MODEL, old)
    await turn(session, gemini, "And now?")
    await run_command(session, "remember", f"decision: {MYSQL}")
    assert await holding(session) == [MYSQL]
    await undo(session)
    assert await holding(session) == [MYSQL]


async def test_a_move_says_how_many_memories_it_made_inactive_or_active_again(
    session: Session, gemini: GeminiStandIn
) -> None:
    named: list[str] = []

    async def said(line: str) -> list[str]:
        name, _, args = line.partition(" ")
        moved = await run_command(session, name, args)
        assert isinstance(moved, HeadMoved)
        found: Any = moved_json(moved.result)["memories"]
        named.extend(each["content"] for state in ("inactive", "active") for each in found[state])
        return [each for each in moved.lines if "active" in each]

    await turn(session, gemini, "write one", write("a.txt", "one\n"))
    await start_branch(session.worktree, "first")
    await start_branch(session.worktree, "second")
    both = await turn(session, gemini, "Where do we keep the orders?", write("a.txt", "two\n"))
    old = await decided(session, both, MYSQL, MemorySource.BACKGROUND)
    await decided(session, both, "The host is behind the VPN.", MemorySource.BACKGROUND)
    assert await said("undo") == ["2 memories from that turn are inactive."]
    assert sorted(named) == ["The host is behind the VPN.", MYSQL]
    assert await said("redo") == ["2 memories from that turn are active again."]
    assert await said("undo --files") == []
    assert await said("redo") == []
    assert await said("checkout first --on-conflict restore") == [
        "2 memories from the abandoned turns are inactive."
    ]
    assert await said("redo") == ["2 memories from that turn are active again."]
    # What was replaced, forgotten or told by a command was inactive before, or stays active.
    newest = await turn(session, gemini, "And now?")
    new = await decided(session, newest, POSTGRES, MemorySource.BACKGROUND, old)
    await run_command(session, "remember", "The host is behind the VPN.")
    assert await said("rewind 1") == ["1 memory from those turns is inactive."]
    assert await said("redo 2") == ["1 memory from those turns is active again."]
    await session.workspace.store.memories.forget([new.id], newest.started_at)
    assert await said("redo") == []


async def test_forgetting_what_replaced_a_memory_stores_that_it_holds_again(session: Session) -> None:
    async def ended() -> bool:
        (memory,) = await session.workspace.store.memories.get([old.id])
        return memory.valid_to is not None

    old = (await save_memory(session, ToSave(MYSQL, MemoryType.DECISION), source=MemorySource.USER)).memory
    wanted = ToSave(POSTGRES, MemoryType.DECISION, updates=(old.id,))
    new = (await save_memory(session, wanted, source=MemorySource.USER)).memory
    told = [await ended()]
    for line in (new.id, f"{new.id} --undo", f"{new.id} --everywhere --yes", "--everywhere --undo"):
        await run_command(session, "forget", line)
        told.append(await ended())
    assert told == [True, False, True, False, True]
