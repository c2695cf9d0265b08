"""`project`: which projects there are, and which one this folder is."""

from typing import TYPE_CHECKING, Annotated

from msgspec import Struct

from ragforge.commands.base import NoArguments, Opens, Outcome, Report, Tell, Verb
from ragforge.domain.arguments import rest, shell_option
from ragforge.domain.errors import UsageError

if TYPE_CHECKING:
    from ragforge.session.machine import Library
    from ragforge.session.state import Session


STILL_OPEN = "ragforge that is open in this folder goes on in the project of before."


class ListArguments(Struct, frozen=True):
    """How to print them."""

    json: Annotated[bool, shell_option("--json", help="Print a JSON list.")] = False


class JoinArguments(Struct, frozen=True):
    """Which."""

    named: Annotated[str, rest("ID", "Its id, a part of it, or its name.")]


async def _list(library: "Library", args: ListArguments) -> Outcome:
    from ragforge.session.project import describe_project, last_use

    found = await library.store.projects.every()
    if args.json:
        return Report(
            data=[
                {
                    "id": each.id,
                    "name": each.name,
                    "created": each.created_at.isoformat(),
                    "git_remote": each.git_remote,
                    "first_commit": each.first_commit,
                    "here": each.id == library.project.id,
                    "last_use": await last_use(library.store, each),
                }
                for each in found
            ]
        )
    lines: list[str] = []
    for each in found:
        mark = "*" if each.id == library.project.id else " "
        lines.append(f"{mark} {each.id}  {await describe_project(library.store, each)}")
        lines += [f"    {each.git_remote}"] if each.git_remote else []
    return Report(lines, () if found else ("No project yet: the first message makes one.",))


async def _join(session: "Session", args: JoinArguments) -> Outcome:
    from ragforge.session.open import join_project
    from ragforge.session.project import describe_project, find_named

    workspace = session.workspace
    project = await find_named(workspace.store, args.named)
    if await workspace.local.project_at(workspace.place.root) == project.id:
        raise UsageError(f"This folder is part of {project.name} already.")
    before = await workspace.store.projects.get(workspace.project.id)
    await join_project(workspace, project)
    told = f"This folder is part of {await describe_project(workspace.store, project)} from now on."
    if before is None or before.id == project.id:
        return Tell(told)
    undo = f"What was said in {before.name} stays there; `ragforge project join {before.id}` goes back to it."
    return Report([told], (undo,))


async def _leave(session: "Session", args: NoArguments) -> Outcome:
    from ragforge.domain.ids import new_id
    from ragforge.session.open import join_project
    from ragforge.session.project import new_project

    workspace = session.workspace
    before = await workspace.store.projects.get(workspace.project.id)
    if before is None:
        raise UsageError("This folder's project has no sessions yet, so there is nothing to leave.")
    apart = new_project(workspace.place, new_id())
    await workspace.store.projects.add(apart)  # or its remote would bring it back
    await join_project(workspace, apart)
    undo = f"What was said in {before.name} stays there; `ragforge project join {before.id}` goes back to it."
    return Report([f"This folder is a project of its own from now on, {apart.id}."], (undo,))


VERB = Verb(
    "project",
    "List the projects of the store, or make this folder part of one.",
    NoArguments,
    verbs=(
        Verb(
            "list",
            "List the projects, with who used each last, where and when; * marks the one of this folder.",
            ListArguments,
            shell=_list,
            reads=True,
        ),
        Verb(
            "join",
            "Make this folder part of another project: its sessions, versions and memories apply here then.",
            JoinArguments,
            _join,
            opens=Opens.NONE,
            more=STILL_OPEN,
        ),
        Verb(
            "leave",
            "Make this folder a project of its own, for a fork or a copy that is something else.",
            NoArguments,
            _leave,
            opens=Opens.NONE,
            more=STILL_OPEN,
        ),
    ),
)
