"""A session on a server that goes away, or that another machine takes over, as the session layer sees it."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from msgspec.structs import replace

from ragforge.commands.base import Fork, run_command
from ragforge.domain.errors import Conflict, UsageError
from ragforge.domain.events import AgentEvent, Notice, TurnEnded
from ragforge.domain.messages import TextPart
from ragforge.domain.turns import TurnStatus
from ragforge.session.conversation import Conversation
from ragforge.session.link import left_words, limited_words, notice_loss, stranded_words
from ragforge.session.servers import link_facts
from ragforge.session.state import Session
from ragforge.session.turn import submit
from ragforge.store.base import Link
from tests.flow.running import User, ended, environ, of_type, opened, say, say_retry
from tests.standins.gemini import Call, Calls, Failure, GeminiStandIn, Text


@dataclass
class TakenOver:
    """A claim that another machine has taken over: what a store of several machines hands out."""

    lost: str = ""

    async def release(self) -> None:
        """Nothing is held."""


async def lose(session: Session) -> None:
    """What happens to the claim when another machine takes the session over."""
    assert session.live.claim
    await session.live.claim.release()
    session.live.claim = TakenOver("ann on laptop has taken this session over at 14:03")


def words(events: Sequence[AgentEvent]) -> str:
    return "\n".join(event.text for event in of_type(events, Notice))


async def test_a_lost_session_takes_no_more_messages_and_says_who_has_it(session: Session) -> None:
    await say(session, "mine")
    await lose(session)
    with pytest.raises(UsageError, match="ann on laptop has taken this session over at 14:03") as caught:
        await say(session, "still mine?")
    assert "a branch of it" in str(caught.value)
    assert "/fork" in str(caught.value)
    assert session.live.read_only
    assert len(await session.workspace.store.turns.path(session.live.record.head)) == 1
    with pytest.raises(UsageError, match="/fork"):
        await say(session, "and now?")


async def test_a_session_lost_during_a_turn_is_told_before_its_end(
    session: Session, gemini: GeminiStandIn
) -> None:
    gemini.script(Text("One."), Text("Two."))
    await say(session, "first")
    ours = session.live.claim
    events = []
    async for event in submit(session, (TextPart("second"),), User().approve):
        if session.live.claim is ours:
            await lose(session)
        events.append(event)
    assert isinstance(events[-1], TurnEnded)
    assert events[-1].turn.assistant == "Two."
    assert "a branch of it" in words(events)
    assert session.live.read_only


async def test_what_is_noticed_is_said_once(session: Session) -> None:
    await say(session, "mine")
    assert notice_loss(session) == ""
    await lose(session)
    assert notice_loss(session).startswith("ann on laptop")
    assert notice_loss(session) == ""


async def test_a_fork_goes_on_from_what_was_said_here(tmp_path: Path, gemini: GeminiStandIn) -> None:
    async with opened(tmp_path, environ(tmp_path, gemini)) as session:
        await say(session, "one")
        await say(session, "two")
        store, before = session.workspace.store, session.live.record
        first = (await store.turns.path(before.head))[0]
        # As another machine would: the head in the store is no longer the one known here.
        await store.sessions.set_head(before.id, first.id)
        await lose(session)
        assert notice_loss(session)
        conversation = Conversation(session.workspace, session)
        assert await run_command(session, "fork", "") == Fork()
        await conversation.fork(session.id)
        forked = conversation.session
        assert forked.id != before.id
        assert forked.live.record.head == before.head
        assert not forked.live.read_only
        await say(forked, "three")
        assert len(await store.turns.path(forked.live.record.head)) == 3
        session.live.claim = None
        await forked.live.claim.release()


async def test_a_fork_needs_something_that_was_said(session: Session) -> None:
    with pytest.raises(UsageError, match="no messages yet"):
        await run_command(session, "fork", "")
    await say(session, "hello")
    assert await run_command(session, "fork", "1") == Fork(1)
    for wrong in ("0", "-1", "x", "1 2", "²"):
        with pytest.raises(UsageError, match="/fork"):
            await run_command(session, "fork", wrong)


def test_what_is_left_is_counted() -> None:
    left = {number: left_words(Link(number)) for number in (0, 1, 3)}
    assert left == {
        0: "",
        1: "1 row waits for the server and is sent at the next start",
        3: "3 rows wait for the server and are sent at the next start",
    }


def test_who_holds_up_what_waits_and_what_is_stranded_is_told() -> None:
    who = "process 12 has been sending rows since 14:03 and is suspended: continue it (fg), or end it"
    held = Link(2, held=who)
    assert left_words(held) == f"2 rows cannot be sent to the server: {who}"
    assert left_words(replace(held, waiting=0)) == ""
    assert stranded_words(Link()) == ""
    assert "3 rows on this machine were meant for a database" in stranded_words(Link(stranded=3))
    assert "`ragforge db waiting`" in stranded_words(Link(stranded=3))
    assert [fact.name for fact in link_facts(replace(held, stranded=3))] == ["waiting", "held up", "stranded"]


def test_search_is_limited_while_the_server_is_away() -> None:
    link = Link(2, "it did not answer")
    assert "it did not answer" in limited_words(link)
    assert limited_words(replace(link, away="")) == ""


async def test_a_turn_that_another_machine_may_still_be_at_is_done_anew_from_its_words(
    session: Session, gemini: GeminiStandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = Calls(Call("list", {"path": "."}))
    gemini.script(read, Failure(400, "INVALID_ARGUMENT", "no"), Text("Done."))
    first = ended(await say(session, "do it"))

    async def reopen(turn_id: str) -> None:
        raise Conflict(f"The turn {turn_id} runs elsewhere.")  # as the graph says it

    monkeypatch.setattr(session.workspace.store.turns, "reopen", reopen)
    second = ended(await say_retry(session))
    assert (second.status, second.assistant) == (TurnStatus.FINISHED, "Done.")
    assert second.user == first.user
    assert second.id != first.id
