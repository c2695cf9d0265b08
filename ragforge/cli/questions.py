"""A program's questions, answered on the command line."""

import asyncio
import sys
from typing import Any

import typer

from ragforge.cli.edge import tell
from ragforge.cli.headless import deny
from ragforge.cli.output import printable
from ragforge.commands.base import QuestionKind, UserQuestion
from ragforge.domain.errors import UsageError

INPUT_CHARS_MAX = 1_000_000


async def answer_question(question: UserQuestion) -> None:
    """Ask at the terminal; without one nobody says yes, and input is still read."""
    if question.diff:
        typer.echo(printable(question.diff), err=True)
    match question.kind:
        case QuestionKind.INPUT:
            question.reply(await _read_line())
        case QuestionKind.STEP:
            question.reply(await _read_line(f"{question.text} ", always=True))
        case QuestionKind.APPROVE if question.request:
            question.reply(await deny(question.request))
        case QuestionKind.CONFIRM if not sys.stdin.isatty():
            tell(f"{question.text} Standard input is not a terminal. Add --yes to keep it.")
            question.reply(False)
        case QuestionKind.CONFIRM:
            question.reply(await _asked(f"{question.text} [y/N] ") in ("y", "yes"))
        case _ if not sys.stdin.isatty():
            question.reply(None)
        case _:
            for number, option in enumerate(question.options, 1):
                tell(f"{number}  {option}")
            answer = await _asked(f"{question.text} 1 to {len(question.options)}: ")
            is_one = answer.isdecimal() and 1 <= int(answer) <= len(question.options)
            question.reply(int(answer) - 1 if is_one else None)


async def _asked(words: str) -> str:
    typer.echo(words, nl=False, err=True)
    return (await _read_line(prompt="") or "").strip().lower()


async def _read_line(prompt: str = "> ", *, always: bool = False) -> Any:
    """Return the next line of standard input; None at its end. Raises UsageError for one that is too long."""
    if prompt and (always or sys.stdin.isatty()):
        typer.echo(prompt, nl=False, err=True)
    # In a thread that is never joined: a terminal's line may never come.
    line = await asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline, INPUT_CHARS_MAX)
    if not line:
        return None
    if not line.endswith("\n") and len(line) >= INPUT_CHARS_MAX:
        raise UsageError(f"A line of input can have at most {INPUT_CHARS_MAX:,} characters.")
    return line.rstrip("\n")
