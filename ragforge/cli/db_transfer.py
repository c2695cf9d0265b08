"""Copies on the command line, and the report of copies and backups."""

from collections.abc import Callable, Coroutine, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import typer

from ragforge.cli.db_progress import shown, size
from ragforge.cli.edge import tell
from ragforge.cli.options import run_async
from ragforge.cli.output import printable

if TYPE_CHECKING:  # costs more than all of `ragforge --version`
    from ragforge.session.machine import Machine
    from ragforge.store.transfer import BackupMade, TransferResult

T = TypeVar("T")

RESUMES = "What was copied so far is kept; run the same command again to continue."
NAMED_MAX = 5
"""How many missing contents are named; a backup's last line has all."""


def copy_between(machine: "Machine", origin: str, to: str, *, password: str = "") -> None:
    """Copy everything from one store to another and report it. password: of the second, if known."""

    async def work() -> None:
        from ragforge.session.databases import contents, opened
        from ragforge.session.union_copy import follow_unions
        from ragforge.store import transfer

        async with (
            opened(machine, origin, tell=tell) as source,
            opened(machine, to, password=password, tell=tell, make=True) as target,
            contents(machine) as blobs,
        ):
            await follow_unions(source.archive.dump(), target)
            with shown() as progress:
                moved = await transfer.copy(
                    source, target, blobs, machine_dir=machine.data_dir, tell=progress
                )
        print_moved(moved)

    stoppable(work, RESUMES)


def stoppable(work: Callable[[], Coroutine[Any, Any, T]], words: str) -> T:
    """Return the result of the work; the words are shown if it is interrupted."""
    try:
        return run_async(work)
    except KeyboardInterrupt:
        tell(f"Stopped. {words}")
        raise


def print_backup(made: "BackupMade") -> None:
    """Print the result of a backup."""
    typer.echo(printable(f"{made.file}: {size(made.size_bytes)} in {made.took_s:.1f} s"))
    _print_counts(made.closing.counts)
    if made.closing.waiting:
        tell(f"It lacks {number(made.closing.waiting, 'row')} that had not reached the server yet.")
    _tell_missing(made.closing.missing)


def print_moved(moved: "TransferResult") -> None:
    """Print the result of a copy or a restored backup."""
    _print_counts({str(kind): count for kind, count in moved.counts.items()} | {"blob": moved.blobs})
    same = sum(moved.counts.values()) - moved.new - moved.kept
    amounts = {"new": moved.new, "already there": same, "left as they are in the store": moved.kept}
    parts = [f"{count:,} {words}" for words, count in amounts.items() if count]
    typer.echo(f"Records: {', '.join(parts) or 'none'}.")
    typer.echo(f"Copied in {moved.move_s:.1f} s, read back and compared in {moved.verify_s:.1f} s.")
    _tell_missing(moved.missing_blobs)


def _print_counts(counts: Mapping[str, int]) -> None:
    for kind, noun in _NOUNS.items():
        if counts.get(kind):
            typer.echo(f"  {number(counts[kind], noun)}")


_NOUNS = {
    "project": "project",
    "session": "session",
    "turn": "turn",
    "step": "step",
    "tool_call": "tool call",
    "summary": "summary",
    "memory": "memory",
    "association": "link between memories",
    "derived": "derived record",
    "embedding": "vector",
    "spent": "background model call",
    "version": "version",
    "branch": "branch",
    "move": "undo, redo or checkout",
    "blob": "content",
}


def _tell_missing(digests: tuple[str, ...]) -> None:
    if digests:
        named = ", ".join(digest[:12] for digest in digests[:NAMED_MAX])
        more = f" and {len(digests) - NAMED_MAX} more" if len(digests) > NAMED_MAX else ""
        tell(
            f"Missing here: {number(len(digests), 'content')} (images, long results, files): {named}{more}. "
            "The conversations are complete without them. To copy them too, run the same command on the "
            "machine that made them. Files that a clean-up removed cannot be recovered."
        )


def number(count: int, noun: str) -> str:
    """Return `1 turn`, `2 turns`."""
    if count == 1:
        return f"1 {noun}"
    plural = {
        "summary": "summaries",
        "memory": "memories",
        "link between memories": "links between memories",
        "branch": "branches",
        "undo, redo or checkout": "undos, redos and checkouts",
    }
    return f"{count:,} {plural.get(noun, f'{noun}s')}"
