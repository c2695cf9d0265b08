"""The question whether a project's check command may run, as the commands that need it ask it."""

from collections.abc import Callable

from ragforge.commands.base import Confirm
from ragforge.domain.errors import UsageError
from ragforge.session.state import Session
from ragforge.versions.attempts.check_consent import answer, check_command

OPTION = "--check="
"""Before `yes` or `no`: the person's answer, in the command line that goes on with what was asked for."""


async def question_before(session: Session, line: Callable[[str], str]) -> Confirm | None:
    """What has to be asked first, if anything. line: the command line with this option. Raises StoreError."""
    checking = await check_command(session.workspace)
    if not checking.asked:
        return None
    return Confirm(
        checking.question,
        then=line(f"{OPTION}yes"),
        otherwise=line(f"{OPTION}no"),
        command=checking.asked,
    )


async def take_answer(session: Session, option: str) -> None:
    """Remember the answer in such an option. Raises UsageError where it is none, StoreError."""
    said = option.removeprefix(OPTION)
    if said not in ("yes", "no"):
        raise UsageError(f"{OPTION} takes yes or no, and not {said!r}.")
    await answer(session.workspace, may_run=said == "yes")
