"""`ragforge run`: a program on the command line; its input is read from standard input."""

import asyncio
import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from functools import partial
from typing import TYPE_CHECKING, Any

import typer

from ragforge.cli.edge import FAILED, tell
from ragforge.cli.options import Options, run_async
from ragforge.cli.output import answer_text, json_line
from ragforge.cli.questions import answer_question
from ragforge.commands.base import Followed, Report, UserQuestion
from ragforge.commands.program_run import RunFront
from ragforge.commands.run import RunArguments, execution_for
from ragforge.domain.programs import ProgramView
from ragforge.domain.words import counted

if TYPE_CHECKING:  # costs more than all of `ragforge --version`
    from ragforge.workflow.check import SpuProgram
    from ragforge.workflow.execution import Execution
    from ragforge.workflow.syntax import Fault


def _run(options: Options, args: RunArguments) -> int:
    return run_async(lambda: (_check if args.dry_run else _execute)(options, args))


async def _check(options: Options, args: RunArguments) -> int:
    """Print what is wrong, notices, and which models it would ask."""
    from ragforge.cli.start import open_for_run, open_session
    from ragforge.session.open import close_session, close_workspace
    from ragforge.workflow.catalogue import find_program, read_program
    from ragforge.workflow.check import assemble
    from ragforge.workflow.estimate import price_words
    from ragforge.workflow.machine import built_operations

    workspace = await open_for_run(options)
    try:
        file = await asyncio.to_thread(
            partial(find_program, workspace, args.name, options.cwd, shipped=args.shipped)
        )
        content = await read_program(workspace, file)
        session = await open_session(workspace, options, tell=tell)
        prices = await price_words(session, content, args.max_price)
        await close_session(session)
    finally:
        await close_workspace(workspace)
    whole, able = assemble(content), assemble(content, built=built_operations())
    source = file.path.name
    _tell_faults(source, "warning", whole.warnings)
    _tell_faults(source, "notice", whole.notices)
    _tell_faults(source, "error", able.faults)
    if whole.program:
        for line in [*_summary(whole.program, source), *prices]:
            typer.echo(line)
    return FAILED if able.faults else 0


def _tell_faults(source: str, kind: str, faults: "Sequence[Fault]") -> None:
    for fault in faults:
        tell(f"{fault.place_in(source)}: {kind}: {fault.message}")


def _summary(program: "SpuProgram", source: str) -> list[str]:
    from ragforge.workflow.roles import role_of

    own = program.code[: program.own_length]
    operations = {each.operation for each in own}
    labels = [name for name in program.labels if name not in program.standard]
    lines = [
        f"{program.name or source}: {counted(len(labels), 'label')}, {counted(len(own), 'instruction')}, "
        f"{counted(len(operations), 'different operation')}"
    ]
    if program.standard:
        lines.append(f"from std.spu: {', '.join(sorted(program.standard))}")
    for each in own:
        if each.operation == "LLM_EXEC":
            lines.append(f"line {each.at.line}: asks {each.operands[1]}")
        elif each.operation == "AGENT_EXEC":
            lines.append(f"line {each.at.line}: hands a task to {role_of(each) or 'the assistant'}")
    return lines


async def _execute(options: Options, args: RunArguments) -> int:
    from ragforge.cli.start import open_for_run, open_session
    from ragforge.session.open import close_session, close_workspace
    from ragforge.workflow.operation import ProgramFault

    shown: list[str] = []
    workspace = await open_for_run(options)
    workspace.trust.tell = tell
    try:
        session = await open_session(workspace, options, tell=tell)
        session.live.consent.ask_nobody()
        try:
            run = RunFront(yes=args.yes, steps=args.step)
            execution = await execution_for(session, args, run.front)
            fault = ""
            try:
                await _follow(run.follow(execution), shown, is_quiet=args.json)
            except ProgramFault as error:
                fault = str(error)
                tell(fault)
        finally:
            await close_session(session)
    finally:
        if waits := await close_workspace(workspace):
            tell(waits)
    if args.json:
        typer.echo(json_line(_as_json(execution, shown, fault)))
    return FAILED if fault else 0


async def _follow(lines: AsyncGenerator[Followed, None], shown: list[str], *, is_quiet: bool) -> None:
    """Print what the run says and shows, and answer its questions."""
    async with aclosing(lines) as said:
        async for each in said:
            match each:
                case str():
                    tell(each)
                case ProgramView(begun=begun):
                    for line in begun:
                        tell(line)
                case UserQuestion():
                    await answer_question(each)
                case Report(exact=str(text)):
                    shown.append(text.removesuffix("\n"))
                    if not is_quiet:
                        # color: piped input is unchanged, as for a prompt.
                        typer.echo(answer_text(text), nl=False, color=True)
                        sys.stdout.flush()
                case _:
                    pass


def _as_json(execution: "Execution", shown: list[str], fault: str) -> dict[str, Any]:
    from msgspec import to_builtins

    run = execution.run
    return {
        "program": run.program or run.source,
        "run": run.id,
        "displayed": shown,
        "calls": to_builtins(run.calls),
        "cost_usd": execution.cost_usd,
        "seconds": round(run.seconds, 2),
        "error": fault or None,
    }


RUNS = {"run": _run}
