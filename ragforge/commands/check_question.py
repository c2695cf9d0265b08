"""Ask whether a project's check command may run, for the verbs that need one."""

from collections.abc import Callable
from enum import StrEnum
from typing import TYPE_CHECKING

from ragforge.commands.base import Confirm

if TYPE_CHECKING:  # verbs are declared before anything is opened
    from ragforge.session.state import Session


IF_IT_FAILS = (
    "A result that fails the check is marked and is used only if you choose it. Until then your files do "
    "not change."
)


class CheckAnswer(StrEnum):
    """The answer."""

    YES = "yes"
    NO = "no"


async def question_before(session: "Session", line: Callable[[CheckAnswer], str]) -> Confirm | None:
    """Return the question to ask first, if any. line: the command line that answers. Raises StoreError."""
    from ragforge.versions.attempts.check_consent import check_command

    checking = await check_command(session.workspace)
    if not checking.asked:
        return None
    return Confirm(
        checking.question,
        then=line(CheckAnswer.YES),
        otherwise=line(CheckAnswer.NO),
        command=checking.asked,
        detail=IF_IT_FAILS,
    )


async def take_answer(session: "Session", said: CheckAnswer) -> None:
    """Remember the answer. Raises StoreError."""
    from ragforge.versions.attempts.check_consent import answer

    await answer(session.workspace, may_run=said is CheckAnswer.YES)
