"""`ragforge` and its flags. Subcommands are in separate files.

Only what every call needs is imported at the top: scripts and shell prompts call `ragforge --version`.
"""

import os
import re
import shlex
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from importlib import import_module
from itertools import pairwise
from typing import Any

import typer
from typer.core import TyperGroup
from typer.main import get_group

from ragforge.cli import flags
from ragforge.cli.edge import to_exit_code
from ragforge.cli.options import COMPLETION_VARIABLE, EXIT_CODES, Options, OutputFormat, current_folder
from ragforge.domain.commands import in_shell
from ragforge.domain.errors import UsageError

ORDER = (
    *("search", "context", "undo", "redo", "log", "diff", "checkout", "branch", "merge", "alternatives"),
    *("history", "sessions", "memory", "config", "db", "completion"),
)
"""The order in `--help`; verbs that are not named here follow."""
COMMANDS = ("completion",)
"""What is only about the shell, and not a verb."""


_WORDS = "ragforge.words"
"""In the parser's context: what was typed in place of a subcommand."""
_NEAR = 0.8
"""How similar a first word must be to a subcommand to count as a typo."""
_NEAR_ALONE = 0.7
"""The same for a single word, which is rarely a message."""

_WORDS_OF_A_PROMPT = 3
"""With so many words, a subcommand and the rest may be a sentence: `cost of living`."""
_NOT_UNDERSTOOD: Any = typer.BadParameter.__mro__[1]
"""The parser's usage error; where Typer takes it from depends on its version."""
_TOO_MANY = re.compile(r"Got unexpected extra argument(?:\(s\)|s)? \((.*)\)")


class _Commands(TyperGroup):
    """The subcommands. Each is loaded on demand: loading all of them takes longer than a search."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Treat words that start with no subcommand, or follow `--`, as a prompt."""
        if ctx.resilient_parsing:
            return super().parse_args(ctx, args)
        args = self._with_piped(args)
        rest = self.make_parser(ctx).parse_args(args=list(args))[1]
        before = args[: len(args) - len(rest)]
        is_message = before[-1:] == ["--"]
        if not rest or not (is_message or self._is_prompt(ctx, rest)):
            return super().parse_args(ctx, args)
        ctx.allow_interspersed_args = True
        super().parse_args(ctx, args)
        words: list[str] = [*ctx._protected_args, *ctx.args]
        ctx.meta[_WORDS] = " ".join(words)
        ctx._protected_args, ctx.args = [], []
        return []

    def _with_piped(self, args: list[str]) -> list[str]:
        """Let `-p` without a prompt, at the end or before an option or `--`, mean standard input."""
        options = {name for param in self.params for name in param.opts}
        for index, (arg, following) in enumerate(pairwise([*args, "-p"])):
            if arg == "--":
                break
            if arg in ("-p", "--prompt") and (following == "--" or following.partition("=")[0] in options):
                is_other = any(_is_command(word) for word in args[:index])  # it may have a -p of its own
                return args if is_other else [*args[: index + 1], flags.PIPED, *args[index + 1 :]]
        return args

    def _is_prompt(self, ctx: Any, words: Sequence[str]) -> bool:
        """Whether these words are a prompt.

        Raises UsageError for a misspelt subcommand, and for a single word that is a slash command
        or nearly one: it was hardly meant for the model.
        """
        word, is_alone = words[0], len(words) == 1
        if word in self.commands or _is_command(word):
            return False
        more, nearness = ("", _NEAR_ALONE) if is_alone else (" ...", _NEAR)
        if word.isalpha() and (near := get_close_matches(word, self.list_commands(ctx), 1, nearness)):
            raise UsageError(
                f"Unknown command {word!r}. Did you mean `ragforge {near[0]}`? To send it as a message, "
                f"use: ragforge -- {word}{more}"
            )
        if is_alone and re.fullmatch(r"[^\W\d][\w-]*", word) and (name := _slash_command(word)):
            raise UsageError(
                f"Nothing was sent: /{name} is a slash command. Type it in the interface. "
                f"To send {word!r} as a message, use: ragforge -- {word}"
            )
        return True

    def invoke(self, ctx: Any) -> Any:
        """Run the subcommand. If it does not accept its words, say how to send them all as a prompt."""
        words: list[str] = [*ctx._protected_args, *ctx.args]
        try:
            return super().invoke(ctx)
        except _NOT_UNDERSTOOD as error:
            said = _TOO_MANY.sub(r"Too many arguments: \1.", error.message)
            if len(words) >= _WORDS_OF_A_PROMPT and not any(word.startswith("-") for word in words):
                if said and not said.endswith((".", "?")):  # of a missing argument it is empty
                    said = f"{said}."
                said = f"{said} To send this as a message, use: ragforge -- {shlex.join(words)}".strip()
            error.message = said
            raise

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in self.commands and (command := _load(cmd_name)):
            self.commands[cmd_name] = command
        return self.commands.get(cmd_name)

    def list_commands(self, ctx: Any) -> list[str]:
        from ragforge.commands.base import verbs_on
        from ragforge.domain.arguments import Face

        return list(dict.fromkeys([*ORDER, *verbs_on(Face.SHELL)]))


def _is_command(name: str) -> bool:
    """Whether there is a subcommand of this name; loads no other one."""
    from ragforge.commands.base import find_verb
    from ragforge.domain.arguments import Face

    verb = find_verb(name)
    return name in COMMANDS or (verb is not None and verb.is_on(Face.SHELL))


def _slash_command(word: str) -> str:
    """Return the slash command, program or custom command that this word is, or nearly is; empty for none."""
    from ragforge.config.project import git_root
    from ragforge.session.own_commands import names_of_files
    from ragforge.tui.screens.base import interface_verbs  # loads all: such a word is rare

    here = current_folder().resolve()
    verbs = interface_verbs()
    aliases = [alias for verb in verbs.values() for alias in verb.aliases]
    names = [*verbs, *aliases, *sorted(names_of_files(os.environ, git_root(here) or here))]
    return next(iter(get_close_matches(word, names, 1, _NEAR_ALONE)), "")


def _load(name: str) -> Any:
    """Return the subcommand's parser; None if there is no such subcommand."""
    parser = typer.Typer()
    if name in COMMANDS:
        module = import_module(f"ragforge.cli.{name}")
        parser.command(name, cls=getattr(module, "Parser", None), epilog=EXIT_CODES)(getattr(module, name))
    else:
        from ragforge.cli.verbs import add_verb
        from ragforge.commands.base import find_verb
        from ragforge.domain.arguments import Face

        verb = find_verb(name)
        if verb is None or not verb.is_on(Face.SHELL):
            return None
        add_verb(parser, verb)
    return get_group(parser).commands[name]


app = typer.Typer(
    name="ragforge",
    cls=_Commands,
    help='A coding assistant for the terminal that remembers. `ragforge "PROMPT"` opens it and sends the '
    "prompt; everything after `--` is always a prompt.",
    epilog=EXIT_CODES,
    add_completion=False,
    no_args_is_help=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def run(arguments: Sequence[str]) -> int:
    """Run the command line and return the exit code. Raises RagforgeError."""
    if COMPLETION_VARIABLE in os.environ:
        from ragforge.cli.completion import prepare

        prepare()
    try:
        app(args=_checked(arguments))
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 0
    return 0


def _checked(arguments: Sequence[str]) -> list[str]:
    """Return the arguments for the parser. Raises UsageError for what is not text."""
    checked: list[str] = []
    for number, argument in enumerate(arguments, start=1):
        try:
            argument.encode()
        except UnicodeEncodeError:
            raise UsageError(
                f"Argument {number} is not UTF-8 text: {argument!r}. Convert it, or pipe in a UTF-8 file."
            ) from None
        following = arguments[number : number + 1]
        is_flag = argument == "--resume" and "run" in checked  # of a program, the newest run
        if argument in ("-r", "--resume") and not is_flag and (not following or following[0].startswith("-")):
            checked.append("--resume=")  # the parser has no options with an optional value
        else:
            checked.append(argument)
    return checked


@app.callback(invoke_without_command=True)
def main(
    context: typer.Context,
    prompt: flags.Prompt = None,
    output_format: flags.Format = OutputFormat.TEXT,
    model: flags.Model = None,
    continue_: flags.Continue = False,
    resume: flags.Resume = None,
    at: flags.At = None,
    fork: flags.Fork = False,
    new: flags.New = False,
    max_turns: flags.MaxTurns = None,
    max_price: flags.MaxPrice = None,
    allow: flags.Allow = None,
    yolo: flags.Yolo = False,
    trust_project: flags.TrustProject = False,
    no_memory: flags.NoMemory = False,
    incognito: flags.Incognito = False,
    plain: flags.Plain = False,
    store: flags.StoreUrl = None,
    version: flags.Version = False,
) -> None:
    """A coding assistant for the terminal that remembers."""
    prompt, message = _prompts(context, prompt)
    options = Options(
        cwd=current_folder(),
        prompt="" if prompt == flags.PIPED else prompt,
        message=message,
        output_format=output_format,
        continue_newest=continue_,
        resume=resume,
        at=at,
        fork=fork,
        new=new,
        model_calls_max=max_turns,
        allow=tuple(allow or ()),
        yolo=yolo,
        trust_project=trust_project,
        model=model,
        no_memory=no_memory,
        incognito=incognito,
        plain=plain,
        flags={"model": model, "store": store, "turn.price_usd_max": max_price},
    )
    if context.invoked_subcommand or _is_headless(options):
        in_shell()
    if context.invoked_subcommand:
        context.obj = _for_subcommand(options)
        return
    raise typer.Exit(_run(options))


def _for_subcommand(options: Options) -> Options:
    if options.incognito:
        raise UsageError("--incognito applies to conversations, not to subcommands.")
    return options


def _prompts(context: typer.Context, prompt: str | None) -> tuple[str | None, str]:
    """Return what to run without the interface, and what to send in it. Raises UsageError for both."""
    words: str = context.meta.get(_WORDS, "")
    if words and prompt == flags.PIPED:  # `-p --model NAME WORDS`
        return words, ""
    if words and prompt is not None:
        raise UsageError(
            "Give the prompt only once: after -p, or as an argument to open the interface with it."
        )
    return (prompt, words) if sys.stdin.isatty() or not words else (words, "")


def _run(options: Options) -> int:
    """Run a conversation and return the exit code."""
    from ragforge.session.incognito import incognito, remove_left_behind

    remove_left_behind()
    if not options.incognito:
        return _converse(options)
    with incognito(os.environ):
        # Inside: unexpected errors are logged, and that log is removed too.
        return to_exit_code(lambda: _converse(options))


def _is_headless(options: Options) -> bool:
    return options.prompt is not None or not sys.stdin.isatty()


def _converse(options: Options) -> int:
    if _is_headless(options):
        from ragforge.cli.headless import run_headless

        return run_headless(options)
    from ragforge.cli.interactive import run_interface

    return run_interface(options)
