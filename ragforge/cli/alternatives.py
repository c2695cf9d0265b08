"""`ragforge alternatives`: one request worked out in several ways at once."""

import signal
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from ragforge.cli.edge import FAILED, INTERRUPTED, tell
from ragforge.cli.library import opened_session
from ragforge.cli.numbers import whole
from ragforge.cli.options import Options, run_async
from ragforge.cli.output import json_line, printable
from ragforge.cli.verbs import run_verb
from ragforge.commands.alternatives import TAKE, TakeOneArguments
from ragforge.domain.arguments import Former, modern
from ragforge.domain.errors import UsageError
from ragforge.domain.moves import ConflictChoice

if TYPE_CHECKING:  # costs more than all of `ragforge --version`
    import asyncio

    from ragforge.session.state import Session
    from ragforge.versions.attempts.alternatives import Alternative, Here
    from ragforge.versions.attempts.group import Group

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Parser(TyperCommand):
    """Takes `take K` in place of N."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Let the words be parsed, with `take K` as an option."""
        words = modern(args, (Former("--take K", "take K"),), tell=tell)
        if words[:1] == ["take"]:
            if not words[1:]:
                raise UsageError("Say which: alternatives take K. `ragforge alternatives` lists them.")
            words[:1] = ["--take"]
        return super().parse_args(ctx, words)


def alternatives(
    context: typer.Context,
    count: Annotated[
        int | None, typer.Argument(metavar="[take K | N", parser=whole(1), help="In how many ways.")
    ] = None,
    prompt: Annotated[
        str | None,
        typer.Argument(
            metavar="PROMPT]", help="The request; without it, the newest one anew, from before it."
        ),
    ] = None,
    models: Annotated[
        str | None, typer.Option("--models", metavar="A,B", help="Other models, as PROVIDER:NAME.")
    ] = None,
    take: Annotated[
        int | None,
        typer.Option("--take", metavar="K", parser=whole(1), hidden=True),
    ] = None,
    on_conflict: Annotated[
        ConflictChoice | None,
        typer.Option("--on-conflict", help="With take K: what becomes of files that were changed since."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON object.")] = False,
) -> None:
    """Work a request out in N ways at once, each in a copy of the project; without N, list them.

    take K brings files and conversation to one of them.

    File tools are confined to the copies; shell commands are not. As with -p nobody is asked: commands run
    that only read, that --allow names, or all with --yolo. The project's files stay as they are until one is
    taken. -c, -r ID and -m before the command choose session and model.
    """
    options: Options = context.find_root().obj
    if take is not None:
        if count is not None:
            raise UsageError("take K takes one that was worked out before: leave N and PROMPT out.")
        chosen = TakeOneArguments(number=take, on_conflict=on_conflict)
        code = run_async(lambda: run_verb(options, TAKE, chosen, options.resume))
        raise typer.Exit(code if isinstance(code, int) else FAILED)
    if count is None:
        raise typer.Exit(run_async(lambda: _list(options, as_json=as_json)))
    names = tuple(filter(None, (models or "").split(",")))
    raise typer.Exit(run_async(lambda: _work_out(options, count, prompt or "", names, as_json=as_json)))


async def _list(options: Options, *, as_json: bool) -> int:
    from ragforge.versions.attempts.alternatives import alternatives_here

    async with opened_session(options) as session:
        here = await alternatives_here(session)
    if not here.alternatives and not as_json:
        tell("There are no alternatives of the present version.")
    _print(here, here.alternatives, as_json=as_json)
    return 0


async def _work_out(
    options: Options, count: int, prompt: str, models: tuple[str, ...], *, as_json: bool
) -> int:
    from ragforge.versions.attempts.alternatives import alternatives_here
    from ragforge.versions.attempts.start import COPYING, AttemptRequest, start_alternatives, ways_for

    stopped = False
    async with _opened(options) as session:
        wanted = AttemptRequest(count, prompt, models)
        ways_for(session, wanted)  # what cannot be started says so, and nothing else
        tell(COPYING)
        group = await start_alternatives(session, wanted)
        with _Signals(group) as signals:
            async for line in group.progress():
                tell(line)
            stopped = signals.came
        here = await alternatives_here(session)
    _print(here, group.results, as_json=as_json)
    if stopped:
        return INTERRUPTED
    return 0 if any(not each.ended for each in group.results) else FAILED


def _print(here: "Here", rows: "tuple[Alternative, ...]", *, as_json: bool) -> None:
    from ragforge.versions.attempts.alternatives import table

    if as_json:
        listed = [{**row.as_json(), "taken": row.version.id == here.head} for row in rows]
        base = here.base.id if here.base else None
        typer.echo(json_line({"base": base, "alternatives": listed}))
    elif rows:
        for line in table(rows, head=here.head):
            typer.echo(printable(line))
        tell("`ragforge alternatives take K` brings files and conversation to one of them; the others stay.")


@asynccontextmanager
async def _opened(options: Options) -> "AsyncGenerator[Session]":
    """The session that the flags ask for, as for a run with -p."""
    from ragforge.cli.start import open_for_run, open_session
    from ragforge.session.open import close_session, close_workspace

    workspace = await open_for_run(options)
    workspace.trust.tell = tell
    try:
        session = await open_session(workspace, options, tell=tell)
        try:
            yield session
        finally:
            await close_session(session)
    finally:
        if waits := await close_workspace(workspace):
            tell(waits)


class _Signals:
    """While it holds, the signals that end a program end the alternatives, so that what they did is kept."""

    def __init__(self, group: "Group") -> None:
        self.came = False
        self._group = group
        self._closing: set[asyncio.Task[None]] = set()

    def __enter__(self) -> "_Signals":
        from asyncio import get_running_loop

        loop = get_running_loop()
        for number in STOP_SIGNALS:
            loop.add_signal_handler(number, self._stop)
        return self

    def __exit__(self, *_: object) -> None:
        from asyncio import get_running_loop

        loop = get_running_loop()
        for number in STOP_SIGNALS:
            loop.remove_signal_handler(number)

    def _stop(self) -> None:
        self.came = True
        from asyncio import ensure_future

        self._closing.add(ensure_future(self._group.close()))
