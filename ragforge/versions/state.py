"""Where this machine's folders stand in the version tree, and what their running turns have done so far.

It is local: the versions are in the store, their contents in the blob store. Losing it loses neither.
"""

import asyncio
import json
import os
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec import Struct

from ragforge.domain.errors import (
    Conflict,
    StoreDamaged,
    StoreError,
    StoreMoved,
    StoreNewer,
    StoreUnavailable,
)
from ragforge.domain.ids import now
from ragforge.domain.versions import Change
from ragforge.files.locks import Presence, is_present
from ragforge.store.backups import recovery_words
from ragforge.store.damage_words import moved
from ragforge.store.files import versions_file
from ragforge.store.json_text import to_json
from ragforge.store.schemas import HISTORY
from ragforge.store.sqlite.connection import Connection, Database
from ragforge.store.sqlite.prepare import INSTEAD, INSTEAD_OF_FOLDER, prepare

T = TypeVar("T")

EPOCH = datetime.fromtimestamp(0, UTC)
TURNS_KEPT = timedelta(days=30)
"""Turns that ended so long ago are forgotten: `active_since` is asked about the last minutes."""


class Head(Struct, frozen=True):
    """What the files of a folder correspond to: a version, and the branch whose tip moves with it.

    Empty where there is none.
    """

    version: str = ""
    branch: str = ""


class OpenTurn(Struct, frozen=True):
    """A turn that was begun in a folder and has not ended there.

    pid_alive: whether the process that began it still runs; else the turn was cut off by a crash.
    in_command: whether a command of it was under way when it was last heard of.
    """

    session_id: str
    turn_id: str
    since: datetime
    pid_alive: bool
    in_command: bool


async def open_history_state(data_dir: Path) -> "HistoryState":
    """The state kept in `data_dir`, made where there is none.

    Raises StoreUnavailable, StoreDamaged or StoreNewer, as does everything that is done with it.
    """
    path = versions_file(data_dir).path
    await asyncio.to_thread(_prepare, path)
    return HistoryState(path)


class HistoryState:
    """What this machine knows of each folder's files. Made by `open_history_state`.

    Every write is durable when it returns. Several processes may have it open. A folder is named by its
    path, links resolved: by another path it is another folder.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._database = Database(path)
        self._presence: Presence | None = None

    async def head(self, root: Path) -> Head:
        """The version that the folder's files correspond to, and its branch."""

        def job(connection: Connection) -> Head:
            rows = connection.execute("SELECT version, branch FROM head WHERE root = ?", (_key(root),))
            return next((Head(*row) for row in rows), Head())

        return await self._read(job)

    async def set_head(
        self,
        root: Path,
        head: Head,
        *,
        manifest: bytes | None = None,
        ended_turn: str = "",
        carried_turn: str = "",
    ) -> None:
        """Move the files' head; in the same transaction keep the manifest that belongs to it, and end a turn.

        carried_turn: one that goes on, and whose notes are forgotten because a version holds them.
        None of it happens alone, whenever the process is killed.
        """

        def job(connection: Connection) -> None:
            connection.execute(
                "INSERT OR REPLACE INTO head VALUES (?, ?, ?)", (_key(root), head.version, head.branch)
            )
            if manifest is not None:
                connection.execute("INSERT OR REPLACE INTO manifest VALUES (?, ?)", (_key(root), manifest))
            if ended_turn:
                _end(connection, root, ended_turn)
            if carried_turn:
                _forget_notes(connection, _touch(connection, root, carried_turn))

        await self._write(job)

    async def manifest(self, root: Path) -> bytes | None:
        """What `Manifest.to_bytes` made of what lay in the folder at its last scan, or None before the first.

        Reading it back with `Manifest.from_bytes` is the caller's.
        """
        return await self._content("manifest", root)

    async def set_manifest(self, root: Path, manifest: bytes) -> None:
        """Keep what lies in the folder now; see `manifest`, and `set_head` to do both at once."""
        await self._set_content("manifest", root, manifest)

    async def roots(self) -> list[Path]:
        """Every folder of which a head, a manifest or a journal is kept, or a turn is open; by name."""

        def job(connection: Connection) -> list[Path]:
            rows = connection.execute(
                "SELECT root FROM head UNION SELECT root FROM manifest UNION SELECT root FROM journal "
                "UNION SELECT root FROM turn WHERE ended IS NULL ORDER BY root"
            )
            return [Path(os.fsdecode(root)) for (root,) in rows]

        return await self._read(job)

    async def begin_turn(self, root: Path, session_id: str, turn_id: str) -> None:
        """Keep that a turn runs in the folder.

        One that is open already goes on with what was noted of it, and is from now on this process's.
        """
        at = now()

        def job(connection: Connection) -> None:
            presence = self._own_presence()
            connection.execute("DELETE FROM turn WHERE ended < ?", (_ms(at - TURNS_KEPT),))
            connection.execute(
                "INSERT INTO turn (root, session, turn, presence, since, touched, commands) "
                "VALUES (?1, ?2, ?3, ?4, ?5, ?5, 0) "
                "ON CONFLICT (root, turn) WHERE ended IS NULL "
                "DO UPDATE SET commands = iif(presence = ?4, commands, 0), presence = ?4, touched = ?5",
                (_key(root), session_id, turn_id, presence, _ms(at)),
            )

        await self._write(job)

    async def note(self, root: Path, turn_id: str, changes: Sequence[Change]) -> None:
        """Append changes to those of an open turn. Raises Conflict where the turn is not open."""
        text = to_json(msgspec.to_builtins(changes))

        def job(connection: Connection) -> None:
            number = _touch(connection, root, turn_id)
            connection.execute("INSERT INTO note (turn, changes) VALUES (?, ?)", (number, text))

        if changes:
            await self._write(job)

    async def noted(self, root: Path, turn_id: str) -> list[Change]:
        """The changes noted of an open turn, in their order; none for a turn that is not open."""

        def job(connection: Connection) -> list[str]:
            rows = connection.execute(
                "SELECT changes FROM note JOIN turn ON turn.number = note.turn "
                "WHERE root = ? AND turn.turn = ? AND ended IS NULL ORDER BY note.number",
                (_key(root), turn_id),
            )
            return [text for (text,) in rows]

        texts = await self._read(job)
        with _explained(self.path):
            return [each for text in texts for each in msgspec.convert(json.loads(text), list[Change])]

    async def end_turn(self, root: Path, turn_id: str) -> None:
        """Keep that the turn no longer runs, and forget what was noted of it; see `set_head` too."""
        await self._write(lambda connection: _end(connection, root, turn_id))

    async def begin_command(self, root: Path, turn_id: str) -> None:
        """Keep that a command of the turn runs; several may at once. Raises Conflict as `note`."""
        await self._write(lambda connection: _touch(connection, root, turn_id, commands=1))

    async def end_command(self, root: Path, turn_id: str) -> None:
        """Keep that a command of the turn ended. Raises Conflict as `note`."""
        await self._write(lambda connection: _touch(connection, root, turn_id, commands=-1))

    async def open_turns(self, root: Path) -> list[OpenTurn]:
        """The folder's turns that have not ended, oldest first; also those of processes that died."""

        def job(connection: Connection) -> list[OpenTurn]:
            rows = connection.execute(
                "SELECT session, turn, since, presence, commands FROM turn "
                "WHERE root = ? AND ended IS NULL ORDER BY since, number",
                (_key(root),),
            )
            return [
                OpenTurn(session, turn, _moment(since), self._is_alive(presence), commands > 0)
                for session, turn, since, presence, commands in rows
            ]

        return await self._read(job)

    async def active_since(self, root: Path, since: datetime, but: str) -> bool:
        """Whether a turn of a session other than `but` ran in this folder at any time since then.

        A turn that a crash cut off counts until it was last heard of; in the middle of a command it
        counts until it is ended, because the command may have outlived its process.
        """

        def job(connection: Connection) -> bool:
            rows = connection.execute(
                "SELECT ended, presence, touched, commands FROM turn "
                "WHERE root = ?1 AND session <> ?2 AND (ended IS NULL OR ended >= ?3)",
                (_key(root), but, _ms(since)),
            )
            return any(
                ended is not None or commands > 0 or touched >= _ms(since) or self._is_alive(presence)
                for ended, presence, touched, commands in rows
            )

        return await self._read(job)

    async def journal(self, root: Path) -> bytes | None:
        """The plan of a restore that has not been finished, or None."""
        return await self._content("journal", root)

    async def set_journal(self, root: Path, journal: bytes) -> None:
        """Keep the plan of a restore, in place of the one before."""
        await self._set_content("journal", root, journal)

    async def clear_journal(self, root: Path) -> None:
        """The restore is done with."""
        statement = "DELETE FROM journal WHERE root = ?"
        await self._write(lambda connection: connection.execute(statement, (_key(root),)))

    async def prepared(self, root: Path, session_id: str) -> bool:
        """Whether all contents of the folder were stored before the session's first command."""

        def job(connection: Connection) -> bool:
            rows = connection.execute(
                "SELECT 1 FROM prepared WHERE root = ? AND session = ?", (_key(root), session_id)
            )
            return any(rows)

        return await self._read(job)

    async def set_prepared(self, root: Path, session_id: str) -> None:
        """Keep that they were; see `unprepare`."""
        row, statement = (_key(root), session_id), "INSERT OR IGNORE INTO prepared VALUES (?, ?)"
        await self._write(lambda connection: connection.execute(statement, row))

    async def planned(self, root: Path) -> bytes | None:
        """What `set_planned` was given last."""
        return await self._content("plan", root)

    async def set_planned(self, root: Path, plan: bytes) -> None:
        """Keep what a tool is about to write: one at a time, under the folder's lock."""
        await self._set_content("plan", root, plan)

    async def unprepare(self, root: Path) -> None:
        """Keep that all contents have to be stored again before the next command of any session."""
        statement = "DELETE FROM prepared WHERE root = ?"
        await self._write(lambda connection: connection.execute(statement, (_key(root),)))

    async def forget(self, root: Path) -> None:
        """The folder is gone for good: nothing of it is kept, its open turns neither."""

        def job(connection: Connection) -> None:
            for table in ("head", "manifest", "turn", "journal", "prepared", "plan"):
                connection.execute(f"DELETE FROM {table} WHERE root = ?", (_key(root),))

        await self._write(job)

    async def move(self, root: Path, to: Path) -> None:
        """Move all that is kept of the folder to its new path, replacing what is kept of that path."""

        def job(connection: Connection) -> None:
            for table in ("head", "manifest", "turn", "journal", "prepared", "plan"):
                connection.execute(
                    f"UPDATE OR REPLACE {table} SET root = ? WHERE root = ?", (_key(to), _key(root))
                )

        await self._write(job)

    async def close(self) -> None:
        """Release the database. Turns still open count as cut off from now on."""
        await self._database.close()
        if self._presence is not None:
            await asyncio.to_thread(self._presence.end)
            self._presence = None

    async def _content(self, table: str, root: Path) -> bytes | None:
        def job(connection: Connection) -> bytes | None:
            rows = connection.execute(f"SELECT content FROM {table} WHERE root = ?", (_key(root),))
            return next((content for (content,) in rows), None)

        return await self._read(job)

    async def _set_content(self, table: str, root: Path, content: bytes) -> None:
        await self._write(
            lambda connection: connection.execute(
                f"INSERT OR REPLACE INTO {table} VALUES (?, ?)", (_key(root), content)
            )
        )

    def _own_presence(self) -> str:
        """Taken at the first turn, on the thread that writes: who only looks leaves no sign."""
        if self._presence is None:
            self._presence = Presence(self._locks)
        return self._presence.name

    def _is_alive(self, presence: str) -> bool:
        # Its own lock it would find taken as well; but a lock file removed by somebody must not end us.
        own = self._presence
        return (own is not None and own.name == presence) or is_present(self._locks, presence)

    @property
    def _locks(self) -> Path:
        return self.path.parent / "locks"

    async def _read(self, job: Callable[[Connection], T]) -> T:
        with _explained(self.path):
            return await self._database.read(job)

    async def _write(self, job: Callable[[Connection], T]) -> T:
        with _explained(self.path):
            return await self._database.write(job)


def _touch(connection: Connection, root: Path, turn_id: str, *, commands: int = 0) -> int:
    """The open turn's number, after keeping that it was heard of. Raises Conflict where it is not open."""
    rows = connection.execute(
        "UPDATE turn SET touched = ?, commands = max(0, commands + ?) "
        "WHERE root = ? AND turn = ? AND ended IS NULL RETURNING number",
        (_ms(now()), commands, _key(root), turn_id),
    )
    for (number,) in list(rows):
        return number
    raise Conflict(
        f"Turn {turn_id} is not running in {root}, so nothing can be recorded for it. Send it again."
    )


def _end(connection: Connection, root: Path, turn_id: str) -> None:
    rows = connection.execute(
        "UPDATE turn SET ended = ?, commands = 0 WHERE root = ? AND turn = ? AND ended IS NULL "
        "RETURNING number",
        (_ms(now()), _key(root), turn_id),
    )
    for (number,) in list(rows):
        _forget_notes(connection, number)


def _forget_notes(connection: Connection, number: int) -> None:
    connection.execute("DELETE FROM note WHERE turn = ?", (number,))


def _prepare(path: Path) -> None:
    with _explained(path):
        prepare(path, HISTORY, lock_dir=path.parent / "locks")


@contextmanager
def _explained(path: Path) -> Generator[None]:
    """Says of this file what the database layer says of a store."""
    held = "the current versions of this machine's folders"
    try:
        yield
    except StoreNewer as error:
        raise StoreNewer(str(error).replace(INSTEAD, INSTEAD_OF_FOLDER)) from error
    except msgspec.ValidationError as error:
        raise StoreNewer(
            f"{path} was written by a newer ragforge. Update ragforge, or choose another folder for its data "
            "with RAGFORGE_DATA_DIR."
        ) from error
    except StoreDamaged as error:
        raise StoreDamaged(
            f"{path} cannot be used ({error.__cause__ or error}). It holds {held}; versions and their "
            "contents are stored elsewhere. Move it away, and a new one is created."
            f"{recovery_words(path.parent, path)}"
        ) from error
    except StoreMoved as error:
        raise moved(versions_file(path.parent)) from error
    except StoreUnavailable as error:
        if "disk is full" in str(error):
            raise StoreUnavailable(f"{error} It holds {held}.") from error
        raise StoreUnavailable(
            f"Cannot use {path} ({error.__cause__ or error}), which holds {held}. Make its folder writable, "
            "or choose another with RAGFORGE_DATA_DIR."
        ) from error
    except UnicodeError as error:  # an identifier with half a character in it
        raise StoreError(f"Cannot write to {path}: {error}.") from error


def _key(root: Path) -> bytes:
    return os.fsencode(root)


def _ms(moment: datetime) -> int:
    return (moment - EPOCH) // timedelta(milliseconds=1)


def _moment(ms: int) -> datetime:
    return EPOCH + timedelta(milliseconds=ms)
