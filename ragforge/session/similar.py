"""Similar problems in the project and in the sessions that came from somebody else."""

from collections.abc import Mapping

from msgspec.structs import replace

from ragforge.memory.recall.results import Recall
from ragforge.memory.similar import SHOWN_MAX, SimilarProblems, find_similar
from ragforge.session.marks import shared_among, shared_here, shared_projects


async def similar_with_shared(
    recall: Recall,
    text: str,
    *,
    project_id: str | None,
    person: str,
    without: frozenset[str] = frozenset(),
    here: str = "",
) -> tuple[SimilarProblems, Mapping[str, str]]:
    """What is similar, as `find_similar`, in what was imported too, and who shared it. Raises StoreError."""
    answer = await find_similar(
        recall, text, project_id=project_id, person=person, without=without, here=here
    )
    marks = await shared_here(recall.store, project_id) if project_id else {}
    found = list(answer.found)
    for project in await shared_projects(recall.store, marks):
        more = await find_similar(recall, text, project_id=project, person=person)
        found += [each for each in more.found if each.session_id in marks]
    found.sort(key=lambda each: -each.score)
    answer = replace(answer, found=tuple(found[:SHOWN_MAX]))
    return answer, await shared_among(recall.store, [each.session_id for each in answer.found])
