"""What is forgotten goes to no model: read off what the stand-in received."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from ragforge.commands.base import Tell, run_command
from ragforge.domain.memories import Memory, MemoryFilter
from ragforge.domain.search import HitKind, Query, what
from ragforge.domain.turns import Turn
from ragforge.memory.forgotten import MARK, read_forgotten
from ragforge.memory.recall.explain import marked
from ragforge.memory.recall.search import search
from ragforge.session.next_call import next_call
from ragforge.session.open import close_session, new_session, resume_session
from ragforge.session.state import Session
from tests.flow.beside import a_memory, beside, by_the_model, done
from tests.flow.recalling import summarised
from tests.flow.running import ended, environ, say
from tests.standins.gemini import Call, Calls, GeminiStandIn, Recorded, Text, Thought, Until

PORT = "The staging gateway listens on port 9443."
SAYS_IT = ("9443", "endpoint", "gateway listens")
"""Its value, and words of paraphrases."""


def said_to_models(requests: list[Recorded]) -> str:
    return json.dumps([request.body for request in requests])


async def only_memory(session: Session) -> Memory:
    [memory] = await session.workspace.store.memories.find(
        MemoryFilter(project_id=session.workspace.project.id)
    )
    return memory


async def told(session: Session, name: str, args: str) -> str:
    outcome = await run_command(session, name, args)
    assert isinstance(outcome, Tell)
    return outcome.text


@asynccontextmanager
async def port_forgotten(tmp_path: Path, gemini: GeminiStandIn) -> AsyncIterator[tuple[Session, list[Turn]]]:
    """A session whose two turns, their summaries and a file tell the port, which is forgotten now."""
    gemini.always_structured(by_the_model("Staging's endpoint is that one.", a_memory(PORT, "fact")))
    async with beside(tmp_path, environ(tmp_path, gemini)) as session:
        config = tmp_path / "project" / "gateway.toml"
        config.write_text("[staging]\nlisten = 9443\nname = 'cormorant'\n")
        gemini.script(
            Calls(Call("read", {"path": "gateway.toml"})),
            (
                Thought("The endpoint for staging moves to 9443."),
                Text("Noted. Staging's secure endpoint sits at 9443 from now on. Shall I go on?"),
            ),
        )
        first = ended(await say(session, f"{PORT} Do look at gateway.toml."))
        gemini.script(Text("The gateway is for staging, so 9443 stays. Then the tests pass."))
        second = ended(await say(session, "Now run the tests."))
        await done(session)
        levels = [each.id for each in await session.workspace.store.summaries.of_session(session.id)]
        await summarised(session, 2, levels, "Staging's secure endpoint was set to 9443. The tests pass.")
        memory = await only_memory(session)
        assert "stay in the history" in await told(session, "forget", memory.id[:8])
        yield session, [first, second]


async def test_nothing_that_is_sent_holds_what_was_forgotten(tmp_path: Path, gemini: GeminiStandIn) -> None:
    async with port_forgotten(tmp_path, gemini) as (session, _):
        sent = len(gemini.requests)
        gemini.script(
            Calls(
                Call("search_history", {"query": "which port has the gateway of staging?"}),
                Call("memory_recall", {"question": "Which port has the gateway of staging?"}),
            ),
            Calls(Call("search_memory", {"query": "port of the gateway in staging"})),
            Calls(Call("open_source", {"number": 1}), Call("open_source", {"number": 2})),
            Text("I do not know."),
            Text("I found nothing."),
        )
        await say(session, "Which port has the gateway of staging?")
        elsewhere = await new_session(session.workspace)
        gemini.script(Text("I do not know."))
        await say(elsewhere, "Which port has the gateway of staging, and do the tests pass?")
        await close_session(elsewhere)
        await done(session)
        requests = gemini.requests[sent:]
        assert any(request.schema is not None for request in requests), "the background asked as well"
        received = said_to_models(requests)
        assert not [words for words in SAYS_IT if words in received]
        assert MARK in received
        assert "tests pass" in received
        assert "cormorant" in received, "what else was read goes along"
        assert "9443" not in (await next_call(session, ())).raw_text


async def test_what_was_forgotten_stays_in_the_history_and_in_files(
    tmp_path: Path, gemini: GeminiStandIn
) -> None:
    async with port_forgotten(tmp_path, gemini) as (session, turns):
        store = session.workspace.store
        stored = await store.turns.get(turns[0].id)
        assert stored is not None
        assert "9443" in stored.assistant
        results = await search(session.workspace.recall, Query("9443"))
        forgotten = await read_forgotten(store, session.workspace.project.id)
        hits = {hit.turn_id: what(hit) for hit in marked(results, forgotten).hits if hit.kind is HitKind.TURN}
        assert all(hits[turn.id].endswith("partly forgotten") for turn in turns)
        sent = len(gemini.requests)
        gemini.script(Calls(Call("read", {"path": "gateway.toml"})), Text("It is there."))
        await say(session, "Read gateway.toml again.")
        assert "listen = 9443" in said_to_models(gemini.requests[sent:])


async def test_what_is_restored_is_sent_again_and_what_is_forgotten_in_a_turn_is_not(
    session: Session, gemini: GeminiStandIn
) -> None:
    gemini.script(Text("Noted: 9443."))
    await say(session, PORT)
    await run_command(session, "remember", PORT)
    memory = await only_memory(session)
    await told(session, "forget", memory.id)
    await session.workspace.store.sessions.rename(session.id, "gateway")
    resumed = (await resume_session(session.workspace, session.live.record, read_only=True)).session
    assert "9443" not in (await next_call(resumed, ())).raw_text
    assert PORT.rstrip(".") in await told(session, "forget", "--undo")
    gemini.script(Text("It is 9443."))
    await say(session, "Which port?")
    assert said_to_models(gemini.asked("streamGenerateContent")[-1:]).count("9443") >= 2

    # In the middle of a turn: the step after it no longer has it.
    go = asyncio.Event()
    gemini.script((Until(go), Calls(Call("glob", {"pattern": "*"}))), Text("Done."))
    running = asyncio.create_task(say(session, "Look around."))
    while not session.busy or len(gemini.asked("streamGenerateContent")) < 3:
        await asyncio.sleep(0.01)
    await told(session, "forget", memory.id)
    go.set()
    await running
    last = gemini.asked("streamGenerateContent")[-1]
    assert "functionResponse" in said_to_models([last])
    assert "9443" not in said_to_models([last])
