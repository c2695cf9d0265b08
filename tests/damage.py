"""Damage to a file of the store, of the kinds that disks, copies and people do."""

import os
import random
import shutil
import socket
from collections.abc import Callable
from contextlib import chdir
from pathlib import Path

from ragforge.store.files import StoreFile


def missing(file: StoreFile) -> None:
    for each in _files(file):
        each.unlink(missing_ok=True)
    if file.beside:
        shutil.rmtree(file.beside, ignore_errors=True)


def empty(file: StoreFile) -> None:
    _without_log(file)
    os.truncate(file.path, 0)


def truncated(file: StoreFile) -> None:
    _without_log(file)
    os.truncate(file.path, file.path.stat().st_size // 2)


def garbage(file: StoreFile) -> None:
    _without_log(file)
    file.path.write_bytes(random.Random(0).randbytes(file.path.stat().st_size))


def a_folder(file: StoreFile) -> None:
    for each in _files(file):
        each.unlink(missing_ok=True)
    file.path.mkdir()


def flipped(file: StoreFile, *, at: bytes) -> None:
    """One bit of these bytes, wherever they are stored."""
    flipped_at = 0
    for each in _files(file):
        data = each.read_bytes() if each.is_file() else b""
        place = data.find(at)
        while place >= 0:
            with each.open("r+b") as opened:
                opened.seek(place)
                opened.write(bytes([data[place] ^ 1]))
            flipped_at += 1
            place = data.find(at, place + 1)
    assert flipped_at, f"{at!r} is not in {file.path}"


def a_pipe(file: StoreFile) -> None:
    missing(file)
    os.mkfifo(file.path)


def a_socket(file: StoreFile) -> None:
    missing(file)
    with socket.socket(socket.AF_UNIX) as made, chdir(file.path.parent):  # of a path there may be 108 bytes
        made.bind(file.path.name)


def a_link_to_nothing(file: StoreFile) -> None:
    missing(file)
    file.path.symlink_to("/nowhere/else.db")


def a_link_to_itself(file: StoreFile) -> None:
    missing(file)
    file.path.symlink_to(file.path.name)


NOT_FILES: dict[str, tuple[Callable[[StoreFile], None], str]] = {
    "a pipe": (a_pipe, "is a named pipe and should be a database"),
    "a socket": (a_socket, "is a socket and should be a database"),
    "a link to nothing": (
        a_link_to_nothing,
        "is a link to /nowhere/else.db, which does not exist (is its disk mounted?)",
    ),
    "a link to itself": (a_link_to_itself, "is a link that leads back to itself"),
}
"""What may be in the place of a file, and what is said of it."""

DAMAGE: dict[str, Callable[[StoreFile], None]] = {
    "missing": missing,
    "empty": empty,
    "truncated": truncated,
    "garbage": garbage,
    "a folder": a_folder,
}
"""Kinds that need no more than the file; `flipped` needs to know which bytes."""
KINDS = (*DAMAGE, "flipped")


def damage(file: StoreFile, kind: str, *, at: bytes) -> None:
    """Damage of this kind; where it is a flipped bit, in these bytes."""
    if kind == "flipped":
        flipped(file, at=at)
    else:
        DAMAGE[kind](file)


def _files(file: StoreFile) -> list[Path]:
    return [file.path.with_name(file.path.name + tail) for tail in ("", "-wal", "-shm")]


def _without_log(file: StoreFile) -> None:
    for each in _files(file)[1:]:
        each.unlink(missing_ok=True)
