"""Sub-agents: tasks in conversations of their own, watched, counted apart and undone with the turn."""

import asyncio
from contextlib import aclosing
from typing import Any

import pytest

from ragforge.agent.parts import TurnLimits
from ragforge.commands.base import Report, Tell, run_command
from ragforge.domain import timeouts
from ragforge.domain.approvals import (
    ApprovalAnswer,
    ApprovalRequest,
    ChangeFile,
    ConsentAnswer,
    Mode,
    ToolApproval,
)
from ragforge.domain.derivations import DerivedFilter
from ragforge.domain.events import ToolEnded, ToolOutput
from ragforge.domain.ids import short_id
from ragforge.domain.memories import MemoryFilter
from ragforge.domain.messages import TextPart
from ragforge.domain.search import Query
from ragforge.domain.sub_agents import KIND
from ragforge.domain.turns import CallStatus, TurnStatus
from ragforge.memory.recall.search import search
from ragforge.session.moves import redo, undo
from ragforge.session.state import Session
from ragforge.session.sub_agents import sub_agents_of
from ragforge.session.turn import interrupt, submit
from tests.flow.beside import done
from tests.flow.delegating import agent, script
from tests.flow.moving import read, shell, write
from tests.flow.running import User, ended, of_type, say, says_no
from tests.standins.gemini import Call, Calls, Finish, GeminiStandIn, Hang, Text, Tokens


async def test_tasks_are_done_at_the_same_time_and_kept_found_and_counted_apart(
    session: Session, gemini: GeminiStandIn
) -> None:
    (session.cwd / "a.txt").write_text("apples\n")
    script(
        gemini,
        agent("one"),
        agent("two", ". Never use npm in this project."),
        one=[Calls(read("a.txt")), Text("There are apples in the orchard.")],
        two=[Text("Nothing of note.")],
    )
    events = await say(session, "look at both")
    calls = [event.call for event in of_type(events, ToolEnded)]
    assert [call.name for call in calls] == ["agent", "agent"]
    one = next(call for call in calls if call.args["title"] == "About one")
    assert one.result.startswith("There are apples in the orchard.\n\n[Sub-agent ")
    assert "finished; 2 steps" in one.result
    # Watched while it works: what it calls is told as output of the call.
    assert "read a.txt\n" in "".join(
        event.text for event in of_type(events, ToolOutput) if event.call_id == one.id
    )
    store, project = session.workspace.store, session.workspace.project.id
    found = await sub_agents_of(store, project, session.id)
    assert {each.title for each in found} == {"About one", "About two"}
    # Kept and found, and off the list of sessions.
    hits = (await search(session.workspace.recall, Query("orchard apples", project_id=project))).hits
    assert any(hit.session_id in {each.session for each in found} for hit in hits)
    rows = await store.sessions.recent(project_id=project, archived=False)
    assert [row.session.id for row in rows] == [session.id]
    await done(session)
    assert await store.memories.find(MemoryFilter()) == [], "what a model asks of them is no wish of the user"
    listed = await run_command(session, "agents", "")
    assert isinstance(listed, Report)
    assert len(listed.lines) == 2
    opened = await run_command(session, "agents", f"open {short_id(found[0].session)}")
    assert isinstance(opened, Tell)
    assert f"**{found[0].title}** · finished" in opened.text
    cost = await run_command(session, "cost", "")
    assert isinstance(cost, Report)
    own, _, theirs = cost.shown.partition("**Sub-agents of this session, in addition**: chat $")
    assert theirs
    assert "| chat | 2 |" in own  # the parent's own two steps
    assert "| chat | 3 |" in theirs.partition("**This project**")[0]
    assert "3 sessions (2 of sub-agents)" in str(await run_command(session, "stats", ""))


async def test_two_that_edit_one_file_lose_nothing_and_are_undone_with_the_turn(
    session: Session, gemini: GeminiStandIn
) -> None:
    file = session.cwd / "a.txt"
    file.write_text("first\nsecond\n")

    def edits(old: str, new: str) -> list[Any]:
        """Twice: where the other one came first, the file has to be read again."""
        edit = Calls(Call("edit", {"path": "a.txt", "old": old, "new": new}))
        return [Calls(read("a.txt")), edit, Calls(read("a.txt")), edit, Text("Done.")]

    await session.set_mode(Mode.ACCEPT_EDITS)
    script(
        gemini,
        agent("one", tools="all"),
        agent("two", tools="all"),
        one=edits("first", "FIRST"),
        two=edits("second", "SECOND"),
    )
    turn = ended(await say(session, "capitals"))
    assert turn.status is TurnStatus.FINISHED
    assert file.read_text() == "FIRST\nSECOND\n"
    for each in await sub_agents_of(session.workspace.store, session.workspace.project.id, session.id):
        opened = await run_command(session, "agents", f"open {short_id(each.session)}")
        assert isinstance(opened, Tell)
        assert "→ failed: " in opened.text, "why a call failed can be read there"
    await undo(session)
    assert file.read_text() == "first\nsecond\n"
    assert await session.workspace.store.derivations.find(DerivedFilter(KIND.label)) == []
    await redo(session)
    assert file.read_text() == "FIRST\nSECOND\n"


async def test_the_question_about_a_file_that_another_one_has_changed_is_withdrawn_and_asked_anew(
    session: Session, gemini: GeminiStandIn
) -> None:
    file = session.cwd / "a.txt"
    file.write_text("first\nsecond\n")
    one_at_a_time = asyncio.Lock()
    outdated: list[str] = []

    async def approve(request: ApprovalRequest) -> ApprovalAnswer:
        """As in the interface: one question at a time, and time to read it."""
        async with one_at_a_time:
            await asyncio.sleep(timeouts.APPROVAL_QUIET_S)
            assert isinstance(request, ToolApproval)
            assert isinstance(request.proposal, ChangeFile)
            shown = request.proposal.diff.split("@@\n")[1].splitlines()
            if [line[1:] for line in shown if line[0] in " -"] != file.read_text().splitlines():
                outdated.append(request.proposal.diff)
            return ApprovalAnswer(ConsentAnswer.ONCE)

    def edits(old: str, new: str) -> list[Any]:
        edit = Calls(Call("edit", {"path": "a.txt", "old": old, "new": new}))
        return [Calls(read("a.txt")), edit, Calls(read("a.txt")), edit, Text("Done.")]

    script(
        gemini,
        agent("one", tools="all"),
        agent("two", tools="all"),
        one=edits("first", "FIRST"),
        two=edits("second", "SECOND"),
    )
    async with aclosing(submit(session, (TextPart("capitals"),), approve)) as stream:
        events = [event async for event in stream]
    assert ended(events).status is TurnStatus.FINISHED
    assert file.read_text() == "FIRST\nSECOND\n"
    assert outdated == [], "what is approved is what runs"
    said = "".join(event.text for event in of_type(events, ToolOutput))
    assert said.count("The file has changed, so this is no longer asked: edit a.txt\n") == 1


async def test_consent_budget_and_tools_are_those_that_were_given(
    session: Session, gemini: GeminiStandIn
) -> None:
    user = User(
        lambda asked: ApprovalAnswer(
            ConsentAnswer.ONCE
            if isinstance(asked, ToolApproval) and "touch b" in asked.summary
            else ConsentAnswer.NO
        )
    )
    script(
        gemini,
        agent("reads"),
        agent("asks", tools="all"),
        agent("spends", steps_max=2),
        reads=[Calls(shell("touch a"), write("a", "x"), agent("deeper")), Text("I could not.")],
        asks=[Calls(shell("touch b"), shell("touch c")), Text("One of two.")],
        spends=[Calls(read("gone")), (Text("Half of it."), Calls(read("gone2")))],
    )
    events = await say(session, "go", user)
    calls = {str(e.call.args["title"]): e.call for e in of_type(events, ToolEnded)}
    said = "".join(event.text for event in of_type(events, ToolOutput))
    assert said.count("waiting for you\n") == len(user.asked)
    assert sorted(path.name for path in session.cwd.iterdir()) == ["b"]
    assert all(
        "(sub-agent: About asks)" in each.reason for each in user.asked if isinstance(each, ToolApproval)
    )
    assert len(user.asked) == 2
    spent = calls["About spends"]
    assert spent.status is CallStatus.FAILED
    assert spent.result.startswith("Half of it.")
    assert "its budget of 2 steps is used up" in spent.result
    # In plan mode none of them changes anything either.
    await session.set_mode(Mode.PLAN)
    script(gemini, agent("plans", tools="all"), plans=[Calls(write("d", "x")), Text("No.")])
    await say(session, "plan", says_no())
    assert not (session.cwd / "d").exists()


async def test_escape_ends_them_and_what_they_said_is_kept(session: Session, gemini: GeminiStandIn) -> None:
    script(gemini, agent("slow"), slow=[(Text("I begin"), Hang())])
    running = asyncio.create_task(say(session, "go"))
    await gemini.wait_for_requests(2, action="streamGenerateContent")
    store, project = session.workspace.store, session.workspace.project.id
    while not (found := await sub_agents_of(store, project, session.id)):
        await asyncio.sleep(0.01)
    [slow] = found
    while (record := await store.sessions.get(slow.session)) is None or not record.head:
        await asyncio.sleep(0.01)
    await interrupt(session)
    await running
    head = await store.turns.get(record.head)
    assert head is not None
    assert head.status is TurnStatus.INTERRUPTED
    assert (await store.sessions.get(slow.session)).archived_at is not None
    # It can be opened, and gone on with, like any other session.
    claim = await store.sessions.claim(slow.session)
    await claim.release()


@pytest.mark.parametrize(
    "args", [{"task": "x"}, {"title": "x", "task": ""}, {"title": "x", "task": "y", "steps_max": 0}]
)
async def test_a_task_that_is_none_is_refused(
    session: Session, gemini: GeminiStandIn, args: dict[str, Any]
) -> None:
    gemini.script(Calls(Call("agent", args)), Text("Well."))
    [event] = of_type(await say(session, "go"), ToolEnded)
    assert event.call.status is CallStatus.FAILED
    assert await sub_agents_of(session.workspace.store, session.workspace.project.id, session.id) == []


async def test_a_turn_and_its_sub_agents_share_one_price_limit(
    session: Session, gemini: GeminiStandIn
) -> None:
    """Each answer costs the same. The parent's own leaves room for two more, whoever asks for them."""
    (session.cwd / "a.txt").write_text("apples\n")
    paid = Finish(usage=Tokens(prompt=0, candidates=1_000))
    looks = (Calls(read("a.txt")), paid)
    parent = iter([(Calls(agent("one"), agent("two")), paid), Text("never asked for")])

    def reply(request: Any) -> Any:
        return looks if "You are a sub-agent" in str(request.body) else next(parent)

    gemini.script(*[reply] * 8)
    answer_usd = 0.00375
    turn = ended(await say(session, "look at both", limits=TurnLimits(price_usd_max=2.9 * answer_usd)))
    assert turn.status is TurnStatus.STOPPED
    assert "for the turn and its sub-agents: the limit is $0.0109" in turn.error
    assert 3 <= len(gemini.asked("streamGenerateContent")) <= 4, "of two at work, one may pass the limit"
