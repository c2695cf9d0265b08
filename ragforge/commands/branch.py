"""`/branch`: give a line of work a name, or take one away."""

from ragforge.commands.base import Command, Outcome, Tell
from ragforge.commands.branches import COMMAND as BRANCHES
from ragforge.domain.errors import UsageError
from ragforge.session.state import Session
from ragforge.versions.branches import delete_branch, start_branch
from ragforge.versions.names import HEAD
from ragforge.versions.words import branched_words

DELETE = "-d"


async def _run(session: Session, args: str) -> Outcome:
    match args.split():
        case []:
            return await BRANCHES.run(session, "")
        case [word, name] if word == DELETE:
            await delete_branch(session, name)
            return Tell(f"The name **{name}** is gone; its versions stay.")
        case [name] if name != DELETE:
            return Tell(branched_words(await start_branch(session, name, HEAD)))
        case [name, version] if name != DELETE:
            return Tell(branched_words(await start_branch(session, name, version)))
        case _:
            raise UsageError(f"Write /branch NAME [VERSION], or /branch {DELETE} NAME.")


COMMAND = Command(
    "branch",
    f"Start a branch here or at a version; {DELETE} takes a name away, never a version.",
    _run,
    usage=f"[NAME [VERSION] | {DELETE} NAME]",
    while_running=False,
)
