"""`/remember`: keep something beyond this conversation."""

from ragforge.commands.base import Command, Outcome, Tell
from ragforge.domain.errors import UsageError
from ragforge.domain.memories import Memory, MemorySource, MemoryType
from ragforge.session.memory_tools import save_memory
from ragforge.session.state import Session
from ragforge.tools.base import Saved, ToSave

ID_CHARS_SHOWN = 8
_TYPES = ", ".join(MemoryType)


async def _run(session: Session, args: str) -> Outcome:
    type, text = split_type(args)
    if not text:
        raise UsageError(
            f"Say what to remember: /remember TEXT, or /remember TYPE: TEXT with one of {_TYPES}."
        )
    saved = await save_memory(session, ToSave(text, type), source=MemorySource.PERSON)
    return Tell(_told(saved))


def split_type(args: str) -> tuple[MemoryType, str]:
    """The type that the text begins with, `decision: ...`, else a fact; and the rest."""
    word, colon, rest = args.partition(":")
    if colon and word.strip().lower() in list(MemoryType):
        return MemoryType(word.strip().lower()), rest.strip()
    return MemoryType.FACT, args.strip()


def _told(saved: Saved) -> str:
    memory = saved.memory
    known = "Known already" if saved.was_known else f"Remembered as {_with_article(memory.type)}"
    lines = [f"{known}: {shown(memory)}. `/forget {memory.id[:ID_CHARS_SHOWN]}` takes it back."]
    lines += [f"\nIt replaces {shown(old)}." for old in saved.replaced]
    if saved.near:
        title = "Near to it, and still remembered (`/forget ID` where one no longer holds):"
        lines += ["", title, "", *(f"- {shown(near)}" for near in saved.near)]
    return "\n".join(lines)


def shown(memory: Memory) -> str:
    """A memory in Markdown, on one line: its id and its words, which cannot become markup."""
    words = " ".join(memory.content.split()).replace("`", "'")
    return f"`{memory.id[:ID_CHARS_SHOWN]}` `{words}`"


def _with_article(type: MemoryType) -> str:
    return f"{'an' if type[0] in 'aeiou' else 'a'} {type}"


COMMAND = Command(
    "remember",
    "Keep something beyond this conversation, as in: /remember decision: use MySQL.",
    _run,
    usage="[TYPE:] TEXT",
)
