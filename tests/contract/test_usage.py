from datetime import timedelta

from ragforge.domain.messages import ModelMessage
from ragforge.domain.usage import Usage
from ragforge.store.base import Store, UsageRow
from tests.contract.builders import NOON, a_project, a_step, a_turn, an_end, new_session


async def test_usage_is_summed_by_model_most_expensive_first(store: Store) -> None:
    session = await new_session(store)
    turn = a_turn(session)
    await store.turns.start(turn)
    await store.turns.save_step(a_step(turn, 0, cost_usd=0.25))
    await store.turns.save_step(a_step(turn, 1, cost_usd=0.5))
    await store.turns.end(an_end(turn, last_step=a_step(turn, 2, message=_by("big"), cost_usd=2.0)))
    assert await store.usage.by_model() == [
        UsageRow("gemini:big", "chat", 1, Usage(100, 40, 10, 5), 2.0),
        UsageRow("gemini:a", "chat", 2, Usage(200, 80, 20, 10), 0.75),
    ]


async def test_unknown_price_is_never_zero(store: Store) -> None:
    session = await new_session(store)
    turn = a_turn(session)
    await store.turns.start(turn)
    await store.turns.save_step(a_step(turn, 0, cost_usd=None))
    await store.turns.save_step(a_step(turn, 1, cost_usd=0.5))
    (row,) = await store.usage.by_model()
    assert row.cost_usd is None


async def test_usage_keeps_to_session_project_and_time(store: Store) -> None:
    project = a_project()
    await store.projects.add(project)
    sessions = [
        await new_session(store, project),
        await new_session(store, project),
        await new_session(store),
    ]
    for day, session in enumerate(sessions):
        turn = a_turn(session, started_at=NOON + timedelta(days=day))
        await store.turns.start(turn)
        await store.turns.save_step(a_step(turn))

    async def calls(**scope: object) -> int:
        return sum(row.calls for row in await store.usage.by_model(**scope))

    assert await calls() == 3
    assert await calls(project_id=project.id) == 2
    assert await calls(session_id=sessions[2].id) == 1
    assert await calls(since=NOON + timedelta(days=1)) == 2
    assert await calls(project_id=project.id, since=NOON + timedelta(days=1)) == 1
    assert await calls(project_id="nowhere") == 0
    assert await store.usage.by_model(session_id="nowhere") == []


def _by(model: str) -> ModelMessage:
    return ModelMessage("gemini", model, "Done.")
