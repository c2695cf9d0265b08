"""Verbs on the command line: their parsers, made from their arguments, and what is printed of them."""

from collections.abc import Callable
from contextlib import aclosing
from inspect import Parameter, Signature
from typing import TYPE_CHECKING, Any

import typer
from msgspec import Struct
from typer.core import TyperCommand

from ragforge.cli.completion import names_of
from ragforge.cli.edge import FAILED, tell
from ragforge.cli.options import EXIT_CODES, Options, run_async
from ragforge.cli.output import printable
from ragforge.cli.versions import opened_session
from ragforge.commands import base
from ragforge.commands.base import Opens, Outcome, Verb
from ragforge.domain.arguments import Argument, ValuesOf, arguments_of, modern
from ragforge.domain.errors import UsageError

if TYPE_CHECKING:  # costs more than all of `ragforge --version`
    from ragforge.session.state import Session
    from ragforge.versions.move_result import MoveResult


def add_verb(parser: typer.Typer, verb: Verb[Any]) -> None:
    """Let the command line take the verb."""

    class Command(TyperCommand):
        """Takes spellings of before as well."""

        def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
            return super().parse_args(ctx, modern(args, verb.former, tell=tell))

    parser.command(verb.name, cls=Command, epilog=EXIT_CODES)(_function(verb))


def _function(verb: Verb[Any]) -> Callable[..., None]:
    """A function with the signature that the parser is made from."""
    arguments = [each for each in arguments_of(verb.args) if not each.spelling.hidden]
    parameters = [parameter for each in arguments for parameter in _parameters(each)]
    if verb.opens is not Opens.NONE:
        resume = typer.Option(
            None,
            "-r",
            "--resume",
            metavar="ID",
            help="The session; otherwise the folder's newest.",
            autocompletion=names_of(ValuesOf.SESSIONS),
        )
        parameters.append(_parameter("resume", str | None, resume))

    def function(context: typer.Context, **given: Any) -> None:
        resume = given.pop("resume", None)
        args = verb.args(**{each.name: _value(each, given) for each in arguments})
        options: Options = context.find_root().obj
        raise typer.Exit(run_async(lambda: run_verb(options, verb, args, resume)))

    context = Parameter("context", Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)
    function.__doc__ = "\n\n".join(filter(None, [verb.help, verb.more]))
    function.__annotations__ = {each.name: each.annotation for each in (context, *parameters)}
    setattr(function, "__signature__", Signature([context, *parameters]))  # noqa: B010 - what inspect asks for
    return function


def _parameters(each: Argument) -> list[Parameter]:
    spelling = each.spelling
    if spelling.meanings:
        return [
            _parameter(name, bool, typer.Option(False, f"--{name}", help=help))
            for name, help in spelling.meanings.items()
        ]
    is_number = each.type in (int, int | str)
    parser = _reader(each) if is_number else None
    kind = int if is_number else each.type
    if not each.is_required and each.default is None:
        kind = kind | None
    default = ... if each.is_required else each.default
    metavar, names = spelling.metavar or None, names_of(spelling.values)
    if spelling.options:
        info = typer.Option(
            default,
            *spelling.options,
            metavar=metavar,
            help=spelling.help,
            parser=parser,
            autocompletion=names,
        )
    else:
        shown = each.shown if each.is_required else f"[{each.shown}]"
        info = typer.Argument(default, metavar=shown, help=spelling.help, parser=parser, autocompletion=names)
    return [_parameter(each.name, kind, info)]


def _parameter(name: str, kind: Any, info: Any) -> Parameter:
    return Parameter(name, Parameter.KEYWORD_ONLY, annotation=kind, default=info)


def _reader(each: Argument) -> Callable[[str], Any]:
    def number(text: str | int) -> Any:  # its name stands in the help; it gets the default too
        try:
            return each.read(str(text))
        except ValueError:
            raise typer.BadParameter(f"it takes {each.wanted} and not {text!r}.") from None

    return number


def _value(each: Argument, given: dict[str, Any]) -> Any:
    """The value of the field. Raises UsageError where two flags contradict each other."""
    if not each.spelling.meanings:
        return given[each.name]
    chosen = [name for name in each.spelling.meanings if given[name]]
    if len(chosen) > 1:
        raise UsageError(f"{' and '.join(f'--{name}' for name in chosen)}: give only one.")
    return each.type(chosen[0]) if chosen else each.default


async def run_verb(options: Options, verb: Verb[Any], args: Struct, resume: str | None) -> int:
    """Run the verb in its session and tell what it came to; the exit code."""
    claims, may_begin = verb.opens is not Opens.NONE, verb.opens is Opens.NEWEST_OR_NEW
    async with opened_session(options, resume, claims=claims, may_begin=may_begin) as session:
        return await _told(session, await verb.run(session, args))


async def _told(session: "Session", outcome: Outcome) -> int:
    match outcome:
        case base.HeadMoved(result, is_chosen):
            await _keep_draft(session, result)
            for line in outcome.lines:
                typer.echo(printable(line))
            kept = result.kept and not is_chosen
            if kept:
                tell("--on-conflict restore or merge would have brought the files that were kept.")
            return FAILED if result.skipped or result.marked or result.doubted or kept else 0
        case base.Follow(lines):
            async with aclosing(lines) as told:
                async for line in told:
                    if not isinstance(line, str):
                        return await _told(session, line)
                    tell(line)
            return 0
        case base.Tell(text):
            typer.echo(printable(text))
            return 0
        case _:
            raise UsageError("This needs the interface: start ragforge, and type it there with a slash.")


async def _keep_draft(session: "Session", moved: "MoveResult") -> None:
    """The message that was undone waits in the session's prompt until its redo, unless another text does."""
    from ragforge.domain.messages import text_of
    from ragforge.domain.versions import MoveAction

    local = session.workspace.local
    draft = await local.draft(session.id)
    if moved.draft and not draft:
        await local.set_draft(session.id, moved.draft)
    elif moved.action is MoveAction.REDO and draft in {text_of(turn.user) for turn in moved.turns}:
        await local.set_draft(session.id, "")
