"""`run`: run a program in the SPU language."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from functools import partial
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta, Struct

from ragforge.commands.base import Follow, Followed, Opens, Outcome, Report, Tell, Verb
from ragforge.commands.program_run import RunFront
from ragforge.domain.arguments import option, rest, shell_option, word
from ragforge.domain.errors import UsageError

if TYPE_CHECKING:
    from ragforge.session.state import Session
    from ragforge.workflow.execution import Execution, Front


class RunArguments(Struct, frozen=True):
    """Which program, and its inputs."""

    name: Annotated[str, word("FILE|NAME", "A program, or a file that holds one.")]
    words: Annotated[str, rest("ARGS", "NAME=VALUE for each input, or just the value of the only input.")] = (
        ""
    )
    input: Annotated[
        tuple[str, ...],
        shell_option("--input", metavar="NAME=VALUE", help="An input of the program.", whole=True),
    ] = ()
    max_price: Annotated[
        float | None,
        Meta(ge=0),
        shell_option("--max-price", metavar="USD", help="Stop before the cost exceeds this."),
    ] = None
    dry_run: Annotated[
        bool, shell_option("--dry-run", help="Check the program and list its calls, without running it.")
    ] = False
    resume: Annotated[bool, option("--resume", help="Continue its newest unfinished run.")] = False
    step: Annotated[bool, option("--step", help="Pause before each operation, and inspect registers.")] = (
        False
    )
    yes: Annotated[bool, option("--yes", help="Keep the program's results without asking.")] = False
    shipped: Annotated[
        bool, option("--shipped", help="Use the program that ships with ragforge, not your changed one.")
    ] = False
    json: Annotated[bool, shell_option("--json", help="Print a JSON object.")] = False


def inputs_of(args: RunArguments, known: tuple[str, ...]) -> dict[str, str]:
    """Return the inputs by their names. Raises UsageError for anything else."""
    found: dict[str, str] = {}
    for each in args.input:
        name, equals, value = each.partition("=")
        if not equals or not name:
            raise UsageError(f"--input takes NAME=VALUE, not {each!r}.")
        found[name] = value
    if not args.words:
        return found
    name, equals, value = args.words.partition("=")
    if equals and name.lstrip("$").upper() in known:
        return {**found, name: value}
    if len(known) != 1:
        inputs = ", ".join(known) or "none"
        raise UsageError(f"Say which input {args.words!r} is for, as NAME=VALUE; inputs: {inputs}.")
    return {**found, known[0]: args.words}


async def execution_for(session: "Session", args: RunArguments, front: "Front") -> "Execution":
    """Return the requested run, ready to start. Raises RagforgeError."""
    from ragforge.workflow.catalogue import find_program, read_program
    from ragforge.workflow.execution import Execution, assembled, new_run, resumed_run

    workspace = session.workspace
    file = await asyncio.to_thread(
        partial(find_program, workspace, args.name, session.cwd, shipped=args.shipped)
    )
    content = await read_program(workspace, file)
    program, book = assembled(content, file.path.name), None
    if args.resume:
        run, program, book = await resumed_run(session, program)
    else:
        run = new_run(program, content, file.path.name, inputs_of(args, tuple(program.inputs)))
    return Execution(session, program, run, front, price_usd_max=args.max_price, book=book)


async def _run(session: "Session", args: RunArguments) -> Outcome:
    stopped = f"Stopped. /run {args.name} --resume continues after the last finished call."
    return Follow(_lines(session, args), stopped)


async def _lines(session: "Session", args: RunArguments) -> AsyncGenerator[Followed, None]:
    """Yield a line for each call as it ends, and what the program shows and asks."""
    from ragforge.workflow.creator import example_words

    run = RunFront(yes=args.yes, steps=args.step)
    execution = await execution_for(session, args, run.front)
    has_shown = False
    async with aclosing(run.follow(execution)) as said:
        async for each in said:
            has_shown |= isinstance(each, Report)
            yield each
    if not has_shown:
        yield Tell(f"{args.name} ended and showed nothing.")
    elif notice := await example_words(session.workspace, execution.run):
        yield notice


VERB = Verb(
    "run",
    "Run a program: steps, models and conditions in a file.",
    RunArguments,
    _run,
    opens=Opens.ITSELF,
    while_running=False,
    more="Programs are files that end in .spu: those that ship with ragforge, yours in programs/ of the "
    "settings folder, the project's in .ragforge/programs/, or any that is named by its path. What a program "
    "shows goes to standard output, its calls and what they cost to standard error; what it waits for is "
    "read from standard input.",
    examples=(
        "run commit",
        "run plan.spu --input task='Add a cache' --max-price 0.50",
        "run plan.spu --dry-run",
    ),
)
