"""What a verb is and may return: a slash command and a subcommand, made from one declaration."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from difflib import get_close_matches
from enum import StrEnum
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Generic, TypeAlias, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from ragforge.domain.approvals import ApprovalRequest, TurnTerms
from ragforge.domain.arguments import (
    Args,
    Face,
    Former,
    arguments_of,
    modern,
    parse,
    shell_option,
    usage,
    written,
)
from ragforge.domain.discovery import discover, find_one
from ragforge.domain.errors import UsageError
from ragforge.domain.printable import fenced

if TYPE_CHECKING:  # verbs are declared before anything is opened
    from ragforge.domain.programs import ProgramView
    from ragforge.session.state import Session
    from ragforge.store.base import Link, Store
    from ragforge.versions.head_move import MoveResult

T = TypeVar("T")


class Tell(Struct, frozen=True):
    """Show this Markdown to the user; it is not part of the conversation."""

    text: str


class Emphasis(StrEnum):
    """How a part of a line is highlighted. Without colours only marked words are, as *words*."""

    PLAIN = "plain"
    STRONG = "strong"
    FAINT = "faint"
    MARKED = "marked"


class Span(Struct, frozen=True):
    """A part of a line."""

    text: str
    emphasis: Emphasis = Emphasis.PLAIN


class Report(Struct, frozen=True):
    """A result to read, in the form of each front end.

    lines: plain text, one per line. exact: content that goes to a file or program unchanged, instead of
    lines.
    notes: additional remarks, on standard error on the command line. data: printed as JSON instead of the
    lines if `--json` was given. markdown: what the interface shows; by default the lines and the notes.
    """

    lines: "Sequence[str | Sequence[Span]]" = ()
    notes: tuple[str, ...] = ()
    exact: str | bytes = ""
    data: Any = None
    markdown: str = ""

    @property
    def shown(self) -> str:
        """What the interface shows, in Markdown."""
        lines = [
            line if isinstance(line, str) else "".join(span.text for span in line) for line in self.lines
        ]
        return self.markdown or "\n".join(
            [*([fenced("\n".join(lines), "text")] if lines else []), *self.notes]
        )


class Open(Struct, frozen=True):
    """Open the screen with this name, with the text typed after the command."""

    screen: str
    args: str = ""


class Confirm(Struct, frozen=True):
    """Ask a yes-or-no question. On yes, run the command line `then`; on the command line that is the same one
    with `--yes`.

    otherwise: the command line to run on no, if that is an answer too; Esc then does nothing.
    command: the shell command that is asked about, as it would run. detail: shown before the question.
    unasked: printed on a command line without a terminal.
    """

    question: str
    then: str
    otherwise: str = ""
    command: str = ""
    detail: str = ""
    unasked: str = ""


class Option(Struct, frozen=True):
    """An answer: its name, its meaning, and the command line that it runs."""

    name: str
    meaning: str
    then: str


class Choose(Struct, frozen=True):
    """Ask the user to choose; Esc does nothing. diff: the alternatives, as a unified diff."""

    question: str
    detail: str
    options: tuple[Option, ...]
    diff: str = ""


class Copy(Struct, frozen=True):
    """Copy this to the clipboard."""

    text: str
    what: str


class Send(Struct, frozen=True):
    """Send this as the user's message.

    typed: what was typed, if the text was made from it; the text is then sent unchanged, and image mentions
    in it are ignored. terms: settings for this turn only.
    """

    text: str
    typed: str = ""
    terms: TurnTerms | None = None


class StartNew(Struct, frozen=True):
    """Leave this session and start a new one. said: what happened to the previous one; empty for nothing."""

    said: str


class Fork(Struct, frozen=True):
    """Continue from here, or from a turn counted from 1, in a new session."""

    at: int | None = None


class HeadMoved(Struct, frozen=True):
    """Files or conversation have moved to another place in the tree of versions.

    is_chosen: whether the user decided about files that changed since. as_json: the command line prints an
    object.
    """

    result: "MoveResult"
    is_chosen: bool = True
    as_json: bool = False

    @property
    def lines(self) -> tuple[str, ...]:
        """The report, one line each."""
        from ragforge.versions.words import moved_lines

        return tuple(moved_lines(self.result))


class Follow(Struct, frozen=True):
    """Show each line as it comes; run other outcomes as they come.

    stopped: shown if Esc ended it; empty if Esc cannot.
    """

    lines: "AsyncGenerator[Followed, None]"
    stopped: str = ""


class QuestionKind(StrEnum):
    """The kinds of answers: yes or no, the number of an option, a line of text, approval.

    STEP: a line that may be empty.
    """

    CONFIRM = "confirm"
    CHOOSE = "choose"
    INPUT = "input"
    STEP = "step"
    APPROVE = "approve"


class UserQuestion(Struct, frozen=True, eq=False):
    """Ask while a command continues, and pass it the answer; None if there is none.

    diff: what the question is about, as a unified diff. request: the call that waits for approval.
    """

    kind: QuestionKind
    text: str
    answer: asyncio.Future[Any]
    diff: str = ""
    options: tuple[str, ...] = ()
    request: ApprovalRequest | None = None

    def reply(self, answer: Any) -> None:
        """Give the answer, once."""
        if not self.answer.done():
            self.answer.set_result(answer)


class Retry(Struct, frozen=True):
    """Continue the newest turn."""


class Quit(Struct, frozen=True):
    """Leave ragforge."""


class GoIncognito(Struct, frozen=True):
    """Leave, and start again with a store that is removed at the end of the run."""


Outcome: TypeAlias = (
    Tell
    | Report
    | Open
    | Confirm
    | Choose
    | Copy
    | Send
    | StartNew
    | Fork
    | HeadMoved
    | Follow
    | UserQuestion
    | Retry
    | Quit
    | GoIncognito
)


Followed: TypeAlias = "str | Outcome | ProgramView"
"""The output of a continuing command: a line, an outcome, or the state of its run."""


class Opens(StrEnum):
    """The session that a verb works in on the command line."""

    NEWEST = "newest"
    """The named one, else the folder's newest, claimed."""
    NEWEST_OR_NEW = "newest or new"
    """Like NEWEST; if the folder has none, a new one."""
    NONE = "none"
    """It is about the project: any session is enough, and none is claimed."""
    LOOK = "look"
    """Like NEWEST_OR_NEW, but read-only."""
    ITSELF = "itself"
    """It opens what it needs, as one of the `RUNS` of its module in `ragforge/cli/`: a store that is broken,
    settings that are wrong, or a session as `-p` does."""


class NoArguments(Struct, frozen=True):
    """A command without arguments."""


class JsonArguments(Struct, frozen=True):
    """How to print a list."""

    json: Annotated[bool, shell_option("--json", help="Print a JSON list.")] = False


async def _only_in_shell(session: "Session", args: Any) -> Outcome:
    raise UsageError("This works only on the command line.")


class Verb(Struct, Generic[Args], frozen=True):
    """A slash command, and also a subcommand if `opens` names its session.

    run: runs it in a session. shell: runs it on the command line with a `session.library.Library` instead, or
    returns the verb to run `Instead`; without `run` it is not a slash command. more: what `--help` adds to
    `help`. while_running: whether it works during a turn. former: former spellings that still work. verbs:
    verbs that follow its name, as in `/alternatives take 2`. examples: what `--help` shows, without
    `ragforge`.
    reads: whether it shows stored data, and reports if that is incomplete.
    """

    name: str
    help: str
    args: type[Args]
    run: Callable[["Session", Args], Awaitable[Outcome]] = _only_in_shell
    shell: Callable[[Any, Args], Awaitable["Outcome | Instead"]] | None = None
    more: str = ""
    aliases: tuple[str, ...] = ()
    while_running: bool = True
    opens: Opens | None = None
    former: tuple[Former, ...] = ()
    verbs: "tuple[Verb[Any], ...]" = ()
    examples: tuple[str, ...] = ()
    reads: bool = False

    @property
    def takes_session(self) -> bool:
        """Whether the command line can name the session."""
        return self.opens in (Opens.NEWEST, Opens.NEWEST_OR_NEW, Opens.LOOK)

    def is_on(self, face: Face) -> bool:
        """Whether it can be typed in this front end."""
        if face is Face.INTERFACE:
            return self.run is not _only_in_shell
        return bool(self.opens or self.shell or any(verb.is_on(face) for verb in self.verbs))

    def verbs_on(self, face: Face) -> "list[Verb[Any]]":
        """The verbs that can follow its name in this front end."""
        return [verb for verb in self.verbs if verb.is_on(face)]

    @property
    def usage(self) -> str:
        """How its arguments are written in the interface."""
        own, verbs = usage(self.args), self.verbs_on(Face.INTERFACE)
        if not verbs:
            return own
        forms = [*filter(None, [own]), *(f"{verb.name} {verb.usage}".rstrip() for verb in verbs)]
        return f"[{' | '.join(forms)}]"

    def line(self, args: Args) -> str:
        """The command line with these arguments, without the slash."""
        return " ".join(filter(None, [self.name, written(args)]))


class Instead(Struct, frozen=True):
    """Run another verb on the command line, which needs a session."""

    verb: Verb[Any]
    args: Struct


async def whole_or_part(
    verb: Verb[Any], work: "Awaitable[T]", store: "Store", since: "Link | None" = None
) -> "T | Report":
    """Return what the verb returns; if it reads, report what is missing while the server is away or late.

    since: the state of the link before; by default, all reads since the store was opened count. JSON of
    incomplete data has the sentence in `partial`; a list becomes `{"partial": ..., "rows": [...]}`, so that
    no program mistakes it for complete. Raises what the verb raises; an error also says what was not read.
    """
    try:
        outcome = await work
    except UsageError as error:
        if words := _missing(verb, store, since):
            raise UsageError(f"{error} {words}") from error
        raise
    words = _missing(verb, store, since)
    if not words or not isinstance(outcome, Tell | Report):
        return outcome
    if isinstance(outcome, Tell):
        return Report(outcome.text.splitlines(), (words,), markdown=f"{outcome.text}\n\n{words}")
    data = outcome.data
    if data is not None:
        data = {"partial": words, **(data if hasattr(data, "keys") else {"rows": data})}
    markdown = outcome.markdown and f"{outcome.markdown}\n\n{words}"
    return replace(outcome, notes=(*outcome.notes, words), data=data, markdown=markdown)


def _missing(verb: Verb[Any], store: "Store", since: "Link | None") -> str:
    link = store.link
    return link.missing if verb.reads and link.partial > (since.partial if since else 0) else ""


def verbs_on(face: Face) -> Mapping[str, Verb[Any]]:
    """Return the verbs of `find_verbs` that can be typed in this front end."""
    return {name: verb for name, verb in find_verbs().items() if verb.is_on(face)}


@cache
def find_verbs() -> Mapping[str, Verb[Any]]:
    """Return every verb by its name, in alphabetical order: the modules of this package with a `VERB`."""
    found: dict[str, Verb[Any]] = discover(__name__.rpartition(".")[0], "VERB", Verb)
    return {verb.name: verb for verb in found.values()}


def find_verb(name: str) -> Verb[Any] | None:
    """Return the verb with this name, or None; loads no other one."""
    kind: type[Verb[Any]] = Verb
    return find_one(__name__.rpartition(".")[0], name, "VERB", kind)


ELSEWHERE = {
    **{"settings": "config", "login": "model", "approvals": "permissions", "allowed-tools": "permissions"},
    **{"versions": "log", "tree": "log", "usage": "cost", "about": "status", "title": "rename"},
    **{"compress": "compact", "summarize": "compact", "todos": "todo", "tasks": "jobs", "bashes": "jobs"},
    **{"keys": "help", "keybindings": "help", "shortcuts": "help"},
}
"""Names of such commands in other assistants that work here, and the command for each."""
NEAR = {
    **{"yolo": "mode", "restore": "undo", "rollback": "undo", "checkpoint": "branch"},
    **{"chat": "sessions", "vim": "config ui.keys vim"},
}
"""Names of such commands in other assistants, and the nearest one here: it is only suggested."""


def name_here(name: str) -> str:
    """Return the name of a command here, whatever another assistant calls it."""
    return ELSEWHERE.get(name, name)


def names_elsewhere(name: str) -> list[str]:
    """Return what other assistants call this command."""
    return [other for other, here in ELSEWHERE.items() if here == name]


def verb_named(name: str, verbs: Mapping[str, Verb[Any]]) -> Verb[Any]:
    """Return the verb with this name or alias. Raises UsageError that suggests the nearest one."""
    named = {alias: verb for verb in verbs.values() for alias in (verb.name, *verb.aliases)}
    if verb := named.get(name) or named.get(name_here(name)):
        return verb
    if (verb := find_verb(name)) and verb.is_on(Face.SHELL):
        raise UsageError(f"/{name} is not available here. Run it in a shell: ragforge {name}")
    nearest = NEAR.get(name, "")
    near = [nearest] if nearest.split(" ")[0] in named else get_close_matches(name, named, 1, 0.7)
    hint = f" Did you mean /{near[0]}?" if near else " Try /help."
    raise UsageError(f"Unknown command /{name}.{hint}")


async def run_command(
    session: "Session", name: str, text: str, verbs: Mapping[str, Verb[Any]] | None = None
) -> Outcome:
    """Run the command and return what the front end should do. Raises RagforgeError that says what was wrong.

    verbs: those that the front end knows; by default all of the interface, except those of screens.
    """
    verb = verb_named(name, verbs or verbs_on(Face.INTERFACE))
    if session.busy and not verb.while_running:
        raise UsageError(f"/{verb.name}: {session.why_busy}")
    notices: list[str] = []
    if any(former.old.split()[0] in text for former in verb.former):
        text = " ".join(modern(text.split(), verb.former, tell=notices.append))
    verb, args = _read(verb, text)
    store = session.workspace.store
    work = whole_or_part(verb, verb.run(session, args), store, store.link)
    return Follow(_after(notices, work)) if notices else await work


def _read(verb: Verb[Any], text: str) -> tuple[Verb[Any], Any]:
    """Return the verb, or the one that follows its name, and its arguments. Raises UsageError."""
    first, _, after = text.partition(" ")
    verbs = verb.verbs_on(Face.INTERFACE)
    for each in verbs:
        if each.name == first:
            return each, parse(each.args, after, command=f"{verb.name} {first}")
    if text and verbs and not arguments_of(verb.args):
        forms = [f"/{verb.name}", *(f"/{verb.name} {each.name} {each.usage}".rstrip() for each in verbs)]
        raise UsageError(f"/{verb.name} has no {first!r}. Use {' or '.join(forms)}.")
    return verb, parse(verb.args, text, command=verb.name)


async def _after(notices: list[str], work: Awaitable[Outcome]) -> AsyncGenerator[str | Outcome, None]:
    for notice in notices:
        yield notice
    yield await work
