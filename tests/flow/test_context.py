"""What stands in front of a message, as the model is sent it."""

from contextlib import aclosing

from ragforge.domain.events import ContextBuilt
from ragforge.domain.memories import Association, AssociationKind, MemoryType
from ragforge.domain.messages import TextPart
from ragforge.domain.turns import TurnStatus
from ragforge.memory.context import text_tokens
from ragforge.memory.recall.source import find_sources, sections_of
from ragforge.memory.recall.sources import instructions, memories
from ragforge.memory.recall.sources import turns as past_turns
from ragforge.session import queue
from ragforge.session.conversation import Conversation
from ragforge.session.open import close_session, new_session
from ragforge.session.state import Session
from ragforge.session.turn import submit
from tests.flow.recalling import (
    block_of,
    built,
    chats,
    hours_ago,
    remembered,
    said_before,
    summarised,
    texts,
)
from tests.flow.running import User, ended, of_type, say, say_retry
from tests.standins.gemini import Call, Calls, Failure, GeminiStandIn, Signature, Text


async def test_the_agent_never_received_the_enriched_context(session: Session, gemini: GeminiStandIn) -> None:
    await remembered(session, "Use PostgreSQL for the persistence layer.")
    gemini.script(Text("PostgreSQL."))
    block = built(await say(session, "Which database do we use?")).block
    (contents,) = chats(gemini)
    recalled, words = texts(contents[-1])
    assert recalled == block.text
    assert "- 2026-03-04: [decision] Use PostgreSQL for the persistence layer." in recalled
    assert words == "Which database do we use?"
    assert (block.took_ms > 0, block.limited) == (True, "")


async def test_a_question_that_was_found_comes_with_what_was_answered(
    session: Session, gemini: GeminiStandIn
) -> None:
    """What is found of a turn is often its question alone, which tells nobody what was decided."""
    (turn, other) = await said_before(
        session,
        [
            (
                "Why does the nightly import take two hours?",
                "One transaction a row: import_rows commits inside.",
            ),
            ("Which tests touch the nightly import of taxes?", "Three of them, by way of the fixture."),
        ],
    )
    await summarised(session, 1, [other.id], "Three tests touch the import of taxes.")
    fresh = await new_session(session.workspace)
    gemini.script(Text("It committed each row."))
    items = built(await say(fresh, "What was wrong with the nightly import?")).block.items
    told = {item.turn_id: item.text for item in items}
    assert told[turn.id] == (
        "Why does the nightly import take two hours? -> One transaction a row: import_rows commits inside."
    )
    assert told[other.id].endswith("Three tests touch the import of taxes.")
    assert "What was wrong" not in told[turn.id]


async def test_postgresql_yesterday(session: Session, gemini: GeminiStandIn) -> None:
    """Another session decided it; what was decided and what is preferred come along, and no more."""
    await remembered(session, "The person's name is Nadia.", MemoryType.IDENTITY, at=hours_ago(30))
    await remembered(session, "Use PostgreSQL for the persistence layer.", at=hours_ago(30))
    await remembered(
        session, "PostgreSQL is preferred to MySQL for JSON.", MemoryType.PREFERENCE, at=hours_ago(30)
    )
    gemini.script(Text("Yes."))
    block = built(await say(session, "Do you remember what we said yesterday about PostgreSQL?")).block
    day = f"{hours_ago(30).day} {hours_ago(30):%b}"
    assert {(item.section, item.text, item.reason) for item in block.items} == {
        (
            instructions.SECTION.heading,
            "PostgreSQL is preferred to MySQL for JSON.",
            f"you prefer this, said on {day}",
        ),
        (
            memories.SECTION.heading,
            "[decision] Use PostgreSQL for the persistence layer.",
            f"you decided this on {day}",
        ),
    }


async def test_system_message_skipped(session: Session, gemini: GeminiStandIn) -> None:
    """Results, reminders and notices are no messages of the user: one block a turn, however many steps."""
    await remembered(session, "The file a.txt is the input.", MemoryType.FACT)
    (session.cwd / "a.txt").write_text("x")
    same = Calls(Call("read", {"path": "a.txt"}))
    gemini.script(same, same, same, Text("Done."))  # the third is reminded that it repeats itself
    events = await say(session, "Look at a.txt.")
    assert len(of_type(events, ContextBuilt)) == 1
    requests = chats(gemini)
    assert len(requests) == 4
    assert len({block_of(contents) for contents in requests}) == 1
    assert all(texts(contents[0])[0] == block_of(contents) for contents in requests)
    assert not any(texts(content) for contents in requests for content in contents[1:])


async def test_three_quick_messages_are_one_and_meet_the_old_decision(
    session: Session, gemini: GeminiStandIn
) -> None:
    old = await remembered(session, "Use PostgreSQL for the persistence layer.")
    gemini.script(Calls(Call("glob", {"pattern": "*"})), Text("MySQL, then."))
    quick = ("Actually", "I changed my mind", "we will use MySQL instead of PostgreSQL")
    events = []
    async with aclosing(submit(session, (TextPart("Which database?"),), User().approve)) as stream:
        async for event in stream:
            events.append(event)
            if isinstance(event, ContextBuilt) and len(of_type(events, ContextBuilt)) == 1:
                for words in quick:
                    await queue.enqueue(session, (TextPart(words),))
    first, second = of_type(events, ContextBuilt)
    assert first.turn_id != second.turn_id
    contents = chats(gemini)[-1]
    assert texts(contents[-1]) == [second.block.text, *quick]
    found = next(item for item in second.block.items if item.id == old.id)
    assert found.reason.startswith("you decided this on ")
    # The new decision replaces the old one, which is found but no longer put in front.
    new = await remembered(session, "Use MySQL for the persistence layer.", at=hours_ago(1))
    await session.workspace.store.memories.associate(
        [Association(AssociationKind.UPDATES, new.id, old.id, new.updated_at)]
    )
    gemini.script(Text("MySQL."))
    block = built(await say(session, "Which database?")).block
    ids = {item.id for item in block.items}
    assert new.id in ids
    assert old.id not in ids


async def test_hits_without_total_budget_and_deduplication(session: Session, gemini: GeminiStandIn) -> None:
    for number in range(40):
        await remembered(session, f"Rule {number} about the database: " + f"clause {number} " * 60)
    turns = await said_before(
        session, [(f"Database question {n} " + "words " * 200, f"Database answer {n}.") for n in range(30)]
    )
    for turn in turns[:20]:
        await summarised(session, 1, [turn.id], f"Talked of the database, part {turn.index}. " * 10)
    other = await new_session(session.workspace)
    gemini.script(Text("Yes."))
    block = built(await say(other, "What about the database?")).block
    await close_session(other)
    assert text_tokens(block.text) == block.tokens <= 1_500
    assert len({(item.kind, item.id) for item in block.items}) == len(block.items)
    assert {item.section for item in block.items} == {past_turns.SECTION.heading, memories.SECTION.heading}
    headings = [line[3:] for line in block.text.splitlines() if line.startswith("## ")]
    assert headings == [each.heading for each in sections_of(find_sources()) if each.heading in headings]
    # A turn and its own summary are one line.
    shown = [item.turn_id for item in block.items if item.section == past_turns.SECTION.heading]
    assert len(set(shown)) == len(shown)


async def test_of_two_that_mean_the_same_the_newer_stays(session: Session, gemini: GeminiStandIn) -> None:
    older = await remembered(session, "The service listens on port 8080 in production.", at=hours_ago(3))
    newer = await remembered(session, "The service listens on port 9090 in production.", at=hours_ago(2))
    gemini.script(Text("9090."))
    ids = {
        item.id for item in built(await say(session, "On which port does the service listen?")).block.items
    }
    assert newer.id in ids
    assert older.id not in ids


async def test_what_was_recalled_can_be_seen_after_a_resume_and_was_counted(
    session: Session, gemini: GeminiStandIn
) -> None:
    memory = await remembered(session, "Use PostgreSQL for the persistence layer.")
    gemini.script(Text("PostgreSQL."))
    event = built(await say(session, "Which database?"))
    assert await Conversation(session.workspace, session).recalled(event.turn_id) == event.block
    assert await session.workspace.local.recalls.block("another") is None
    (kept,) = await session.workspace.store.memories.get([memory.id])
    assert kept.access_count == 1
    await session.workspace.local.recalls.forget(session.id)
    assert await session.workspace.local.recalls.block(event.turn_id) is None


async def test_retry_recalls_anew_and_its_steps_keep_their_signatures(
    session: Session, gemini: GeminiStandIn
) -> None:
    (session.cwd / "a.txt").write_text("x")
    first = await remembered(session, "The file a.txt is the input.")
    gemini.script((Signature("c2lnbmVk"), Calls(Call("read", {"path": "a.txt"}))), Failure(400, "no", "BAD"))
    assert ended(await say(session, "Look at a.txt.")).status is TurnStatus.FAILED
    second = await remembered(session, "Dates in a.txt are written the French way.")
    gemini.script(Text("Done."))
    events = await say_retry(session)
    assert ended(events).status is TurnStatus.FINISHED
    assert {first.id, second.id} <= {item.id for item in built(events).block.items}
    before, _, after = chats(gemini)
    assert after[1] == chats(gemini)[1][1]
    assert texts(before[0])[-1] == texts(after[0])[-1]
