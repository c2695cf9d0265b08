"""Approvals: the question before a change and its answer, rules, and constraints."""

from collections.abc import Awaitable, Callable, Iterable
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import TypeAlias

from msgspec import Struct

from ragforge.domain.errors import UsageError
from ragforge.domain.json import JsonObject
from ragforge.domain.memories import Strength
from ragforge.domain.words import day_words


class Mode(StrEnum):
    """What is allowed without asking."""

    ASK = "ask"
    ACCEPT_EDITS = "accept-edits"
    PLAN = "plan"
    """Nothing is changed: tools that change something are refused."""
    ALL = "all"
    """Nothing is asked. Never restored on resume."""


class Rule(Struct, frozen=True):
    """What is allowed without asking in this project. Written `tool(pattern)`, e.g. `shell(git status)`.

    shell: the pattern's words are the first words of a simple command. A final `*` is not needed. `shell(= rm
    -r build)`, with an equals sign, matches that exact command. edit, write and read: a path pattern as in
    gitignore, relative to the project.
    web_fetch: a host, `*.example.org` for its subdomains, or `*` for any host.
    git: the path of a repository that git may read although it does not know the folder.
    """

    tool: str
    pattern: str

    def __str__(self) -> str:
        return f"{self.tool}({self.pattern})"


def foreign_rule(repository: Path) -> Rule:
    """Return the rule that allows reading a repository that `.git` leads to and that does not know the
    folder."""
    return Rule("git", str(repository))


def foreign_allowed(rules: Iterable[Rule]) -> frozenset[Path]:
    """Return the repositories that these rules allow to read."""
    return frozenset(Path(rule.pattern) for rule in rules if rule.tool == "git")


def parse_rule(text: str) -> Rule:
    """Parse a rule written as `tool(pattern)`. Raises UsageError with an example if it is malformed."""
    name, bracket, rest = text.strip().partition("(")
    pattern = rest[:-1].strip() if rest.endswith(")") else ""
    if not (bracket and name.isidentifier() and pattern):
        raise UsageError(f"Not a rule: {text!r}. Write it like shell(git status) or edit(src/**).")
    return Rule(name, pattern)


class TurnTerms(Struct, frozen=True):
    """Settings for one turn only.

    model: as `provider:name`, empty for the session's. rules: valid for this turn.
    """

    model: str = ""
    rules: tuple[Rule, ...] = ()


class Deed(StrEnum):
    """What must not be done with the objects of a prohibition."""

    USE = "use"
    """To run it, to write it into code, to add it."""
    RUN = "run"
    """To do it: no word of code, but perhaps a command."""
    CHANGE = "change"
    DELETE = "delete"
    DEPEND = "depend"
    """To add any dependency; there are no objects."""


class Prohibition(Struct, frozen=True):
    """One thing that a sentence forbids.

    objects: any of them; each is a path, a path pattern, a command or some words. within, outside: where it
    applies and where it does not, as paths or words; empty for everywhere and nowhere.
    """

    deed: Deed
    objects: tuple[str, ...] = ()
    within: tuple[str, ...] = ()
    outside: tuple[str, ...] = ()


class Constraint(Struct, frozen=True):
    """A binding memory, ready to be checked against calls."""

    id: str
    """That of the memory."""
    text: str
    strength: Strength
    said_at: datetime
    turn: str
    """The newest turn in which it was said; empty for one that was told by a command."""
    session: str
    prohibitions: tuple[Prohibition, ...]
    wants: tuple[str, ...] = ()
    """What it wants to be used or changed: a newer constraint allows it again."""


class ConstraintHit(Struct, frozen=True):
    """A call that violates a constraint.

    found: the part of the call that does. since: a newer constraint that allows it again. before: an older
    one that demanded it.
    """

    constraint: Constraint
    found: str
    since: Constraint | None = None
    before: Constraint | None = None

    @property
    def words(self) -> str:
        """What the user is told."""
        words = f"You said on {_quoted(self.constraint)}"
        if self.since is not None:
            return f"{words}; and since then, on {_quoted(self.since)}"
        return f"{words}; this replaces what you said on {_quoted(self.before)}" if self.before else words

    @property
    def binds(self) -> bool:
        """Whether the user must be asked."""
        return self.constraint.strength is Strength.MUST and self.since is None


def _quoted(constraint: Constraint) -> str:
    return f'{day_words(constraint.said_at)}: "{constraint.text}"'


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
    """Return everything that would run or be written, unchanged."""
    match proposal:
        case RunCommand(command):
            return command
        case ChangeFile(path, diff):
            return f"{path}\n{diff}"
        case OtherCall(args):
            return "\n".join(f"{name}: {value}" for name, value in args.items())


class ToolApproval(Struct, frozen=True):
    """A tool call that waits for approval.

    proposal: the call exactly as it would run, including secrets. It is only for the screen of the user who
    is asked: never store, log, print or send it. Everything else is without secrets.
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
    hits: tuple[ConstraintHit, ...] = ()
    """What the user said that the call goes against, the newest first."""
    draft: str | None = None
    """What the user may edit before it runs, secrets included as in the proposal; None for nothing."""
    draft_name: str = ""
    """What a file with it is called, for the user's editor."""


class GoOnApproval(Struct, frozen=True):
    """Ask whether to continue a turn that has used all of its steps."""

    steps: int


ApprovalRequest: TypeAlias = ToolApproval | GoOnApproval


class ConsentAnswer(StrEnum):
    """The possible answers."""

    ONCE = "once"
    ALWAYS = "always"
    NO = "no"
    EDIT = "edit"
    """The call as the user edited it is proposed in its place, and asked about anew."""


class ApprovalAnswer(Struct, frozen=True):
    """The answer, with the reason for the model if it is no. edited: the draft as the user edited it.

    by_user: False if nobody could be asked; the reason is the run's then, and no word of the user's.
    """

    answer: ConsentAnswer
    reason: str = ""
    edited: str = ""
    by_user: bool = True


Approve: TypeAlias = Callable[[ApprovalRequest], Awaitable[ApprovalAnswer]]
