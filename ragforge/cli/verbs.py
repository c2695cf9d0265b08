"""Verbs on the command line: their parsers, made from their arguments, and their output."""

import os
import sys
from collections.abc import Callable
from contextlib import aclosing
from importlib import import_module
from inspect import Parameter, Signature
from typing import TYPE_CHECKING, Any

import typer
from msgspec import Struct
from msgspec.structs import replace
from typer.core import TyperCommand, TyperGroup

from ragforge.cli.edge import FAILED, tell
from ragforge.cli.library import opened_library, opened_session
from ragforge.cli.options import EXIT_CODES, Options, run_async
from ragforge.cli.output import answer_text, json_line, printable
from ragforge.commands import base
from ragforge.commands.base import Opens, Outcome, Verb, whole_or_part
from ragforge.domain.arguments import Argument, Face, ValuesOf, arguments_of, modern
from ragforge.domain.errors import UsageError

if TYPE_CHECKING:  # costs more than all of `ragforge --version`
    from ragforge.session.state import Session
    from ragforge.versions.head_move import MoveResult

NEEDS_INTERFACE = "This command needs the interface. Start ragforge and type it there with a slash."


def needs_interface(name: str) -> UsageError:
    """Return the refusal of a slash command that was given as a prompt; it names the subcommand, if any."""
    verb = base.find_verb(base.name_here(name))
    is_in_shell = verb is not None and verb.is_on(Face.SHELL)
    instead = f" In a shell, see `ragforge {verb.name} --help`." if verb and is_in_shell else ""
    return UsageError(f"{NEEDS_INTERFACE}{instead}")


def add_verb(parser: typer.Typer, verb: Verb[Any], *, top: str = "") -> None:
    """Register the verb and those that follow its name. top: the name that it follows."""
    verbs, top = verb.verbs_on(Face.SHELL), top or verb.name
    epilog = "\n\n".join([*(f"Example: ragforge {each}" for each in verb.examples), EXIT_CODES])
    if not verbs:
        parser.command(verb.name, cls=_class(TyperCommand, verb), epilog=epilog)(_function(verb, top))
        return
    is_own = bool(verb.opens or verb.shell)
    group = typer.Typer(cls=_class(_Group, verb), invoke_without_command=is_own, no_args_is_help=not is_own)
    if is_own:
        group.callback()(_function(verb, top))
    for each in verbs:
        add_verb(group, each, top=top)
    parser.add_typer(group, name=verb.name, help=_help(verb), epilog=epilog)


Run = Callable[[Options, Any], int]
"""Runs a verb that opens what it needs; returns the exit code."""


def _class(base: type[Any], verb: Verb[Any]) -> type[Any]:
    """The parser's class, which also accepts former spellings."""

    def parse_args(self: Any, ctx: Any, args: list[str]) -> list[str]:
        return base.parse_args(self, ctx, modern(args, verb.former, tell=tell))

    return type(base.__name__, (base,), {"parse_args": parse_args})


class _Group(TyperGroup):
    """The next word is another verb or this one's arguments."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        ctx.meta[__name__] = args[:1] and args[0] in self.commands
        ctx.allow_interspersed_args = not ctx.meta[__name__]
        return super().parse_args(ctx, args)

    def get_params(self, ctx: Any) -> list[Any]:
        params = super().get_params(ctx)
        is_other = ctx.meta.get(__name__)
        return [each for each in params if each.param_type_name == "option"] if is_other else params


def _help(verb: Verb[Any]) -> str:
    return "\n\n".join(filter(None, [verb.help, verb.more]))


def _function(verb: Verb[Any], top: str) -> Callable[..., None]:
    """Return a function with the signature that the parser is made from."""
    arguments = [each for each in arguments_of(verb.args, Face.SHELL) if not each.spelling.hidden]
    parameters = [parameter for each in arguments for parameter in _parameters(each)]
    if verb.takes_session:
        resume = typer.Option(
            None,
            "-r",
            "--resume",
            metavar="ID",
            help="The session; by default the newest in this folder.",
            autocompletion=_completion(ValuesOf.SESSIONS),
        )
        parameters.append(_parameter("resume", str | None, resume))

    def function(context: typer.Context, **given: Any) -> None:
        if context.invoked_subcommand:
            return
        resume = given.pop("resume", None) if verb.takes_session else None
        args = verb.args(**{each.name: _value(each, given) for each in arguments})
        options: Options = context.find_root().obj
        if verb.opens is Opens.ITSELF:
            run: Run = import_module(f"ragforge.cli.{top}").RUNS[verb.name]
            raise typer.Exit(run(options, args))
        raise typer.Exit(run_asking(options, verb, args, resume))

    context = Parameter("context", Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)
    function.__doc__ = _help(verb)
    function.__annotations__ = {each.name: each.annotation for each in (context, *parameters)}
    setattr(function, "__signature__", Signature([context, *parameters]))  # noqa: B010 - read by inspect
    return function


def run_asking(options: Options, verb: Verb[Any], args: Struct, resume: str | None = None) -> int:
    """Run the verb, and again with `yes` if it asks and the answer is yes; return the exit code."""
    code = run_async(lambda: run_verb(options, verb, args, resume))
    if isinstance(code, base.Confirm):
        # Asked between the two: within the loop, Ctrl+C would not end the question.
        if not _is_confirmed(code):
            return FAILED
        confirmed = replace(args, yes=True)
        code = run_async(lambda: run_verb(options, verb, confirmed, resume))
    return code if isinstance(code, int) else FAILED


def _parameters(each: Argument) -> list[Parameter]:
    spelling = each.spelling
    if spelling.meanings:
        return [
            _parameter(name, bool, typer.Option(False, f"--{name}", help=help))
            for name, help in spelling.meanings.items()
        ]
    is_number, is_many = each.type in (int, int | str), spelling.rest or each.is_list
    kind: Any = list[each.item] if is_many else int if is_number else each.type
    default = ... if each.is_required else None if is_many else each.default
    parser = _reader(each) if is_number else None
    names = _completion(spelling.values)
    if spelling.options:
        info = typer.Option(
            default,
            *spelling.options,
            metavar=spelling.metavar or None,
            help=spelling.help,
            parser=parser,
            autocompletion=names,
        )
    else:
        shown = each.shown if each.is_required else f"[{each.shown}]"
        info = typer.Argument(default, metavar=shown, help=spelling.help, parser=parser, autocompletion=names)
    return [_parameter(each.name, kind | None if default is None else kind, info)]


def _completion(values: ValuesOf) -> Callable[[str], list[str]] | None:
    """Return what completes the beginning of such a name; None if it has no completion."""
    if values is ValuesOf.NOTHING:
        return None

    def names(incomplete: str) -> list[str]:
        from ragforge.cli.completion import names_of  # only a Tab needs it

        return names_of(values, incomplete)

    return names


def _parameter(name: str, kind: Any, info: Any) -> Parameter:
    return Parameter(name, Parameter.KEYWORD_ONLY, annotation=kind, default=info)


def _reader(each: Argument) -> Callable[[str], Any]:
    def number(text: str | int) -> Any:  # its name is shown in the help; it gets the default too
        try:
            return each.read(str(text))
        except ValueError:
            raise typer.BadParameter(f"must be {each.wanted}, not {text!r}.") from None

    return number


def _value(each: Argument, given: dict[str, Any]) -> Any:
    """Return the value of the field. Raises UsageError if two flags contradict each other."""
    if each.spelling.rest:
        return " ".join(given[each.name] or ())
    if each.is_list:
        texts: list[str] = given[each.name] or []
        if "" in texts:
            raise UsageError(f"{each.spelling.options[0]} must be {each.wanted}, not ''.")
        if each.spelling.whole:
            return tuple(texts)
        return tuple(each.item(name) for names in texts for name in names.split(",") if name)
    if not each.spelling.meanings:
        return given[each.name]
    chosen = [name for name in each.spelling.meanings if given[name]]
    if len(chosen) > 1:
        raise UsageError(f"Use only one of {' and '.join(f'--{name}' for name in chosen)}.")
    return each.type(chosen[0]) if chosen else each.default


def _is_confirmed(asked: base.Confirm) -> bool:
    if not sys.stdin.isatty():
        raise UsageError(asked.unasked)
    try:
        return typer.confirm(asked.question)
    except typer.Abort:
        raise KeyboardInterrupt from None


async def run_verb(options: Options, verb: Verb[Any], args: Struct, resume: str | None) -> int | base.Confirm:
    """Run the verb and print its outcome. Return the exit code, or what to ask."""
    if verb.shell:
        async with opened_library(options) as library:
            outcome = await whole_or_part(verb, verb.shell(library, args), library.store)
            if not isinstance(outcome, base.Instead):
                return await _told(None, outcome)
        return await run_verb(options, outcome.verb, outcome.args, resume)
    async with opened_session(options, verb.opens or Opens.NONE, resume) as session:
        outcome = await whole_or_part(verb, verb.run(session, args), session.workspace.store)
        return await _told(session, outcome)


async def _told(session: "Session | None", outcome: Outcome) -> int | base.Confirm:
    match outcome:
        case base.HeadMoved(result, is_chosen) if session:
            await _keep_draft(session, result)
            _print_move(outcome)
            kept = result.kept and not is_chosen
            if kept:
                tell(
                    "Some files were kept as they are; --on-conflict restore or merge would have changed "
                    "them too."
                )
            return FAILED if result.skipped or result.marked or result.doubted or kept else 0
        case base.Follow(lines):
            from ragforge.domain.programs import ProgramView

            async with aclosing(lines) as told:
                async for line in told:
                    if isinstance(line, base.UserQuestion):
                        line.reply(None)  # nobody can be asked here
                    elif isinstance(line, str):
                        tell(line)
                    elif not isinstance(line, ProgramView):
                        return await _told(session, line)
            return 0
        case base.Tell(text):
            typer.echo(printable(text))
            return 0
        case base.Report():
            print_report(outcome)
            return 0
        case base.Confirm(detail=detail):
            if detail:
                typer.echo(printable(detail))
            return outcome
        case _:
            raise UsageError(NEEDS_INTERFACE)


async def told_outcome(session: "Session", outcome: Outcome, *, name: str) -> str:
    """Return the text of a slash command given as a prompt. Raises UsageError for other outcomes."""
    match outcome:
        case base.Tell(text):
            return text
        case base.Report():
            for note in outcome.notes:
                tell(note)
            exact = outcome.exact
            return exact.decode("utf-8", "replace") if isinstance(exact, bytes) else exact or _plain(outcome)
        case base.HeadMoved(result):
            await _keep_draft(session, result)
            return "\n".join(outcome.lines)
        case base.Follow(lines):
            async with aclosing(lines) as told:
                texts = [await _told_line(session, line, name=name) async for line in told]
            return "\n".join(filter(None, texts))
        case base.UserQuestion():
            outcome.reply(None)  # nobody can be asked here
            return ""
        case base.Confirm():
            raise UsageError(outcome.unasked or f"{outcome.question} It cannot be answered here.")
        case _:
            raise needs_interface(name)


async def _told_line(session: "Session", line: base.Followed, *, name: str) -> str:
    from ragforge.domain.programs import ProgramView

    if isinstance(line, ProgramView):
        return "\n".join(line.begun)
    return line if isinstance(line, str) else await told_outcome(session, line, name=name)


def _plain(report: base.Report) -> str:
    lines = (line if isinstance(line, str) else "".join(span.text for span in line) for line in report.lines)
    return "\n".join(lines)


def _print_move(moved: base.HeadMoved) -> None:
    if moved.as_json:
        from ragforge.versions.words import moved_json

        typer.echo(json_line(moved_json(moved.result)))
        return
    for line in moved.lines:
        typer.echo(printable(line))


def print_report(report: base.Report) -> None:
    """Print it for a user, or for a program if it is exact."""
    if report.data is not None:
        typer.echo(json_line(report.data))
    elif isinstance(report.exact, bytes):
        sys.stdout.buffer.write(report.exact)
        sys.stdout.buffer.flush()
    else:
        typer.echo(answer_text(report.exact), nl=False)
        for line in report.lines:
            typer.echo(printable(line) if isinstance(line, str) else "".join(map(_span, line)))
    for note in report.notes:
        tell(note)


def _span(span: base.Span) -> str:
    text = printable(span.text)
    if not (sys.stdout.isatty() and "NO_COLOR" not in os.environ):
        return f"*{text}*" if span.emphasis is base.Emphasis.MARKED else text
    match span.emphasis:
        case base.Emphasis.MARKED:
            return typer.style(text, bold=True, fg=typer.colors.YELLOW)
        case base.Emphasis.STRONG:
            return typer.style(text, bold=True)
        case base.Emphasis.FAINT:
            return typer.style(text, dim=True)
        case base.Emphasis.PLAIN:
            return text


async def _keep_draft(session: "Session", moved: "MoveResult") -> None:
    """Print that the undone message waits in the session's prompt until its redo, unless other text does."""
    from ragforge.domain.messages import typed_in
    from ragforge.domain.versions import MoveAction

    local = session.workspace.local
    draft = await local.prompts.draft(session.id)
    if moved.draft and not draft:
        await local.prompts.set_draft(session.id, moved.draft)
    elif moved.action is MoveAction.REDO and draft in {typed_in(turn.user) for turn in moved.turns}:
        await local.prompts.set_draft(session.id, "")
