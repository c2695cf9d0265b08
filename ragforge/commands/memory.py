"""`memory`: the stored memories. In the interface a screen, on the command line by ids."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta, Struct
from msgspec.structs import replace

from ragforge.commands.base import Instead, Open, Outcome, Report, Verb
from ragforge.domain.arguments import Face, rest, shell_option, word
from ragforge.domain.errors import UsageError
from ragforge.domain.memories import MemoryScope, MemorySort, MemoryType
from ragforge.domain.printable import one_line

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from ragforge.domain.memories import Memory, MemoryFilter
    from ragforge.session.machine import Library
    from ragforge.session.state import Session
    from ragforge.store.base import Store

READ_MAX = 10_000
"""Scopes are chosen among so many."""
RULES_MAX = 1_000
"""So many rules, the newest, are compared with those that are listed."""

IdPart = Annotated[str, word("ID", "Its id, or the first 4 or more characters.")]
Ids = Annotated[str, rest("ID...", "Ids, or their first 4 or more characters.")]
AsJson = Annotated[bool, shell_option("--json", help="Print JSON.")]
Kind = Annotated[MemoryType | None, shell_option("--type", help="What it is about.")]
Importance = Annotated[
    float | None,
    shell_option(
        "--importance", metavar="0..1", help="How much it matters, from 0 to 1; by default the type decides."
    ),
]
Topic = Annotated[str | None, shell_option("--topic", metavar="TOPIC", help="A word or two to group it by.")]
Everywhere = Annotated[bool, shell_option("--everywhere", help="In the history and in backups too.")]


class OwnerChoice(StrEnum):
    """The new owner of a memory."""

    ME = "me"
    EVERYBODY = "everybody"


class MemoryArguments(Struct, frozen=True):
    """What follows the name."""

    words: Annotated[str, rest("WORDS", "To filter by.", only=Face.INTERFACE)] = ""


class ListArguments(Struct, frozen=True):
    """Which, and in which order."""

    types: Annotated[tuple[MemoryType, ...], shell_option("--type", help="Only this type; repeatable.")] = ()
    sort: Annotated[MemorySort, shell_option("--sort", help="The order.")] = MemorySort.RECENT
    scope: Annotated[MemoryScope | None, shell_option("--scope", help="Only those with this scope.")] = None
    all_projects: Annotated[bool, shell_option("--all", help="Include every project.")] = False
    all_owners: Annotated[
        bool, shell_option("--all-owners", help="Include other users' memories, and show who owns each.")
    ] = False
    forgotten: Annotated[bool, shell_option("--forgotten", help="Include forgotten memories.")] = False
    at: Annotated[
        str | None,
        shell_option("--at", metavar="WHEN", help="Only memories that were valid then: 2026-11-21, 3d, 2w."),
    ] = None
    limit: Annotated[
        int, Meta(ge=1, le=READ_MAX), shell_option("--limit", metavar="N", help="At most this many.")
    ] = 50
    json: AsJson = False


class ShowArguments(Struct, frozen=True):
    """Which."""

    id: IdPart
    json: AsJson = False


class AddArguments(Struct, frozen=True):
    """What, and its properties."""

    words: Annotated[str, rest("TEXT", "A sentence or two.")]
    type: Kind = None
    importance: Importance = None
    topic: Topic = None
    scope: Annotated[
        MemoryScope, shell_option("--scope", help="Where it applies: in this project, or global.")
    ] = MemoryScope.PROJECT


class EditArguments(Struct, frozen=True):
    """Which, and what to change."""

    id: IdPart
    words: Annotated[str, rest("TEXT", "The new words.")] = ""
    type: Kind = None
    importance: Importance = None
    topic: Topic = None
    owner: Annotated[
        OwnerChoice | None, shell_option("--owner", help="Who owns it. Only the owner's model receives it.")
    ] = None


class ForgetArguments(Struct, frozen=True):
    """Which, and how thoroughly."""

    ids: Ids
    everywhere: Everywhere = False
    now: Annotated[
        bool, shell_option("--now", help="With --everywhere: remove immediately; this cannot be undone.")
    ] = False
    yes: Annotated[bool, shell_option("--yes", "-y", help="With --everywhere: do not ask.")] = False
    json: AsJson = False


class RestoreArguments(Struct, frozen=True):
    """Which, and from where."""

    ids: Ids
    everywhere: Everywhere = False
    json: AsJson = False


async def _run(session: "Session", args: MemoryArguments) -> Outcome:
    return Open("memory", args.words)


async def _list(library: "Library", args: ListArguments) -> Outcome:
    from ragforge.commands.memory_output import as_json, list_line
    from ragforge.commands.search import parse_when
    from ragforge.domain.ids import now
    from ragforge.domain.memories import MemoryFilter
    from ragforge.memory.periods import periods_of

    when = parse_when(args.at, now(), flag="--at", end_of_day=True) if args.at else None
    wanted = MemoryFilter(
        project_id=None if args.all_projects else library.project.id,
        person=None if args.all_owners else library.person.id,
        types=args.types,
        forgotten=args.forgotten or when is not None,
        replaced=True,
        abandoned=True,
        sort=args.sort,
        limit=READ_MAX if args.scope or when else args.limit,
    )
    found = await library.store.memories.find(wanted)
    if when is not None:
        periods = await periods_of(library.store, found)
        found = [each for each in found if any(one.holds_at(when) for one in periods[each.id])]
    shown = [memory for memory in found if args.scope in (None, memory.scope)][: args.limit]
    if args.json:
        return Report(data=list(map(as_json, shown)))
    rules = [each for each in shown if each.strength]
    newer = await _newer_rules(library, wanted, rules) if rules else {}
    lines = [list_line(each, newer=newer.get(each.id), whose=args.all_owners) for each in shown]
    return Report(lines, _notes(len(shown), args))


async def _newer_rules(
    library: "Library", wanted: "MemoryFilter", listed: "Sequence[Memory]"
) -> "dict[str, Memory]":
    """Return the rules that contradict older ones, by the older one's id, whether they are listed or not."""
    from ragforge.memory.constraints import overruled

    binding = replace(wanted, types=(), binding=True, sort=MemorySort.RECENT, limit=RULES_MAX)
    found = {each.id: each for each in [*await library.store.memories.find(binding), *listed]}
    return overruled(found.values())


def _notes(count: int, args: ListArguments) -> tuple[str, ...]:
    if not count:
        where = "" if args.all_projects else " in this project (--all lists those of every project)"
        return (f"No memories found{where}.",)
    return (f"Only the first {args.limit} are shown; --limit shows more.",) if count == args.limit else ()


async def _show(library: "Library", args: ShowArguments) -> Outcome:
    from ragforge.commands.memory_output import as_json, memory_lines
    from ragforge.domain.ids import now
    from ragforge.memory.memories import find_memory

    memory = await find_memory(library.store, args.id)
    await library.store.memories.touch([memory.id], now())
    return Report(data=as_json(memory)) if args.json else Report(memory_lines(memory))


async def _why(library: "Library", args: ShowArguments) -> Outcome:
    from ragforge.commands.memory_output import story_as_json, story_lines
    from ragforge.domain.ids import now
    from ragforge.memory.memories import find_memory, why

    memory = await find_memory(library.store, args.id)
    story = await why(library.store, memory)
    abandoned = await library.store.turns.abandoned([each.turn.id for each in story.evidence])
    await library.store.memories.touch([memory.id], now())
    return (
        Report(data=story_as_json(story, abandoned)) if args.json else Report(story_lines(story, abandoned))
    )


async def _add(library: "Library", args: AddArguments) -> Outcome:
    from ragforge.commands.remember import split_type
    from ragforge.domain.ids import now
    from ragforge.domain.memories import MemoryOrigin, MemorySource
    from ragforge.memory.memories import gives_way_to, new_memory, remember
    from ragforge.session.library import redacted
    from ragforge.store.base import keep_project

    about, text = (args.type, args.words) if args.type else split_type(args.words)
    memory = new_memory(
        await redacted(library, text),
        about,
        project_id=library.project.id,
        at=now(),
        source=MemorySource.USER,
        scope=args.scope,
        importance=args.importance,
        topic=await redacted(library, args.topic or ""),
        person=library.person.id,
        origin=MemoryOrigin.ADD,
    )
    was_known = bool(await library.store.memories.get([memory.id]))
    await keep_project(library.store, library.project)
    replaced = await gives_way_to(library.store, memory)
    kept = await remember(library.store, memory)
    return Report(
        [
            f"{'Already known' if was_known else 'Remembered'}: {_words(kept)}",
            *(f"It replaces: {_words(old)}" for old in replaced),
        ]
    )


async def _edit(library: "Library", args: EditArguments) -> Outcome:
    from ragforge.memory.memories import find_memory

    old = await find_memory(library.store, args.id)
    new = await _edited(library, old, args)
    undo = f"`ragforge memory forget {new.id[:8]}` restores the previous words ({old.id[:8]})."
    return Report([f"Changed: {_words(new)}"], (undo,) if new.id != old.id else ())


async def _edited(library: "Library", old: "Memory", args: EditArguments) -> "Memory":
    from ragforge.domain.ids import now
    from ragforge.memory.memories import change, edit
    from ragforge.session.library import redacted

    changes = (args.type, args.importance, args.topic, args.owner)
    is_changed = any(each is not None for each in changes)
    if not args.words and not is_changed:
        raise UsageError("Nothing to change. Give new words, --type, --importance, --topic or --owner.")
    if args.importance is not None and not 0 <= args.importance <= 1:  # before anything is changed
        raise UsageError(f"The importance of a memory must be between 0 and 1, not {args.importance:g}.")
    new = old
    if args.words:
        new = await edit(library.store, old, content=await redacted(library, args.words), at=now())
        if new.id == old.id and not is_changed:
            raise UsageError("The text is unchanged: case, spaces and a final full stop do not count.")
    if is_changed:
        new = await change(
            library.store,
            new,
            type=args.type,
            importance=args.importance,
            topic=None if args.topic is None else await redacted(library, args.topic),
            owner={None: None, OwnerChoice.ME: library.person.id, OwnerChoice.EVERYBODY: ""}[args.owner],
            at=now(),
        )
    return new


async def _forget(library: "Library", args: ForgetArguments) -> Outcome | Instead:
    from ragforge.memory.forgotten import forget

    if args.now and not args.everywhere:
        raise UsageError("--now needs --everywhere.")
    if args.everywhere:
        return _everywhere(args.ids, now=args.now, yes=args.yes, json=args.json)
    return await _mark(library, args, forget, done="Forgotten", undo="restore")


async def _restore(library: "Library", args: RestoreArguments) -> Outcome | Instead:
    from ragforge.memory.forgotten import restore

    if args.everywhere:
        return _everywhere(args.ids, undo=True, json=args.json)
    return await _mark(library, args, restore, done="Restored", undo="forget")


def _everywhere(ids: str, **flags: bool) -> Instead:
    """Like `/forget --everywhere`, for one memory."""
    from ragforge.commands import forget

    if len(ids.split()) > 1:
        raise UsageError("--everywhere takes one memory at a time.")
    return Instead(forget.VERB, forget.ForgetArguments(ids, everywhere=True, **flags))


async def _mark(
    library: "Library",
    args: ForgetArguments | RestoreArguments,
    change: "Callable[[Store, Memory], Awaitable[Sequence[Memory]]]",
    *,
    done: str,
    undo: str,
) -> Report:
    from ragforge.commands.memory_output import as_json
    from ragforge.memory.memories import find_memory

    # All are looked up first: a wrong id changes nothing.
    found = [await find_memory(library.store, part) for part in args.ids.split()]
    alike = [each for memory in found for each in await change(library.store, memory)]
    marked = {each.id: each for each in [*found, *alike]}.values()
    if args.json:
        now = {each.id: as_json(each) for each in await library.store.memories.get([m.id for m in marked])}
        asked = dict.fromkeys(memory.id for memory in found)
        return Report(
            data={
                done.lower(): [now[id] for id in asked],
                "says_the_same": [each for id, each in now.items() if id not in asked],
            }
        )
    named = " ".join(memory.id[:8] for memory in found)
    takes_back = f"`ragforge memory {undo} {named}` undoes that."
    return Report([f"{done}: {_words(memory)}" for memory in marked], (takes_back,))


def _words(memory: "Memory") -> str:
    return f"{memory.id[:8]}  {memory.type}  {one_line(memory.content)}"


VERB = Verb(
    "memory",
    "List memories; filter, sort, edit or forget them, and see what they are based on.",
    MemoryArguments,
    _run,
    while_running=False,
    verbs=(
        Verb(
            "list",
            "List the memories of this project, and global ones, that are yours or everybody's.",
            ListArguments,
            shell=_list,
            reads=True,
        ),
        Verb("show", "Show one memory in full.", ShowArguments, shell=_show, reads=True),
        Verb(
            "why",
            "Show what a memory is based on, what it replaces or is replaced by, and how often it was used.",
            ShowArguments,
            shell=_why,
            reads=True,
        ),
        Verb(
            "add",
            "Remember something; a forgotten memory with the same words is restored.",
            AddArguments,
            shell=_add,
            more="Without --type, the words can start with it, as in 'decision: use MySQL'; otherwise it is "
            "a fact.",
        ),
        Verb(
            "edit",
            "Change a memory's words, type, importance, topic or owner; the old words can be restored.",
            EditArguments,
            shell=_edit,
        ),
        Verb(
            "forget",
            "Forget memories: nothing that says the same is sent to a model again. You can restore them.",
            ForgetArguments,
            shell=_forget,
        ),
        Verb("restore", "Restore forgotten memories.", RestoreArguments, shell=_restore),
    ),
)
