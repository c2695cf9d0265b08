"""Threads share the memory that they allocate from, and large blocks go back to the system."""

import ctypes
import re
import subprocess
import sys

import pytest

PROGRAM = """
import ctypes, sys, threading
from ragforge.domain.allocator import limit_memory
if sys.argv[1] == "limited":
    limit_memory()
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
together = threading.Barrier(9)
def allocate():
    libc.malloc(1000)
    together.wait()
    together.wait()
libc.free(ctypes.c_void_p(libc.malloc(8_000_000)))
libc.malloc(2_000_000)
for _ in range(8):
    threading.Thread(target=allocate, daemon=True).start()
together.wait()
libc.fdopen.restype = ctypes.c_void_p
stream = ctypes.c_void_p(libc.fdopen(1, b"w"))
libc.malloc_info(0, stream)
libc.fflush(stream)
together.wait()
"""


def malloc_info(how: str) -> str:
    """As XML, after a large block was freed, a smaller one taken, and one each by eight threads."""
    ran = subprocess.run([sys.executable, "-c", PROGRAM, how], capture_output=True, text=True, check=True)
    return ran.stdout


def arenas(how: str) -> int:
    return malloc_info(how).count("<heap nr=")


def mapped_bytes(how: str) -> int:
    found = re.search(r'<total type="mmap" count="\d+" size="(\d+)"/>', malloc_info(how))
    assert found is not None
    return int(found[1])


needs_glibc = pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "malloc_info"), reason="needs glibc")


@needs_glibc
def test_many_threads_share_two_arenas() -> None:
    assert arenas("free") > 2
    assert arenas("limited") <= 2


@needs_glibc
def test_a_large_block_has_pages_of_its_own_after_a_larger_one_was_freed() -> None:
    assert mapped_bytes("free") < 2_000_000
    assert mapped_bytes("limited") >= 2_000_000
