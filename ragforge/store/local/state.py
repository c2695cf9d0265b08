"""This machine's own state: prompt history, drafts, queues, consent rules, paths of projects, blocks of
turns and their use, hints, turns that continued after their summary, and model answers that the store does
not have yet.

No conversation is stored only here, so losing it loses none. It is never copied with a store. Texts are
stored as given: the caller has removed the secrets.
"""

import asyncio
import json
from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Struct

from ragforge.domain.json import each_text
from ragforge.store.files import machine_file
from ragforge.store.local.database import LocalDatabase, clean, prepare_local
from ragforge.store.local.projects import ProjectPaths, ProjectTrust
from ragforge.store.local.prompts import Prompts
from ragforge.store.local.turns import HeldAnswers, Recalls, TurnMarks
from ragforge.store.local.values import Choices, Counts, OfferedHints
from ragforge.store.sqlite.connection import Connection

TYPED = (
    ("prompt", "number", "text", False),
    ("draft", "key", "text", False),
    ("queue", "session", "messages", True),
    ("recalled", "turn", "block", True),
    ("answer", "turn", "answer", True),
)
"""Tables with user text, their keys and columns, and whether these contain JSON."""


async def open_local_state(data_dir: Path, *, history_max: int = 10_000) -> "LocalState":
    """Open the state in `data_dir`, created if it is missing.

    Raises StoreUnavailable, StoreDamaged or StoreNewer.
    """
    path = machine_file(data_dir).path
    await asyncio.to_thread(prepare_local, path)
    return LocalState(path, history_max=history_max)


class LocalState:
    """This machine's state, by subject. Made by `open_local_state`.

    Every write is durable when it returns. Several processes may have it open.
    """

    def __init__(self, path: Path, *, history_max: int) -> None:
        self.path = path
        self._database = LocalDatabase(path)
        self.prompts = Prompts(self._database, history_max=history_max)
        self.places = ProjectPaths(self._database)
        self.trust = ProjectTrust(self._database)
        self.chosen = Choices(self._database)
        self.recalls = Recalls(self._database)
        self.marks = TurnMarks(self._database)
        self.answers = HeldAnswers(self._database)
        self.seals = Seals(self._database)
        self.hints = OfferedHints(self._database)
        self.counts = Counts(self._database)

    async def merge_project(self, project_id: str, into: str) -> None:
        """Apply what was allowed, trusted and typed in the project to the one that it was merged into.

        Its folders keep its id, which leads to the other one, so that a split restores them.
        """

        def job(connection: Connection) -> None:
            for table in ("rule", "instruction", "ran_on", "prompt"):
                connection.execute(
                    f"UPDATE OR IGNORE {table} SET project = ? WHERE project = ?", (into, project_id)
                )

        await self._database.write(job)

    async def redact(self, cut: Callable[[str], str]) -> None:
        """Pass user input, and what was recalled for turns, through `cut`; leave no trace of what it removes.

        Prompts, drafts, queues and blocks: what cut removes is stored nowhere.
        """

        def job(connection: Connection) -> None:
            for table, key, column, is_json in TYPED:
                rows = list(connection.execute(f"SELECT {key}, {column} FROM {table}"))
                for found, text in rows:
                    without = _json_without(text, cut) if is_json else cut(text)
                    if without != text:
                        connection.execute(
                            f"UPDATE {table} SET {column} = ? WHERE {key} = ?", (without, found)
                        )

        await self._database.write(job)
        await self._database.compact()

    async def close(self) -> None:
        """Close the file."""
        await self._database.close()


def _json_without(text: str, cut: Callable[[str], str]) -> str:
    """Return the JSON with each of its texts cut."""
    return json.dumps(each_text({"it": json.loads(text)}, cut)["it"], ensure_ascii=False)


class Sealed(Struct, frozen=True):
    """The original records of a memory that was removed everywhere: lines of a backup."""

    memory_id: str
    content: str
    lines: list[str]


class Seals:
    """The records of removed memories, sealed on this machine."""

    def __init__(self, database: LocalDatabase) -> None:
        self._database = database

    async def seal(self, memory_id: str, content: str, lines: Sequence[str]) -> None:
        """Save the records of a memory that is removed everywhere, as lines, until `remove`."""
        await self._database.write(
            lambda connection: connection.execute(
                "INSERT INTO sealed (memory, content, lines) VALUES (?, ?, ?) "
                "ON CONFLICT (memory) DO UPDATE SET lines = excluded.lines",
                (memory_id, clean(content), json.dumps(list(lines))),
            )
        )

    async def sealed(self) -> "list[Sealed]":
        """Return what is sealed, newest first."""

        def job(connection: Connection) -> list[Sealed]:
            rows = connection.execute("SELECT memory, content, lines FROM sealed ORDER BY number DESC")
            return [Sealed(memory, content, json.loads(lines)) for memory, content, lines in rows]

        return await self._database.read(job)

    async def remove(self, memory_id: str = "") -> int:
        """Remove sealed records for good, of this memory or of all; return of how many."""

        def job(connection: Connection) -> int:
            connection.execute("DELETE FROM sealed WHERE ?1 = '' OR memory = ?1", (memory_id,))
            return connection.changes()

        if removed := await self._database.write(job):
            await self._database.compact()
        return removed
