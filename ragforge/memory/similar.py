"""Similar problems: tasks and sessions about the subject of a text, and their outcomes."""

import asyncio
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress

from msgspec import Struct
from msgspec.structs import replace

from ragforge.domain.errors import StoreUnavailable
from ragforge.domain.lessons import LessonKind
from ragforge.domain.messages import text_of
from ragforge.domain.search import HitKind, Query
from ragforge.domain.tasks import PastTask, TaskOutcome
from ragforge.domain.turns import ConversationSession
from ragforge.domain.vectors import Owner, OwnerKind, Vector
from ragforge.embedders.base import Embedder
from ragforge.embedders.static import StaticEmbedder
from ragforge.memory.forgotten import Forgotten, read_forgotten
from ragforge.memory.recall.lessons import read_lessons
from ragforge.memory.recall.search import Recall, search
from ragforge.memory.recall.similarity import Problem, measured_by, problem_of, similar, similar_min
from ragforge.memory.tasks import read_tasks
from ragforge.store.base import Store

SHOWN_MAX = 10
COMPARED_MAX = 30
"""How many turns found by a search are compared."""
SESSION_CHARS_MAX = 1_200


class SimilarTask(Struct, frozen=True):
    """A task with its score: the probability that its problem is the same, 0 to 1."""

    task: PastTask
    score: float

    @property
    def session_id(self) -> str:
        """The session in which it was done."""
        return self.task.turns[0].session_id


class SimilarSession(Struct, frozen=True):
    """A session that is as a whole about the same. tasks: outcomes of its similar tasks."""

    session: ConversationSession
    score: float
    done: str
    tasks: tuple[TaskOutcome, ...]

    @property
    def session_id(self) -> str:
        """The session itself."""
        return self.session.id


class SimilarProblems(Struct, frozen=True):
    """What is similar, the most similar first. least: the threshold of the embedder that compared."""

    found: tuple[SimilarTask | SimilarSession, ...]
    least: float
    embedder: str
    limited: str = ""
    took_ms: float = 0.0


async def find_similar(
    recall: Recall,
    text: str,
    *,
    project_id: str | None,
    person: str,
    without: frozenset[str] = frozenset(),
    here: str = "",
) -> SimilarProblems:
    """Return the tasks and sessions that are similar to the text. Raises StoreError.

    project_id: None for every project. without: turns that are left out, such as the newest one.
    here: the session of the user, of which only the tasks are listed.
    """
    began = time.perf_counter()
    query = Query(text, project_id, person=person, kinds=(HitKind.TURN,), limit=COMPARED_MAX)
    answer = await search(recall, query)
    ids = [hit.turn_id for hit in answer.hits if hit.turn_id not in without]
    forgotten = await read_forgotten(recall.store, project_id or "")
    tasks = [
        each
        for each in await read_tasks(recall.store, ids, forgotten)
        if without.isdisjoint(turn.id for turn in each.turns)
    ]
    tasks = await _with_reasons(recall.store, tasks, forgotten)
    name = measured_by(recall.embedder.name if recall.embedder else "")
    alike = await _similar_of(recall, text, tasks)
    sessions = await _sessions(recall.store, text, alike[:SHOWN_MAX], here=here)
    found = sorted([*alike, *sessions], key=lambda each: -each.score)[:SHOWN_MAX]
    took_ms = (time.perf_counter() - began) * 1000
    return SimilarProblems(tuple(found), similar_min(name), name, answer.limited, took_ms)


async def _with_reasons(store: Store, tasks: Sequence[PastTask], forgotten: Forgotten) -> list[PastTask]:
    """Return the tasks with the reasons from lessons: of an undo only the user's next words say why."""
    wanted = [each.id for each in tasks if not each.reason and each.outcome is not TaskOutcome.KEPT]
    lessons = await read_lessons(store, None, forgotten, of=wanted) if wanted else []
    why = {each.turns[0]: each.reason for each in lessons if each.kind is not LessonKind.STRATEGY}
    return [each if each.reason else replace(each, reason=why.get(each.id, "")) for each in tasks]


async def _similar_of(recall: Recall, text: str, tasks: Sequence[PastTask]) -> list[SimilarTask]:
    """Return the similar tasks, most similar first; none that cannot be compared yet. Raises StoreError."""
    problems = list(map(problem_of_task, tasks))
    cosines, name = None, StaticEmbedder.name
    if (embedder := recall.embedder) and tasks and measured_by(embedder.name) != name:
        name = embedder.name
        cosines = await _cosines(recall, embedder, text, tasks)
    found = await asyncio.to_thread(similar, text, problems, cosines, embedder=name)
    return [SimilarTask(tasks[place], score) for score, place in found]


async def _cosines(
    recall: Recall, embedder: Embedder, text: str, tasks: Sequence[PastTask]
) -> list[float | None]:
    """Return the cosines of the tasks' stored vectors; None for a task that has none yet."""
    cosines: list[float | None] = [None] * len(tasks)
    asked, _ = await recall.questions.vector(embedder, text)
    if asked is None:
        return cosines
    owners = {Owner(OwnerKind.TURN, each.id): place for place, each in enumerate(tasks)}
    for stored in await recall.store.vectors.get(list(owners)):
        if stored.model == embedder.name:
            cosines[owners[stored.owner]] = _dot(asked, stored.vector)
    return cosines


def problem_of_task(task: PastTask) -> Problem:
    """Return what is compared of a task: the request, what was done in which files, and why it failed."""
    request = " ".join(text_of(turn.user) for turn in task.turns)
    return problem_of(request, task.done, files=task.files, reason=task.reason, at=task.turns[0].started_at)


async def _sessions(
    store: Store, text: str, tasks: Sequence[SimilarTask], *, here: str
) -> list[SimilarSession]:
    """Return the sessions with several similar tasks that are similar as a whole."""
    counts = Counter(each.session_id for each in tasks)
    found: list[tuple[ConversationSession, str]] = []
    with suppress(StoreUnavailable):  # the tasks are listed without them
        for session_id in [each for each, count in counts.items() if count > 1 and each != here]:
            if session := await store.sessions.get(session_id):
                summaries = await store.summaries.of_session(session_id, uncovered=True)
                done = " ".join(each.text for each in summaries)[:SESSION_CHARS_MAX]
                found.append((session, done or session.title))
    problems = [Problem(f"{each.title} {done}") for each, done in found]
    return [
        SimilarSession(session, score, done, outcomes)
        for score, place in await asyncio.to_thread(similar, text, problems)
        for session, done in [found[place]]
        for outcomes in [tuple(each.task.outcome for each in tasks if each.session_id == session.id)]
    ]


def _dot(one: Vector, other: Vector) -> float:
    return sum(a * b for a, b in zip(one, other, strict=False))
