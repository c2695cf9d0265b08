"""Where stores of laws lie."""

from pathlib import Path
from tempfile import TemporaryDirectory

MEMORY = Path("/dev/shm")


def quick_folder() -> TemporaryDirectory[str]:
    """A folder in memory where the system has one: a law makes thousands of commits, each of which would wait
    for a disk. What a disk keeps is tested elsewhere."""
    return TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None, prefix="ragforge-")
