"""`project`: the known projects, and the one of this folder."""

from typing import TYPE_CHECKING, Annotated

from msgspec import Struct

from ragforge.commands.base import Confirm, JsonArguments, NoArguments, Opens, Outcome, Report, Tell, Verb
from ragforge.domain.arguments import rest, shell_option, word
from ragforge.domain.errors import UsageError
from ragforge.domain.words import counted

if TYPE_CHECKING:
    from pathlib import Path

    from ragforge.domain.turns import Project
    from ragforge.session.machine import Library
    from ragforge.session.project_union import MovedIds
    from ragforge.session.state import Session


STILL_OPEN = "Any ragforge already open in this folder stays in the previous project."


class JoinArguments(Struct, frozen=True):
    """Which."""

    named: Annotated[str, rest("ID", "Its id, a part of it, or its name.")]


class MergeArguments(Struct, frozen=True):
    """Which, and into which."""

    named: Annotated[str, word("ID", "Its id, a part of it, or its name.")]
    into: Annotated[
        str | None,
        shell_option("--into", metavar="ID", help="The project to move it to, if not this folder's."),
    ] = None
    yes: Annotated[bool, shell_option("--yes", "-y", help="Do not ask.")] = False


class SplitArguments(Struct, frozen=True):
    """What."""

    folder: Annotated[str, word("FOLDER", "The folder whose sessions are moved; by default this one.")] = ""
    merged: Annotated[
        str | None,
        shell_option("--merged", metavar="ID", help="Take out what was merged from this project."),
    ] = None
    yes: Annotated[bool, shell_option("--yes", "-y", help="Do not ask.")] = False


async def _list(library: "Library", args: JsonArguments) -> Outcome:
    from ragforge.session.project import describe_project, every_project, last_use

    found = await every_project(library.store)
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
    return Report(lines, () if found else ("There is no project yet; your first message creates one.",))


async def _join(session: "Session", args: JoinArguments) -> Outcome:
    from ragforge.session.open import join_project
    from ragforge.session.project import describe_project, find_named

    workspace = session.workspace
    project = await find_named(workspace.store, args.named)
    if workspace.project.id == project.id and not workspace.alike:
        raise UsageError(f"This folder is already part of {project.name}.")
    before = await workspace.store.projects.get(workspace.project.id)
    await join_project(workspace, project)
    told = f"This folder is now part of {await describe_project(workspace.store, project)}."
    if before is None or before.id == project.id:
        return Tell(told)
    undo = f"Earlier sessions stay in {before.name}; `ragforge project join {before.id}` goes back to it."
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
    undo = f"Earlier sessions stay in {before.name}; `ragforge project join {before.id}` goes back to it."
    return Report([f"This folder is now a separate project, {apart.id}."], (undo,))


async def _merge(library: "Library", args: MergeArguments) -> Outcome:
    from ragforge.session.project import describe_project, find_named, merged_project
    from ragforge.session.project_union import check_free, merge, read_contents, read_whole

    store = library.store
    source = await merged_project(store, args.named) or await find_named(store, args.named)
    target = await find_named(store, args.into) if args.into else library.project
    stored = await store.projects.get(target.id)
    if stored is None:
        raise UsageError(
            "This folder's project has no sessions yet; `ragforge project join` makes it part of one."
        )
    if source.id == target.id or source.merged_into not in ("", target.id):
        raise UsageError(f"{source.name} and {target.name} are one project already.")
    with read_whole(store):
        contents = await read_contents(store, source.id)
    await check_free(store, contents.sessions)
    if not args.yes:
        detail = (
            f"From: {await describe_project(store, source)}\nInto: {await describe_project(store, target)}"
        )
        detail += f"\n{contents.words} would move. Its folders would become part of {target.name}."
        unasked = "Standard input is not a terminal. Add --yes to merge them without asking."
        return Confirm("Merge them?", "", detail=detail, unasked=unasked)
    await merge(store, source, target, contents)
    await library.local.merge_project(source.id, target.id)
    undo = f"`ragforge project split --merged {source.id}` takes it out again."
    return Report([f"Moved to {target.name}: {contents.words}."], (undo,))


class _Parting(Struct, frozen=True):
    """The subject of a split. wanted: sessions; moved: what a merge had moved; folder: whose sessions."""

    project: "Project"
    target: "Project"
    wanted: set[str]
    moved: "MovedIds | None" = None
    folder: "Path | None" = None


async def _parting(library: "Library", args: SplitArguments) -> _Parting:
    from pathlib import Path

    from msgspec.structs import replace

    from ragforge.domain.ids import new_id
    from ragforge.session.project import merged_project, new_project
    from ragforge.session.project_union import bring_late, read_moved, sessions_in_folder

    store = library.store
    if args.merged and args.folder:
        raise UsageError("Give a folder or --merged ID, not both.")
    if args.merged:
        source = await merged_project(store, args.merged)
        project = await store.projects.get(source.merged_into) if source else None
        if source is None or project is None:
            raise UsageError(f"No project {args.merged!r} was merged into another.")
        if project.merged_into:
            raise UsageError(
                f"{project.name} was merged into another project since. "
                f"Run `ragforge project split --merged {project.id}` first."
            )
        await bring_late(store, project, split_off=True)  # an earlier split may have been interrupted
        target = replace(source, merged_into="")
        return _Parting(project, target, set(), moved=await read_moved(store, source.id))
    folder, project = Path(args.folder or library.place.root).absolute(), library.project
    await bring_late(store, project, split_off=True)
    wanted = await sessions_in_folder(store, project, folder)
    if not wanted:
        raise UsageError(f"No session of this project began in {folder} on this machine.")
    target = new_project(replace(library.place, root=folder), new_id())
    return _Parting(project, target, wanted, folder=folder)


async def _split(library: "Library", args: SplitArguments) -> Outcome:
    from ragforge.session.project_union import check_free, plan_split, read_whole, split

    store = library.store
    with read_whole(store):
        parting = await _parting(library, args)
        project, target = parting.project, parting.target
        plan = await plan_split(store, project, parting.wanted, parting.moved)
    await check_free(store, plan.moving.sessions)
    if not args.yes:
        detail = f"{plan.moving.words} would move from {project.name} to a project of their own."
        if plan.along:
            also = counted(plan.along, "session")
            detail += (
                f"\nOf these {also} go along, for they share turns or versions of files with the others."
            )
        unasked = "Standard input is not a terminal. Add --yes to split it without asking."
        return Confirm("Split it?", "", detail=detail, unasked=unasked)
    await split(store, project, target, plan, parting.moved)
    if parting.folder is not None:
        await library.local.places.set_project(parting.folder, target.id)
    undo = f"`ragforge project merge {target.id} --into {project.id}` puts it back."
    return Report([f"Moved to {target.name} ({target.id}): {plan.moving.words}."], (undo,))


VERB = Verb(
    "project",
    "List the projects of the store, make this folder part of one, merge or split them.",
    NoArguments,
    verbs=(
        Verb(
            "list",
            "List the projects, with who used each last, where and when; * marks the one of this folder.",
            JsonArguments,
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
            "Make this folder a separate project, for a fork or a copy that is something else.",
            NoArguments,
            _leave,
            opens=Opens.NONE,
            more=STILL_OPEN,
        ),
        Verb(
            "merge",
            "Move a whole project into this folder's; shows how much and asks first. Rules apply in both.",
            MergeArguments,
            shell=_merge,
        ),
        Verb(
            "split",
            "Move what was done in a folder into a project of its own; shows how much and asks first.",
            SplitArguments,
            shell=_split,
        ),
    ),
)
