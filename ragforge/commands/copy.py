"""`/copy`: an answer's Markdown, or one of its code blocks."""

import re
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta, Struct

from ragforge.commands.base import Copy, Outcome, Verb
from ragforge.domain.arguments import word
from ragforge.domain.errors import UsageError
from ragforge.domain.words import counted

if TYPE_CHECKING:
    from ragforge.session.state import Session

_BLOCK = re.compile(
    r"^(?P<fence>`{3,}|~{3,})[^\n]*\n(?P<code>.*?)^(?P=fence)[ \t]*$", re.DOTALL | re.MULTILINE
)
ANSWERS_MAX = 200


class CopyArguments(Struct, frozen=True):
    """Which one."""

    number: Annotated[int, Meta(ge=1), word("N", "The Nth newest.")] = 1


async def _run(session: "Session", args: CopyArguments) -> Outcome:
    return Copy(_nth(await _answers(session), args.number, "answer"), "The answer")


async def _code(session: "Session", args: CopyArguments) -> Outcome:
    answers = await _answers(session)
    blocks = [match["code"] for answer in answers for match in reversed([*_BLOCK.finditer(answer)])]
    return Copy(_nth(blocks, args.number, "code block"), "The code block")


async def _answers(session: "Session") -> list[str]:
    """Return the answers of the session, newest first. Raises UsageError if there is none."""
    path = await session.workspace.store.turns.path(session.live.record.head, limit=ANSWERS_MAX)
    answers = [turn.assistant for turn in reversed(path) if turn.assistant]
    if not answers:
        raise UsageError("There is nothing to copy yet.")
    return answers


def _nth(items: list[str], number: int, what: str) -> str:
    if not items:
        raise UsageError(f"This session has no {what} to copy.")
    if not 1 <= number <= len(items):
        raise UsageError(f"This session has {counted(len(items), what)}, so there is no number {number}.")
    return items[number - 1]


VERB = Verb(
    "copy",
    "Copy the newest answer, or a code block of it.",
    CopyArguments,
    _run,
    verbs=(Verb("code", "Copy a code block.", CopyArguments, _code),),
)
