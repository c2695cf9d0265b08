"""`program`: write and change programs in plain words, and the versions of each."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Meta, Struct

from ragforge.commands.base import (
    Follow,
    Followed,
    NoArguments,
    Opens,
    Outcome,
    QuestionKind,
    Report,
    Tell,
    Verb,
)
from ragforge.commands.program_run import RunFront, question
from ragforge.domain.arguments import option, rest, shell_option, word
from ragforge.domain.errors import UsageError
from ragforge.domain.printable import fenced

if TYPE_CHECKING:
    from ragforge.session.state import Session
    from ragforge.workflow.tree import ProgramTree

STOPPED = "Stopped. /run creator --resume continues after the last finished call."
_YES = option("--yes", help="Keep the new version without asking.")
_SHIPPED = option("--shipped", help="Use the creator that ships with ragforge, not your changed one.")
_PRICE = shell_option("--max-price", metavar="USD", help="Stop before the cost exceeds this.")
_NAME = word("NAME", "The program; by default the last one that you worked on.")


class ProgramNewArguments(Struct, frozen=True, kw_only=True):
    """What it should do."""

    words: Annotated[str, rest("WORDS", "What the program should do.")] = ""
    yes: Annotated[bool, _YES] = False
    shipped: Annotated[bool, _SHIPPED] = False
    max_price: Annotated[float | None, Meta(ge=0), _PRICE] = None


class ProgramChangeArguments(Struct, frozen=True, kw_only=True):
    """Which one, and how."""

    name: Annotated[str, word("NAME", "The program.")]
    words: Annotated[str, rest("WORDS", "What should be different.")] = ""
    yes: Annotated[bool, _YES] = False
    shipped: Annotated[bool, _SHIPPED] = False
    max_price: Annotated[float | None, Meta(ge=0), _PRICE] = None


class ProgramNameArguments(Struct, frozen=True, kw_only=True):
    """Which one."""

    name: Annotated[str, _NAME] = ""
    shipped: Annotated[bool, _SHIPPED] = False


class ProgramBranchArguments(Struct, frozen=True, kw_only=True):
    """Which one, and the branch's name."""

    name: Annotated[str, word("NAME", "The program.")]
    branch: Annotated[str, word("BRANCH", "The name of the new branch.")]
    at: Annotated[str, word("VERSION", "The version it starts at; by default the current one.")] = ""


class ProgramCheckoutArguments(Struct, frozen=True, kw_only=True):
    """Which one, and which version."""

    name: Annotated[str, word("NAME", "The program.")]
    version: Annotated[str, word("VERSION", "A branch, or a part of a version's id.")]


class ProgramLogArguments(Struct, frozen=True, kw_only=True):
    """Which one."""

    name: Annotated[str, _NAME] = ""
    json: Annotated[bool, shell_option("--json", help="Print a list of objects.")] = False


class ProgramShowArguments(Struct, frozen=True, kw_only=True):
    """Which one, and which version."""

    name: Annotated[str, _NAME] = ""
    version: Annotated[str, word("VERSION", "A branch, or a part of a version's id.")] = ""


class ProgramMergeArguments(Struct, frozen=True, kw_only=True):
    """Which one, and which two versions."""

    name: Annotated[str, word("NAME", "The program.")]
    version: Annotated[str, word("VERSION", "A branch, or a part of a version's id.")]
    other: Annotated[str, word("OTHER", "The other version; by default the current one.")] = ""
    yes: Annotated[bool, _YES] = False
    max_price: Annotated[float | None, Meta(ge=0), _PRICE] = None


class ProgramWriteArguments(Struct, frozen=True, kw_only=True):
    """Which one."""

    name: Annotated[str, _NAME] = ""
    yes: Annotated[bool, option("--yes", help="Write it without asking.")] = False


LOG_MAX = 50


async def _new(session: "Session", args: ProgramNewArguments) -> Outcome:
    if not args.words.strip():
        raise UsageError("Describe what the program should do: /program new WORDS")
    return _creating(session, "", "create_new", args.words, args)


async def _change(session: "Session", args: ProgramChangeArguments) -> Outcome:
    if not args.words.strip():
        raise UsageError(f"Describe the change: /program change {args.name} WORDS")
    await _existing(session, args.name)
    return _creating(session, args.name, "modify_existing", args.words, args)


def _creator(intent: str, words: str) -> Callable[["Session", ProgramNameArguments], Awaitable[Outcome]]:
    async def run(session: "Session", args: ProgramNameArguments) -> Outcome:
        name = args.name or await _newest(session)
        await _existing(session, name)
        return _creating(session, name, intent, words, args)

    return run


async def _alternatives(session: "Session", args: ProgramNameArguments) -> Outcome:
    from ragforge.workflow.library import StoreLibrary

    name = args.name or await _newest(session)
    tree = await _existing(session, name)
    head = await tree.named("HEAD")
    version = await StoreLibrary(session.workspace, "").version(head.id)
    if version is None or not version["alternatives"]:
        return Tell(
            f"Version {head.id[-8:]} of {name} has no alternatives; only a new program's first version has. "
            f"/program log {name} lists the versions."
        )
    return _creating(session, name, "show_alternatives", "Show the alternatives.", args)


def _creating(session: "Session", target: str, intent: str, words: str, args: Any) -> Outcome:
    """Run the creator for one request, whose intent is given."""
    return Follow(_created(session, target, intent, words, args), STOPPED)


async def _created(
    session: "Session", target: str, intent: str, words: str, args: Any
) -> AsyncGenerator[Followed, None]:
    from ragforge.workflow.creator import creator_execution, differs, whose_words

    run = RunFront(yes=getattr(args, "yes", False), inputs=[words])
    if not args.shipped and (notice := await differs(session.workspace)):
        yield notice
    if intent == "modify_existing" and (notice := await whose_words(session.workspace, target)):
        yield notice
    execution = await creator_execution(
        session,
        run.front,
        target=target,
        intent=intent,
        shipped=args.shipped,
        price_usd_max=getattr(args, "max_price", None),
    )
    async with aclosing(run.follow(execution)) as said:
        async for each in said:
            yield each


async def _branch(session: "Session", args: ProgramBranchArguments) -> Outcome:
    tree = await _existing(session, args.name)
    version = await tree.named(args.at or "HEAD")
    await tree.set_branch(args.branch, version)
    return Tell(f"Branch {args.branch} of {args.name} points to {version.id[-8:]}.")


async def _checkout(session: "Session", args: ProgramCheckoutArguments) -> Outcome:
    tree = await _existing(session, args.name)
    version = await tree.named(args.version)
    branch = args.version if await tree.is_branch(args.version) else ""
    await tree.move(version, branch=branch)
    return Tell(f"{tree.file.name} is version {version.id[-8:]} now.")


async def _log(session: "Session", args: ProgramLogArguments) -> Outcome:
    from ragforge.versions.log import log_json, log_lines

    name = args.name or await _newest(session)
    tree = await _existing(session, name)
    log = await tree.log(LOG_MAX)
    if args.json:
        versions = session.workspace.store.versions
        moves = [
            {
                "action": move.action.value,
                "from": move.from_version,
                "to": move.to_version,
                "at": move.at.isoformat(),
            }
            for move in await tree.moves()
        ]
        return Report(data={"versions": await log_json(versions, log, {}), "checkouts": moves})
    return Report(log_lines(log))


async def _show(session: "Session", args: ProgramShowArguments) -> Outcome:
    name = args.name or await _newest(session)
    tree = await _existing(session, name)
    version = await tree.named(args.version or "HEAD")
    text = (await tree.content(version)).decode("utf-8", "replace")
    return Report(exact=text, markdown=fenced(text.rstrip(), "text"))


async def _list(session: "Session", args: NoArguments) -> Outcome:
    from ragforge.session.program_files import find_programs, program_description

    rows = [
        (each.name, each.origin, program_description(each.path))
        for each in await asyncio.to_thread(find_programs, session.workspace)
    ]
    width = max(len(name) for name, _, _ in rows)
    shown = [f"- **{name}** ({origin}) {what}".rstrip() for name, origin, what in rows]
    lines = [f"{name:<{width}}  {origin:<7}  {what}".rstrip() for name, origin, what in rows]
    return Report(lines, markdown="\n".join(shown))


async def _language(session: "Session", args: NoArguments) -> Outcome:
    from ragforge.workflow.reference import reference

    return Report(exact=reference(), markdown=reference())


async def _merge(session: "Session", args: ProgramMergeArguments) -> Outcome:
    from ragforge.versions.merge.ancestors import common_bases

    tree = await _existing(session, args.name)
    one, other = await tree.named(args.other or "HEAD"), await tree.named(args.version)
    if one.id == other.id:
        raise UsageError(f"{args.version} is the current version, so there is nothing to merge.")
    _, bases = await common_bases(session.workspace.store.versions, one.id, other.id)
    if other.id in bases:
        whole = args.other or "the current version"
        raise UsageError(f"{args.version} is already part of {whole}, so there is nothing to merge.")
    return Follow(_merged(session, args, one.id, other.id), STOPPED)


async def _merged(
    session: "Session", args: ProgramMergeArguments, one: str, other: str
) -> AsyncGenerator[Followed, None]:
    from ragforge.workflow.creator import merge_execution

    run = RunFront(yes=args.yes, inputs=[])
    execution = merge_execution(
        session, run.front, target=args.name, one=one, other=other, price_usd_max=args.max_price
    )
    async with aclosing(run.follow(execution)) as said:
        async for each in said:
            yield each


async def _share(session: "Session", args: ProgramWriteArguments) -> Outcome:
    name = args.name or await _newest(session)
    return Follow(_shared(session, name, yes=args.yes))


async def _shared(session: "Session", name: str, *, yes: bool) -> AsyncGenerator[Followed, None]:
    from ragforge.workflow.project_copy import files_to_share, share
    from ragforge.workflow.tree import ProgramTree

    workspace = session.workspace
    own = ProgramTree(workspace, name).file
    files = await asyncio.to_thread(files_to_share, workspace, name, own)
    if not files:
        yield Tell(f"The project has this {name}.spu already.")
        return
    paths = " and ".join(str(each.path) for each in files)
    if not yes:
        diff = "".join(each.diff for each in files)
        asked = question(QuestionKind.CONFIRM, f"Write {paths}?", diff=diff)
        yield asked
        if await asked.answer is not True:
            yield Tell("Nothing was written.")
            return
    await share(workspace, files)
    yield Tell(
        f"Wrote {paths}. Commit it with git: whoever works on the project runs it with /{name}, once they "
        "trust it."
    )


async def _example(session: "Session", args: ProgramWriteArguments) -> Outcome:
    name = args.name or await _newest(session)
    return Follow(_example_kept(session, await _existing(session, name), yes=args.yes))


async def _example_kept(
    session: "Session", tree: "ProgramTree", *, yes: bool
) -> AsyncGenerator[Followed, None]:
    from ragforge.workflow.examples import ExampleFile
    from ragforge.workflow.runs import RunBook

    code = (await tree.content(await tree.named("HEAD"))).decode("utf-8", "replace")
    file = ExampleFile(tree.file)
    added = await file.with_example(code, await RunBook(session.workspace).example(tree.name))
    if not added:
        yield Tell(f"{file.path.name} has this run already.")
        return
    if not yes:
        asked = question(QuestionKind.CONFIRM, f"Keep the last run as an example of {tree.name}?", diff=added)
        yield asked
        if await asked.answer is not True:
            yield Tell("Nothing was written.")
            return
    await file.write()
    yield Tell(f"Every later version of {tree.name} must show the same in this example: {file.path}.")


async def _existing(session: "Session", name: str) -> "ProgramTree":
    """Return the tree of an existing program. Raises UsageError."""
    from ragforge.workflow.creator import existing_tree

    return await existing_tree(session.workspace, name)


async def _newest(session: "Session") -> str:
    from ragforge.workflow.creator import newest_program

    return await newest_program(session.workspace)


def _verb(name: str, help: str, args: type[Any], run: Any, **more: Any) -> Verb[Any]:
    return Verb(name, help, args, run, opens=Opens.ITSELF, while_running=False, **more)


def _asking(name: str, intent: str, help: str, words: str) -> Verb[Any]:
    return _verb(name, help, ProgramNameArguments, _creator(intent, words))


VERB = Verb(
    "program",
    "Write and change programs by describing them, and see their versions.",
    NoArguments,
    _list,
    while_running=False,
    verbs=(
        _verb("new", "Write a program from a description.", ProgramNewArguments, _new),
        _verb("change", "Change a program.", ProgramChangeArguments, _change),
        _asking("undo", "undo", "Go back to the previous version.", "Undo the last change."),
        _asking("redo", "redo", "Redo the version that was undone.", "Redo it."),
        _verb(
            "alternatives",
            "Show the alternatives to the current version.",
            ProgramNameArguments,
            _alternatives,
        ),
        _asking("explain", "explain", "Explain what a program does.", "Explain what this program does."),
        _verb("branch", "Start a branch at a version.", ProgramBranchArguments, _branch),
        _verb("checkout", "Switch the file to another version.", ProgramCheckoutArguments, _checkout),
        _verb("log", "List the versions.", ProgramLogArguments, _log),
        _verb("list", "List the programs.", NoArguments, _list),
        _verb("show", "Show the text of a version.", ProgramShowArguments, _show),
        _verb(
            "merge", "Merge a version into the current one with two models.", ProgramMergeArguments, _merge
        ),
        _verb(
            "example",
            "Keep the last run of a program as an example that later versions must pass.",
            ProgramWriteArguments,
            _example,
        ),
        _verb("share", "Copy your program into the project for everybody.", ProgramWriteArguments, _share),
        _verb("language", "Show the reference of the language.", NoArguments, _language),
    ),
    more="Programs are files in the programs/ folder of your settings. Every change, also by hand, makes a "
    "version. A new version is kept if it assembles, its loops end, its examples (NAME.spu.test) pass, and "
    "you approve the diff.",
    examples=(
        "program new 'Ask two models for a name and show both'",
        "program change names 'Ask three' --yes",
        "program undo names",
    ),
)
