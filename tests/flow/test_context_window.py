"""What goes word for word, and what stands in for the turns that no longer do."""

import json
from itertools import pairwise
from pathlib import Path

from ragforge.agent.parts import TurnLimits
from ragforge.domain.events import ContextBuilt, Notice, TurnEnded
from ragforge.domain.memories import MemorySource
from ragforge.domain.search import HitKind
from ragforge.domain.turns import TurnStatus
from ragforge.memory.block import CLOSING, OPENING
from ragforge.memory.recall.sources import summaries
from ragforge.memory.recall.sources import turns as past_turns
from ragforge.session.open import close_session, new_session, resume_session
from ragforge.session.state import Session
from tests.flow.recalling import (
    block_of,
    built,
    chats,
    remembered,
    said_before,
    summarised,
    texts,
)
from tests.flow.running import ended, environ, of_type, opened, say
from tests.standins.gemini import Call, Calls, GeminiStandIn, Text


async def test_a_decision_made_forty_turns_ago_changes_the_request_of_turn_41(
    tmp_path: Path, gemini: GeminiStandIn
) -> None:
    flags = {"context.raw_tokens_high": 1_500, "context.raw_tokens_low": 1_000}
    async with opened(tmp_path, environ(tmp_path, gemini), flags=flags) as session:
        words = [("We store money as integer cents, never as floats.", "Agreed: integer cents.")]
        words += [(f"Rename thing {n} please. " + "Lorem ipsum. " * 10, f"Renamed {n}.") for n in range(39)]
        turns = await said_before(session, words)
        first = await summarised(
            session, 1, [turns[0].id], "Decided to store money as integer cents, not floats."
        )
        children = [first.id]
        for turn in turns[1:12]:
            one = await summarised(session, 1, [turn.id], f"Renamed thing {turn.index}.")
            children.append(one.id)
        await summarised(
            session, 2, children, "Money is stored as integer cents; things were renamed.", turn_count=12
        )
        record = session.live.record
        await close_session(session)
        again = (await resume_session(session.workspace, record)).session
        gemini.script(Text("Integer cents."))
        events = await say(again, "How do we store money?")
        await close_session(again)
        contents = chats(gemini)[-1]
        raw = json.dumps([content for content in contents if not block_of([content])])
        assert "integer cents" not in raw
        assert "integer cents" in block_of(contents)
        items = built(events).block.items
        assert [item.section for item in items] == [past_turns.SECTION.heading]


async def test_level_1_summaries_stand_in_for_turns_that_went(tmp_path: Path, gemini: GeminiStandIn) -> None:
    flags = {"context.raw_tokens_high": 1_100, "context.raw_tokens_low": 1_000}
    async with opened(tmp_path, environ(tmp_path, gemini), flags=flags) as session:
        turns = await said_before(session, [(f"Step {n}. " + "Lorem. " * 60, "Done.") for n in range(12)])
        ones = [await summarised(session, 1, [turn.id], f"Did step {turn.index}.") for turn in turns]
        await summarised(session, 2, [one.id for one in ones[:4]], "Did the first steps.", turn_count=4)
        record = session.live.record
        await close_session(session)
        again = (await resume_session(session.workspace, record)).session
        raw = again.live.view.window.turn_ids
        gemini.script(Text("Yes."))
        items = built(await say(again, "Where are we?")).block.items
        await close_session(again)
        shown = {item.turn_id for item in items if item.section == summaries.NEWEST.heading}
        # Neither those that a level 2 summary stands for nor those that are sent word for word.
        assert shown
        assert shown <= {turn.id for turn in turns[4:]} - set(raw)


async def test_memory_reinjected_each_turn_until_compaction_loops(
    session: Session, gemini: GeminiStandIn
) -> None:
    await remembered(session, "Use PostgreSQL for the persistence layer.")
    gemini.script(*[Text(f"Answer {n}.") for n in range(5)])
    sizes = []
    for number in range(5):
        await say(session, f"Which database, {number}?")
        sizes.append(session.live.view.window.tokens)
        contents = chats(gemini)[-1]
        # One block in the request, before the newest words; none of an earlier turn.
        assert json.dumps(contents).count(CLOSING) == 1
        assert texts(contents[-1])[0].startswith(OPENING)
    grown = {after - before for before, after in pairwise(sizes)}
    assert len(grown) == 1
    store = session.workspace.store
    kept = await store.turns.path(session.live.record.head)
    assert not any(OPENING in str(turn) for turn in kept)
    assert not any(CLOSING in str(step) for step in await store.turns.steps([turn.id for turn in kept]))


async def test_what_stands_in_the_raw_messages_is_not_said_again(
    session: Session, gemini: GeminiStandIn
) -> None:
    gemini.script(Text("Noted: tabs."), Text("Tabs."), Text("Tabs."))
    turn = ended(await say(session, "We indent with tabs."))
    await remembered(session, "Indent with tabs.", turns=[turn.id], source=MemorySource.MODEL)
    await summarised(session, 1, [turn.id], "Tabs are used to indent.")
    events = await say(session, "How do we indent? With tabs?")
    assert not of_type(events, ContextBuilt)
    assert block_of(chats(gemini)[-1]) == ""
    # Another session carries none of it, so there it is said.
    other = await new_session(session.workspace)
    items = built(await say(other, "How do we indent? With tabs?")).block.items
    await close_session(other)
    # The turn, its summary and the memory of it say the same: one line.
    assert [item.kind for item in items] == [HitKind.TURN]


async def test_the_prefix_is_unchanged_between_turns_except_where_the_window_drops(
    tmp_path: Path, gemini: GeminiStandIn
) -> None:
    flags = {"context.raw_tokens_high": 4_000, "context.raw_tokens_low": 2_000}
    async with opened(tmp_path, environ(tmp_path, gemini), flags=flags) as session:
        await remembered(session, "Use PostgreSQL for the persistence layer.")
        (session.cwd / "a.txt").write_text("line of a file\n" * 100)
        changes, drops = 0, 0
        before: list[object] = []
        for number in range(12):
            gemini.script(
                Calls(Call("read", {"path": "a.txt", "offset": number + 1})), Text(f"Read {number}.")
            )
            events = await say(session, f"Message {number}")
            drops += len([event for event in of_type(events, Notice) if "Compacted" in event.text])
            request = chats(gemini)[-2]
            # Up to the newest message, the request before is the beginning of this one.
            assert texts(request[-1])[-1] == f"Message {number}"
            # What an earlier request carried before its own newest message.
            changes += request[: len(before)] != before
            before = request[:-1]
        assert changes == drops
        assert 1 <= drops <= 6
        record = session.live.record
        sent = session.live.view.window.messages
        await close_session(session)
        again = (await resume_session(session.workspace, record)).session
        assert again.live.view.window.messages == sent
        await close_session(again)


async def test_old_results_become_references_that_open_also_inside_one_turn(
    tmp_path: Path, gemini: GeminiStandIn
) -> None:
    flags = {"context.raw_tokens_high": 4_000, "context.raw_tokens_low": 1_500}
    async with opened(tmp_path, environ(tmp_path, gemini), flags=flags) as session:
        (session.cwd / "a.txt").write_text("first words\n" + "line of a file\n" * 300)

        def open_it(request) -> object:
            sent = json.dumps(request.body["contents"])
            reference = sent.split("read_result opens it: reference=")[1][:36]
            return Calls(Call("read_result", {"reference": reference, "limit": 2}))

        reads = [Calls(Call("read", {"path": "a.txt", "offset": n + 1})) for n in range(3)]
        gemini.script(*reads, open_it, Text("Done."))
        events = await say(session, "Read it.", limits=TurnLimits(steps_max=50))
        assert isinstance(events[-1], TurnEnded)
        assert ended(events).status is TurnStatus.FINISHED
        assert any("Compacted" in event.text for event in of_type(events, Notice))
        last = json.dumps(chats(gemini)[-1])
        assert "left out to save room" in last
        results = [
            part["functionResponse"]
            for content in chats(gemini)[-1]
            for part in content["parts"]
            if "functionResponse" in part
        ]
        assert "first words" in json.dumps(results[-1])
        stored = await session.workspace.store.calls.of_turns([ended(events).id])
        assert len(stored[0].result) > 4_000


async def test_recent_messages_ordered_ascending_gave_the_oldest(
    tmp_path: Path, gemini: GeminiStandIn
) -> None:
    flags = {"context.profile": "lean", "memory.raw_chars_max": 100}
    async with opened(tmp_path, environ(tmp_path, gemini), flags=flags) as session:
        gemini.script(*[Text(f"Answer {n}.") for n in range(9)])
        for number in range(9):
            await say(session, f"Message {number}. " + "x" * 90)
        sent = [texts(content)[-1] for content in chats(gemini)[-1] if content["role"] == "user"]
        assert [text.split(".")[0] for text in sent] == [f"Message {n}" for n in (5, 6, 7, 8)]


async def test_one_large_newest_turn_left_zero_recent_turns(tmp_path: Path, gemini: GeminiStandIn) -> None:
    flags = {"context.raw_tokens_high": 2_000, "context.raw_tokens_low": 1_000}
    async with opened(tmp_path, environ(tmp_path, gemini), flags=flags) as session:
        gemini.script(*[Text(f"Answer {n}.") for n in range(5)])
        for number in range(4):
            await say(session, f"Message {number}.")
        await say(session, "Message 4. " + "large " * 4_000)
        sent = [texts(content)[-1] for content in chats(gemini)[-1] if content["role"] == "user"]
        assert [text.split(".")[0] for text in sent] == [f"Message {n}" for n in (1, 2, 3, 4)]
