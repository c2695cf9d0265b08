"""Processes: which live, for tests that must leave none behind; and programs for tests to start."""

import asyncio
import os
import sys
from collections.abc import Callable
from pathlib import Path


def running_with(marker: str) -> list[str]:
    """The command lines of living processes that hold the marker."""
    found: list[str] = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            state = (entry / "stat").read_bytes().rpartition(b")")[2].split()[0]
        except OSError:
            continue
        if marker in line and state != b"Z" and int(entry.name) != os.getpid():
            found.append(line)
    return found


def write_program(path: Path, body: str) -> None:
    """Write a program that this Python runs, also where its own path has spaces, unlike a `#!` line."""
    path.write_text(f"""#!/bin/sh\n'''exec' '{sys.executable}' "$0" "$@"\n' '''\n{body}\n""")
    path.chmod(0o755)


async def until(condition: Callable[[], bool], timeout_s: float = 180.0) -> None:
    async with asyncio.timeout(timeout_s):
        while not condition():
            await asyncio.sleep(0.01)
