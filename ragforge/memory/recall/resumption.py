"""Where the user left off, for a message that continues from there: the end of the last session, and open
todos."""

import asyncio

from msgspec import Struct

from ragforge.domain.ids import now
from ragforge.domain.language.base import AnyOf
from ragforge.domain.language.words import words_of
from ragforge.domain.memories import Memory, MemoryFilter, MemorySort, MemoryType
from ragforge.domain.messages import text_of
from ragforge.domain.turns import Turn
from ragforge.memory.periods import has_run_out
from ragforge.memory.recall.request import Around
from ragforge.memory.sentences import cut_words
from ragforge.memory.statements import plain
from ragforge.store.base import Store

MESSAGE_CHARS_MAX = 160
"""A longer message says itself what it is about."""
SESSIONS_LOOKED_AT = 5
ENDING_TURNS_MAX = 3
TELLING_WORDS = 4
"""A last turn with fewer words was a goodbye: the one before it says more."""
TODOS_MAX = 5
QUERY_CHARS_MAX = 1_000

_RESUMES = AnyOf(lambda language: language.resumes)


class Resumption(Struct, frozen=True):
    """Where the user left off."""

    turns: tuple[Turn, ...] = ()
    """The last turns of the session before, newest first."""
    todos: tuple[Memory, ...] = ()
    """Newest first."""

    @property
    def query(self) -> str:
        """What to search for in addition to the message."""
        said = [*(text_of(turn.user) for turn in self.turns), *(todo.content for todo in self.todos)]
        return cut_words("\n".join(said), QUERY_CHARS_MAX)


def resumes(message: str) -> bool:
    """Return whether the message continues where the user left off."""
    return len(message) <= MESSAGE_CHARS_MAX and _RESUMES.search(plain(message.strip())) is not None


def _only_resumes(message: str) -> bool:
    """Return whether the message says nothing else; then a note about the current state is wanted."""
    return len(words_of(message)) <= TELLING_WORDS and resumes(message)


async def left_off(store: Store, around: Around) -> Resumption:
    """Return the end of the session before this one, and open todos. Raises StoreError."""
    turns, todos = await asyncio.gather(_ending(store, around), _todos(store, around))
    return Resumption(turns, todos)


async def _ending(store: Store, around: Around) -> tuple[Turn, ...]:
    rows = await store.sessions.recent(project_id=around.project_id, limit=SESSIONS_LOOKED_AT)
    for row in rows:
        if row.session.id != around.session_id and row.session.head:
            path = await store.turns.path(row.session.head, limit=ENDING_TURNS_MAX)
            newest = [
                turn
                for turn in reversed(path)
                if turn.id not in around.turns and not _only_resumes(text_of(turn.user))
            ]
            telling = next(
                (at for at, turn in enumerate(newest) if len(words_of(text_of(turn.user))) >= TELLING_WORDS),
                0,
            )
            if newest:
                return tuple(newest[: telling + 1])
    return ()


async def _todos(store: Store, around: Around) -> tuple[Memory, ...]:
    wanted = MemoryFilter(
        project_id=around.project_id,
        session_id=around.session_id,
        person=around.person,
        types=(MemoryType.TODO,),
        sort=MemorySort.RECENT,
        limit=TODOS_MAX,
    )
    at = now()
    return tuple(each for each in await store.memories.find(wanted) if not has_run_out(each, at))
