"""What is written down of a restore while it goes on, so that whoever comes after a crash can end it."""

import json
import os
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct, field

from ragforge.domain.errors import StoreDamaged, StoreNewer
from ragforge.store.json_text import to_json
from ragforge.versions.restore.plan import Plan, Skipped

FORMAT = 1


class Phase(StrEnum):
    """How far a restore has come."""

    STAGING = "staging"
    """Temporary files are being written; nothing of the project is touched."""
    STAGED = "staged"
    """Every content lies beside its place: from here it goes on to the end."""
    APPLIED = "applied"
    """The files are as planned; what the caller wanted written then may not be."""


class Temporary(Struct, frozen=True):
    """A temporary file of ours: the folder within the root that it lies in, and its name."""

    folder: str
    name: str

    @property
    def path(self) -> str:
        """Its path within the root."""
        return f"{self.folder}/{self.name}" if self.folder else self.name


class Task(Struct, frozen=True):
    """A plan on its way.

    token: what the names of its temporary files have in common.
    stage_in: for each step the folder in which its content waits; None where there is none to write.
    may_vanish: folders to remove once they are empty, and their modes.
    missing: folders that were not there. modes: of folders that are made again.
    because: empty, or what went wrong, when this is the way back from there.
    """

    plan: Plan
    token: str
    stage_in: tuple[str | None, ...]
    may_vanish: Mapping[str, int] = field(default_factory=dict[str, int])
    missing: tuple[str, ...] = ()
    modes: Mapping[str, int] = field(default_factory=dict[str, int])
    because: str = ""

    def temporary(self, index: int) -> Temporary | None:
        """Where the content of a step waits."""
        folder = self.stage_in[index]
        return None if folder is None else Temporary(folder, f".{self.token}{index:08x}.ragforge-tmp")

    @property
    def temporaries(self) -> tuple[Temporary, ...]:
        """All of them, there or not."""
        found = (self.temporary(index) for index in range(len(self.stage_in)))
        return tuple(each for each in found if each is not None)


class Journal(Struct, frozen=True):
    """A task and how far it has come.

    leftover: temporary files of another task, which was given up for this one or was to follow it.
    """

    phase: Phase
    task: Task
    leftover: tuple[Temporary, ...] = ()
    done: tuple[str, ...] = ()
    skipped: tuple[Skipped, ...] = ()

    def to_bytes(self) -> bytes:
        """As `journal_from` reads it."""
        values: dict[str, Any] = msgspec.to_builtins(self, enc_hook=str)
        return to_json({"format": FORMAT, **values}).encode()


def journal_from(content: bytes, root: Path) -> Journal:
    """Return the journal for the folder's current path. Raises StoreDamaged or StoreNewer."""
    try:
        values: dict[str, Any] = json.loads(content)
        written = values.pop("format")
        if written == FORMAT:
            values["task"]["plan"]["root"] = os.fspath(root)
            return msgspec.convert(values, Journal, dec_hook=lambda _, value: Path(value))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise StoreDamaged(
            f"A restore in {root} was interrupted, and its journal cannot be read. Look for files named "
            ".*.ragforge-tmp there, and compare the project with a version of yours."
        ) from error
    raise StoreNewer(
        f"A restore in {root} was interrupted in a newer version of ragforge. Start that one once to end it."
    )
