"""`/forget`: no longer recall a memory. It can be taken back."""

from typing import TYPE_CHECKING, Annotated

from msgspec import Struct

from ragforge.commands.base import Confirm, Outcome, Tell, Verb
from ragforge.commands.remember import ID_CHARS_SHOWN, shown
from ragforge.domain.arguments import option, rest
from ragforge.domain.errors import UsageError
from ragforge.domain.ids import now
from ragforge.domain.memories import Memory, MemoryFilter

if TYPE_CHECKING:
    from ragforge.session.state import Session

LOOKED_THROUGH_MAX = 10_000
_HEX = frozenset("0123456789abcdef")


class ForgetArguments(Struct, frozen=True):
    """Which memory. undo: bring it back, or the one that was forgotten last."""

    words: Annotated[str, rest("ID | WORDS", "The id of a memory, or words that fit it.")] = ""
    undo: Annotated[bool, option("--undo", help="Bring it back, or the one that was forgotten last.")] = False


async def _run(session: "Session", args: ForgetArguments) -> Outcome:
    from ragforge.session.memory_tools import best_match

    if args.undo:
        return Tell(await _undo(session, args.words))
    if not args.words:
        raise UsageError("Say which: /forget ID, or /forget WORDS for the memory that fits them best.")
    if memory := await _by_id(session, args.words):
        await session.workspace.store.memories.forget([memory.id], now())
        id_part = memory.id[:ID_CHARS_SHOWN]
        return Tell(f"Forgotten: {shown(memory)}. `/forget --undo {id_part}` brings it back.")
    found = await best_match(session.workspace, args.words)
    if found is None:
        raise UsageError(f"No memory fits {args.words!r}. /memory lists them.")
    return Confirm(f"Forget this {found.type}: {found.content}", then=f"forget {found.id}")


async def _by_id(session: "Session", part: str) -> Memory | None:
    """The memory whose id begins so; None where the words cannot be an id, or are none's."""
    from ragforge.memory.memories import ID_PART_CHARS_MIN, find_memory

    if len(part) < ID_PART_CHARS_MIN or not set(part.lower()) <= _HEX:
        return None
    if not await session.workspace.store.memories.with_id_part(part.lower(), limit=1):
        return None
    return await find_memory(session.workspace.store, part)


async def _undo(session: "Session", part: str) -> str:
    from ragforge.memory.memories import find_memory

    store = session.workspace.store
    memory = await find_memory(store, part) if part else await _forgotten_last(session)
    if memory is None or memory.forgotten_at is None:
        raise UsageError(
            "Nothing is forgotten." if memory is None else f"This is not forgotten: {memory.content}"
        )
    await store.memories.restore([memory.id])
    session.workspace.background.wake()
    return f"Restored: {shown(memory)}"


async def _forgotten_last(session: "Session") -> Memory | None:
    wanted = MemoryFilter(
        project_id=session.workspace.project.id,
        forgotten=True,
        replaced=True,
        left=True,
        limit=LOOKED_THROUGH_MAX,
    )
    found = await session.workspace.store.memories.find(wanted)
    gone = [(memory.forgotten_at, memory.id, memory) for memory in found if memory.forgotten_at]
    return max(gone)[2] if gone else None


VERB = Verb(
    "forget",
    "Forget a memory, by its id or by words; /forget --undo brings the last one back.",
    ForgetArguments,
    _run,
)
