"""Walk and search folders in a child process, which can be ended at any moment."""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path
from typing import assert_never

import msgspec
from msgspec import Struct

import ragforge
from ragforge.domain import timeouts
from ragforge.domain.errors import UsageError
from ragforge.files.open import why
from ragforge.tools.base import Preview, ToolContext, ToolResult
from ragforge.tools.paths import display, resolve
from ragforge.tools.scan_values import Answer, AnyRequest, End, MatchedLine, SearchRefusal

ANSWER_BYTES_MAX = 1024 * 1024

# Isolated: a module in the project's folder must not replace one of ours. The package is imported from
# where ours is, in case there are two; everything else from the interpreter's own folders first.
CODE = """
import sys
sys.path.insert(0, sys.argv[1])
import ragforge
sys.path.append(sys.path.pop(0))
from ragforge.tools.scan_child import main
main()
"""


class Scanned(Struct, frozen=True):
    """The lines found, and how it ended; None if the child was ended early."""

    lines: tuple[str, ...]
    end: End | None
    timed_out: bool = False


async def scan(request: AnyRequest, ctx: ToolContext) -> Scanned:
    """Return what the child found. Raises UsageError if the request cannot be answered."""
    lines: list[str] = []
    end: End | None = None
    try:
        async with (
            asyncio.timeout(request.limit_s + timeouts.SCAN_KILL_GRACE_S),
            aclosing(_answers(request, ctx.env)) as answers,
        ):
            async for answer in answers:
                match answer:
                    case MatchedLine(text):
                        lines.append(text)
                    case End():
                        end = answer
                    case SearchRefusal(reason):
                        raise UsageError(reason)
                    case _:
                        assert_never(answer)
    except TimeoutError:
        return Scanned(tuple(lines), None, timed_out=True)
    return Scanned(tuple(lines), end)


async def _answers(request: AnyRequest, env: dict[str, str]) -> AsyncGenerator[Answer, None]:
    """Yield the child's answers as they arrive. The child ends when this is closed."""
    try:
        process = await _start(env)
    except OSError as error:
        raise UsageError(f"Cannot start the search process: {why(error)}. Try again later.") from error
    try:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(msgspec.json.encode(request))
        process.stdin.close()
        decoder = msgspec.json.Decoder(Answer)
        async for line in process.stdout:
            yield decoder.decode(line)
        await process.wait()
    finally:
        if process.returncode is None:
            # Not process.kill(), which may take the exit code away from asyncio's own waiting.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()


async def _start(env: dict[str, str]) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-I", "-c", CODE, str(Path(ragforge.__file__).parents[1])),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env=env,
        cwd="/",
        start_new_session=True,
        limit=ANSWER_BYTES_MAX,
    )


def folder_of(path_text: str, ctx: ToolContext, *, or_file: bool = False) -> Path:
    """Return the folder to walk, or the file to search. Raises UsageError if there is none."""
    path = resolve(path_text, ctx)
    try:
        if path.is_dir() or (or_file and path.is_file()):
            return path
        what = "is not a folder" if path.exists() else "does not exist"
    except OSError as error:
        raise UsageError(f"Cannot read {display(path, ctx)}: {why(error)}.") from error
    raise UsageError(f"{display(path, ctx)} {what}. Give a folder{' or a file' if or_file else ''} as path.")


async def preview_scan(path_text: str, ctx: ToolContext) -> Preview:
    """Return the folder to be read; not whether it exists, because the path may need approval first."""
    try:
        return Preview(paths=(resolve(path_text, ctx),))
    except UsageError as error:
        return Preview(refused=str(error))


def as_bytes(path: Path) -> bytes:
    """Return the path as the system knows it."""
    return os.fsencode(path)


def report(scanned: Scanned, *, found: str, limit: int) -> ToolResult:
    """Return the lines, then what was left out and why.

    found: what was searched and that it matches, in the plural. limit: how many were requested.
    """
    end = scanned.end
    if end is None:
        why_not = (
            f"stopped after {timeouts.SCAN_S_MAX:.0f} s and not finished; a pattern without nested "
            "repetition or a smaller folder is faster"
            if scanned.timed_out
            else "the search process ended before it was done; try a smaller folder"
        )
        return ToolResult("\n".join([*scanned.lines, f"[{why_not}]"]), failed=not scanned.lines)
    notes = [f"[{note}]" for note in _notes(end, found, limit)]
    lines = scanned.lines or (f"No {found}.",)
    return ToolResult("\n".join([*lines, *notes]))


def _notes(end: End, found: str, limit: int) -> list[str]:
    notes: list[str] = []
    if end.total > limit:
        at_least = "at least " if end.capped else ""
        notes.append(f"{limit} of {at_least}{end.total} {found}; narrow the search to see the others")
    if not end.complete:
        notes.append(
            f"stopped after {timeouts.SCAN_S_MAX:.0f} s before everything was searched; name a smaller folder"
        )
    counted = (
        (end.ignored, "left out because git ignores them"),
        (end.binary, "binary files skipped"),
        (end.large, "files too large to be searched"),
        (end.unreadable, "files or folders that could not be read"),
    )
    return notes + [f"{what}: {count}" for count, what in counted if count]
