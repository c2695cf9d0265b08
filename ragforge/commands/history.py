"""`history`: the disk space of versions, removing what is not needed, one content of a version."""

from typing import TYPE_CHECKING, Annotated

from msgspec import Meta, Struct, to_builtins
from msgspec.structs import replace

from ragforge.commands.base import Confirm, NoArguments, Opens, Outcome, Report, Verb
from ragforge.domain.arguments import Former, option, shell_option, word
from ragforge.domain.commands import is_in_shell
from ragforge.domain.errors import UsageError
from ragforge.domain.printable import fenced
from ragforge.domain.words import counted

if TYPE_CHECKING:
    from ragforge.session.state import Session

DAYS_MAX = 100_000
LINES_MAX = 1000
"""The length of a content in the interface."""


class SizeArguments(Struct, frozen=True):
    """The form of the output."""

    json: Annotated[bool, shell_option("--json", help="Print one JSON object.")] = False


class CleanUpArguments(Struct, frozen=True):
    """How much is kept."""

    days: Annotated[
        int | None,
        Meta(ge=0, le=DAYS_MAX),
        word(
            "DAYS",
            "Remove contents of versions older than DAYS that no branch, label or head needs; 0 removes "
            "none. The default is history.keep_days.",
        ),
    ] = None
    dry_run: Annotated[bool, option("--dry-run", help="Show what would be removed, without removing it.")] = (
        False
    )
    yes: Annotated[bool, option("--yes", "-y", help="Do not ask.")] = False
    gone: Annotated[
        str,
        option(
            "--gone", metavar="URL", help="Stop keeping contents for this store, because it no longer exists."
        ),
    ] = ""


class ShowArguments(Struct, frozen=True):
    """Which content."""

    version: Annotated[str, word("VERSION", "A branch, a label, HEAD or a part of an id.")]
    path: Annotated[str, word("PATH", "Relative to the project's folder.")]
    number: Annotated[int | None, Meta(ge=1), word("N", "Print this content instead of listing all.")] = None


async def _run(session: "Session", args: NoArguments) -> Outcome:
    return await _size(session, SizeArguments())


async def _size(session: "Session", args: SizeArguments) -> Outcome:
    from ragforge.session.storage import history_size, size_lines

    found = await history_size(session.workspace)
    if args.json:
        return Report(data=to_builtins(found))
    lines = size_lines(found, size_gb_max=session.workspace.settings.history.size_gb_max)
    return Report(lines, markdown="\n\n".join(lines))


async def _clean_up(session: "Session", args: CleanUpArguments) -> Outcome:
    """Find what would be removed and ask; remove it after a yes.

    The command line does not ask about contents that no version loses.
    """
    from ragforge.session.storage import clean_up, collected_words, forget_store, shown_url

    workspace = session.workspace
    if args.gone and args.dry_run:
        raise UsageError("Use only one of --gone, which is saved, and --dry-run, which changes nothing.")
    notes: tuple[str, ...] = ()
    if args.gone and not await forget_store(workspace, args.gone):
        notes = (f"No contents were kept for {shown_url(args.gone)}.",)
    keep_days = workspace.settings.history.keep_days if args.days is None else args.days
    found = await clean_up(workspace, keep_days=keep_days, dry_run=not args.yes)
    would_go = not args.yes and not args.dry_run and (found.contents or found.sealed)
    if would_go and (found.versions or not is_in_shell()):
        question = f"{collected_words(found, dry_run=True)} Remove it permanently?"
        unasked = (
            f"{counted(found.versions, 'old version')} would lose contents, and standard input is not a "
            "terminal. Add --yes to remove them without being asked, or give 0 as DAYS to keep them."
        )
        then = f"{VERB.name} {CLEAN_UP.line(replace(args, yes=True))}"
        return Confirm(question, then, unasked=unasked)
    if would_go:
        found = await clean_up(workspace, keep_days=keep_days, dry_run=False)
    told = collected_words(found, dry_run=args.dry_run)
    return Report([told], notes, markdown="\n\n".join([*notes, told]))


async def _show(session: "Session", args: ShowArguments) -> Outcome:
    from ragforge.files.open import size
    from ragforge.versions.path_nodes import lay_at

    found = await lay_at(session.worktree, args.version, args.path)
    if args.number is None:
        rows = enumerate(found, 1)
        return Report([f"{place}  {node.digest[:12]}  {size(node.size)}" for place, node in rows])
    if args.number > len(found):
        raise UsageError(
            f"Only {counted(len(found), 'content')} at this path, so there is no number {args.number}."
        )
    content = await session.workspace.blobs.get(found[args.number - 1].digest)
    lines = content.decode(errors="replace").splitlines()
    return Report(exact=content, markdown=fenced("\n".join(lines[:LINES_MAX]), "text"))


CLEAN_UP = Verb(
    "gc",
    "Remove contents that nothing needs; asks first if old versions would lose contents.",
    CleanUpArguments,
    _clean_up,
    opens=Opens.NONE,
    former=(Former("--keep-days DAYS", "DAYS"),),
)
VERB = Verb(
    "history",
    "Show how much space old file contents take; gc removes what no version needs.",
    NoArguments,
    _run,
    verbs=(
        Verb(
            "size",
            "Show how much space contents take on this machine, and what for.",
            SizeArguments,
            _size,
            opens=Opens.NONE,
        ),
        CLEAN_UP,
        Verb(
            "show",
            "List the contents that a path had in a version, from first to last, or print one of them.",
            ShowArguments,
            _show,
            more="The list includes contents that a turn wrote and later overwrote.",
            opens=Opens.NONE,
            reads=True,
        ),
    ),
)
