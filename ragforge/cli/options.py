"""What was asked for on the command line, and how errors leave it."""

import sys
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeVar

from ragforge.domain.errors import RagforgeError, UsageError

Result = TypeVar("Result")

INTERRUPTED = 130


class OutputFormat(StrEnum):
    """What a headless run prints."""

    TEXT = "text"
    JSON = "json"
    STREAM_JSON = "stream-json"


@dataclass(frozen=True, slots=True)
class Options:
    """The flags of `ragforge`. `flags` are those that are settings, by their dotted names."""

    cwd: Path
    prompt: str | None = None
    output_format: OutputFormat = OutputFormat.TEXT
    continue_newest: bool = False
    resume: str | None = None
    at: int | None = None
    fork: bool = False
    new: bool = False
    model_calls_max: int | None = None
    allow: tuple[str, ...] = ()
    yolo: bool = False
    model: str | None = None
    flags: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def check(self) -> None:
        """Raise UsageError for flags that contradict each other."""
        if self.continue_newest and self.resume:
            raise UsageError("-c continues the newest session and -r a chosen one: give only one of them.")
        if self.new and (self.continue_newest or self.resume):
            raise UsageError("--new starts a session, -c and -r open one that exists: give only one of them.")
        if (self.at or self.fork) and not (self.resume or self.continue_newest):
            raise UsageError("--at and --fork go with -r ID or -c.")


def run_to_exit_code(work: Callable[[], Coroutine[Any, Any, int]]) -> int:
    """Run to its exit code; an error of ours becomes its sentence on standard error and its code."""
    import asyncio  # costs 40 ms that --version need not pay

    try:
        return asyncio.run(work())
    except RagforgeError as error:
        print(f"ragforge: {error}", file=sys.stderr)  # noqa: T201 - the command line's own output
        return error.exit_code
    except KeyboardInterrupt:
        return INTERRUPTED
