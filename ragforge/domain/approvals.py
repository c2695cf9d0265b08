"""Consent: what is asked before something is changed, what is answered, and the rules that remember it."""

from collections.abc import Awaitable, Callable, Iterable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct

from ragforge.domain.errors import UsageError
from ragforge.domain.json import JsonObject

if TYPE_CHECKING:  # an undo asks for no consent
    from ragforge.domain.constraints import ConstraintHit


class Mode(StrEnum):
    """How much may happen without asking."""

    ASK = "ask"
    ACCEPT_EDITS = "accept-edits"
    PLAN = "plan"
    """Nothing is changed: tools that change something are refused."""
    ALL = "all"
    """Nothing is asked. Never restored on resume."""


class Rule(Struct, frozen=True):
    """What needs no asking in this project. Written `tool(pattern)`, e.g. `shell(git status)`.

    shell: the pattern's words are the first words of a simple command. A final `*` is not needed.
    `shell(= rm -r build)`, with a sign in front, means that command exactly.
    edit, write and read: a path pattern as in gitignore, relative to the project.
    git: the path of a repository that git may read though it does not know the folder.
    """

    tool: str
    pattern: str

    def __str__(self) -> str:
        return f"{self.tool}({self.pattern})"


def foreign_rule(repository: Path) -> Rule:
    """The consent to read a repository that does not know the folder from which `.git` leads to it."""
    return Rule("git", str(repository))


def foreign_allowed(rules: Iterable[Rule]) -> frozenset[Path]:
    """Return the repositories that these rules allow in this way."""
    return frozenset(Path(rule.pattern) for rule in rules if rule.tool == "git")


def parse_rule(text: str) -> Rule:
    """The rule written as `tool(pattern)`. Raises UsageError with an example where it is not."""
    name, bracket, rest = text.strip().partition("(")
    pattern = rest[:-1].strip() if rest.endswith(")") else ""
    if not (bracket and name.isidentifier() and pattern):
        raise UsageError(f"Not a rule: {text!r}. Write it like shell(git status) or edit(src/**).")
    return Rule(name, pattern)


class RunCommand(Struct, frozen=True):
    """A command line that would run. notes: how, e.g. "in the background"."""

    command: str
    notes: tuple[str, ...] = ()


class ChangeFile(Struct, frozen=True):
    """A change to one file, as a unified diff. notes: how it is written, e.g. "CRLF line endings"."""

    path: str
    diff: str
    notes: tuple[str, ...] = ()


class OtherCall(Struct, frozen=True):
    """A call of which only the arguments are known."""

    args: JsonObject


Proposal: TypeAlias = RunCommand | ChangeFile | OtherCall
"""What a call would do. Its kind comes from the tool, and never from what a text looks like."""


def proposal_text(proposal: Proposal) -> str:
    """All that would run or be written, as it is."""
    match proposal:
        case RunCommand(command):
            return command
        case ChangeFile(path, diff):
            return f"{path}\n{diff}"
        case OtherCall(args):
            return "\n".join(f"{name}: {value}" for name, value in args.items())


class ToolApproval(Struct, frozen=True):
    """A tool call that waits for consent.

    proposal: the call exactly as it would run, secrets included. It is for the screen of the user who is
    asked: never store, log, print or send it. Everything else is without secrets.
    """

    call_id: str
    tool: str
    summary: str
    """One line: what would happen."""
    proposal: Proposal
    reason: str
    """Why it is asked, e.g. "changes a file" or "outside the project"."""
    rules: tuple[Rule, ...] = ()
    """What "always" would add; empty where there is no "always"."""
    hits: "tuple[ConstraintHit, ...]" = ()
    """What the user said that the call goes against, the newest first."""


class GoOnApproval(Struct, frozen=True):
    """The turn has used as many steps as it may; shall it go on?"""

    steps: int


ApprovalRequest: TypeAlias = ToolApproval | GoOnApproval


class ConsentAnswer(StrEnum):
    """What the user may answer."""

    ONCE = "once"
    ALWAYS = "always"
    NO = "no"


class ApprovalAnswer(Struct, frozen=True):
    """The answer, with the reason that the model hears when it is no."""

    answer: ConsentAnswer
    reason: str = ""


Approve: TypeAlias = Callable[[ApprovalRequest], Awaitable[ApprovalAnswer]]
