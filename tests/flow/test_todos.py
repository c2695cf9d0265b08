"""The list of what is to do: kept with the turn that changed it, in either store."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from ragforge.commands.base import Report, Send, Tell, run_command
from ragforge.domain.approvals import Mode
from ragforge.domain.errors import UsageError
from ragforge.domain.events import ToolEnded
from ragforge.domain.go_ahead import goes_ahead
from ragforge.domain.turns import CallStatus
from ragforge.session.moves import redo, undo
from ragforge.session.open import close_session, fork_session, resume_session
from ragforge.session.state import Session
from ragforge.session.todos import todos_of
from tests.flow.moving import turn, write
from tests.flow.running import environ, of_type, opened, say
from tests.servers.shared import Servers
from tests.standins.gemini import Call, Calls, GeminiStandIn, Text


# The contract's turns and versions prove that a server gives steps back as they were, and moves.
@pytest.fixture(params=["sqlite", pytest.param("neo4j-5", marks=pytest.mark.long_on_servers)])
def store(request: pytest.FixtureRequest, tmp_path: Path, neo4j_servers: Servers) -> Iterator[str]:
    with ExitStack() as stack:
        if request.param == "sqlite":
            yield f"sqlite://{tmp_path}/store.db"
        else:
            yield stack.enter_context(neo4j_servers.among_others(request.param)).url


def todo(**states: str) -> Call:
    return Call("todo", {"items": [{"text": text, "state": state} for text, state in states.items()]})


async def listed(session: Session) -> dict[str, str]:
    return {item.text: item.state.value for item in (await todos_of(session)).items}


async def test_a_list_goes_where_its_turn_goes(tmp_path: Path, gemini: GeminiStandIn, store: str) -> None:
    async with opened(tmp_path, environ(tmp_path, gemini, RAGFORGE_STORE=store)) as session:
        assert await listed(session) == {}
        await turn(session, gemini, "begin", todo(parse="active", test="pending"), write("a.txt", "one\n"))
        await turn(session, gemini, "go on", todo(parse="done", test="active"))
        await turn(session, gemini, "and what else?")
        assert await listed(session) == {"parse": "done", "test": "active"}
        workspace, record = session.workspace, session.live.record
        first = (await workspace.store.turns.path(record.head))[0]
        for move, found in (
            (undo, {"parse": "done", "test": "active"}),
            (undo, {"parse": "active", "test": "pending"}),
            (undo, {}),
            (redo, {"parse": "active", "test": "pending"}),
            (redo, {"parse": "done", "test": "active"}),
        ):
            await move(session)
            assert await listed(session) == found
        shown = await run_command(session, "todo", "")
        assert isinstance(shown, Report)
        assert shown.lines == ["1 of 2 done", "[x] parse", "[>] test"]
        fork = await fork_session(workspace, record, at=first)
        assert await listed(fork) == {"parse": "active", "test": "pending"}
        await close_session(fork)
        await close_session(session)
        resumed = await resume_session(workspace, session.live.record)
        assert await listed(resumed.session) == {"parse": "done", "test": "active"}
        await close_session(resumed.session)


async def test_the_model_is_reminded_once_the_turn_of_the_list_is_no_longer_sent(
    session: Session, gemini: GeminiStandIn
) -> None:
    await turn(session, gemini, "begin", todo(parse="active", test="pending"))
    for number in range(5):
        await turn(session, gemini, f"question {number}")
        assert "as you wrote it" not in str(gemini.asked()[-1].body)
    await run_command(session, "compact", "")
    session.live.view.window.drop()
    while session.live.view.window.turn_ids[0] == (await _first(session)):
        session.live.view.window._drop_turns(goal=-1)
    await turn(session, gemini, "go on")
    sent = str(gemini.asked()[-1].body)
    assert "as you wrote it" in sent
    assert "[>] parse" in sent
    await turn(session, gemini, "finish", todo(parse="done", test="done"))
    await turn(session, gemini, "thanks")
    assert "as you wrote it" not in str(gemini.asked()[-1].body)


async def _first(session: Session) -> str:
    return (await session.workspace.store.turns.path(session.live.record.head))[0].id


async def test_lists_that_cannot_be_kept_are_refused_and_the_one_before_stays(
    session: Session, gemini: GeminiStandIn
) -> None:
    await turn(session, gemini, "begin", todo(parse="active"))
    wrong = [
        {"items": [{"text": "x"}] * 101},
        {"items": [{"text": ""}]},
        {"items": [{"text": "y" * 501}]},
        {"items": [{"text": "x", "state": "later"}]},
        {"items": "everything"},
        {"list": []},
    ]
    gemini.script(*(Calls(Call("todo", args)) for args in wrong), Text("Well."))
    calls = [event.call for event in of_type(await say(session, "more"), ToolEnded)]
    assert [call.status for call in calls] == [CallStatus.FAILED] * len(wrong)
    assert await listed(session) == {"parse": "active"}
    # A line break would draw a line of its own, and a secret is none of a list's business.
    await turn(session, gemini, "odd", todo(**{"a\n[x] b": "active", f"use {gemini.key}": "pending"}))
    odd = await listed(session)
    assert next(iter(odd)) == "a [x] b"
    assert gemini.key not in str(odd)
    gemini.script(Calls(Call("todo", {})), Text("Read."))
    [read] = of_type(await say(session, "read it"), ToolEnded)
    assert read.call.result.startswith("0 of 2 done\n[>] a [x] b")
    await turn(session, gemini, "clear", Call("todo", {"items": []}))
    assert await listed(session) == {}


async def test_a_plan_touches_no_file_and_ends_with_do_it(session: Session, gemini: GeminiStandIn) -> None:
    with pytest.raises(UsageError, match="no plan to carry out"):
        await run_command(session, "do", "")
    await session.set_mode(Mode.ACCEPT_EDITS)
    assert await run_command(session, "plan", "add a flag") == Send("add a flag")
    gemini.script(Calls(todo(flag="pending"), write("a.txt", "x")), Text("The plan."))
    events = of_type(await say(session, "add a flag"), ToolEnded)
    assert {event.call.name: event.call.status for event in events} == {
        "todo": CallStatus.OK,
        "write": CallStatus.DENIED,
    }
    assert not (session.cwd / "a.txt").exists()
    assert await listed(session) == {"flag": "pending"}
    assert await run_command(session, "do", "but in b.txt") == Send("Carry out the plan. but in b.txt")
    assert session.live.consent.mode is Mode.ACCEPT_EDITS
    assert isinstance(await run_command(session, "plan", ""), Tell)
    assert session.live.consent.mode is Mode.PLAN
    assert await run_command(session, "do", "--accept-edits") == Send("Carry out the plan.")


@pytest.mark.parametrize(
    ("message", "does"),
    [
        ("do it", True),
        ("Do it!", True),
        ("ok, go ahead.", True),
        ("vas-y", True),
        ("oui, fais-le !", True),
        (" do it", False),
        ("do it in another file", False),
        ("do it?", False),
        ("don't do it", False),
    ],
)
def test_what_says_to_go_ahead(message: str, does: bool) -> None:
    assert goes_ahead(message) is does
