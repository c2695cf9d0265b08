"""The order of what may meet: words and the queue, reads and a write of one answer, costs and calls."""

import resource
from contextlib import aclosing
from pathlib import Path

import pytest

from ragforge.agent.parts import TurnLimits
from ragforge.domain.errors import StoreUnavailable
from ragforge.domain.messages import TextPart
from ragforge.domain.turns import TurnStatus
from ragforge.session import queue, turn
from ragforge.session.open import close_session, resume_session
from ragforge.session.state import Session
from tests.flow.running import User, ended, say
from tests.standins.gemini import Call, Calls, Finish, GeminiStandIn, Text, Tokens

LISTS = Calls(Call("list", {"path": "."}))


async def test_a_queued_message_waits_until_its_words_are_stored(
    session: Session, gemini: GeminiStandIn
) -> None:
    gemini.script(Text("Hello."))
    await say(session, "hello")
    words = (TextPart("and then " + "w" * 200_000),)
    await queue.enqueue(session, words)
    log = Path(session.workspace.data_dir, "ragforge.db-wal")
    unlimited = resource.getrlimit(resource.RLIMIT_FSIZE)
    # The disk takes no more of the conversation than it has.
    resource.setrlimit(resource.RLIMIT_FSIZE, (log.stat().st_size, unlimited[1]))
    try:
        with pytest.raises(StoreUnavailable):
            await turn._begin_queued(session)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, unlimited)
    assert session.live.queue == [words]
    assert await session.workspace.local.prompts.queue(session.id) == [words]


async def test_words_that_were_stored_before_they_left_the_queue_are_there_once(
    session: Session, gemini: GeminiStandIn
) -> None:
    gemini.script(Text("Hello."), Text("There."))
    first, words = ended(await say(session, "hello")), (TextPart("and then"),)
    await queue.enqueue(session, words)
    await turn._begin(session, words)  # and here the process dies
    await close_session(session)
    resumed = await resume_session(session.workspace, session.live.record)
    assert (resumed.draft, resumed.session.live.queue) == ("", [words])
    async with aclosing(turn.submit_queue(resumed.session, User().approve)) as events:
        last = ended([event async for event in events])
    assert (last.parent, last.user) == (first.id, words)
    assert await session.workspace.local.prompts.queue(session.id) == []
    await close_session(resumed.session)


async def test_a_write_waits_for_the_reads_before_it_in_the_same_answer(
    session: Session, gemini: GeminiStandIn
) -> None:
    file = session.cwd / "a.txt"
    file.write_text("the old words\n")
    # The search begins a process; the write would be done long before it, and the second search sees it.
    search = Call("grep", {"pattern": "the .* words"})
    written = Call("write", {"path": "a.txt", "content": "the new words\n"})
    gemini.script(Calls(Call("read", {"path": "a.txt"})), Calls(search, written, search), Text("Done."))
    await say(session, "change it")
    assert session.live.record.head
    calls = await session.workspace.store.calls.of_turns([session.live.record.head])
    found = [call.result for call in calls if call.name == "grep"]
    assert ["the old words" in found[0], "the new words" in found[1]] == [True, True]
    assert file.read_text() == "the new words\n"


@pytest.mark.parametrize("share", [0.999, 1.0])
async def test_a_price_limit_that_is_reached_exactly_stops(
    session: Session, gemini: GeminiStandIn, share: float
) -> None:
    """Two calls cost the limit, or a little less: then there is a third."""
    usage = Finish(usage=Tokens(prompt=10_000, candidates=1))
    gemini.script((LISTS, usage))
    first = ended(await say(session, "go", limits=TurnLimits(price_usd_max=1e-9)))
    assert first.status is TurnStatus.STOPPED
    gemini.script((LISTS, usage), (LISTS, usage), (Text("done"), usage))
    second = ended(await say(session, "go", limits=TurnLimits(price_usd_max=2 * first.cost_usd / share)))
    assert second.status is (TurnStatus.STOPPED if share == 1.0 else TurnStatus.FINISHED)
