"""`/alternatives`: several attempts at one request at once, of which one can be taken."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta, Struct
from msgspec.structs import replace

from ragforge.commands.base import Confirm, Follow, Opens, Outcome, Tell, Verb
from ragforge.commands.check_question import CheckAnswer, question_before, take_answer
from ragforge.commands.move_verbs import TakeArguments, moved_or_asked
from ragforge.domain.arguments import Former, option, rest, shell_option, word
from ragforge.domain.errors import UsageError

if TYPE_CHECKING:
    from ragforge.session.state import Session
    from ragforge.versions.attempts.start import AttemptRequest


class AlternativesArguments(Struct, frozen=True, kw_only=True):
    """How many attempts, and at what. yes: the user was asked; check: the answer about the check command."""

    count: Annotated[int | None, Meta(ge=1), word("N", "How many alternatives.")] = None
    prompt: Annotated[
        str, rest("PROMPT", "The request; by default the newest one again, from the state before it.")
    ] = ""
    models: Annotated[
        tuple[str, ...], option("--models", metavar="A,B", help="Other models, as PROVIDER:NAME.")
    ] = ()
    json: Annotated[bool, shell_option("--json", help="Print a JSON object.")] = False
    yes: Annotated[bool, option("--yes", hidden=True)] = False
    check: Annotated[CheckAnswer | None, option("--check", hidden=True)] = None


class TakeOneArguments(TakeArguments, frozen=True, kw_only=True):
    """Which one, and what to do with files that have changed since."""

    number: Annotated[int, Meta(ge=1), word("K", "The number of an alternative.")]


class StopArguments(Struct, frozen=True):
    """Which one."""

    number: Annotated[int, Meta(ge=1), word("K", "The number of an alternative.")]


async def _run(session: "Session", args: AlternativesArguments) -> Outcome:
    from ragforge.versions.attempts.alternatives import alternatives_here, here_words
    from ragforge.versions.attempts.start import AttemptRequest, question

    if args.count is None:
        return Tell(here_words(await alternatives_here(session)))
    if args.check:
        await take_answer(session, args.check)
    wanted = AttemptRequest(args.count, args.prompt, args.models)
    if args.yes:
        return Follow(_lines(session, wanted))
    asked = await question(session, wanted)
    first = await question_before(session, lambda said: VERB.line(replace(args, check=said)))
    return first or Confirm(asked, then=VERB.line(replace(args, check=None, yes=True)))


async def _lines(session: "Session", wanted: "AttemptRequest") -> AsyncGenerator[str | Outcome, None]:
    """Yield everything from the start to the table at the end."""
    from ragforge.versions.attempts.start import COPYING, start_alternatives, ways_for

    ways_for(session, wanted)  # report only what prevents the start
    yield COPYING
    group = await start_alternatives(session, wanted)
    async with aclosing(group.lines()) as lines:
        async for line in lines:
            yield line


async def _take(session: "Session", args: TakeOneArguments) -> Outcome:
    from ragforge.versions.attempts.alternatives import take

    moving = take(session, args.number, choices=args.choices)
    return await moved_or_asked(moving, TAKE, args, under=f"{VERB.name} ")


async def _stop(session: "Session", args: StopArguments) -> Outcome:
    from ragforge.versions.attempts.session_attempts import attempts_of

    group = attempts_of(session).group
    if group is None:
        raise UsageError("No alternatives are running.")
    await group.stop(args.number)
    return Tell(f"Stopping alternative {args.number}. What it did so far is kept.")


TAKE = Verb("take", "Switch files and chat to one of them.", TakeOneArguments, _take, opens=Opens.NEWEST)
VERB = Verb(
    "alternatives",
    "Try a request in N ways at once, each in a copy of the project, and take one.",
    AlternativesArguments,
    _run,
    opens=Opens.ITSELF,
    more="File tools are confined to the copies; shell commands are not. As with -p, there are no "
    "questions: a command runs if it only reads or if --allow permits it. With --yolo, all commands run. "
    "The project's "
    "files do not change until you take one. -c, -r ID and -m before the command choose the session and the "
    "model.",
    former=(Former("--take K", "take K"),),
    verbs=(TAKE, Verb("stop", "Stop one; what it did so far is kept.", StopArguments, _stop)),
)
