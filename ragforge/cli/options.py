"""The options of a command line."""

from collections.abc import Callable, Coroutine, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeVar

from msgspec import Struct, field

from ragforge.domain import timeouts
from ragforge.domain.errors import StoreLoginRefused, UsageError

T = TypeVar("T")

COMPLETION_VARIABLE = "_RAGFORGE_COMPLETE"
"""Set by the script of `ragforge completion`: arguments are completed, not run."""
EXIT_CODES = (
    "Exit codes: 0 done; 1 failed or stopped; 2 wrong usage or setting; 3 model; 4 store; 130 interrupted."
)


NO_SCREEN = ("", "dumb", "unknown")
"""The value of TERM if no screen can be drawn."""


class OutputFormat(StrEnum):
    """The output of a headless run."""

    TEXT = "text"
    JSON = "json"
    STREAM_JSON = "stream-json"


class Options(Struct, frozen=True):
    """The flags of `ragforge`. `flags` are those that are settings, by their dotted names.

    message: sent after the interface has opened.
    plain: in lines of text, without a drawn screen.
    resume: an id or a part of one; empty for `-r` without one, which shows the list of sessions.
    """

    cwd: Path
    prompt: str | None = None
    message: str = ""
    output_format: OutputFormat = OutputFormat.TEXT
    continue_newest: bool = False
    resume: str | None = None
    at: int | None = None
    fork: bool = False
    new: bool = False
    model_calls_max: int | None = None
    allow: tuple[str, ...] = ()
    yolo: bool = False
    trust_project: bool = False
    model: str | None = None
    no_memory: bool = False
    incognito: bool = False
    plain: bool = False
    flags: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @property
    def continues(self) -> bool:
        """Whether an earlier session is requested."""
        return self.continue_newest or self.resume is not None

    def check(self, *, headless: bool) -> None:
        """Raise UsageError for flags that contradict each other."""
        if self.continue_newest and self.resume is not None:
            raise UsageError("Use only one of -c (newest session) and -r (chosen session).")
        if self.new and self.continues:
            raise UsageError("--new starts a new session, so it cannot be combined with -c or -r.")
        if self.incognito and self.continues:
            raise UsageError("--incognito starts a new session, so it cannot be combined with -c or -r.")
        if self.incognito and self.flags.get("store"):
            raise UsageError("--incognito uses a temporary store, so it cannot be combined with --store.")
        if (self.at or self.fork) and not (self.resume or self.continue_newest):
            raise UsageError("--at and --fork need -r ID or -c.")
        if self.message and self.resume == "":
            raise UsageError("-r needs an ID with a prompt. `ragforge sessions` lists them.")
        if headless and self.resume == "":
            raise UsageError("-r needs an ID here. `ragforge sessions` lists them.")
        if not headless and self.output_format is not OutputFormat.TEXT:
            raise UsageError('--output-format needs -p, as in: ragforge -p "..." --output-format json')
        if not headless and self.model_calls_max is not None:
            raise UsageError("--max-turns needs -p. The setting turn.steps_max limits every turn.")
        if self.allow:
            from ragforge.domain.approvals import parse_rule  # most runs have no rule to check

            for text in self.allow:
                parse_rule(text)


def is_line_mode(options: Options, environ: Mapping[str, str]) -> bool:
    """Whether the conversation is in lines: it was requested, or the terminal draws no screen."""
    return options.plain or environ.get("TERM", "").strip().lower() in NO_SCREEN


def current_folder() -> Path:
    """Return the folder that we were started in. Raises UsageError if it was removed."""
    try:
        return Path.cwd()
    except FileNotFoundError as error:
        raise UsageError("The current folder no longer exists. Change to another one.") from error


def run_async(work: Callable[[], Coroutine[Any, Any, T]], *, asks: bool = True) -> T:
    """Return the result of the work: an exit code, or what a further question depends on.

    asks: in a terminal, ask for the password of the store's server, and start again with it.
    """
    import asyncio  # costs 40 ms that --version need not pay

    for _ in range(timeouts.PASSWORD_TRIES_MAX if asks else 0):
        try:
            return asyncio.run(work())
        except StoreLoginRefused as refused:
            from ragforge.cli import login  # most stores have no password

            # Not in the loop, in which Ctrl+C would not end the question.
            if not (refused.ask_for and login.can_ask() and login.take_password(refused)):
                raise
    return asyncio.run(work())
