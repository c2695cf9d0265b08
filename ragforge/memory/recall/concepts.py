"""The most important concepts of a project, loaded with one query for the block.

They are valid for one state of the memories. When that has changed, they are loaded again in the background;
until then, the store is queried.
"""

from collections.abc import Sequence
from time import monotonic

from ragforge.domain import timeouts
from ragforge.domain.memories import ConceptFilter, Memory
from ragforge.memory.recall.results import KnownConcepts, Recall

PROJECTS_MAX = 4
"""The number of projects of a run that are cached."""


async def read_ahead(recall: Recall, *, project_id: str, person: str) -> None:
    """Load the concepts, unless nothing has changed since they were loaded. Raises StoreError."""
    state = await recall.store.memories.state()
    if state is None or _of(recall, project_id, person, state):
        return
    model = recall.embedder.name if recall.embedder else ""
    found = await recall.store.memories.concepts(ConceptFilter(project_id, person, model))
    recall.concepts.pop(project_id, None)
    recall.concepts[project_id] = KnownConcepts(
        state,
        person,
        model,
        {memory.id: memory for each in found for memory in each.memories},
        {id: vector for each in found for id, vector in each.vectors.items()},
        monotonic(),
    )
    while len(recall.concepts) > PROJECTS_MAX:
        del recall.concepts[next(iter(recall.concepts))]


async def known_concepts(recall: Recall, *, project_id: str, person: str) -> KnownConcepts | None:
    """Return what was loaded; None if it is outdated. Raises StoreError."""
    if project_id not in recall.concepts:
        return None
    return _of(recall, project_id, person, await recall.store.memories.state())


async def memories_by_id(recall: Recall, ids: Sequence[str], *, project_id: str, person: str) -> list[Memory]:
    """Return the existing ones, in the order of the ids; queries only those that were not loaded.

    The counters of cached memories (used, held, broken) may be outdated. Raises StoreError.
    """
    known = await known_concepts(recall, project_id=project_id, person=person)
    found = {id: known.memories[id] for id in ids if id in known.memories} if known else {}
    missing = [id for id in ids if id not in found]
    found |= {memory.id: memory for memory in await recall.store.memories.get(missing)} if missing else {}
    return [found[id] for id in dict.fromkeys(ids) if id in found]


def _of(recall: Recall, project_id: str, person: str, state: object | None) -> KnownConcepts | None:
    known = recall.concepts.get(project_id)
    model = recall.embedder.name if recall.embedder else ""
    if known is None or state is None or (known.state, known.person) != (state, person):
        return None
    is_old = monotonic() - known.read_s > timeouts.MEMORY_LIST_CACHED_S_MAX
    return None if is_old or (model and known.model != model) else known
