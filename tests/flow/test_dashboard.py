"""The dashboard tells what the store and the counts of this machine hold."""

from pathlib import Path

from msgspec.structs import replace

from ragforge.commands.base import Report, run_command
from ragforge.domain.ids import now
from ragforge.domain.memories import Memory, MemorySource, MemoryType, Strength, WishOrder
from ragforge.domain.metrics import CACHE_REQUESTS, CONSTRAINT_HITS, HINT_ANSWERS, HINTS, TALLY
from ragforge.memory.memories import new_memory, remember
from ragforge.session.dashboard import read_dashboard
from ragforge.session.state import Session
from tests.flow.beside import beside, done
from tests.flow.running import environ, say
from tests.standins.gemini import Finish, GeminiStandIn, Text, Tokens


async def keep(session: Session, text: str, type: MemoryType, topic: str = "", **facts: object) -> Memory:
    """What was said in this session."""
    library = session.workspace
    memory = new_memory(
        text, type, project_id=library.project.id, at=now(), source=MemorySource.USER, topic=topic
    )
    return await remember(library.store, replace(memory, session_id=session.id, **facts))


async def fill(session: Session) -> Memory:
    """Keep memories and counts, and return the rule among them."""
    library = session.workspace
    rule = await keep(session, "Never use pip", MemoryType.PREFERENCE, "tools", strength=Strength.MUST)
    await keep(session, "Answer briefly", MemoryType.PREFERENCE, "style", said=3)
    await keep(session, "Paint the kiosk", MemoryType.TODO)
    await keep(session, "The kiosk is blue", MemoryType.DECISION, "tools")
    forgotten = await keep(session, "Prefer tabs", MemoryType.PREFERENCE, "style")
    await library.store.memories.forget([forgotten.id], now())
    for held in (True, True, False):
        await library.store.memories.count_answers([rule.id], held=held)
    await library.store.memories.touch([rule.id], now())
    TALLY.take()
    await library.local.add_counts(
        {
            (HINTS.name, ("preference_reminder",), ""): 4,
            (HINT_ANSWERS.name, ("preference_reminder", "apply"), ""): 1,
            (HINT_ANSWERS.name, ("preference_reminder", "ignore"), ""): 2,
            (CONSTRAINT_HITS.name, ("declined",), ""): 2,
            (CONSTRAINT_HITS.name, ("refused",), ""): 1,
            (CONSTRAINT_HITS.name, ("allowed",), ""): 1,
        }
    )
    return rule


async def test_the_dashboard_is_right_when_counted_by_hand(tmp_path: Path, gemini: GeminiStandIn):
    TALLY.take()
    async with beside(tmp_path, environ(tmp_path, gemini, RAGFORGE_MEMORY_MODEL="local")) as session:
        for _ in range(2):
            gemini.script((Text("It is blue."), Finish(usage=Tokens(prompt=100, candidates=7))))
            await say(session, "Which colour is the kiosk in Exeter?")
            await done(session)
        library, rule = session.workspace, await fill(session)

        board = await read_dashboard(library, order=WishOrder.SAID, limit=20)
        assert board.wanted[0].content == "Answer briefly"
        assert {each.content for each in board.wanted} == {
            "Answer briefly",
            "Never use pip",
            "Paint the kiosk",
        }
        [pip] = [each for each in board.wanted if each.id == rule.id]
        assert (pip.held, pip.broken, pip.said) == (2, 1, 1)
        assert [(each.topic, each.memories, each.uses) for each in board.concepts] == [
            ("tools", 2, 1),
            ("style", 1, 0),
        ]
        [shown] = board.sessions
        spent = await library.store.usage.by_model(session_id=session.id)
        assert (shown.row.turns, shown.decided) == (2, ("The kiosk is blue",))
        assert shown.cost_usd == sum(each.cost_usd or 0 for each in spent) > 0
        figures = {each.name: (each.part, each.whole) for each in board.figures}
        counts = await library.local.counts()
        searches = [counts.get((CACHE_REQUESTS.name, (each,), ""), 0) for each in ("hit", "miss")]
        assert figures == {
            "hints taken": (1, 4),
            "cache hits": (searches[0], sum(searches)),
            "constraints held": (3, 4),
        }

        first = await run_command(session, "dashboard", "--limit 1")
        assert isinstance(first, Report)
        assert "Never use pip" in first.shown  # rules come first
        assert "Answer briefly" not in first.shown
        assert "constraints held: 75% (3 of 4)" in first.shown
