"""What the user has removed everywhere: the records of the history that say it, and the same without it."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from ragforge.domain.derivations import Derived
from ragforge.domain.json import each_text
from ragforge.domain.memories import Memory
from ragforge.domain.summaries import Summary
from ragforge.domain.turns import ConversationSession, Step, ToolCall, Turn
from ragforge.domain.versions import Version
from ragforge.memory.forgotten import MARK, Forgotten, forgotten_summaries
from ragforge.store.base import Record, Store


class Redacted(Struct, frozen=True):
    """A record as it is stored, and without what is removed."""

    before: Record
    after: Record


Whole = Callable[[str], Awaitable[str]]
"""Gives the hash of a whole tool result without what is removed: the same where it says nothing of it."""


async def redactions(
    store: Store, memories: Sequence[Memory], *, project_id: str | None, whole: Whole
) -> AsyncGenerator[Redacted]:
    """The records that say one of the forgotten memories, with and without it. Raises StoreError.

    project_id: None for all projects. All that is stored is read.
    """
    forgotten = Forgotten(memories, await forgotten_summaries(store, memories))
    sessions: set[str] = set()
    times: dict[str, datetime] = {}
    async with aclosing(store.archive.dump()) as records:
        async for record in records:
            match record:
                case ConversationSession() if project_id in (None, record.project_id):
                    sessions.add(record.id)
                case Turn() if record.session_id in sessions:
                    times[record.id] = record.started_at
                case _:
                    pass
            if _is_of(record, project_id, sessions, times):
                at = times.get(record.turn_id) if isinstance(record, Step) else None
                after = await without(record, forgotten, whole, at=at)
                if after != record:
                    yield Redacted(record, after)


def _is_of(record: Record, project_id: str | None, sessions: set[str], times: dict[str, datetime]) -> bool:
    """Whether the record is of the project, where one is named."""
    match record:
        case ConversationSession():
            return record.id in sessions
        case Turn() | Summary():
            return record.session_id in sessions
        case Step() | ToolCall():
            return record.turn_id in times
        case Version() | Derived():
            return project_id in (None, record.project_id)
        case _:
            return False


async def without(
    record: Record, forgotten: Forgotten, whole: Whole, *, at: datetime | None = None
) -> Record:
    """The record without what is forgotten, equal where it says nothing of it. at: when its turn began."""
    match record:
        case ConversationSession():
            return replace(record, title=forgotten.cut(record.title))
        case Turn():
            return forgotten.turn(record)
        case Step():
            return replace(record, message=forgotten.message(record.message, at=at, turn=record.turn_id))
        case ToolCall():
            blob = await whole(record.result_blob) if record.result_blob else record.result_blob
            return replace(forgotten.call(record), result_blob=blob)
        case Summary():
            without = forgotten.summary(record)
            return without if without.text else replace(without, text=MARK)
        case Derived():
            return replace(record, data=each_text(record.data, forgotten.cut))
        case Version():
            names = ("title", "label", "note", "words")
            return replace(record, **{name: forgotten.cut(getattr(record, name)) for name in names})
        case _:
            return record
