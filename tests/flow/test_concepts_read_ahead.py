"""When a session opens, its weightiest concepts are read in one query, and the block reads from them."""

from pathlib import Path
from typing import Any

from msgspec.structs import replace

from ragforge.domain.hints import HintAction, HintPayload, HintType, ProactiveHint
from ragforge.domain.ids import now
from ragforge.domain.memories import MemorySource, MemoryType
from ragforge.memory.memories import new_memory, remember
from ragforge.memory.recall.concepts import read_ahead
from ragforge.memory.recall.gather import gather
from ragforge.memory.recall.request import Around, Injecting, InjectLimits, RecallRequest
from ragforge.memory.recall.search import Recall
from ragforge.session.background.model import NO_MODEL
from ragforge.session.hints import SessionHints
from ragforge.session.state import Session
from ragforge.store.base import keep_project
from tests.flow.beside import beside, until
from tests.flow.running import environ
from tests.patience import RECALL, patience
from tests.standins.gemini import GeminiStandIn
from tests.tui.test_screens import embed_all

OF_CONCEPTS = {"memories.get", "vectors.get"}


class Counted:
    """A part of a store, or all of it, that keeps the names of what was asked."""

    def __init__(self, of: Any, asked: list[str], name: str = "") -> None:
        self._of, self._asked, self._name = of, asked, name

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._of, name)
        if not callable(found):
            return Counted(found, self._asked, f"{name}.") if name in ("memories", "vectors") else found

        def ask(*args: Any, **values: Any) -> Any:
            self._asked.append(f"{self._name}{name}")
            return found(*args, **values)

        return ask


async def remembered(session: Session) -> None:
    library = session.workspace
    await keep_project(library.store, library.project)
    for number in range(10):
        memory = new_memory(
            f"The walrus of pool {number} eats {number + 2} herrings",
            MemoryType.DECISION,
            project_id=library.project.id,
            at=now(),
            source=MemorySource.USER,
            topic=f"pool {number}",
        )
        await remember(library.store, memory)
    await embed_all(library)


def a_hint(about: str) -> ProactiveHint:
    payload = HintPayload(HintAction.WRITE, "Feed it.")
    return ProactiveHint(about, HintType.INTENT_FOLLOWUP, "To do", "Feed it.", "Write", payload, 0.9, about)


async def recalled(session: Session, recall: Recall) -> int:
    library = session.workspace
    around = Around(library.project.id, session.id, library.person.id)
    wanted = RecallRequest("What does the walrus eat?", around, 2_000, InjectLimits(), Injecting())
    with patience(RECALL):
        return len((await gather(recall, wanted)).items)


async def test_batch_prefetch_vs_incremental(tmp_path: Path, gemini: GeminiStandIn) -> None:
    """It is one query, and the block asks for no memory or vector of it afterwards."""
    async with beside(tmp_path, environ(tmp_path, gemini, RAGFORGE_MEMORY_MODEL=NO_MODEL)) as session:
        await session.workspace.background.close()
        await remembered(session)
        library, asked = session.workspace, list[str]()
        recall = replace(library.recall, store=Counted(library.store, asked), concepts={})
        place = {"project_id": library.project.id, "person": library.person.id}

        shown = await recalled(session, recall)
        assert shown
        assert OF_CONCEPTS & set(asked), asked
        asked.clear()
        for _ in range(2):
            await read_ahead(recall, **place)
        assert asked == ["memories.state", "memories.concepts", "memories.state"]
        asked.clear()
        assert await recalled(session, recall) == shown
        assert not OF_CONCEPTS & set(asked), asked

        # What changes a memory ends that, until it has been read again.
        await library.store.memories.forget([next(iter(recall.concepts[library.project.id].memories))], now())
        asked.clear()
        await recalled(session, recall)
        assert OF_CONCEPTS & set(asked), asked
        await read_ahead(recall, **place)
        asked.clear()
        assert await recalled(session, recall)
        assert not OF_CONCEPTS & set(asked), asked


async def test_a_session_that_opens_reads_them_beside_the_prompt(
    tmp_path: Path, gemini: GeminiStandIn
) -> None:
    env = environ(tmp_path, gemini, RAGFORGE_MEMORY_MODEL=NO_MODEL)
    async with beside(tmp_path, env) as session:
        await remembered(session)
    async with beside(tmp_path, env) as session:
        session.workspace.background.start(session)
        concepts = session.workspace.recall.concepts

        async def known() -> int:
            found = concepts.get(session.workspace.project.id)
            return len(found.memories) if found else 0

        assert await until(known) == 10
        recall, asked = session.workspace.recall, list[str]()
        counted = replace(recall, store=Counted(recall.store, asked))
        hints = SessionHints(replace(session, workspace=replace(session.workspace, recall=counted)))
        hints.open = tuple(map(a_hint, concepts[session.workspace.project.id].memories))
        await hints.drop_outdated()
        assert (len(hints.open), asked) == (10, ["memories.state"]), "the hints read from them too"
