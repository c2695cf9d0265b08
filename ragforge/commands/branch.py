"""`branch`: name a line of work, or remove a name."""

from typing import TYPE_CHECKING, Annotated

from msgspec import Struct

from ragforge.commands.base import NoArguments, Opens, Outcome, Tell, Verb
from ragforge.commands.branches import VERB as BRANCHES
from ragforge.domain.arguments import ValuesOf, option, word
from ragforge.domain.errors import UsageError

if TYPE_CHECKING:
    from ragforge.session.state import Session


class BranchArguments(Struct, frozen=True):
    """The name, and what to do with it."""

    name: Annotated[str, word("NAME", "The name of a new branch.")] = ""
    version: Annotated[str, word("VERSION", "Where it starts; by default here.")] = ""
    delete: Annotated[
        str,
        option(
            *("-d", "--delete"),
            metavar="NAME",
            help="Delete this branch name; its versions are kept.",
            values=ValuesOf.BRANCHES,
        ),
    ] = ""


async def _run(session: "Session", args: BranchArguments) -> Outcome:
    from ragforge.versions.branches import delete_branch, start_branch
    from ragforge.versions.names import HEAD
    from ragforge.versions.words import branched_words

    if args.delete and args.name:
        raise UsageError("-d only deletes a branch name and takes no other name.")
    if args.delete:
        await delete_branch(session.worktree, args.delete)
        return Tell(f"Deleted the branch name {args.delete}. Its versions are kept.")
    if not args.name:
        return await BRANCHES.run(session, NoArguments())
    return Tell(branched_words(await start_branch(session.worktree, args.name, args.version or HEAD)))


VERB = Verb(
    "branch",
    "List the branches, create one, or delete one with -d. Versions are never deleted.",
    BranchArguments,
    _run,
    while_running=False,
    opens=Opens.NONE,
    reads=True,
)
