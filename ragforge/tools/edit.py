"""The tool that replaces a piece of a file's text."""

from functools import partial
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import structs

from ragforge.domain.errors import UsageError
from ragforge.files.atomic import hash_of
from ragforge.files.open import read_whole
from ragforge.files.text import decode, encode
from ragforge.tools.base import Effect, Preview, Tool, ToolContext, ToolResult
from ragforge.tools.changes import Change, check_hides_nothing, check_was_read, make_change, preview_change
from ragforge.tools.paths import display
from ragforge.tools.text_match import EditedText, NotEdited, replace


class EditArgs(msgspec.Struct, forbid_unknown_fields=True):
    """What to replace, and with what."""

    path: Annotated[str, msgspec.Meta(description="The file, relative to the working folder or absolute.")]
    old: Annotated[
        str,
        msgspec.Meta(
            description="The text to replace, exactly as in the file, indentation included, without the line "
            "numbers of read. It must occur once, unless replace_all is set."
        ),
    ]
    new: Annotated[str, msgspec.Meta(description="The new text. Empty removes the old text.")]
    replace_all: Annotated[bool, msgspec.Meta(description="Replace every place where old is.")] = False


async def run(args: EditArgs, ctx: ToolContext) -> ToolResult:
    """Make the edit; return the diff, or why nothing was changed."""
    return await make_change(partial(_plan, args, ctx), args.path, ctx)


async def preview(args: EditArgs, ctx: ToolContext) -> Preview:
    """Return the diff, or why it cannot be made."""
    return await preview_change(partial(_plan, args, ctx), args.path, ctx)


def _plan(args: EditArgs, ctx: ToolContext, path: Path) -> Change:
    shown = display(path, ctx)
    if not args.old:
        raise UsageError("`old` is empty. To create a file or replace all of it, use write.")
    if args.old == args.new:
        raise UsageError("`old` and `new` are the same, so there is nothing to change.")
    before = read_whole(path)
    check_was_read(path, before, ctx)
    file = decode(before)
    if file is None:
        raise UsageError(f"{shown} is not text, so it cannot be edited.")
    match replace(file.text, args.old, args.new, replace_all=args.replace_all):
        case NotEdited(reason):
            raise UsageError(reason)
        case EditedText() as edited:
            check_hides_nothing(path, file.text, edited.text, ctx)
            content = encode(edited.text, file)
    if content == before:
        raise UsageError(
            "`old` and `new` differ in line endings only, and those of the file are kept. "
            "To convert them, use a shell command."
        )
    how = structs.replace(file, text=edited.text).how
    return Change(path, content, hash_of(before), file.text, edited.text, how, _note(edited, shown))


def _note(edited: EditedText, shown: str) -> str:
    count = len(edited.lines)
    where = f"line {edited.lines[0]}" if count == 1 else f"{count} places"
    if not edited.by_whitespace:
        return f"Edited {shown} at {where}"
    return (
        f"Edited {shown} at {where}. `old` matched only with different indentation or trailing white "
        "space; `new` was indented to fit, so check the result"
    )


TOOL = Tool(
    name="edit",
    description=(
        "Replace text in a file. Read the file first; `old` must be exactly what is there, and there only "
        "once: include enough lines around it. Encoding and line endings of the file are kept."
    ),
    effect=Effect.WRITE,
    args_type=EditArgs,
    run=run,
    summarise=lambda args: args.path,
    preview=preview,
    editable="new",
)
