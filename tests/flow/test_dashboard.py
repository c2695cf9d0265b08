"""The dashboard tells what the store and the counts of this machine hold."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from msgspec.structs import replace

from ragforge.commands.base import Open, Report, find_verb, run_command
from ragforge.commands.dashboard import DashboardArguments
from ragforge.domain.ids import now
from ragforge.domain.memories import Memory, MemorySource, MemoryType, Strength, WishOrder
from ragforge.domain.metrics import CACHE_REQUESTS, TALLY
from ragforge.domain.turns import Turn
from ragforge.memory.memories import new_memory, remember
from ragforge.session.dashboard import WISHES_MAX, read_dashboard
from ragforge.session.open import close_session, new_session
from ragforge.session.state import Session
from ragforge.store.base import keep_project
from tests.flow.beside import all_embedded, beside, done, until
from tests.flow.running import environ, say
from tests.patience import RECALL, patience
from tests.standins.gemini import Finish, GeminiStandIn, Text, Tokens

LONG_AGO = datetime(2025, 11, 3, 12, tzinfo=UTC)


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
    for preference in (rule.id, rule.id, forgotten.id, "another"):
        project = "elsewhere" if preference == "another" else library.project.id
        await library.local.hints.set_offered([preference], session_id="", at=now(), project_id=project)
    await library.local.hints.set_offered([rule.id], session_id="", at=now(), project_id=library.project.id)
    await library.local.hints.add_taken(rule.id)
    await library.local.hints.add_taken("another")
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
        figures = {each.name: (each.part, each.whole) for each in board.numbers.figures}
        counts = await library.local.counts.read()
        searches = [counts.get((CACHE_REQUESTS.name, (each,), ""), 0) for each in ("hit", "miss")]
        assert figures == {
            "recall rate": (0, 0),  # all of it was in the window
            "extraction precision": (0, 0),
            "hints taken": (1, 4),
            "cache hits": (searches[0], sum(searches)),
            "constraints held": (2, 3),
        }
        assert board.numbers.chat.usd == sum(each.cost_usd or 0 for each in spent)

        await report_and_screen(session)
        await rank_all(session, rule)


async def rank_all(session: Session, rule: Memory) -> None:
    """The rule with most hits leads, however many are newer than it."""
    library = session.workspace
    for number in range(WISHES_MAX):
        await library.store.memories.save(
            new_memory(
                f"Never paint kiosk {number}.",
                MemoryType.PREFERENCE,
                project_id=library.project.id,
                at=now(),
                source=MemorySource.USER,
            )
        )
    newest = await read_dashboard(library, order=WishOrder.KIND, limit=1_000)
    ranked = await read_dashboard(library, order=WishOrder.HELD, limit=1)
    assert rule.id not in {each.id for each in newest.wanted}
    assert [each.id for each in ranked.wanted] == [rule.id]


async def report_and_screen(session: Session) -> None:
    report = await run_command(session, "dashboard", "--sort held")
    assert report == Open("dashboard", "held")
    shell = find_verb("dashboard").shell
    told = await shell(session.workspace, DashboardArguments(limit=1))
    assert isinstance(told, Report)
    assert "Never use pip" in told.shown  # rules come first
    assert "Answer briefly" not in told.shown
    assert "constraints held: 67% (2 of 3)" in told.shown


RAMP = "The valve ramp of the Exeter kiosk is limited to 4417 steps"


async def test_a_turn_counts_as_recalled_well_when_quoted_cited_or_opened(
    tmp_path: Path, gemini: GeminiStandIn
):
    """Counted by hand: of five turns with a block two are quoted, one is cited, one is opened."""
    asked = "How is the valve ramp of the kiosk limited?"
    answers = (
        "It is limited to 4417 steps in Exeter.",
        "I do not know.",
        "I cannot say.",
        "As you said on 2025-11-03, there is a limit.",
        "In Exeter it has 4417 steps.",
    )
    env = environ(tmp_path, gemini, RAGFORGE_MEMORY_MODEL="local")
    with patience(RECALL):
        async with beside(tmp_path, env) as session:
            await recalled_turns(session, gemini, asked, answers)


async def recalled_turns(session: Session, gemini: GeminiStandIn, asked: str, answers: Sequence[str]) -> None:
    library, turns = session.workspace, list[Turn]()
    await keep_project(library.store, library.project)
    await keep(session, RAMP, MemoryType.FACT, created_at=LONG_AGO, updated_at=LONG_AGO)
    await until(lambda: all_embedded(session))
    for answer in answers:
        other = await new_session(library)
        gemini.script(Text(answer))
        turns.append((await say(other, asked))[-1].turn)
        await done(other)
        await close_session(other)
    assert await library.local.recalls.uses(library.project.id) == (3, 5)
    await library.local.recalls.set_opened(turns[1].id)
    assert await library.local.recalls.uses(library.project.id) == (4, 5)
    await library.local.recalls.set_opened(turns[0].id)
    assert await library.local.recalls.uses("another") == (0, 0)
    await library.local.recalls.forget(turns[0].session_id)
    assert await library.local.recalls.uses(library.project.id) == (3, 4)
