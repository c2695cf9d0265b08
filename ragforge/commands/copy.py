"""`/copy`: an answer's Markdown, or one of its code blocks."""

import re

from ragforge.commands.base import Command, Copy, Outcome
from ragforge.domain.errors import UsageError
from ragforge.session.state import Session

_BLOCK = re.compile(
    r"^(?P<fence>`{3,}|~{3,})[^\n]*\n(?P<code>.*?)^(?P=fence)[ \t]*$", re.DOTALL | re.MULTILINE
)
ANSWERS_MAX = 200


async def _run(session: Session, args: str) -> Outcome:
    words = args.split()
    if any(not word.isdigit() for word in words if word != "code") or len(words) > 2:
        raise UsageError(
            "Write /copy, /copy N for the Nth newest answer, or /copy code [N] for a code block."
        )
    number = int(words[-1]) if words and words[-1].isdigit() else 1
    path = await session.workspace.store.turns.path(session.live.record.head, limit=ANSWERS_MAX)
    answers = [turn.assistant for turn in reversed(path) if turn.assistant]
    if not answers:
        raise UsageError("There is no answer to copy yet.")
    if "code" in words:
        blocks = [match["code"] for answer in answers for match in reversed([*_BLOCK.finditer(answer)])]
        return Copy(_nth(blocks, number, "code blocks"), "The code block")
    return Copy(_nth(answers, number, "answers"), "The answer")


def _nth(items: list[str], number: int, what: str) -> str:
    if not 1 <= number <= len(items):
        raise UsageError(f"There are {len(items)} {what} in this session; there is no number {number}.")
    return items[number - 1]


COMMAND = Command("copy", "Copy the newest answer, or a code block of it.", _run, usage="[N | code [N]]")
