"""The end of a run: at once, and yet nothing that was still to be done is left out."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]

RUN = """
import atexit, os, sys, threading

class TakenApart:
    def __del__(self):
        os.write(1, b"taken apart\\n")

sys.modules["taken"] = TakenApart()
atexit.register(print, "registered")

def work():
    threading.main_thread().join()
    print("worked")

if sys.argv[1] == "busy":
    threading.Thread(target=work).start()
sys.argv[1:] = sys.argv[2:]
from ragforge.__main__ import main
main()
"""


def ran(*args: str) -> tuple[int, list[str]]:
    """Its exit code and what it said."""
    command = [sys.executable, "-c", RUN, *args]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
    return done.returncode, done.stdout.splitlines()


def test_what_was_registered_is_done_and_nothing_is_taken_apart() -> None:
    code, [version, *said] = ran("idle", "--version")
    assert (code, version[:9], said) == (0, "ragforge ", ["registered"])


def test_the_exit_code_is_the_commands() -> None:
    assert ran("idle", "--max-price", "-1") == (2, ["registered"])


def test_a_thread_that_works_is_waited_for() -> None:
    code, [version, *said] = ran("busy", "--version")
    assert (code, version[:9], said[:2]) == (0, "ragforge ", ["worked", "registered"])
