"""`ragforge alternatives`: run it so that signals end it with its results stored."""

import signal
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import typer

from ragforge.cli.edge import FAILED, INTERRUPTED, tell
from ragforge.cli.library import opened_session
from ragforge.cli.options import Options, run_async
from ragforge.cli.output import json_line, printable
from ragforge.commands.alternatives import AlternativesArguments

if TYPE_CHECKING:  # costs more than all of `ragforge --version`
    import asyncio

    from ragforge.session.state import Session
    from ragforge.versions.attempts.alternatives import Alternative, Here
    from ragforge.versions.attempts.group import Group

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


async def _list(options: Options, args: AlternativesArguments) -> int:
    from ragforge.versions.attempts.alternatives import alternatives_here

    async with opened_session(options) as session:
        here = await alternatives_here(session)
    if not here.alternatives and not args.json:
        tell("This version has no alternatives.")
    _print(here, here.alternatives, as_json=args.json)
    return 0


async def _work_out(options: Options, args: AlternativesArguments) -> int:
    from ragforge.versions.attempts.alternatives import alternatives_here
    from ragforge.versions.attempts.start import COPYING, AttemptRequest, start_alternatives, ways_for

    stopped = False
    async with _opened(options) as session:
        wanted = AttemptRequest(args.count or 0, args.prompt, args.models)
        ways_for(session, wanted)  # report only what prevents the start
        tell(COPYING)
        group = await start_alternatives(session, wanted)
        with _Signals(group) as signals:
            async for line in group.progress():
                tell(line)
            stopped = signals.came
        here = await alternatives_here(session)
    _print(here, group.results, as_json=args.json)
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
        tell(
            "`ragforge alternatives take K` moves files and conversation to one of them; the others are kept."
        )


@asynccontextmanager
async def _opened(options: Options) -> "AsyncGenerator[Session]":
    """Open the session of the flags, as for a run with -p."""
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
    """For the duration, signals that end a program end the alternatives, so that their results are stored."""

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


def _run(options: Options, args: AlternativesArguments) -> int:
    """Try the request, or list the alternatives of the current version."""
    return run_async(lambda: (_list if args.count is None else _work_out)(options, args))


RUNS = {"alternatives": _run}
