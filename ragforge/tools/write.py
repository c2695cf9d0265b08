"""The tool that creates a file or replaces its whole content."""

from functools import partial
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec.structs import replace

from ragforge.domain.errors import UsageError
from ragforge.files.atomic import hash_of
from ragforge.files.open import read_whole
from ragforge.files.text import TextFile, decode, encode, to_newline
from ragforge.tools.base import Effect, Preview, Tool, ToolContext, ToolResult
from ragforge.tools.changes import (
    Change,
    check_hides_nothing,
    check_was_heard,
    check_was_read,
    make_change,
    preview_change,
)
from ragforge.tools.paths import display


class WriteArgs(msgspec.Struct, forbid_unknown_fields=True):
    """What to write, and where."""

    path: Annotated[str, msgspec.Meta(description="The file, relative to the working folder or absolute.")]
    content: Annotated[str, msgspec.Meta(description="The whole new content of the file.")]


async def run(args: WriteArgs, ctx: ToolContext) -> ToolResult:
    """Write the file; return the diff, or why nothing was changed."""
    return await make_change(partial(_plan, args, ctx), args.path, ctx)


async def preview(args: WriteArgs, ctx: ToolContext) -> Preview:
    """Return the diff, or why it cannot be written."""
    return await preview_change(partial(_plan, args, ctx), args.path, ctx)


def _plan(args: WriteArgs, ctx: ToolContext, path: Path) -> Change:
    shown = display(path, ctx)
    try:
        before = read_whole(path)
    except FileNotFoundError:
        content = encode(args.content, TextFile(""))
        return Change(path, content, None, None, args.content, TextFile(args.content).how, f"Created {shown}")
    check_was_read(path, before, ctx)
    check_was_heard(path, ctx)
    file = decode(before)
    if file is None:
        raise UsageError(f"{shown} is not text. To replace it, delete it first.")
    # The mark is written again by `encode`; a second one would be a stray character in the text.
    text = to_newline(args.content.removeprefix("\ufeff") if file.mark else args.content, file.newline)
    check_hides_nothing(path, file.text, text, ctx)
    content = encode(text, file)
    how = replace(file, text=text).how
    return Change(path, content, hash_of(before), file.text, text, how, f"Wrote {shown}")


TOOL = Tool(
    name="write",
    description=(
        "Create a file, with its folders, or replace a file's whole content. An existing file must have been "
        "read in an earlier step; its encoding and line endings are kept. To change a part, use edit."
    ),
    effect=Effect.WRITE,
    args_type=WriteArgs,
    run=run,
    summarise=lambda args: args.path,
    preview=preview,
    editable="content",
)
