"""`/forget`: no longer recall a memory. It can be restored."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

from msgspec import Struct
from msgspec.structs import replace

from ragforge.commands.base import Choose, Confirm, Option, Outcome, Report, Tell, Verb
from ragforge.commands.remember import ID_CHARS_SHOWN, shown
from ragforge.domain.arguments import option, rest, shell_option
from ragforge.domain.commands import typed
from ragforge.domain.errors import UsageError
from ragforge.domain.memories import Memory
from ragforge.domain.printable import inline_code

if TYPE_CHECKING:
    from ragforge.session.state import Session

AS_MESSAGE = "To send this to the model instead, press Esc and start the message with a space."
NOT_REACHED = (
    "Not covered: exports and backup files that you made, backups of a server, copies on other machines, "
    "sessions that another ragforge has open now, the project's files and their versions, and git."
)
_HEX = frozenset("0123456789abcdef")


class ForgetArguments(Struct, frozen=True):
    """Which memory. undo: restore it, or the one that was forgotten last."""

    words: Annotated[str, rest("ID | WORDS", "The id of a memory, or words that match it.")] = ""
    undo: Annotated[
        bool, option("--undo", help="Restore this memory, or by default the one forgotten last.")
    ] = False
    everywhere: Annotated[
        bool, option("--everywhere", help="Remove it from the history and from backups too.")
    ] = False
    now: Annotated[bool, option("--now", help="With --everywhere: immediately; this cannot be undone.")] = (
        False
    )
    yes: Annotated[bool, option("--yes", help="With --everywhere: do not ask.")] = False
    json: Annotated[bool, shell_option("--json", help="Print JSON.")] = False


async def _run(session: "Session", args: ForgetArguments) -> Outcome:
    from ragforge.session.memory_tools import best_match, kept_or_recalled_last

    if args.now and not args.everywhere:
        raise UsageError("--now needs --everywhere.")
    if args.undo and args.everywhere:
        return await _put_back(session, args)
    if args.undo:
        return Tell(await _undo(session, args.words))
    if args.everywhere:
        return await _forget_everywhere(session, args)
    if not args.words:
        if last := await kept_or_recalled_last(session):
            return _asked(last)
        raise UsageError("Nothing is remembered yet.")
    if memory := await _by_id(session, args.words):
        return Tell(await _forget(session, memory))
    found = await best_match(session.workspace, args.words)
    if found is None:
        raise UsageError(f"No memory matches {args.words!r}. /memory lists them.")
    return _asked([found])


async def ask_what_to_forget(session: "Session", message: str) -> Outcome | None:
    """Return which memory to forget, if the message asks for nothing else and one fits. Raises StoreError."""
    from ragforge.session.memory_tools import memories_to_forget

    found = await memories_to_forget(session, message)
    return _asked(found, detail=AS_MESSAGE) if found else None


def _asked(memories: Sequence[Memory], *, detail: str = "") -> Outcome:
    """Return the question which of these to forget, or whether to, if there is one."""
    if len(memories) == 1:
        memory = memories[0]
        question = f"Forget this {memory.type}: {memory.content}"
        return Confirm(question, then=f"forget {memory.id}", detail=detail)
    options = [Option(str(each.type), each.content, f"forget {each.id}") for each in memories]
    return Choose("Which memory should be forgotten?", detail, tuple(options))


async def _forget_everywhere(session: "Session", args: ForgetArguments) -> Outcome:
    from ragforge.commands.memory_output import as_json
    from ragforge.session.memory_tools import best_match
    from ragforge.session.redaction import plan_redaction, redact

    memory = await _by_id(session, args.words)
    if memory is None and args.words:
        memory = await best_match(session.workspace, args.words)
    if memory is None:
        raise UsageError("Name a memory by its id or by words that match it. /memory lists them.")
    if args.yes:
        plan = await redact(session, memory, at_once=args.now)
        if args.json:
            return Report(
                data={
                    "removed": [as_json(each) for each in plan.memories],
                    "found_in": {str(kind): count for kind, count in plan.counts.items()},
                    "backups": plan.backups,
                    "sealed": not args.now,
                }
            )
        return Tell(
            f"Removed everywhere: {shown(memory)}. {_sealed_words(memory, now=args.now)} {NOT_REACHED}"
        )
    plan = await plan_redaction(session.workspace, memory)
    alike = "".join(f"\n- {each.content}" for each in plan.memories[1:])
    detail = "\n\n".join(
        [
            f"Found in: {plan.words}. `[forgotten]` takes its place; a new backup replaces the old ones.",
            *([f"Also removed, because they say the same:{alike}"] if alike else []),
            f"{_sealed_words(memory, now=args.now)} {NOT_REACHED}",
        ]
    )
    return Confirm(
        f"Remove this {memory.type} everywhere: {memory.content}",
        then=VERB.line(replace(args, words=memory.id, yes=True)),
        detail=detail,
        unasked="--everywhere asks first. Add --yes to remove it without being asked.",
    )


def _sealed_words(memory: Memory, *, now: bool) -> str:
    if now:
        return "This cannot be undone."
    id = memory.id[:ID_CHARS_SHOWN]
    undo = typed(f"forget --everywhere --undo {id}", shell=f"memory restore {id} --everywhere")
    return (
        "A sealed copy stays on this machine until the next clean-up "
        f"(`{typed('history gc')}`); until then `{undo}` restores them."
    )


async def _put_back(session: "Session", args: ForgetArguments) -> Outcome:
    from ragforge.session.redaction import put_back

    content = await put_back(session, args.words.lower())
    return (
        Report(data={"restored": content})
        if args.json
        else Tell(f"Restored everywhere: {inline_code(content)}")
    )


async def _forget(session: "Session", memory: Memory) -> str:
    from ragforge.memory import forgotten

    alike = await forgotten.forget(session.workspace.store, memory)
    lines = [f"Forgotten: {shown(memory)}. `/forget --undo {memory.id[:ID_CHARS_SHOWN]}` restores it."]
    if alike:
        lines += ["", "Also forgotten, because they say the same:", "", *(f"- {shown(m)}" for m in alike)]
    lines += [
        "",
        "Earlier messages and summaries are sent to the model without it. The original turns stay in the "
        "history, where you can read and search them.",
    ]
    return "\n".join(lines)


async def _by_id(session: "Session", part: str) -> Memory | None:
    """Return the memory whose id starts so; None if the words cannot be an id, or match none."""
    from ragforge.memory.memories import ID_PART_CHARS_MIN, find_memory

    if len(part) < ID_PART_CHARS_MIN or not set(part.lower()) <= _HEX:
        return None
    if not await session.workspace.store.memories.with_id_part(part.lower(), limit=1):
        return None
    return await find_memory(session.workspace.store, part)


async def _undo(session: "Session", part: str) -> str:
    from ragforge.memory import forgotten
    from ragforge.memory.memories import find_memory

    store = session.workspace.store
    memory = await find_memory(store, part) if part else await _forgotten_last(session)
    if memory is None or memory.forgotten_at is None:
        raise UsageError(
            "Nothing is forgotten." if memory is None else f"This is not forgotten: {memory.content}"
        )
    alike = await forgotten.restore(store, memory)
    session.workspace.background.wake()
    return f"Restored: {', '.join(map(shown, [memory, *alike]))}"


async def _forgotten_last(session: "Session") -> Memory | None:
    workspace = session.workspace
    gone = await workspace.store.memories.forgotten(project_id=workspace.project.id)
    return gone[0] if gone else None


VERB = Verb(
    "forget",
    "Stop sending a statement to any model. Name it by its memory's id or by words, or choose from a list.",
    ForgetArguments,
    _run,
)
