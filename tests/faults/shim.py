"""Faults in the system calls of a process, by a library that is loaded before the C library.

It needs Linux and a C compiler. `shim_library()` compiles `shim.c`. A process that was started with it in
LD_PRELOAD calls `arm(Fault(...))`.
"""

import ctypes
import errno
import os
import shutil
import subprocess
import sys
from dataclasses import asdict, dataclass
from enum import IntEnum, IntFlag
from pathlib import Path

SOURCE = Path(__file__).with_name("shim.c")
LIBRARY_VARIABLE = "RAGFORGE_TEST_SHIM"


class Kind(IntFlag):
    """Which system calls."""

    WRITE = 1
    SYNC = 2
    RENAME = 4
    OTHER = 8
    """Those that make, cut or remove files and folders, and change modes."""
    ALL = 15


class Action(IntEnum):
    """What happens at the n-th call."""

    COUNT = 0
    FAIL = 1
    SHORT = 2
    """Half of what was to be written is written."""
    KILL_BEFORE = 3
    KILL_AFTER = 4


@dataclass(frozen=True)
class Fault:
    """A fault at the n-th call of a kind on a path below a folder; 0 for none, which only counts.

    part: what stands in the path. lasts: the calls after it meet the same.
    """

    folder: str
    nth: int = 0
    action: int = Action.COUNT
    error: int = errno.EIO
    kinds: int = Kind.ALL
    part: str = ""
    lasts: bool = False

    def to_json(self) -> dict[str, object]:
        """As `Fault(**values)` takes it."""
        return asdict(self)


def why_no_shim() -> str:
    """Why faults of system calls cannot be tried here; empty where they can."""
    if not sys.platform.startswith("linux"):
        return "faults of system calls are injected on Linux only"
    return "" if shutil.which("cc") else "there is no C compiler (cc) to build tests/faults/shim.c with"


def shim_library(folder: Path) -> Path:
    """The library, compiled in the folder. Needs `why_no_shim()` to be empty."""
    library = folder / "shim.so"
    flags = ("-std=gnu11", "-shared", "-fPIC", "-O1", "-Wall", "-Wno-strict-prototypes")
    subprocess.run(["cc", *flags, "-o", str(library), str(SOURCE), "-ldl"], check=True)
    return library


def shim_environ(library: Path) -> dict[str, str]:
    """What is added to the environment of a process that shall meet faults."""
    return {"LD_PRELOAD": str(library), LIBRARY_VARIABLE: str(library)}


def arm(fault: Fault, report: int = -1) -> None:
    """From now on this process meets the fault. report: a file that a line is written to for each match."""
    _library().fault_arm(
        os.fsencode(fault.folder),
        os.fsencode(fault.part),
        *(ctypes.c_int(fault.kinds), ctypes.c_long(fault.nth), ctypes.c_int(fault.action)),
        *(ctypes.c_int(fault.error), ctypes.c_int(fault.lasts), ctypes.c_int(report)),
    )


def disarm() -> int:
    """Meet no more faults; how many calls matched."""
    return int(_library().fault_disarm())


def _library() -> ctypes.CDLL:
    library = ctypes.CDLL(os.environ[LIBRARY_VARIABLE])
    library.fault_disarm.restype = ctypes.c_long
    return library
