"""A program that is stopped, or whose store goes away: what is kept of it, and how it goes on."""

import asyncio
from contextlib import aclosing
from typing import Any

import pytest

from ragforge.commands.base import Report, UserQuestion
from ragforge.commands.program_run import RunFront
from ragforge.commands.run import RunArguments, execution_for
from ragforge.domain.approvals import ApprovalAnswer, ConsentAnswer
from ragforge.domain.derivations import DerivedFilter
from ragforge.domain.errors import RagforgeError, StoreError
from ragforge.domain.ids import new_id
from ragforge.session.state import Session
from ragforge.workflow.runs import KIND, ProgramRun, RunBook
from tests.faults.programs import ASKED, NAME, PROGRAM
from tests.flow.test_turn_faults import disk_is_full
from tests.scope import TIMES


async def run(session: Session, *, resume: bool = False, events_max: int | None = None) -> int:
    """How many things the program said until it ended, or was stopped as Esc does after so many."""
    front = RunFront(inputs=["the question"])
    execution = await execution_for(session, RunArguments(NAME, resume=resume), front.front)
    count = 0
    async with aclosing(front.follow(execution)) as said:
        async for each in said:
            count += 1
            if resume and count == 1:
                assert str(each).startswith("Continuing at line ")
            if count == events_max:
                break
            if isinstance(each, UserQuestion):
                each.reply(ApprovalAnswer(ConsentAnswer.ONCE))
            if isinstance(each, Report):
                assert not str(each.exact).startswith("Failed."), each.exact
    return count


async def newest(session: Session) -> tuple[bool, list[str], dict[str, Any]]:
    """Of the newest run: whether it ended, the roles that were asked, and the registers but for ids."""
    wanted = DerivedFilter(KIND.label, session.workspace.project.id, limit=1)
    (record,) = await session.workspace.store.derivations.find(wanted)
    found = KIND.read(record)
    assert found
    registers = {name: value for name, value in found.state.registers.items() if not isinstance(value, dict)}
    return found.is_done, sorted(call.role for call in found.calls), registers


async def test_a_program_that_is_stopped_anywhere_and_resumed_is_as_not_stopped(session: Session) -> None:
    (session.cwd / NAME).write_text(PROGRAM)
    events = await run(session)
    whole = await newest(session)
    assert whole[:2] == (True, ASKED)
    for point in range(1, events, 4 if TIMES == 1 else 1):
        assert await run(session, events_max=point) == point
        is_done, asked, _ = await newest(session)
        if not is_done:
            assert not set(asked) - set(ASKED)
            await run(session, resume=True)
        assert await newest(session) == whole, point


async def test_a_full_disk_stops_a_program_which_goes_on_once_there_is_room(session: Session) -> None:
    (session.cwd / NAME).write_text(PROGRAM)
    await run(session)
    whole = await newest(session)
    front = RunFront(inputs=["the question"])
    execution = await execution_for(session, RunArguments(NAME), front.front)

    async def run_until_full() -> None:
        async with aclosing(front.follow(execution)) as said:
            async for each in said:
                if isinstance(each, UserQuestion):
                    each.reply(ApprovalAnswer(ConsentAnswer.ONCE))
                if str(each).startswith("planner ("):
                    await disk_is_full(session, True)

    with pytest.raises(StoreError, match="full"):
        await run_until_full()
    await disk_is_full(session, False)
    assert not (await newest(session))[0]
    await run(session, resume=True)
    assert await newest(session) == whole


async def test_of_two_that_resume_a_run_at_the_same_time_one_does(session: Session) -> None:
    killed = RunBook(session.workspace)
    await killed.keep(ProgramRun(new_id(), "slow", "slow.spu", ".program slow\nDISPLAY 'x'\n"))
    killed.end()
    books = [RunBook(session.workspace) for _ in range(2)]
    found = await asyncio.gather(*(each.unfinished("slow") for each in books), return_exceptions=True)
    assert [type(each) for each in found].count(ProgramRun) == 1
    [refused] = [each for each in found if isinstance(each, RagforgeError)]
    assert "is still going on in another window" in str(refused)
    for each in books:
        each.end()
    assert (await RunBook(session.workspace).unfinished("slow")).program == "slow"
