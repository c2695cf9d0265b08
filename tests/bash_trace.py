"""What bash makes of a command line, found by letting bash run it where no program exists."""

import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

# bash calls this function for every program that it cannot find, and here it finds none.
_TELL = '() { printf \'%s\\0\' "$#" "$@" >&9; return ${RETURN:-0}; }'


@dataclass(frozen=True)
class Trace:
    ran: list[tuple[str, ...]]
    files: list[str]
    """What it created."""


def trace(command: str, *, returns: int = 0) -> Trace:
    """The commands that bash would run, were they there; each one "returns" the given status."""
    env = {"PATH": "/nonexistent", "BASH_FUNC_command_not_found_handle%%": _TELL, "RETURN": str(returns)}
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile() as told:
        script = f'exec 9>&{told.fileno()}; eval "$1"'
        subprocess.run(
            ["/bin/bash", "-c", script, "bash", command],
            env=env,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=[told.fileno()],
            timeout=120,
            check=False,
        )
        told.seek(0)
        items = told.read().decode(errors="replace").split("\0")[:-1]
        files = [path.name for path in Path(folder).iterdir()]
    ran: list[tuple[str, ...]] = []
    while items:
        count = int(items.pop(0))
        ran.append(tuple(items[:count]))
        items = items[count:]
    return Trace(ran, files)
