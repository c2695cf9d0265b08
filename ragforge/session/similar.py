"""Similar problems in the project and in the sessions that came from somebody else."""

from collections.abc import Mapping

from msgspec.structs import replace

from ragforge.memory.recall.results import Recall
from ragforge.memory.similar import SHOWN_MAX, SimilarProblems, find_similar
from ragforge.session.marks import here_and_shared, shared_among


async def similar_with_shared(
    recall: Recall,
    text: str,
    *,
    project_id: str | None,
    person: str,
    without: frozenset[str] = frozenset(),
    here: str = "",
) -> tuple[SimilarProblems, Mapping[str, str]]:
    """Like `find_similar`, in imported sessions too, with who shared it. Raises StoreError."""

    async def one(project: str | None) -> SimilarProblems:
        return await find_similar(recall, text, project_id=project, person=person, without=without, here=here)

    if project_id is None:
        answer = await one(None)
    else:
        answer, others, marks = await here_and_shared(recall.store, project_id, one)
        shared = [each for more in others for each in more.found if each.session_id in marks]
        found = sorted([*answer.found, *shared], key=lambda each: -each.score)
        answer = replace(answer, found=tuple(found[:SHOWN_MAX]))
    return answer, await shared_among(recall.store, [each.session_id for each in answer.found])
