"""Load what the first block of a process needs before the first message: libraries, patterns, vectors."""

import asyncio

from msgspec.structs import replace

from ragforge.domain.messages import text_of
from ragforge.domain.search import Query
from ragforge.memory.recall.gather import gather
from ragforge.memory.recall.request import Around, Injecting, InjectLimits, RecallRequest
from ragforge.memory.recall.resumption import resumes
from ragforge.memory.recall.search import Recall, search
from ragforge.memory.recall.source import find_sources
from ragforge.memory.sentences import cut_words

TEXT_CHARS_MAX = 400
TOKENS_MAX = 500


async def make_ready(recall: Recall, around: Around, injecting: Injecting) -> None:
    """Build a block for the project's last message and discard it, so that everything is loaded for the next
    one.

    injecting: the session's, which keeps the vectors of important memories, so its first message need not
    load them. Does nothing if there is no message. Sends nothing to a remote embedder. Raises StoreError,
    UsageError.
    """
    text = await _said_last(recall, around.project_id)
    if not text:
        return
    if recall.embedder is not None and recall.embedder.remote:
        await recall.embedder.prepare()
        recall = replace(recall, embedder=None, cache={})
    await asyncio.to_thread(_compile, text)
    # Without the block's deadline, which cuts off what is late.
    await search(recall, Query(text, project_id=around.project_id, person=around.person))
    await gather(recall, RecallRequest(text, around, TOKENS_MAX, InjectLimits(), injecting))


async def _said_last(recall: Recall, project_id: str) -> str:
    """Return the beginning of the user's last message in the project; empty if there is none."""
    for row in await recall.store.sessions.recent(project_id=project_id, limit=1):
        for turn in await recall.store.turns.path(row.session.head, limit=1):
            return cut_words(text_of(turn.user), TEXT_CHARS_MAX)
    return ""


def _compile(text: str) -> None:
    """Compile patterns in a thread, because it takes tenths of a second and would block the keys."""
    find_sources()
    resumes(text)
