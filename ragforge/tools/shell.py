"""The tool that runs a shell command, in the foreground or background."""

import asyncio
import os
import signal
import time
from typing import Annotated

import msgspec

from ragforge.domain import timeouts
from ragforge.domain.approvals import RunCommand
from ragforge.domain.errors import UsageError
from ragforge.shell.jobs import JobInfo, JobStatus
from ragforge.shell.process import start_shell
from ragforge.shell.process_output import OutputBuffer
from ragforge.tools.base import Effect, Preview, Tool, ToolContext, ToolResult

HEAD_CHARS_MAX = 500_000
TAIL_CHARS_MAX = 1_500_000
SHOWN_CHARS_MAX = 200_000
"""How much is sent on while the command runs; the result has the rest."""

DESCRIPTION = """\
Run a command in bash, in the session's folder. Each call is a shell of its own: `cd` and variables do not \
last. There is no terminal and no standard input, so use flags such as --yes and -m. Output and errors come \
back together. Set background for servers and watchers; read and stop them with the tool `job`. Processes \
that a command leaves behind are ended with it."""


class ShellArgs(msgspec.Struct, forbid_unknown_fields=True):
    """The command."""

    command: Annotated[str, msgspec.Meta(min_length=1, description="The command line.")]
    timeout_s: Annotated[
        float,
        msgspec.Meta(ge=0, le=timeouts.SHELL_S_MAX, description="Time limit in seconds; 0 is the default."),
    ] = 0.0
    background: Annotated[bool, msgspec.Meta(description="Keep it running, for servers.")] = False
    description: Annotated[str, msgspec.Meta(description="What it is for, in a few words.")] = ""


# Whatever would wait for keys, or ask on a terminal that does not exist, gets an answer instead.
PLAIN_ENV = {
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "MANPAGER": "cat",
    "SYSTEMD_PAGER": "cat",
    "EDITOR": "false",
    "VISUAL": "false",
    "GIT_EDITOR": "false",
    "GIT_SEQUENCE_EDITOR": "false",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "SSH_ASKPASS": "false",
    "GIT_ASKPASS": "false",
    "TERM": "dumb",
    "NO_COLOR": "1",
    "DEBIAN_FRONTEND": "noninteractive",
    "PIP_NO_INPUT": "1",
}


# `git status` needs no approval, so it must not run what a foreign repository's settings say. Nor may files
# that look like a repository without a `.git`, which anybody can write, bring settings of their own.
QUIET_GIT = (("core.fsmonitor", "false"), ("safe.bareRepository", "explicit"))
# CDPATH and OLDPWD would make `cd` go elsewhere than it says, as would a PWD that goes through a link.
_LEFT_OUT = frozenset(("CDPATH", "BASH_ENV", "ENV", "PWD", "OLDPWD"))


def child_env(env: dict[str, str]) -> dict[str, str]:
    """Return the environment for a command: nothing waits for a user, and a name means one program."""
    kept = {name: value for name, value in env.items() if name not in _LEFT_OUT}
    # A relative folder in PATH would make `ls` whatever a file called ls in the project is.
    path = ":".join(folder for folder in kept.get("PATH", os.defpath).split(":") if folder.startswith("/"))
    return {**kept, "PATH": path, **PLAIN_ENV, **_quiet_git(kept.get("GIT_CONFIG_COUNT", ""))}


def _quiet_git(count: str) -> dict[str, str]:
    """Return our settings for git, after those in the user's environment."""
    first = int(count) if count.isdecimal() and len(count) < 5 else 0
    settings = {"GIT_CONFIG_COUNT": str(first + len(QUIET_GIT))}
    for index, (key, value) in enumerate(QUIET_GIT, start=first):
        settings |= {f"GIT_CONFIG_KEY_{index}": key, f"GIT_CONFIG_VALUE_{index}": value}
    return settings


async def run(args: ShellArgs, ctx: ToolContext) -> ToolResult:
    """Return the command's output and how it ended. When cancelled, no process keeps running."""
    try:
        return await (_run_background(args, ctx) if args.background else _run_to_end(args, ctx))
    except OSError as error:
        return ToolResult(f"Cannot start the command in {ctx.cwd}: {error.strerror or error}.", failed=True)
    except (ValueError, UsageError) as error:  # a NUL character in the command; too many jobs
        return ToolResult(f"Cannot start the command: {error}", failed=True)


async def _run_to_end(args: ShellArgs, ctx: ToolContext) -> ToolResult:
    output = OutputBuffer(head_chars_max=HEAD_CHARS_MAX, tail_chars_max=TAIL_CHARS_MAX)
    show = _Shown(ctx)

    def take(text: str) -> None:
        output.append(text)
        show(text)

    timeout_s = args.timeout_s or ctx.shell_timeout_s
    began = time.monotonic()
    process = await start_shell(args.command, cwd=ctx.cwd, env=child_env(ctx.env), on_output=take)
    timed_out, left = False, 0
    try:
        async with asyncio.timeout(timeout_s):
            await process.wait()
    except TimeoutError:
        timed_out = True
        await process.end()
    except asyncio.CancelledError:
        await process.end(grace_s=timeouts.SHELL_CANCEL_GRACE_S)
        raise
    else:
        left = await process.end_leftovers()
    took_s = time.monotonic() - began
    if timed_out:
        ending = f"Ended after its time limit of {timeout_s:g} s, with everything it had started."
    else:
        ending = f"{describe_exit(process.exit_code)} after {took_s:.1f} s."
    if left:
        ending += f" {left} process(es) that it had left running were ended; set background to keep them."
    return _result(output.text(), ending, failed=timed_out or process.exit_code != 0)


async def _run_background(args: ShellArgs, ctx: ToolContext) -> ToolResult:
    started = await ctx.jobs.start(args.command, cwd=ctx.cwd, env=child_env(ctx.env))
    info = await ctx.jobs.wait(started.id, timeout_s=timeouts.SHELL_BACKGROUND_FIRST_S)
    return describe_job(info, ctx.jobs.output(info.id))


def describe_job(info: JobInfo, output: str) -> ToolResult:
    """Return a job for the model: its output and state."""
    match info.status:
        case JobStatus.RUNNING:
            ending = f"Job {info.id} is running in the background (process {info.pid})."
        case JobStatus.EXITED:
            ending = f"Job {info.id} has ended: {describe_exit(info.exit_code).lower()}."
        case JobStatus.STOPPED:
            ending = f"Job {info.id} was stopped."
    return _result(output, ending, failed=info.status is JobStatus.EXITED and info.exit_code != 0)


def describe_exit(code: int | None) -> str:
    """Return how a process ended, in words."""
    if code is not None and code < 0:
        try:
            return f"Killed by {signal.Signals(-code).name}"
        except ValueError:
            return f"Killed by signal {-code}"
    return f"Exit code {code}"


def _result(output: str, ending: str, *, failed: bool) -> ToolResult:
    said = output.rstrip("\n") or "(no output)"
    return ToolResult(f"{said}\n\n[{ending}]", failed=failed)


class _Shown:
    """Passes output on as it arrives, up to a limit."""

    def __init__(self, ctx: ToolContext) -> None:
        self._emit = ctx.emit
        self._room = SHOWN_CHARS_MAX

    def __call__(self, text: str) -> None:
        if self._room <= 0:
            return
        self._emit(text[: self._room])
        self._room -= len(text)
        if self._room <= 0:
            self._emit("\n[more output is not shown while the command runs]\n")


def summarise(args: ShellArgs) -> str:
    """Return the command in one line."""
    line = " ".join(args.command.split())
    return f"{line} &" if args.background else line


async def preview(args: ShellArgs, ctx: ToolContext) -> Preview:
    """Return the whole command."""
    if not args.command.strip():
        return Preview(refused="The command is empty. Give the command line to run.")
    if "\0" in args.command:
        return Preview(refused="The command contains a NUL character. Remove it.")
    notes: list[str] = []
    if args.background:
        notes.append("in the background")
    elif args.timeout_s:
        notes.append(f"time limit {args.timeout_s:g} s")
    return Preview(RunCommand(args.command, tuple(notes)))


TOOL = Tool(
    name="shell",
    description=DESCRIPTION,
    effect=Effect.SHELL,
    args_type=ShellArgs,
    run=run,
    summarise=summarise,
    preview=preview,
    editable="command",
)
