"""`ragforge memory`: what is remembered, to read, add to, change, forget and get back."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from ragforge.cli.edge import tell
from ragforge.cli.numbers import whole
from ragforge.cli.options import EXIT_CODES, Options, run_async
from ragforge.cli.output import one_line
from ragforge.domain.errors import UsageError
from ragforge.domain.memories import MemoryScope, MemorySort, MemoryType

if TYPE_CHECKING:  # costs more than all of `ragforge --version`
    from ragforge.domain.memories import Memory
    from ragforge.session.machine import Library

app = typer.Typer(
    help="Read and change what is remembered of this project.",
    no_args_is_help=True,
    epilog=EXIT_CODES,
)

READ_MAX = 10_000
"""Scopes are chosen among so many."""

IdPart = Annotated[str, typer.Argument(metavar="ID", help="Its id, or the first 4 or more characters.")]
Ids = Annotated[list[str], typer.Argument(metavar="ID...", help="Ids, or their first 4 or more characters.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Kind = Annotated[MemoryType | None, typer.Option("--type", help="What it is about.")]
Types = Annotated[list[MemoryType] | None, typer.Option("--type", help="Only this type; repeatable.")]
When = Annotated[
    str | None, typer.Option("--at", metavar="WHEN", help="Those that held then: 2026-11-21, 3d, 2w.")
]
Importance = Annotated[
    float | None,
    typer.Option("--importance", metavar="0..1", help="How much it matters; the type's if unset."),
]


class OwnerChoice(StrEnum):
    """Whose a memory is to be."""

    ME = "me"
    EVERYBODY = "everybody"


Owner = Annotated[
    OwnerChoice | None, typer.Option("--owner", help="Whose it is: only its owner's model is given it.")
]
Topic = Annotated[str | None, typer.Option("--topic", help="A word or two to group it by.")]


@app.command("list", epilog=EXIT_CODES)
def list_memories(
    context: typer.Context,
    types: Types = None,
    sort: Annotated[MemorySort, typer.Option("--sort", help="The order.")] = MemorySort.RECENT,
    scope: Annotated[MemoryScope | None, typer.Option("--scope", help="Only those that hold there.")] = None,
    all_projects: Annotated[bool, typer.Option("--all", help="Those of every project.")] = False,
    all_owners: Annotated[
        bool, typer.Option("--all-owners", help="Also what belongs to other users of the store.")
    ] = False,
    forgotten: Annotated[bool, typer.Option("--forgotten", help="The forgotten ones as well.")] = False,
    at: When = None,
    limit: Annotated[int, typer.Option("--limit", parser=whole(1, READ_MAX), help="At most this many.")] = 50,
    as_json: AsJson = False,
) -> None:
    """List the memories of this project and the global ones that are yours or everybody's."""
    options: Options = context.find_root().obj

    async def work() -> int:
        from ragforge.cli.library import opened_library
        from ragforge.cli.memory_output import print_json_list, print_list
        from ragforge.commands.search import parse_when
        from ragforge.domain.ids import now
        from ragforge.domain.memories import MemoryFilter
        from ragforge.memory.periods import periods_of

        when = parse_when(at, now(), flag="--at", end_of_day=True) if at else None
        async with opened_library(options) as library:
            wanted = MemoryFilter(
                project_id=None if all_projects else library.project.id,
                person=None if all_owners else library.person.id,
                types=tuple(types or ()),
                forgotten=forgotten or when is not None,
                replaced=True,
                abandoned=True,
                sort=sort,
                limit=READ_MAX if scope or when else limit,
            )
            found = await library.store.memories.find(wanted)
            if when is not None:
                periods = await periods_of(library.store, found)
                found = [each for each in found if any(one.holds_at(when) for one in periods[each.id])]
        shown = [memory for memory in found if scope in (None, memory.scope)][:limit]
        (print_json_list if as_json else print_list)(shown)
        if not as_json:
            _tell_of_list(len(shown), limit=limit, all_projects=all_projects)
        return 0

    raise typer.Exit(run_async(work))


def _tell_of_list(count: int, *, limit: int, all_projects: bool) -> None:
    if not count:
        where = "" if all_projects else " in this project (--all lists those of every project)"
        tell(f"Nothing is remembered{where}, or nothing fits.")
    elif count == limit:
        tell(f"The first {limit}; --limit shows more.")


@app.command(epilog=EXIT_CODES)
def show(context: typer.Context, memory_id: IdPart, as_json: AsJson = False) -> None:
    """Show one memory whole."""
    options: Options = context.find_root().obj

    async def work() -> int:
        from ragforge.cli.library import opened_library
        from ragforge.cli.memory_output import print_json, print_memory
        from ragforge.domain.ids import now
        from ragforge.memory.memories import find_memory

        async with opened_library(options) as library:
            memory = await find_memory(library.store, memory_id)
            await library.store.memories.touch([memory.id], now())
        print_json(memory) if as_json else print_memory(memory)
        return 0

    raise typer.Exit(run_async(work))


@app.command(epilog=EXIT_CODES)
def why(context: typer.Context, memory_id: IdPart, as_json: AsJson = False) -> None:
    """Show what a memory rests on, what it replaces or is replaced by, and how often it was used."""
    options: Options = context.find_root().obj

    async def work() -> int:
        from ragforge.cli.library import opened_library
        from ragforge.cli.memory_output import print_json_story, print_story
        from ragforge.domain.ids import now
        from ragforge.memory import memories

        async with opened_library(options) as library:
            memory = await memories.find_memory(library.store, memory_id)
            story = await memories.why(library.store, memory)
            abandoned = await library.store.turns.abandoned([each.turn.id for each in story.evidence])
            await library.store.memories.touch([memory.id], now())
        print_json_story(story, abandoned) if as_json else print_story(story, abandoned)
        return 0

    raise typer.Exit(run_async(work))


@app.command(epilog=EXIT_CODES)
def add(
    context: typer.Context,
    words: Annotated[list[str], typer.Argument(metavar="TEXT", help="A sentence or two.")],
    type: Kind = None,
    importance: Importance = None,
    topic: Topic = None,
    scope: Annotated[
        MemoryScope, typer.Option("--scope", help="Where it holds: in this project, or global.")
    ] = MemoryScope.PROJECT,
) -> None:
    """Remember something; what was forgotten and has the same words is restored.

    Without --type the words may begin with it, as in "decision: use MySQL"; else it is a fact.
    """
    options: Options = context.find_root().obj

    async def work() -> int:
        from ragforge.cli.library import opened_library
        from ragforge.commands.remember import split_type
        from ragforge.domain.ids import now
        from ragforge.domain.memories import MemoryOrigin, MemorySource
        from ragforge.memory.memories import gives_way_to, new_memory, remember
        from ragforge.session.library import redacted
        from ragforge.store.base import keep_project

        about, text = (type, " ".join(words)) if type else split_type(" ".join(words))
        async with opened_library(options) as library:
            memory = new_memory(
                await redacted(library, text),
                about,
                project_id=library.project.id,
                at=now(),
                source=MemorySource.USER,
                scope=scope,
                importance=importance,
                topic=await redacted(library, topic or ""),
                person=library.person.id,
                origin=MemoryOrigin.ADD,
            )
            was_known = bool(await library.store.memories.get([memory.id]))
            await keep_project(library.store, library.project)
            replaced = await gives_way_to(library.store, memory)
            kept = await remember(library.store, memory)
        typer.echo(f"{'Known already' if was_known else 'Remembered'}: {_words(kept)}")
        for old in replaced:
            typer.echo(f"It replaces: {_words(old)}")
        return 0

    raise typer.Exit(run_async(work))


@app.command(epilog=EXIT_CODES)
def edit(
    context: typer.Context,
    memory_id: IdPart,
    words: Annotated[list[str] | None, typer.Argument(metavar="[TEXT]", help="The new words.")] = None,
    type: Kind = None,
    importance: Importance = None,
    topic: Topic = None,
    owner: Owner = None,
) -> None:
    """Change a memory's words, type, importance, topic or owner; the words of before can be had again."""
    options: Options = context.find_root().obj

    async def work() -> int:
        from ragforge.cli.library import opened_library
        from ragforge.memory.memories import find_memory
        from ragforge.session.library import redacted

        async with opened_library(options) as library:
            old = await find_memory(library.store, memory_id)
            text = None if words is None else await redacted(library, " ".join(words))
            topic_safe = None if topic is None else await redacted(library, topic)
            whose = {None: None, OwnerChoice.ME: library.person.id, OwnerChoice.EVERYBODY: ""}[owner]
            new = await _edited(library, old, text, type, importance, topic_safe, whose)
        typer.echo(f"Changed: {_words(new)}")
        if new.id != old.id:
            tell(f"`ragforge memory forget {new.id[:8]}` brings back the words of before ({old.id[:8]}).")
        return 0

    raise typer.Exit(run_async(work))


async def _edited(
    library: "Library",
    old: "Memory",
    text: str | None,
    type: MemoryType | None,
    importance: float | None,
    topic: str | None,
    owner: str | None,
) -> "Memory":
    from ragforge.domain.ids import now
    from ragforge.memory.memories import change, edit

    is_changed = any(each is not None for each in (type, importance, topic, owner))
    if text is None and not is_changed:
        raise UsageError("Say what to change: new words, --type, --importance, --topic or --owner.")
    if importance is not None and not 0 <= importance <= 1:  # before anything is changed
        raise UsageError(f"The importance of a memory lies between 0 and 1; {importance:g} does not.")
    new = old
    if text is not None:
        new = await edit(library.store, old, content=text, at=now())
        if new.id == old.id and not is_changed:
            raise UsageError(
                "These are the words that it has: case, spaces and a final stop make no other memory."
            )
    if is_changed:
        new = await change(
            library.store, new, type=type, importance=importance, topic=topic, owner=owner, at=now()
        )
    return new


Everywhere = Annotated[bool, typer.Option("--everywhere", help="In the history and in backups too.")]


@app.command(epilog=EXIT_CODES)
def forget(
    context: typer.Context,
    memory_ids: Ids,
    everywhere: Everywhere = False,
    now: Annotated[
        bool, typer.Option("--now", help="With --everywhere: at once, so that it cannot be undone.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="With --everywhere: do not ask.")] = False,
) -> None:
    """Forget memories: nothing that says the same goes to a model any more. They can be restored."""
    if now and not everywhere:
        raise UsageError("--now belongs to --everywhere.")
    if everywhere:
        _everywhere(context, memory_ids, now=now, yes=yes)
    _mark(context, memory_ids, forgets=True)


@app.command(epilog=EXIT_CODES)
def restore(context: typer.Context, memory_ids: Ids, everywhere: Everywhere = False) -> None:
    """Bring back what was forgotten."""
    if everywhere:
        _everywhere(context, memory_ids, undo=True)
    _mark(context, memory_ids, forgets=False)


def _everywhere(context: typer.Context, memory_ids: list[str], **flags: bool) -> NoReturn:
    """As `/forget --everywhere`, for one memory."""
    from ragforge.cli.verbs import run_asking
    from ragforge.commands.forget import VERB, ForgetArguments

    if len(memory_ids) > 1:
        raise UsageError("--everywhere takes one memory at a time.")
    args = ForgetArguments(memory_ids[0], everywhere=True, **flags)
    raise typer.Exit(run_asking(context.find_root().obj, VERB, args))


def _mark(context: typer.Context, memory_ids: list[str], *, forgets: bool) -> None:
    options: Options = context.find_root().obj

    async def work() -> int:
        from ragforge.cli.library import opened_library
        from ragforge.memory import forgotten
        from ragforge.memory.memories import find_memory

        change = forgotten.forget if forgets else forgotten.restore

        async with opened_library(options) as library:
            # All are looked up first: a wrong id changes nothing.
            found = [await find_memory(library.store, part) for part in memory_ids]
            alike = [each for memory in found for each in await change(library.store, memory)]
        for memory in {each.id: each for each in [*found, *alike]}.values():
            typer.echo(f"{'Forgotten' if forgets else 'Restored'}: {_words(memory)}")
        undo = "restore" if forgets else "forget"
        tell(f"`ragforge memory {undo} {' '.join(memory.id[:8] for memory in found)}` takes that back.")
        return 0

    raise typer.Exit(run_async(work))


def _words(memory: "Memory") -> str:
    return f"{memory.id[:8]}  {memory.type}  {one_line(memory.content)}"
