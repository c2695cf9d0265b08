"""The current version of each folder on this machine, and what its running turns have done so far.

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
    """What the files of a folder correspond to: a version, and the branch that moves with it.

    Empty if there is none.
    """

    version: str = ""
    branch: str = ""


class OpenTurn(Struct, frozen=True):
    """A turn that was started in a folder and has not ended there.

    pid_alive: whether its process still runs; otherwise a crash ended the turn.
    in_command: whether one of its commands was running at the last sign of life.
    """

    session_id: str
    turn_id: str
    since: datetime
    pid_alive: bool
    in_command: bool


async def open_history_state(data_dir: Path) -> "HistoryState":
    """Open the state in `data_dir`, created if it does not exist.

    Raises StoreUnavailable, StoreDamaged or StoreNewer, as does every method.
    """
    path = versions_file(data_dir).path
    await asyncio.to_thread(_prepare, path)
    return HistoryState(path)


class HistoryState:
    """What this machine knows of each folder's files. Made by `open_history_state`.

    Every write is durable when it returns. Several processes may have it open. A folder is identified by its
    path, with links resolved.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._database = Database(path)
        self._presence: Presence | None = None

    async def head(self, root: Path) -> Head:
        """Return the version that the folder's files correspond to, and its branch."""

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
        """Set the files' head, and in the same transaction save its manifest and end a turn.

        carried_turn: a turn that continues, and whose recorded changes are removed because a version has
        them.
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
        """Return the result of `Manifest.to_bytes` for the last scan of the folder, or None before the first.

        The caller reads it with `Manifest.from_bytes`.
        """
        return await self._content("manifest", root)

    async def set_manifest(self, root: Path, manifest: bytes) -> None:
        """Save the current contents of the folder; see `manifest`, and `set_head` to do both at once."""
        await self._set_content("manifest", root, manifest)

    async def roots(self) -> list[Path]:
        """Return every folder with a head, a manifest, a journal or an open turn, by name."""

        def job(connection: Connection) -> list[Path]:
            rows = connection.execute(
                "SELECT root FROM head UNION SELECT root FROM manifest UNION SELECT root FROM journal "
                "UNION SELECT root FROM turn WHERE ended IS NULL ORDER BY root"
            )
            return [Path(os.fsdecode(root)) for (root,) in rows]

        return await self._read(job)

    async def begin_turn(self, root: Path, session_id: str, turn_id: str) -> None:
        """Record that a turn runs in the folder.

        A turn that is open already keeps its recorded changes, and now belongs to this process.
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
        """Append changes to those of an open turn. Raises Conflict if the turn is not open."""
        text = to_json(msgspec.to_builtins(changes))

        def job(connection: Connection) -> None:
            number = _touch(connection, root, turn_id)
            connection.execute("INSERT INTO note (turn, changes) VALUES (?, ?)", (number, text))

        if changes:
            await self._write(job)

    async def noted(self, root: Path, turn_id: str) -> list[Change]:
        """Return the recorded changes of an open turn, in order; none if it is not open."""

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
        """Record that the turn ended, and remove its recorded changes; see also `set_head`."""
        await self._write(lambda connection: _end(connection, root, turn_id))

    async def begin_command(self, root: Path, turn_id: str) -> None:
        """Record that a command of the turn runs; several can at once. Raises Conflict like `note`."""
        await self._write(lambda connection: _touch(connection, root, turn_id, commands=1))

    async def end_command(self, root: Path, turn_id: str) -> None:
        """Record that a command of the turn ended. Raises Conflict like `note`."""
        await self._write(lambda connection: _touch(connection, root, turn_id, commands=-1))

    async def open_turns(self, root: Path) -> list[OpenTurn]:
        """Return the folder's turns that have not ended, oldest first, including those of dead processes."""

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

        A turn ended by a crash counts until its last sign of life; if one of its commands was running, it
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
        """Return the plan of an unfinished restore, or None."""
        return await self._content("journal", root)

    async def set_journal(self, root: Path, journal: bytes) -> None:
        """Save the plan of a restore, replacing the previous one."""
        await self._set_content("journal", root, journal)

    async def clear_journal(self, root: Path) -> None:
        """Remove the plan, because the restore is finished."""
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
        """Record that they were; see `unprepare`."""
        row, statement = (_key(root), session_id), "INSERT OR IGNORE INTO prepared VALUES (?, ?)"
        await self._write(lambda connection: connection.execute(statement, row))

    async def planned(self, root: Path) -> bytes | None:
        """Return the last argument of `set_planned`."""
        return await self._content("plan", root)

    async def set_planned(self, root: Path, plan: bytes) -> None:
        """Save what a tool is about to write: one at a time, under the folder's lock."""
        await self._set_content("plan", root, plan)

    async def unprepare(self, root: Path) -> None:
        """Record that all contents must be stored again before the next command of any session."""
        statement = "DELETE FROM prepared WHERE root = ?"
        await self._write(lambda connection: connection.execute(statement, (_key(root),)))

    async def forget(self, root: Path) -> None:
        """Remove everything about a folder that no longer exists, including its open turns."""

        def job(connection: Connection) -> None:
            for table in ("head", "manifest", "turn", "journal", "prepared", "plan"):
                connection.execute(f"DELETE FROM {table} WHERE root = ?", (_key(root),))

        await self._write(job)

    async def move(self, root: Path, to: Path) -> None:
        """Move everything about the folder to its new path, replacing what is stored for that path."""

        def job(connection: Connection) -> None:
            for table in ("head", "manifest", "turn", "journal", "prepared", "plan"):
                connection.execute(
                    f"UPDATE OR REPLACE {table} SET root = ? WHERE root = ?", (_key(to), _key(root))
                )

        await self._write(job)

    async def close(self) -> None:
        """Release the database. Turns still open count as interrupted from now on."""
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
        """Created at the first turn, on the writing thread; a process that only reads leaves no sign."""
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
    """Return the open turn's number, after recording a sign of life. Raises Conflict if it is not open."""
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
    """Report errors of the database layer for this file."""
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
            f"Cannot use {path} ({error.__cause__ or error}), which holds {held}. Make the file and "
            "its folder readable and writable, or choose another folder with RAGFORGE_DATA_DIR."
        ) from error
    except UnicodeError as error:  # an identifier with half a character in it
        raise StoreError(f"Cannot write to {path}: {error}.") from error


def _key(root: Path) -> bytes:
    return os.fsencode(root)


def _ms(moment: datetime) -> int:
    return (moment - EPOCH) // timedelta(milliseconds=1)


def _moment(ms: int) -> datetime:
    return EPOCH + timedelta(milliseconds=ms)
