"""The tool that reads a file: text with line numbers, or an image."""

import difflib
import io
import itertools
from collections.abc import Iterator
from pathlib import Path
from threading import Event
from typing import Annotated, BinaryIO

import msgspec
from msgspec import Struct

from ragforge.domain.cancellation import in_thread
from ragforge.domain.errors import UsageError
from ragforge.domain.messages import ImagePart
from ragforge.domain.printable import escaped
from ragforge.files.atomic import hash_of
from ragforge.files.images import image_type
from ragforge.files.open import TEXT_BYTES_MAX, NotAFile, kind_of, open_file, size, why
from ragforge.files.text import MARKS, decode, lines_of
from ragforge.tools.base import Effect, Preview, Tool, ToolContext, ToolResult
from ragforge.tools.limits import IMAGE_BYTES_MAX, LINE_CHARS_MAX, READ_BYTES_MAX, READ_LINES_MAX
from ragforge.tools.paths import display, resolve

CHUNK_CHARS = 64 * 1024
NEAR_NAMES_MAX = 3
NAMES_COMPARED_MAX = 5_000


class ReadArgs(msgspec.Struct, forbid_unknown_fields=True):
    """What to read, and which lines."""

    path: Annotated[str, msgspec.Meta(description="The file, relative to the working folder or absolute.")]
    offset: Annotated[int, msgspec.Meta(description="First line to read, counted from 1.", ge=1)] = 1
    limit: Annotated[
        int, msgspec.Meta(description="How many lines to read at most.", ge=1, le=READ_LINES_MAX)
    ] = READ_LINES_MAX


class _ReadResult(Struct, frozen=True):
    """The answer, the file's hash if it was read completely, and an image."""

    text: str
    failed: bool = False
    digest: str = ""
    image: bytes = b""
    mime: str = ""


async def run(args: ReadArgs, ctx: ToolContext) -> ToolResult:
    """Return the lines, numbered; or why they cannot be read."""
    try:
        path = resolve(args.path, ctx)
    except UsageError as error:
        return ToolResult(str(error), failed=True)
    try:
        found = await in_thread(lambda stop: _read(path, args, stop))
    except NotAFile as error:
        return ToolResult(f"{error} To see what is in a folder, use the tool list.", failed=True)
    except UsageError as error:
        return ToolResult(str(error), failed=True)
    except OSError as error:
        near = await in_thread(lambda _: _near_names(path)) if isinstance(error, FileNotFoundError) else ""
        return ToolResult(f"Cannot read {display(path, ctx)}: {why(error)}.{near}", failed=True)
    if found.digest:
        ctx.read_files.read(path, found.digest)
    if found.image:
        image = ImagePart(await ctx.put_blob(found.image), found.mime, path.name)
        return ToolResult(found.text, images=(image,))
    return ToolResult(found.text, failed=found.failed)


async def preview(args: ReadArgs, ctx: ToolContext) -> Preview:
    """Return the file to be read; not whether it exists, because the path may need approval first."""
    try:
        return Preview(paths=(resolve(args.path, ctx),))
    except UsageError as error:
        return Preview(refused=str(error))


def _read(path: Path, args: ReadArgs, stop: Event) -> _ReadResult:
    with open_file(path) as file:
        content = file.read(TEXT_BYTES_MAX + 1)
        if len(content) > TEXT_BYTES_MAX:
            file.seek(0)
            return _read_huge(file, content[:1_000_000], args, stop)
    digest = hash_of(content)
    if mime := image_type(content):
        if len(content) > IMAGE_BYTES_MAX:
            limit = size(IMAGE_BYTES_MAX)
            return _ReadResult(
                f"{mime}, {size(len(content))}: too large to be shown, the limit is {limit}.", True
            )
        return _ReadResult(f"{mime}, {size(len(content))}", digest=digest, image=content, mime=mime)
    if not content:
        return _ReadResult("[the file is empty]", digest=digest)
    if (file_text := decode(content)) is None:
        return _ReadResult(f"Not text: {kind_of(content)}, {size(len(content))}.", failed=True, digest=digest)
    lines = lines_of(file_text.text)
    if args.offset > len(lines):
        return _ReadResult(
            f"The file has {len(lines)} lines, there is no line {args.offset}.", failed=True, digest=digest
        )
    numbered, last = _numbered(iter(lines[args.offset - 1 :]), args)
    notes = [f"[{file_text.how}]"] if file_text.how else []
    if last < len(lines):
        notes.append(f"[lines {args.offset}-{last} of {len(lines)}; go on with offset={last + 1}]")
    elif not file_text.text.endswith("\n"):
        notes.append("[no line ending after the last line]")
    return _ReadResult("\n".join([numbered, *notes]), digest=digest)


def _read_huge(file: BinaryIO, sample: bytes, args: ReadArgs, stop: Event) -> _ReadResult:
    """Read some lines of a file that is too large for memory; its beginning says what it is."""
    encoding = next((name for mark, name in MARKS if sample.startswith(mark)), "utf-8")
    if encoding == "utf-8" and b"\0" in sample:
        return _ReadResult(f"Not text: {kind_of(sample)}, larger than {size(TEXT_BYTES_MAX)}.", failed=True)
    numbered, last = _numbered(_stream_lines(file, encoding, args.offset, stop), args)
    if not numbered:
        return _ReadResult(f"The file has no line {args.offset}.", failed=True)
    note = f"[a file larger than {size(TEXT_BYTES_MAX)}, lines {args.offset}-{last}; it cannot be edited]"
    return _ReadResult(f"{numbered}\n{note}")


def _stream_lines(file: BinaryIO, encoding: str, first: int, stop: Event) -> Iterator[str]:
    """Yield the lines from `first` on; of a very long line, no more than can be shown is held."""
    reader = io.TextIOWrapper(file, encoding, errors="replace", newline="\n")
    held = reader.read(CHUNK_CHARS).removeprefix("\ufeff")
    skip = first - 1
    while held and skip and not stop.is_set():
        if (ends := held.count("\n")) >= skip:
            held = held.split("\n", skip)[-1]
            break
        skip -= ends
        held = reader.read(CHUNK_CHARS)
    while not stop.is_set():
        line, ending, rest = held.partition("\n")
        if ending:
            yield line.removesuffix("\r")
            held = rest
        elif more := reader.read(CHUNK_CHARS):
            held = line[: LINE_CHARS_MAX + 1] + more
        else:
            if line:
                yield line
            return


def _numbered(lines: Iterator[str], args: ReadArgs) -> tuple[str, int]:
    """Return as many lines as the limits allow, and the number of the last one."""
    shown: list[str] = []
    room = READ_BYTES_MAX
    for number, line in enumerate(lines, args.offset):
        text = f"{number:>6}\t{_short(line)}"
        room -= len(text.encode(errors="replace")) + 1
        if room < 0 or len(shown) == args.limit:
            break
        shown.append(text)
    return "\n".join(shown), args.offset + len(shown) - 1


def _short(line: str) -> str:
    if len(line) <= LINE_CHARS_MAX:
        return line
    return f"{line[:LINE_CHARS_MAX]} [... line cut after {LINE_CHARS_MAX:,} characters]"


def _near_names(path: Path) -> str:
    """Return what may have been meant, as a sentence to append."""
    try:
        names = [entry.name for entry in itertools.islice(path.parent.iterdir(), NAMES_COMPARED_MAX)]
    except OSError:
        return " The folder does not exist either."
    lower = {name.lower(): name for name in names}
    near = difflib.get_close_matches(path.name.lower(), lower, NEAR_NAMES_MAX)
    if not near:
        return ""
    return f" Did you mean {' or '.join(escaped(lower[name]) for name in near)}?"


TOOL = Tool(
    name="read",
    description=(
        f"Read a file. Text comes with line numbers and a tab before each line (they are no part of the "
        f"file), at most {READ_LINES_MAX} lines or {READ_BYTES_MAX // 1000} KB at once; continue with "
        "offset. Images (PNG, JPEG, GIF, WebP) are shown to you. A file must be read before it is edited or "
        "overwritten."
    ),
    effect=Effect.READ,
    args_type=ReadArgs,
    run=run,
    summarise=lambda args: args.path if args.offset == 1 else f"{args.path} from line {args.offset}",
    preview=preview,
)
