"""The model saves memories and asks what is remembered, against the stand-in."""

import asyncio
from datetime import datetime, timedelta
from typing import Any

from ragforge.commands.base import Tell, run_command
from ragforge.domain.events import ToolEnded, ToolOutput
from ragforge.domain.ids import now
from ragforge.domain.memories import (
    Association,
    AssociationKind,
    Memory,
    MemoryFilter,
    MemorySource,
    MemoryType,
)
from ragforge.domain.turns import CallStatus, ToolCall
from ragforge.domain.usage import Purpose
from ragforge.memory.memories import associate, new_memory, remember, why
from ragforge.session.memory_tools import recall_memory, save_memory
from ragforge.session.open import close_session, new_session
from ragforge.session.state import Session
from ragforge.session.turn import interrupt
from ragforge.store.base import keep_project
from ragforge.tools.base import ToSave
from tests.flow.recalling import LONG_AGO, said_before
from tests.flow.running import ended, of_type, say
from tests.standins.gemini import (
    Call,
    Calls,
    Finish,
    GeminiStandIn,
    Hang,
    RateLimited,
    ServerError,
    Text,
    Tokens,
)

MYSQL = "The shop keeps its orders in MySQL."
POSTGRES = "The shop keeps its orders in PostgreSQL."
SQLITE = "The shop keeps its orders in SQLite."
EVERYTHING = MemoryFilter(forgotten=True, replaced=True, abandoned=True)


async def save(session: Session, gemini: GeminiStandIn, **args: Any) -> ToolCall:
    """What came of the model's call."""
    gemini.script(Calls(Call("memory_save", args)), Text("Noted."))
    events = await say(session, "Remember that.")
    [call] = [event.call for event in of_type(events, ToolEnded)]
    return call


async def kept(session: Session) -> list[Memory]:
    found = await session.workspace.store.memories.find(EVERYTHING)
    return [memory for memory in found if memory.source is not MemorySource.BACKGROUND]


async def holding(session: Session) -> list[str]:
    """What may be put in front of the model."""
    found = await session.workspace.store.memories.find(MemoryFilter())
    return [memory.content for memory in found]


async def test_what_the_model_saves_rests_on_its_turn(session: Session, gemini: GeminiStandIn) -> None:
    call = await save(session, gemini, content=MYSQL, type="decision")
    assert call.status is CallStatus.OK
    [memory] = await kept(session)
    assert call.result.startswith(f"Saved: {memory.id[:8]} (decision, ")
    assert (memory.type, memory.content, memory.importance) == (MemoryType.DECISION, MYSQL, 0.8)
    assert (memory.source, memory.confidence) == (MemorySource.MODEL, 1.0)
    assert memory.turns == (call.turn_id,)
    assert memory.session_id == session.id

    again = await save(session, gemini, content=f"  {MYSQL.upper()} ", type="fact", source="concluded")
    assert "Already known" in again.result
    [memory] = await kept(session)
    assert memory.turns == (call.turn_id, again.turn_id)
    assert (memory.content, memory.type) == (MYSQL, MemoryType.DECISION)


async def test_facts_stored_with_the_runs_date(session: Session, gemini: GeminiStandIn) -> None:
    """What a turn of long ago says is as old as the turn, whenever it is saved."""
    gemini.script(Text("Yes."))
    turn = ended(await say(session, "We use MySQL."))
    while now() <= turn.started_at:  # the stores count milliseconds
        await asyncio.sleep(0)
    saved = await save_memory(session, ToSave(MYSQL, MemoryType.FACT))
    assert saved.memory.created_at == saved.memory.updated_at == turn.started_at


async def test_no_redaction(session: Session, gemini: GeminiStandIn) -> None:
    """A secret that the model wants to remember reaches neither the store nor the next request."""
    await save(session, gemini, content=f"The key is {gemini.key}, the other sk-{'k3Zq9A' * 5}.", type="fact")
    [memory] = await kept(session)
    assert memory.content == "The key is [redacted], the other [redacted]."
    assert not any(gemini.key in str(request.body) for request in gemini.requests)


async def test_a_changed_decision_is_told_and_replaces_the_old_one(
    session: Session, gemini: GeminiStandIn
) -> None:
    await save(session, gemini, content=MYSQL, type="decision")
    [old] = await kept(session)
    near = await save(session, gemini, content=POSTGRES, type="decision")
    assert "These are similar" in near.result
    assert f"{old.id[:8]} (decision" in near.result
    assert not (await kept(session))[0].replaced

    told = await save(session, gemini, content=POSTGRES, type="decision", updates=[old.id[:8]])
    assert f"It replaces {old.id[:8]}" in told.result
    by_words = {memory.content: memory.replaced for memory in await kept(session)}
    assert by_words == {MYSQL: True, POSTGRES: False}


async def test_a_decision_that_returns_holds_again(session: Session) -> None:
    standing: list[list[str]] = []
    for words, earlier in ((MYSQL, ""), (POSTGRES, MYSQL), (MYSQL, POSTGRES), (POSTGRES, MYSQL)):
        ids = [memory.id for memory in await kept(session) if memory.content == earlier]
        saved = await save_memory(session, ToSave(words, MemoryType.DECISION, updates=tuple(ids)))
        assert [old.id for old in saved.replaced] == ids
        standing.append(await holding(session))
    assert standing == [[MYSQL], [POSTGRES], [MYSQL], [POSTGRES]]
    # What holds no longer is not forgotten: it is found, and marked.
    assert {each.content: (each.replaced, each.forgotten_at) for each in await kept(session)} == {
        MYSQL: (True, None),
        POSTGRES: (False, None),
    }


async def test_a_decision_that_is_said_again_in_the_same_words_holds_again(session: Session) -> None:
    """Nobody says what it replaces: it is known from what had replaced it."""
    await save_memory(session, ToSave(MYSQL, MemoryType.DECISION), source=MemorySource.USER)
    [old] = await kept(session)
    await save_memory(session, ToSave(POSTGRES, MemoryType.DECISION, updates=(old.id,)))
    [held] = [memory for memory in await kept(session) if memory.content == POSTGRES]
    for source in (MemorySource.USER, MemorySource.MODEL):
        saved = await save_memory(session, ToSave(MYSQL, MemoryType.DECISION), source=source)
        assert (saved.was_known, [each.id for each in saved.replaced]) == (True, [held.id])
        assert await holding(session) == [MYSQL]
        links = await session.workspace.store.memories.associations([old.id])
        assert {(link.kind, link.from_id) for link in links} == {
            (AssociationKind.UPDATES, old.id),
            (AssociationKind.UPDATES, held.id),
        }
        [link] = (await why(session.workspace.store, saved.memory)).linked
        assert (link.kind, link.outgoing, link.other.id) == (AssociationKind.UPDATES, True, held.id)
        told = await run_command(session, "remember", f"decision: {POSTGRES}")
        assert isinstance(told, Tell)
        assert f"It replaces `{old.id[:8]}` `{MYSQL.removesuffix('.')}`." in told.text
        assert await holding(session) == [POSTGRES]


def a_finding(session: Session, words: str, at: datetime, **values: Any) -> Memory:
    return new_memory(
        words,
        values.pop("type", MemoryType.DECISION),
        project_id=session.workspace.project.id,
        at=at,
        source=MemorySource.BACKGROUND,
        **values,
    )


async def understood(session: Session, words: str, at: datetime, *, replaces: str = "") -> list[str]:
    """What holds after a turn of that time was understood so."""
    store = session.workspace.store
    memory = await remember(store, a_finding(session, words, at))
    if replaces:
        (old,) = [each for each in await store.memories.find(EVERYTHING) if each.content == replaces]
        await associate(store, [Association(AssociationKind.UPDATES, memory.id, old.id, at)])
    return await holding(session)


async def test_a_decision_that_returns_in_the_background_holds_again_unless_it_was_forgotten(
    session: Session,
) -> None:
    store = session.workspace.store
    await keep_project(store, session.workspace.project)
    minutes = [LONG_AGO + timedelta(minutes=number) for number in range(8)]
    assert await understood(session, MYSQL, minutes[0]) == [MYSQL]
    assert await understood(session, POSTGRES, minutes[1], replaces=MYSQL) == [POSTGRES]
    assert await understood(session, MYSQL, minutes[2], replaces=POSTGRES) == [MYSQL]
    # In the same words, without a hint of what it replaces.
    assert await understood(session, POSTGRES, minutes[3]) == [POSTGRES]
    # A turn that is understood once more, after a crash, changes nothing; nor does one that is filed late.
    assert await understood(session, MYSQL, minutes[2], replaces=POSTGRES) == [POSTGRES]
    assert await understood(session, MYSQL, minutes[0]) == [POSTGRES]
    assert await understood(session, SQLITE, minutes[4], replaces=POSTGRES) == [SQLITE]
    (gone,) = [each for each in await store.memories.find(EVERYTHING) if each.content == SQLITE]
    await store.memories.forget([gone.id], now())
    assert await understood(session, SQLITE, minutes[5], replaces=POSTGRES) == [POSTGRES]


async def test_there_and_back_in_one_turn_ends_where_it_ended(session: Session) -> None:
    await keep_project(session.workspace.store, session.workspace.project)
    await understood(session, MYSQL, LONG_AGO)
    at = LONG_AGO + timedelta(minutes=1)
    for _ in range(2):  # once more, as after a crash
        await understood(session, POSTGRES, at, replaces=MYSQL)
        assert await understood(session, MYSQL, at, replaces=POSTGRES) == [MYSQL]


async def test_what_was_only_found_out_does_not_come_back_by_being_read_again(session: Session) -> None:
    """A file of old may say it still; and a doubtful finding replaces nothing."""
    store = session.workspace.store
    await keep_project(store, session.workspace.project)
    for old, new, type, sure in (
        ("The server listens on 80.", "The server listens on 81.", MemoryType.FACT, 1.0),
        ("We ship on Monday.", "We ship on Friday.", MemoryType.DECISION, 0.4),
    ):
        first = await remember(store, a_finding(session, old, LONG_AGO, type=type))
        second = a_finding(session, new, LONG_AGO + timedelta(minutes=1), type=type)
        await remember(store, second, updates=[first.id])
        again = a_finding(session, old, LONG_AGO + timedelta(minutes=2), type=type, confidence=sure)
        assert (await remember(store, again)).replaced
        assert new in await holding(session)


async def test_what_the_user_had_forgotten_stays_forgotten(session: Session, gemini: GeminiStandIn) -> None:
    await save(session, gemini, content=MYSQL, type="decision")
    [memory] = await kept(session)
    await session.workspace.store.memories.forget([memory.id], memory.updated_at)
    told = await save(session, gemini, content=MYSQL, type="decision")
    assert "stays forgotten" in told.result
    assert (await kept(session))[0].forgotten_at
    saved = await save_memory(session, ToSave(MYSQL, MemoryType.FACT), source=MemorySource.USER)
    assert saved.memory.forgotten_at is None


async def test_what_cannot_be_saved_is_said_and_nothing_is_kept(
    session: Session, gemini: GeminiStandIn
) -> None:
    for args, words in (
        ({"content": " . ", "type": "fact"}, "needs a text"),
        ({"content": "x" * 2001, "type": "fact"}, "2000"),
        ({"content": "x", "type": "opinion"}, "opinion"),
        ({"content": "x", "type": "fact", "importance": 7}, "importance"),
        ({"content": "x", "type": "fact", "updates": ["ffffffff"]}, "no memory 'ffffffff'"),
        ({"content": "x", "type": "fact", "updates": ["ab"]}, "too short"),
        ({"content": "x", "type": "fact", "updates": ["ffffffff"] * 11}, "at most 10"),
    ):
        call = await save(session, gemini, **args)
        assert call.status is CallStatus.FAILED
        assert words in call.result, args
    assert await kept(session) == []


async def filled(session: Session) -> Memory:
    workspace = session.workspace
    await keep_project(workspace.store, workspace.project)
    memory = new_memory(
        MYSQL,
        MemoryType.DECISION,
        project_id=workspace.project.id,
        at=workspace.project.created_at,
        source=MemorySource.USER,
    )
    return await remember(workspace.store, memory)


async def test_the_conversation_sees_only_the_answer_of_a_look_up(
    session: Session, gemini: GeminiStandIn
) -> None:
    memory = await filled(session)
    used = Finish(usage=Tokens(prompt=500, candidates=20))
    gemini.script(
        Calls(Call("memory_recall", {"question": "Which database holds the orders?"})),
        (Calls(Call("search_memory", {"query": "orders MySQL database"})), used),
        (Text("The orders lie in MySQL [1]."), used),
        Text("In MySQL."),
    )
    events = await say(session, "Where are the orders?")
    [call] = [event.call for event in of_type(events, ToolEnded)]
    assert call.result.startswith("The orders lie in MySQL [1].")
    assert f"[1] memory {memory.id[:8]}, decision" in call.result
    assert "searching: orders" in "".join(event.text for event in of_type(events, ToolOutput))

    asked = gemini.asked("streamGenerateContent")
    assert len(asked) == 4
    assert MYSQL in str(asked[2].body), "the sub-conversation is given what was found"
    assert "search_memory" not in str(asked[3].body), "and the conversation is not"
    assert "The orders lie in MySQL [1]." in str(asked[3].body)
    stored = await session.workspace.store.turns.steps([call.turn_id])
    assert "search_memory" not in str(stored)

    rows = await session.workspace.store.usage.by_model(session_id=session.id)
    [spent] = [row for row in rows if row.purpose is Purpose.RECALL]
    assert (spent.calls, spent.usage.input_tokens, spent.model) == (2, 1000, "gemini:gemini-3.8-flash")
    assert spent.cost_usd
    turn = ended(events)
    [chat] = [row for row in rows if row.purpose is Purpose.CHAT]
    assert (chat.calls, chat.usage, chat.cost_usd) == (2, turn.usage, turn.cost_usd)


async def test_a_look_up_that_goes_on_and_on_ends_with_the_best_finds(
    session: Session, gemini: GeminiStandIn
) -> None:
    await filled(session)
    gemini.script(*(Calls(Call("search_memory", {"query": f"orders {n}"})) for n in range(9)))
    text = await recall_memory(session, "Which database holds the orders?", lambda _: None)
    assert len(gemini.asked("streamGenerateContent")) == 4
    assert "last search" in str(gemini.asked("streamGenerateContent")[-1].body)
    assert MYSQL in text


async def test_a_look_up_whose_model_fails_answers_by_search(session: Session, gemini: GeminiStandIn) -> None:
    await filled(session)
    gemini.script(ServerError(400, "INVALID_ARGUMENT", "no"))
    text = await recall_memory(session, "Where do the orders lie, MySQL?", lambda _: None)
    assert "failed" in text
    assert MYSQL in text


async def test_a_look_up_finds_nothing_of_what_was_undone(session: Session, gemini: GeminiStandIn) -> None:
    stands, _ = await said_before(session, [("The oak plan?", "Oak."), ("The walnut plan?", "Walnut.")])
    await session.workspace.store.sessions.set_head(session.id, stands.id)
    gemini.script(ServerError(400, "INVALID_ARGUMENT", "no"))
    other = await new_session(session.workspace)
    text = await recall_memory(other, "Which plan, oak or walnut?", lambda _: None)
    await close_session(other)
    assert "oak plan" in text
    assert "walnut plan" not in text


async def test_broken_calls_of_a_look_up_are_answered(session: Session, gemini: GeminiStandIn) -> None:
    await filled(session)
    gemini.script(
        Calls(
            Call("search_memory", {"query": " "}),
            Call("open_source", {"number": 7}),
            Call("delete_all", {}),
            Call("search_memory", {"query": "orders"}),
            Call("search_memory", {"query": "too many"}),
        ),
        Calls(Call("open_source", {"number": 1})),
        Text("In MySQL [1] [99]."),
    )
    text = await recall_memory(session, "Where?", lambda _: None)
    _, first, second = gemini.asked("streamGenerateContent")
    said = str(first.body)
    for words in ("with a `query`", "from 1 to 0", "too many", "Too many calls at once"):
        assert words in said
    assert "no turn behind this source" in str(second.body)
    assert "[1] memory" in text
    assert "\n[99]" not in text


async def test_a_look_up_ends_with_its_turn(session: Session, gemini: GeminiStandIn) -> None:
    await filled(session)
    gemini.script(Calls(Call("memory_recall", {"question": "Which database?"})), Hang())
    running = asyncio.create_task(say(session, "Where are the orders?"))
    await gemini.wait_for_requests(2, action="streamGenerateContent")
    await interrupt(session)
    events = await running
    [call] = [event.call for event in of_type(events, ToolEnded)]
    assert call.status is CallStatus.INTERRUPTED


async def test_the_days_money_ends_look_ups_by_a_model(session: Session, gemini: GeminiStandIn) -> None:
    await filled(session)
    gemini.script(
        (Text("MySQL."), Finish(usage=Tokens(prompt=900_000, candidates=900_000))), RateLimited(None)
    )
    assert "MySQL." in await recall_memory(session, "Which database?", lambda _: None)
    text = await recall_memory(session, "Where do the orders lie, MySQL?", lambda _: None)
    assert MYSQL in text
    assert len(gemini.asked("streamGenerateContent")) == 1
