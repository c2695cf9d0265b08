"""The outermost error handler: errors become a sentence and an exit code, never a traceback."""

import errno
import os
import re
import sys
from collections.abc import Callable
from contextlib import suppress

from ragforge.domain.errors import RagforgeError

FAILED = 1
INTERRUPTED = 130


def to_exit_code(run: Callable[[], int]) -> int:
    """Run and return the exit code, whatever happens."""
    try:
        code = run()
        sys.stdout.flush()
        return code
    except RagforgeError as error:
        tell(str(error))
        return error.exit_code
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        drop_output()  # the reader has what it wanted, like `head`
        return FAILED
    except UnicodeEncodeError as error:
        tell(f"The output cannot be written as {error.encoding}. Set PYTHONIOENCODING=utf-8.")
        return FAILED
    except OSError as error:
        drop_output()
        _log(error)
        is_output = error.errno == errno.ENOSPC and not error.filename
        what = "The output is incomplete: " if is_output else ""
        tell(f"{what}{error.strerror or error}{f': {error.filename}' if error.filename else ''}.")
        return FAILED
    except Exception as error:
        # While a class is created, Python wraps even what a signal handler raises.
        if isinstance(error.__cause__, SystemExit) and isinstance(error.__cause__.code, int):
            return error.__cause__.code
        if isinstance(error.__cause__, KeyboardInterrupt):
            return INTERRUPTED
        _log(error)
        tell(f"Stopped unexpectedly ({type(error).__name__}: {error}). The conversation is saved. {_where()}")
        return FAILED


_SLASH = re.compile(r"(?<![\w/.:~`-])(?<!-p )/([a-z]+)\b(?![/\w]|[.:]\w)(?: ([a-z]+)\b)?")
_IN_THE_SHELL = {
    "retry": "`ragforge -c -p /retry`",
    "model": "--model PROVIDER:NAME",
    "help": "`ragforge --help`",
    "new": "a run without -c and -r",
    "fork": "--fork",
}


def for_the_shell(text: str) -> str:
    """Return the message with flags and subcommands in place of slash commands.

    Done here and not where it is made: a turn's error is stored, and read in the interface too.
    """
    return _SLASH.sub(lambda found: _in_the_shell(found[1], found[2]) or found[0], text)


def _in_the_shell(name: str, next_word: str | None) -> str:
    """Return the shell equivalent, with the word after it; empty if there is no such command."""
    from ragforge.commands.base import find_verb
    from ragforge.domain.arguments import Face

    verb = find_verb(name)
    behind = f" {next_word}" if next_word else ""
    if name in _IN_THE_SHELL or verb is None:
        return _IN_THE_SHELL[name] + behind if name in _IN_THE_SHELL else ""
    if not verb.is_on(Face.SHELL):
        return f"`ragforge -c -p /{name}`{behind}"
    if any(each.name == next_word for each in verb.verbs_on(Face.SHELL)):
        return f"`ragforge {name}{behind}`"
    return f"`ragforge {name}`{behind}"


def tell(text: str) -> None:
    """Print a line for the user, separate from the answer."""
    from ragforge.cli.output import printable  # imported here: most runs report nothing
    from ragforge.domain.commands import is_in_shell

    text = for_the_shell(text) if "/" in text and is_in_shell() else text
    with suppress(OSError):  # the terminal is gone
        sys.stderr.write(f"ragforge: {printable(text)}\n")


def drop_output() -> None:
    """Discard what could not be written, or Python complains again at its end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def _log(error: BaseException) -> None:
    # Imported here, as below: most runs end well.
    import logging

    from ragforge.session.logs import start_log

    start_log(os.environ)
    logging.getLogger(__name__).error("Stopped unexpectedly", exc_info=error)


def _where() -> str:
    from ragforge.config.paths import log_file

    return f"Details are in {log_file(os.environ)}."


def as_called(command: str) -> str:
    """Return the command as it works in this shell: by its path if `ragforge` is not on the PATH."""
    import shlex  # at the end of a conversation only
    import shutil

    if shutil.which("ragforge"):
        return command
    called = sys.argv[0]
    how = [called] if called.rpartition("/")[2] == "ragforge" else [sys.executable, "-P", "-m", "ragforge"]
    return shlex.join(how) + command.removeprefix("ragforge")
