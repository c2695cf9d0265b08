"""A command on a leash: it lives until it ends, or until whoever started it has died in whatever way.

`python leash.py LOG COMMAND...` prints the command's pid and holds it for as long as stdin stays open. The
kernel closes a pipe when its owner dies, even of SIGKILL, and on macOS too, where a process cannot ask to be
told of its parent's death. Uses the standard library only: it starts in 30 ms.
"""

import os
import signal
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path

GRACE_S = 5
"""A command that was let go may tidy up for so long: `docker run` has its container to stop."""


@dataclass(frozen=True, slots=True)
class Leash:
    """The end that is held."""

    pid: int
    """Of the command itself."""
    holder: subprocess.Popen[str]

    @property
    def ended(self) -> bool:
        """Whether the command has."""
        return self.holder.poll() is not None

    def send(self, sent: signal.Signals) -> None:
        """Send the command a signal, unless it has ended: its pid may be another's by now."""
        if not self.ended:
            os.kill(self.pid, sent)

    def wait(self, timeout_s: float) -> bool:
        """Whether it ended in time."""
        try:
            self.holder.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return False
        self.let_go()
        return True

    def let_go(self) -> None:
        """End the command, if it has not ended."""
        self.holder.communicate()


def on_leash(command: list[str], *, log: Path) -> Leash:
    """Start the command, with a process group of its own: Ctrl+C in a terminal does not reach it."""
    holder = subprocess.Popen(
        [sys.executable, "-I", "-S", __file__, str(log), *command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert holder.stdout is not None
    pid = holder.stdout.readline().strip()
    if not pid:
        holder.wait()
        raise OSError(f"{command[0]} could not be started.")
    return Leash(int(pid), holder)


def main() -> None:
    log, *command = sys.argv[1:]
    with Path(log).open("ab") as output:
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
    print(child.pid, flush=True)
    threading.Thread(target=_end_when_let_go, args=(child,), daemon=True).start()
    sys.exit(abs(child.wait()))


def _end_when_let_go(child: "subprocess.Popen[bytes]") -> None:
    sys.stdin.read()
    child.terminate()
    try:
        child.wait(GRACE_S)
    except subprocess.TimeoutExpired:
        # All of the group: what the command started, and this process too.
        os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    main()
