"""Backup sets: consistent copies of this machine's databases that the program makes by itself.

A set is a folder `backups/NAME` in the data folder. It contains a copy of each database that the table of
files marks as copied, and `backup.json`, written last: without that it is not a set. Contents are not
copied: they are named by their hash, and restoring a set says which ones are missing.
"""

import shutil
from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from enum import StrEnum
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ragforge.config.store_address import bare_url
from ragforge.domain.errors import UsageError
from ragforge.domain.ids import now
from ragforge.domain.json import read_in_threads
from ragforge.domain.words import moment_words
from ragforge.store.files import Role

KEPT = 3
"""How many sets of a store are kept; those from before a migration are counted separately."""
EVERY = timedelta(days=1)
FACTS = "backup.json"
PARTIAL = ".partial"
"""The suffix of a folder in which a set is being made."""


class Reason(StrEnum):
    """Why a set was made."""

    DAILY = "daily"
    MIGRATION = "before a migration"
    ASKED = "by hand"


class CopiedFile(Struct, frozen=True):
    """A database in a set.

    name: of the copy. path: its original path, relative to the data folder if it was inside it.
    """

    role: Role
    name: str
    path: str
    bytes: int
    sha256: str
    schema: int


@read_in_threads
class BackupSet(Struct, frozen=True):
    """A complete set. store: its address, without a password. counts: of sessions, turns and versions."""

    name: str
    made_at: datetime
    reason: Reason
    store: str
    files: tuple[CopiedFile, ...]
    counts: Mapping[str, int]
    format: int = 1

    @property
    def bytes(self) -> int:
        """The size of its copies."""
        return sum(file.bytes for file in self.files)

    @property
    def command(self) -> str:
        """The command that restores it."""
        return f"ragforge db recover {self.name}"


def backups_folder(folder: Path) -> Path:
    """Return the folder of all sets, in the data folder."""
    return folder / "backups"


def list_backups(folder: Path, *, store: str = "") -> list[BackupSet]:
    """Return the complete sets, newest first; those from the future last.

    folder: the data folder. store: only those of this address.
    """
    found = [_read(path) for path in backups_folder(folder).glob(f"*/{FACTS}")]
    wanted = bare_url(store)
    sets = [each for each in found if each and (not wanted or each.store == wanted)]
    moment = now()
    # Those from the future were made under a clock that was wrong, before those of today.
    return sorted(sets, key=lambda each: (each.made_at <= moment, each.made_at, each.name), reverse=True)


def get_backup(folder: Path, name: str) -> BackupSet:
    """Return the set of this name. Raises UsageError."""
    sets = list_backups(folder)
    for each in sets:
        if each.name == name:
            return each
    there = f" Known backups: {', '.join(each.name for each in sets)}." if sets else " There are none yet."
    raise UsageError(f"No backup is called {name!r}.{there}")


def backup_of(folder: Path, path: Path) -> BackupSet | None:
    """Return the newest set with a copy of this database. folder: the data folder."""
    sets = list_backups(folder)
    return next((each for each in sets if any(path_of(folder, file) == path for file in each.files)), None)


def recovery_words(folder: Path, path: Path) -> str:
    """Return a sentence, after a blank, on the newest backup of this database and its command, or ""."""
    if (found := backup_of(folder, path)) is None:
        return ""
    role = next(file.role for file in found.files if path_of(folder, file) == path)
    only = "" if role is Role.CONVERSATIONS else f" --only {role}"
    when = moment_words(found.made_at)
    command = f"{found.command}{only}"
    return f" There is a backup of {when}; to restore it, close every ragforge and run: {command}."


def path_of(folder: Path, file: CopiedFile) -> Path:
    """Return where the database belongs. folder: the data folder."""
    return folder / file.path


def is_due(folder: Path, url: str, moment: datetime) -> bool:
    """Whether the newest set of the store is a day old, or there is none."""
    return due_at(folder, url, moment) <= moment


def due_at(folder: Path, url: str, moment: datetime) -> datetime:
    """Return when the next daily set is due; now if there is none yet."""
    sets = list_backups(folder, store=url)
    # One from the future was made under a wrong clock: it must not postpone the next for ever.
    newest = next((each.made_at for each in sets if each.made_at <= moment), None)
    return newest + EVERY if newest else moment


def remove_old(folder: Path, *, keep: int = KEPT) -> None:
    """Remove all but the newest sets, and unfinished ones."""
    by_kind: dict[tuple[str, bool], list[BackupSet]] = {}
    for each in list_backups(folder):
        by_kind.setdefault((each.store, each.reason is Reason.MIGRATION), []).append(each)
    for sets in by_kind.values():
        remove_sets(folder, sets[keep:])
    _remove(path for path in backups_folder(folder).glob("*") if not (path / FACTS).exists())


def remove_sets(folder: Path, sets: Iterable[BackupSet]) -> None:
    """Remove these. folder: the data folder."""
    _remove(backups_folder(folder) / each.name for each in sets)


def _remove(sets: Iterable[Path]) -> None:
    for path in sets:
        with suppress(OSError):
            # First the file that makes it a set: half a set must never count as one.
            (path / FACTS).unlink(missing_ok=True)
            shutil.rmtree(path)


def _read(path: Path) -> BackupSet | None:
    """Return the set that the file describes; None if it is unreadable or of a later format."""
    if path.parent.name.endswith(PARTIAL):
        return None
    try:
        found = msgspec.json.decode(path.read_bytes(), type=BackupSet)
    except (OSError, msgspec.DecodeError):
        return None
    return replace(found, name=path.parent.name)
