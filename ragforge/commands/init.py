"""`/init`: have an AGENTS.md written for the project."""

from typing import TYPE_CHECKING

from ragforge.commands.base import NoArguments, Outcome, Send, Verb

if TYPE_CHECKING:
    from ragforge.session.state import Session

_TASK = (
    "{does} AGENTS.md in the project's root: instructions for an assistant that works here for the first "
    "time. Look at the project first: its layout, how it is built, run, tested and checked (the exact "
    "commands, and how to run one test), the conventions of its code, and common mistakes. Include only "
    "what is true of this project and not obvious at a glance; 20 to 60 lines, in Markdown, without "
    "general advice. {keep}"
)
_KEEP = "Keep what is right, including what only people can know, and say what you changed."


async def _run(session: "Session", args: NoArguments) -> Outcome:
    is_there = (session.workspace.place.root / "AGENTS.md").exists()
    text = _TASK.format(does="Improve" if is_there else "Write", keep=_KEEP if is_there else "")
    return Send(text.strip(), typed="/init")


VERB = Verb(
    "init",
    "Have the model write an AGENTS.md for this project, or improve the existing one.",
    NoArguments,
    _run,
    while_running=False,
)
