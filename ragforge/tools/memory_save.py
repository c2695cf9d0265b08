"""The tool that saves what is worth knowing beyond this conversation."""

from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from ragforge.domain.errors import RagforgeError
from ragforge.domain.memories import MEMORY_CHARS_MAX, Memory, MemoryOrigin, MemoryScope, MemoryType
from ragforge.tools.base import Effect, Saved, Tool, ToolContext, ToolResult, ToSave, asks_nothing

UPDATES_MAX = 10
ID_CHARS_SHOWN = 8
CONFIDENCE = {"said": 1.0, "seen": 0.9, "concluded": 0.7}
"""The confidence of a memory, by its evidence."""
ORIGIN = {
    "said": MemoryOrigin.SAID_SAVED,
    "seen": MemoryOrigin.SEEN,
    "concluded": MemoryOrigin.CONCLUDED,
}


class MemorySaveArgs(msgspec.Struct, forbid_unknown_fields=True):
    """What to save."""

    content: Annotated[
        str,
        Meta(
            description="What to remember, in one or two sentences that can be understood alone, with names "
            "and dates instead of `this` and `yesterday`. No transcript, and no secrets.",
            min_length=1,
            max_length=MEMORY_CHARS_MAX,
        ),
    ]
    type: Annotated[
        Literal["identity", "goal", "decision", "todo", "preference", "fact", "event", "observation"],
        Meta(description="What it is about: who somebody is, what is wanted, what was decided, and so on."),
    ]
    importance: Annotated[
        Annotated[float, Meta(ge=0, le=1)] | UnsetType,
        Meta(description="How much it matters; leave it out to use the type's default."),
    ] = UNSET
    source: Annotated[
        Literal["said", "seen", "concluded"],
        Meta(
            description="What it is based on: `said` by the user, `seen` in a file or an output, or what you "
            "`concluded`."
        ),
    ] = "said"
    scope: Annotated[
        Literal["project", "global", "session"],
        Meta(description="Where it applies: in this project, everywhere, or only in this session."),
    ] = "project"
    updates: Annotated[
        list[str],
        Meta(description="Ids of the memories that it replaces, such as a decision that was changed."),
    ] = []


async def run(args: MemorySaveArgs, ctx: ToolContext) -> ToolResult:
    """Return what was saved, what it replaces, and similar memories."""
    if len(args.updates) > UPDATES_MAX:
        return ToolResult(f"`updates` takes at most {UPDATES_MAX} ids. Nothing was saved.", failed=True)
    wanted = ToSave(
        args.content,
        MemoryType(args.type),
        importance=None if args.importance is UNSET else args.importance,
        confidence=CONFIDENCE[args.source],
        scope=MemoryScope(args.scope),
        updates=tuple(args.updates),
        origin=ORIGIN[args.source],
    )
    try:
        saved = await ctx.save_memory(wanted)
    except RagforgeError as error:
        return ToolResult(f"Nothing was saved. {error}", failed=True)
    return ToolResult(_told(saved))


def _told(saved: Saved) -> str:
    memory = saved.memory
    if memory.forgotten_at:
        return (
            "The user had this memory forgotten, so it stays forgotten. Do not save it again unless they ask "
            "for it."
        )
    known = "Already known, now with this turn as evidence too" if saved.was_known else "Saved"
    lines = [f"{known}: {_words(memory)}"]
    lines += [f"It replaces {_words(old)}" for old in saved.replaced]
    if saved.near:
        lines += [
            "These are similar. If it replaces one of them, call memory_save again with the same content "
            "and its id in `updates`:",
            *(f"- {_words(near)}" for near in saved.near),
        ]
    return "\n".join(lines)


def _words(memory: Memory) -> str:
    return f"{memory.id[:ID_CHARS_SHOWN]} ({memory.type}, {memory.created_at:%Y-%m-%d}) {memory.content}"


TOOL = Tool(
    name="memory_save",
    description=(
        "Remember something beyond this conversation: a decision, preference, goal, task or fact that will "
        "matter later. Use it when the user asks for it, or states or changes something lasting; the results "
        "of a turn are filed without it. Save one statement a call."
    ),
    effect=Effect.READ,  # it changes nothing in the user's own files and commands
    args_type=MemorySaveArgs,
    run=run,
    summarise=lambda args: f"{args.type}: {args.content}",
    preview=asks_nothing,  # it touches no file, the user sees it, and `/forget` forgets it
)
