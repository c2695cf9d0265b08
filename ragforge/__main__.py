"""The command `ragforge`, also as `python -m ragforge`."""

import atexit
import gc
import os
import sys
import threading
from contextlib import suppress
from typing import NoReturn

from ragforge.domain import timeouts


def main() -> None:
    """Run the command line and exit with its code."""
    if sys.platform == "win32":
        sys.exit("ragforge runs on Linux and macOS; on Windows use it within WSL.")
    _open_closed_streams()
    _speak_utf8()
    # Loading makes many objects and no garbage: collecting costs a tenth of a short run.
    gc.set_threshold(100_000, 20, 20)
    if not sys.argv[1:] or sys.argv[1].startswith("-"):  # a subcommand never starts the interface
        _begin_prompt()
    from ragforge.cli.edge import to_exit_code

    _end(to_exit_code(_run))


def _begin_prompt() -> None:
    """Draw the first prompt where the interface is to start, before anything else is imported: somebody may
    be typing already."""
    from ragforge.cli.arguments import start_interface  # after the check: these exist on those systems only

    if start_interface(sys.argv[1:], os.environ):
        from ragforge.tui.first_prompt import prompt

        prompt.begin(os.environ)


def _open_closed_streams() -> None:
    """Let nothing come in and go out where the caller closed a stream.

    Else the next file to be opened, a database perhaps, would have the number that output is written to.
    """
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        try:
            os.fstat(number)
        except OSError:
            opened = os.open(os.devnull, os.O_RDWR)  # has the lowest number that is free: this one
            os.set_inheritable(opened, True)
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(number, mode, encoding="utf-8", closefd=False))


def _speak_utf8() -> None:
    """Start again in Python's UTF-8 mode where the locale knows only ASCII and that mode was switched off.

    Without it, no argument, answer, command or file name may contain an accent.
    """
    if sys.getfilesystemencoding() == "ascii" and not sys.flags.utf8_mode:
        os.execv(sys.executable, [sys.executable, "-X", "utf8", *sys.orig_argv[1:]])


def _run() -> int:
    try:
        return _command_line()
    finally:
        _give_terminal_back()


def _give_terminal_back() -> None:
    """Where the interface has not taken it from the first prompt."""
    if first_prompt := sys.modules.get("ragforge.tui.first_prompt.prompt"):
        first_prompt.leave()


def _command_line() -> int:
    if len(sys.argv) == 1 and sys.stdin.isatty() and "_RAGFORGE_COMPLETE" not in os.environ:
        # The usual start has no flags to parse; loading the parser would cost a tenth of it.
        from ragforge.cli.interactive import run_interface
        from ragforge.cli.options import Options, current_folder

        return run_interface(Options(cwd=current_folder()))
    from ragforge.cli.main import run

    return run(sys.argv[1:])


def _end(code: int) -> NoReturn:
    """Exit without taking apart what was loaded: that costs a tenth of a short run, and frees nothing."""
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join(timeouts.PROCESS_END_S_MAX)
            if thread.is_alive():
                sys.exit(code)  # which waits for whoever is still at work
    atexit._run_exitfuncs()  # pyright: ignore[reportPrivateUsage]
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):  # the reader has gone
            stream.flush()
    os._exit(code)


if __name__ == "__main__":
    main()
