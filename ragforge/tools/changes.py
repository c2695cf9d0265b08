"""A planned change of one file: shown before it is made, checked again when it is made."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from threading import Event

from msgspec import Struct

from ragforge.domain.approvals import ChangeFile
from ragforge.domain.cancellation import in_thread
from ragforge.domain.errors import UsageError
from ragforge.domain.redact import MARK
from ragforge.files.atomic import ChangedOnDisk, hash_of, write_atomic
from ragforge.files.diffs import unified
from ragforge.files.open import size, why
from ragforge.tools.base import Preview, ToolContext, ToolResult
from ragforge.tools.paths import display, relative, resolve


class Change(Struct, frozen=True):
    """A file's new content, and what it is based on.

    expected: hash of the content that it was made from, None if there was no file.
    before, after: its text. how: how the text is written, e.g. "CRLF line endings".
    note: what is done, as the beginning of a sentence.
    """

    path: Path
    content: bytes
    expected: str | None
    before: str | None
    after: str
    how: str
    note: str


Planner = Callable[[Path], Change]
"""Returns the change to a resolved path. Raises UsageError or OSError if there is none."""


def check_was_read(path: Path, content: bytes, ctx: ToolContext) -> None:
    """Raise UsageError unless the model has seen exactly this content in this session."""
    shown = display(path, ctx)
    seen = ctx.read_files.hashes.get(path)
    if seen is None:
        raise UsageError(f"{shown} exists and was not read since this session was opened. Read it first.")
    if seen != hash_of(content):
        raise UsageError(f"{shown} has changed since it was read. Read it again, then repeat the change.")


def check_was_heard(path: Path, ctx: ToolContext) -> None:
    """Raise UsageError if the model has not yet received what it read of the file."""
    if path in ctx.read_files.unheard:
        raise UsageError(
            f"You read {display(path, ctx)} in this same step and have not seen its content yet. "
            "Write it in the next step, or use edit."
        )


def check_hides_nothing(path: Path, before: str, after: str, ctx: ToolContext) -> None:
    """Raise UsageError if a secret that was hidden from the model would be replaced by its mark."""
    if MARK in after and MARK not in before:
        raise UsageError(
            f"The new text of {display(path, ctx)} contains {MARK}, which stands for a secret that you "
            "were not shown. Writing it would destroy the secret. Use edit on the surrounding lines."
        )


async def preview_change(plan: Planner, path_text: str, ctx: ToolContext) -> Preview:
    """Return the diff of the change, or why it cannot be made."""
    try:
        path = resolve(path_text, ctx)
    except UsageError as error:
        return Preview(refused=str(error))
    try:
        change = await in_thread(lambda _: plan(path))
    except UsageError as error:
        return Preview(paths=(path,), refused=str(error))
    except OSError as error:
        return Preview(paths=(path,), refused=f"Cannot change {display(path, ctx)}: {why(error)}.")
    name = display(path, ctx)
    diff = await in_thread(lambda _: unified(change.before, change.after, name, endings=True))
    notes = ("new file" if change.before is None else "", change.how)
    proposal = ChangeFile(relative(path, ctx), diff, tuple(filter(None, notes)))
    return Preview(proposal, (path,), after=change.content)


async def make_change(plan: Planner, path_text: str, ctx: ToolContext) -> ToolResult:
    """Make the change that `plan` returns now, whatever a preview found before."""

    def work(path: Path, stop: Event) -> tuple[Change, str]:
        change = plan(path)
        diff = unified(change.before, change.after, shown)
        digest = hash_of(change.content)
        if digest != change.expected and not stop.is_set():
            write_atomic(path, change.content, expected=change.expected)
            # Here, so that it also applies if the call was cancelled while the file was written.
            ctx.read_files.hashes[path] = digest
        return change, diff

    try:
        path = resolve(path_text, ctx)
    except UsageError as error:
        return ToolResult(str(error), failed=True)
    shown = display(path, ctx)
    try:
        change, diff = await in_thread(partial(work, path))
    except UsageError as error:
        return ToolResult(f"{error} Nothing was changed.", failed=True)
    except ChangedOnDisk:
        return ToolResult(f"{shown} has just changed. Nothing was written; read it again.", failed=True)
    except OSError as error:
        return ToolResult(f"Cannot write {shown}: {why(error)}. Nothing was changed.", failed=True)
    if hash_of(change.content) == change.expected:
        return ToolResult(f"{shown} already has this content.")
    return ToolResult(f"{change.note} ({size(len(change.content))}).", diff=diff)
