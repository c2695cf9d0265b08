"""`/remember`: keep something beyond this conversation."""

from typing import TYPE_CHECKING, Annotated

from msgspec import Struct

from ragforge.commands.base import Outcome, Tell, Verb
from ragforge.domain.arguments import rest
from ragforge.domain.errors import UsageError
from ragforge.domain.memories import Memory, MemoryOrigin, MemorySource, MemoryType

if TYPE_CHECKING:
    from ragforge.session.state import Session
    from ragforge.tools.base import Saved

ID_CHARS_SHOWN = 8
_TYPES = ", ".join(MemoryType)


class RememberArguments(Struct, frozen=True):
    """What follows the name."""

    text: Annotated[str, rest("[TYPE:] TEXT", "What to remember; a fact unless you give a type.")]


async def _run(session: "Session", args: RememberArguments) -> Outcome:
    from ragforge.session.memory_tools import save_memory
    from ragforge.tools.base import ToSave

    type, text = split_type(args.text)
    if not text:
        raise UsageError(
            f"Say what to remember: /remember TEXT, or /remember TYPE: TEXT with one of {_TYPES}."
        )
    wanted = ToSave(text, type, origin=MemoryOrigin.REMEMBER)
    saved = await save_memory(session, wanted, source=MemorySource.USER)
    return Tell(_told(saved))


def split_type(args: str) -> tuple[MemoryType, str]:
    """Return the type at the beginning of the text, `decision: ...`, else a fact; and the rest."""
    word, colon, rest = args.partition(":")
    if colon and word.strip().lower() in list(MemoryType):
        return MemoryType(word.strip().lower()), rest.strip()
    return MemoryType.FACT, args.strip()


def _told(saved: "Saved") -> str:
    memory = saved.memory
    known = f"Remembered as {_with_article(memory.type)}"
    if saved.was_known:
        known = "Confirmed" if saved.was_unsure else "Already known"
    lines = [f"{known}: {_quoted(memory)}. `/forget {memory.id[:ID_CHARS_SHOWN]}` forgets it."]
    lines += [f"\nIt replaces {shown(old)}." for old in saved.replaced]
    if saved.near:
        title = "Similar memories, which are kept (use `/forget ID` if one no longer applies):"
        lines += ["", title, "", *(f"- {shown(near)}" for near in saved.near)]
    return "\n".join(lines)


def shown(memory: Memory) -> str:
    """Return a memory in Markdown, on one line: its id and its words, without markup and final full stop."""
    return f"`{memory.id[:ID_CHARS_SHOWN]}` {_quoted(memory)}"


def _quoted(memory: Memory) -> str:
    words = " ".join(memory.content.split()).replace("`", "'").removesuffix(".")
    return f"`{words}`"


def _with_article(type: MemoryType) -> str:
    return f"{'an' if type[0] in 'aeiou' else 'a'} {type}"


VERB = Verb(
    "remember",
    "Remember something beyond this conversation, for example /remember decision: use MySQL.",
    RememberArguments,
    _run,
)
