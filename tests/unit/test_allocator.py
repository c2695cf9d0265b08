"""Threads share the memory that they allocate from."""

import ctypes
import subprocess
import sys

import pytest

PROGRAM = """
import ctypes, sys, threading
from ragforge.domain.allocator import limit_arenas
if sys.argv[1] == "limited":
    limit_arenas()
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
together = threading.Barrier(9)
def allocate():
    libc.malloc(1000)
    together.wait()
    together.wait()
for _ in range(8):
    threading.Thread(target=allocate, daemon=True).start()
together.wait()
libc.fdopen.restype = ctypes.c_void_p
stream = ctypes.c_void_p(libc.fdopen(1, b"w"))
libc.malloc_info(0, stream)
libc.fflush(stream)
together.wait()
"""


def arenas(how: str) -> int:
    ran = subprocess.run([sys.executable, "-c", PROGRAM, how], capture_output=True, text=True, check=True)
    return ran.stdout.count("<heap nr=")


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "malloc_info"), reason="needs glibc")
def test_many_threads_share_two_arenas() -> None:
    assert arenas("free") > 2
    assert arenas("limited") <= 2
