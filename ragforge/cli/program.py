"""`ragforge program`: write, change and show programs on the command line."""

import sys
from collections.abc import Callable
from contextlib import aclosing
from functools import partial
from typing import Any

import typer

from ragforge.cli.edge import FAILED, tell
from ragforge.cli.options import Options, run_async
from ragforge.cli.output import answer_text
from ragforge.cli.questions import answer_question
from ragforge.cli.verbs import print_report
from ragforge.commands.base import Follow, Followed, Report, Tell, UserQuestion, Verb
from ragforge.commands.program import VERB
from ragforge.domain.programs import ProgramView


def _run(verb: Verb[Any], options: Options, args: Any) -> int:
    return run_async(lambda: _in_session(verb, options, args))


async def _in_session(verb: Verb[Any], options: Options, args: Any) -> int:
    from ragforge.cli.start import open_for_run, open_session
    from ragforge.session.open import close_session, close_workspace
    from ragforge.workflow.operation import ProgramFault

    workspace = await open_for_run(options)
    try:
        session = await open_session(workspace, options, tell=tell)
        session.live.consent.ask_nobody()
        try:
            return await _carry_out(await verb.run(session, args))
        except ProgramFault as error:
            tell(str(error))
            return FAILED
        finally:
            await close_session(session)
    finally:
        if waits := await close_workspace(workspace):
            tell(waits)


async def _carry_out(outcome: Followed) -> int:
    """Print it; the exit code says whether anything failed."""
    match outcome:
        case Follow(lines):
            code = 0
            async with aclosing(lines) as said:
                async for each in said:
                    code = max(code, await _carry_out(each))
            return code
        case str():
            tell(outcome)
        case ProgramView(begun=lines):
            for line in lines:
                tell(line)
        case UserQuestion():
            await answer_question(outcome)
        case Tell(text):
            typer.echo(answer_text(text))
        case Report():
            print_report(outcome)
            sys.stdout.flush()
            return FAILED if str(outcome.exact).startswith(FAILURE) else 0
        case _:
            pass
    return 0


FAILURE = "Failed."
RUNS: dict[str, Callable[[Options, Any], int]] = {each.name: partial(_run, each) for each in VERB.verbs}
