"""`/plan`: plan first, and change nothing until the user says so."""

from typing import TYPE_CHECKING, Annotated

from msgspec import Struct

from ragforge.commands.base import Outcome, Send, Tell, Verb
from ragforge.domain.approvals import Mode
from ragforge.domain.arguments import rest

if TYPE_CHECKING:
    from ragforge.session.state import Session


class PlanArguments(Struct, frozen=True):
    """What to plan."""

    task: Annotated[str, rest("TASK", "What to make a plan for.")] = ""


async def _run(session: "Session", args: PlanArguments) -> Outcome:
    await session.set_mode(Mode.PLAN)
    if args.task.strip():
        return Send(args.task)
    return Tell(
        "Plan mode is on: nothing is changed. Describe the task. **/do** carries out the plan; **/mode ask** "
        "leaves plan mode."
    )


VERB = Verb(
    "plan",
    "Make a plan without changing files; /do carries it out.",
    PlanArguments,
    _run,
    while_running=False,
)
