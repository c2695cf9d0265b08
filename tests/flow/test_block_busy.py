"""A block has more time where the machine is busy, as long as it took to load what it needs."""

import asyncio
from pathlib import Path

import pytest

from ragforge.domain import timeouts
from ragforge.domain.vectors import Vector
from ragforge.embedders.static import StaticEmbedder
from ragforge.memory.recall.gather import gather
from ragforge.memory.recall.request import Around, Injecting, InjectLimits, RecallRequest
from ragforge.memory.recall.search import Recall
from ragforge.session.context import prepare_recall, slowdown
from ragforge.session.state import Session
from tests.contract.builders import new_session
from tests.faults.graph import opened


class Silent(StaticEmbedder):
    """An embedder that never answers."""

    name = "silent"

    async def embed_query(self, text: str) -> Vector:
        await asyncio.Event().wait()
        return await super().embed_query(text)


@pytest.mark.parametrize(
    ("passed_s", "processor_s", "times"),
    [(4.0, 0.4, 5.0), (0.9, 0.3, 3.0), (0.2, 0.4, 1.0), (2.0, 0.001, 1.0)],
)
def test_how_busy_the_machine_is_follows_from_what_loading_took(
    passed_s: float, processor_s: float, times: float
) -> None:
    assert round(slowdown(passed_s, processor_s), 3) == times


async def test_a_block_may_take_as_much_longer(
    tmp_path: Path, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    await prepare_recall(session)
    assert 1.0 <= session.live.view.injecting.slowdown <= 5.0
    monkeypatch.setattr(timeouts, "GATHER_S_MAX", 0.2)
    async with opened(f"sqlite://{tmp_path}/ragforge.db", tmp_path) as store:
        around = Around((await new_session(store)).project_id, "another session")
        wanted = RecallRequest("Which shelf?", around, 500, InjectLimits(), Injecting(slowdown=3.0))
        recall = Recall(store, Silent())
        block = await gather(recall, wanted)
        await recall.questions.close()
    assert block.limited == "Not everything could be searched within 600 ms."
