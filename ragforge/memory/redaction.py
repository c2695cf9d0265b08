"""What the user has removed everywhere: the records of the history that say it, and the same without it."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Sequence
from contextlib import aclosing

from msgspec import Struct
from msgspec.structs import replace

from ragforge.domain.derivations import Derived
from ragforge.domain.foresight import KIND
from ragforge.domain.json import each_text
from ragforge.domain.memories import Memory
from ragforge.domain.summaries import Summary
from ragforge.domain.turns import ConversationSession, Step, ToolCall, Turn
from ragforge.domain.versions import Version
from ragforge.memory.foresight_records import record_without
from ragforge.memory.forgotten import MARK, Forgotten, forgotten_summaries, others_sessions
from ragforge.store.base import Record, Store


class Redacted(Struct, frozen=True):
    """A record as it is stored, and without what is removed."""

    before: Record
    after: Record


Whole = Callable[[str], Awaitable[str]]
"""Returns the hash of a whole tool result without what is removed: the same if it does not contain it."""


async def redactions(
    store: Store, memories: Sequence[Memory], *, project_id: str | None, whole: Whole
) -> AsyncGenerator[Redacted]:
    """Yield the records that say one of the forgotten memories, with and without it. Raises StoreError.

    project_id: None for all projects. Everything stored is read.
    """
    others = await others_sessions(store, project_id, memories)
    forgotten = Forgotten(memories, await forgotten_summaries(store, memories), others)
    sessions: set[str] = set()
    turns: dict[str, Turn] = {}
    async with aclosing(store.archive.dump()) as records:
        async for record in records:
            match record:
                case ConversationSession() if project_id in (None, record.project_id):
                    sessions.add(record.id)
                case Turn() if record.session_id in sessions:
                    turns[record.id] = replace(record, user=(), assistant="")
                case _:
                    pass
            if _is_of(record, project_id, sessions, turns):
                within = turns.get(record.turn_id) if isinstance(record, Step | ToolCall) else None
                after = await without(record, forgotten, whole, within=within)
                if after != record:
                    yield Redacted(record, after)


def _is_of(record: Record, project_id: str | None, sessions: Collection[str], turns: Collection[str]) -> bool:
    """Whether the record belongs to the project, if one is named."""
    match record:
        case ConversationSession():
            return record.id in sessions
        case Turn() | Summary():
            return record.session_id in sessions
        case Step() | ToolCall():
            return record.turn_id in turns
        case Version() | Derived():
            return project_id in (None, record.project_id)
        case _:
            return False


async def without(
    record: Record, forgotten: Forgotten, whole: Whole, *, within: Turn | None = None
) -> Record:
    """Return the record without what is forgotten, equal if it does not contain it. within: its turn."""
    at, session = (within.started_at, within.session_id) if within else (None, "")
    match record:
        case ConversationSession():
            return replace(record, title=forgotten.cut(record.title, session=record.id))
        case Turn():
            return forgotten.turn(record)
        case Step(turn_id=turn):
            message = forgotten.message(record.message, at=at, turn=turn, session=session)
            return replace(record, message=message)
        case ToolCall():
            cleaned, blob = forgotten.call(record, session=session), record.result_blob
            blob = await whole(blob) if blob and not forgotten.is_others(session) else blob
            return replace(cleaned, result_blob=blob)
        case Summary():
            without = forgotten.summary(record)
            return without if without.text else replace(without, text=MARK)
        case Derived(kind=KIND.label):
            return record_without(record, forgotten.cut)
        case Derived():
            return replace(record, data=each_text(record.data, forgotten.cut))
        case Version(session_id=session):
            names = ("title", "label", "note", "words")
            texts = {name: forgotten.cut(getattr(record, name), session=session) for name in names}
            return replace(record, **texts)
        case _:
            return record
