"""What a verb is and may answer: a slash command, and a command of the command line from the same words."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from difflib import get_close_matches
from enum import StrEnum
from functools import cache
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from ragforge.domain.approvals import ApprovalRequest, TurnTerms
from ragforge.domain.arguments import Args, Face, Former, arguments_of, modern, parse, usage, written
from ragforge.domain.discovery import discover, find_one
from ragforge.domain.errors import UsageError

if TYPE_CHECKING:  # verbs are declared before anything is opened
    from ragforge.session.state import Session
    from ragforge.store.base import Link, Store
    from ragforge.versions.head_move import MoveResult

T = TypeVar("T")


class Tell(Struct, frozen=True):
    """Show this to the user; Markdown, no part of the conversation."""

    text: str


class Emphasis(StrEnum):
    """How a part of a line is set off; without colours only marked words are, as *words*."""

    PLAIN = "plain"
    STRONG = "strong"
    FAINT = "faint"
    MARKED = "marked"


class Span(Struct, frozen=True):
    """A part of a line."""

    text: str
    emphasis: Emphasis = Emphasis.PLAIN


class Report(Struct, frozen=True):
    """A result to read, each face in its own form.

    lines: plain text, a line each. exact: instead of lines, a content that a file or a program gets as it is.
    notes: said beside it, and on the command line on standard error. data: what is printed instead where
    `--json` was given. markdown: what the interface shows of all that; without, the lines and the notes.
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
        return self.markdown or "\n".join([*(["```text", *lines, "```"] if lines else []), *self.notes])


class Open(Struct, frozen=True):
    """Open the screen of this name, with what was typed after the command."""

    screen: str
    args: str = ""


class Confirm(Struct, frozen=True):
    """Ask; on yes run the command line `then`, which on the command line is the same one with `--yes`.

    otherwise: the command line of a no, where that is an answer too; Esc does nothing then.
    command: the shell command that is asked about, as it would run. detail: what is said before the question.
    unasked: what is said on a command line without a terminal to ask in.
    """

    question: str
    then: str
    otherwise: str = ""
    command: str = ""
    detail: str = ""
    unasked: str = ""


class Option(Struct, frozen=True):
    """An answer: its name, what it means, and the command line that it runs."""

    name: str
    meaning: str
    then: str


class Choose(Struct, frozen=True):
    """Ask which; Esc does nothing. diff: what there is to choose from, as a unified diff."""

    question: str
    detail: str
    options: tuple[Option, ...]
    diff: str = ""


class Copy(Struct, frozen=True):
    """Put this on the clipboard."""

    text: str
    what: str


class Send(Struct, frozen=True):
    """Send this as the user's message.

    typed: what was typed where the text was made from it; it is sent as it is then, and its mentions of
    images are not followed. terms: what holds for its turn alone.
    """

    text: str
    typed: str = ""
    terms: TurnTerms | None = None


class StartNew(Struct, frozen=True):
    """Leave this session and start a new one. said: what became of the one before."""

    said: str = "The previous session is kept; /sessions lists it."


class Fork(Struct, frozen=True):
    """Go on from here, or from a turn counted from 1, in a session of its own."""

    at: int | None = None


class HeadMoved(Struct, frozen=True):
    """Files or chat are somewhere else in the tree of versions now.

    is_chosen: whether it was said what becomes of files that were changed since. as_json: the command line
    prints an object.
    """

    result: "MoveResult"
    is_chosen: bool = True
    as_json: bool = False

    @property
    def lines(self) -> tuple[str, ...]:
        """What is said of it, one a line."""
        from ragforge.versions.words import moved_lines

        return tuple(moved_lines(self.result))


class Follow(Struct, frozen=True):
    """Say each line as it comes, for as long as any come; what is not a line is done as it comes.

    stopped: what is said where Esc ended it; empty where Esc cannot.
    """

    lines: "AsyncGenerator[str | Outcome, None]"
    stopped: str = ""


class QuestionKind(StrEnum):
    """What a question can be answered with: yes or no, the number of an option, a line of text, consent.

    STEP: a line that may be empty.
    """

    CONFIRM = "confirm"
    CHOOSE = "choose"
    INPUT = "input"
    STEP = "step"
    APPROVE = "approve"


class UserQuestion(Struct, frozen=True, eq=False):
    """Ask while a command goes on, and let it hear the answer; one that nobody gives is None.

    diff: what it is about, as a unified diff. request: the call that waits for consent.
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


class ClearView(Struct, frozen=True):
    """Empty the screen; the session stays as it is."""


class Retry(Struct, frozen=True):
    """Go on with the newest turn."""


class Quit(Struct, frozen=True):
    """Leave ragforge."""


class GoIncognito(Struct, frozen=True):
    """Leave, and start again in a store that goes away with the run."""


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
    | ClearView
    | Retry
    | Quit
    | GoIncognito
)


class Opens(StrEnum):
    """Which session a verb works in on the command line."""

    NEWEST = "newest"
    """The one that is named, else the folder's newest, claimed."""
    NEWEST_OR_NEW = "newest or new"
    """As NEWEST; where the folder has none, a new one will do."""
    NONE = "none"
    """It is about the project: any session will do, and none is claimed."""
    LOOK = "look"
    """As NEWEST_OR_NEW, but only looked at."""
    ITSELF = "itself"
    """It opens what it needs, as one of the `RUNS` of its module in `ragforge/cli/`: a store that is broken,
    settings that are wrong, or a session as `-p` does."""


class NoArguments(Struct, frozen=True):
    """Nothing follows the name."""


async def _only_in_shell(session: "Session", args: Any) -> Outcome:
    raise UsageError("This works only on the command line.")


class Verb(Struct, Generic[Args], frozen=True):
    """What can be done by a slash command, and on the command line where `opens` says in which session.

    run: what it does in a session. shell: what it does on the command line with a `session.library.Library`,
    in place of `run`, or which verb to run `Instead`; without `run` it is not a slash command. more: what
    `--help` says beyond `help`. while_running: whether it works during a turn. former: spellings of before
    that still work. verbs: those that follow its name, as in `/alternatives take 2`. examples: what `--help`
    shows, without `ragforge`. reads: whether it shows what is stored, and says so where that is only a part.
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
        """Whether the command line may name the session that it works in."""
        return self.opens in (Opens.NEWEST, Opens.NEWEST_OR_NEW, Opens.LOOK)

    def is_on(self, face: Face) -> bool:
        """Whether it can be typed there."""
        if face is Face.INTERFACE:
            return self.run is not _only_in_shell
        return bool(self.opens or self.shell or any(verb.is_on(face) for verb in self.verbs))

    def verbs_on(self, face: Face) -> "list[Verb[Any]]":
        """The verbs that can follow its name there."""
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
        """What is typed for it with these arguments, without the slash."""
        return " ".join(filter(None, [self.name, written(args)]))


class Instead(Struct, frozen=True):
    """On the command line: run another verb, which needs a session."""

    verb: Verb[Any]
    args: Struct


async def whole_or_part(
    verb: Verb[Any], work: "Awaitable[T]", store: "Store", since: "Link | None" = None
) -> "T | Report":
    """Return what the verb returns; one that reads says what is missing while the server is away or late.

    since: how it stood with the server before; otherwise all counts that was read since the store was opened.
    JSON of a part has `partial`, the sentence; a list is `{"partial": ..., "rows": [...]}` then, so that no
    program takes it for the whole. Raises what the verb raises; an error says likewise what was not read.
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
    """Those of `find_verbs` that can be typed there."""
    return {name: verb for name, verb in find_verbs().items() if verb.is_on(face)}


@cache
def find_verbs() -> Mapping[str, Verb[Any]]:
    """Every verb by its name, in alphabetical order: the modules of this package with a `VERB`."""
    found: dict[str, Verb[Any]] = discover(__name__.rpartition(".")[0], "VERB", Verb)
    return {verb.name: verb for verb in found.values()}


def find_verb(name: str) -> Verb[Any] | None:
    """The verb of this name, or None; loads no other one."""
    kind: type[Verb[Any]] = Verb
    return find_one(__name__.rpartition(".")[0], name, "VERB", kind)


def verb_named(name: str, verbs: Mapping[str, Verb[Any]]) -> Verb[Any]:
    """The one of this name or alias. Raises UsageError that names the nearest one."""
    named = {alias: verb for verb in verbs.values() for alias in (verb.name, *verb.aliases)}
    if name in named:
        return named[name]
    near = get_close_matches(name, named, n=1)
    hint = f" Did you mean /{near[0]}?" if near else " Try /help."
    raise UsageError(f"Unknown command /{name}.{hint}")


async def run_command(
    session: "Session", name: str, text: str, verbs: Mapping[str, Verb[Any]] | None = None
) -> Outcome:
    """What the front end shall do. Raises RagforgeError that says what was wrong.

    verbs: those that the front end knows; otherwise all of the interface but those of screens.
    """
    verb = verb_named(name, verbs or verbs_on(Face.INTERFACE))
    if session.is_only_moving and not verb.while_running:
        raise UsageError(session.why_busy)
    if session.busy and not verb.while_running:
        raise UsageError(f"/{verb.name} has to wait until the turn ends. Esc interrupts the turn.")
    notices: list[str] = []
    if any(former.old.split()[0] in text for former in verb.former):
        text = " ".join(modern(text.split(), verb.former, tell=notices.append))
    verb, args = _read(verb, text)
    store = session.workspace.store
    work = whole_or_part(verb, verb.run(session, args), store, store.link)
    return Follow(_after(notices, work)) if notices else await work


def _read(verb: Verb[Any], text: str) -> tuple[Verb[Any], Any]:
    """The verb that is meant, itself or one that follows its name, and its arguments. Raises UsageError."""
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
