"""Disks of their own for tests, so small that they are full soon."""

import contextlib
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest


@contextlib.contextmanager
def small_disk(folder: Path, *, size: str = "1m") -> Iterator[None]:
    """A disk of that size there, where this user may make one."""
    folder.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)], check=False, capture_output=True
    )
    if made.returncode:
        pytest.skip("only root can make a small disk")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def make_room(folder: Path, *, size: str) -> None:
    """Let the disk there be larger from now on."""
    subprocess.run(["mount", "-o", f"remount,size={size}", str(folder)], check=True)
