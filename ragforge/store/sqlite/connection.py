"""The database of one file: a connection that writes and two that read, each on a thread of its own."""

import asyncio
import errno
import os
import stat
import sys
import threading
from array import array
from collections.abc import AsyncGenerator, Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import Any, Protocol, TypeAlias, TypeVar, cast

import apsw

from ragforge.domain import timeouts
from ragforge.domain.errors import Conflict, RagforgeError, StoreDamaged, StoreMoved, StoreUnavailable
from ragforge.store.files import REPAIR

T = TypeVar("T")
Row: TypeAlias = tuple[Any, ...]
Bindings: TypeAlias = Sequence[object] | Mapping[str, object]

CACHE_KIB = 512
"""The page cache of each connection: a process has up to three of each of its four files, and all fill up."""
STORE_CACHE_KIB = 2_048
"""The same for the store, which is searched."""
FULL_BYTES = 65_536
OTHER_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


class Connection(Protocol):
    """The used part of `apsw.Connection`, whose own types need a newer Python."""

    in_transaction: bool

    def execute(
        self, statements: str, bindings: Bindings = (), /, *, can_cache: bool = True
    ) -> Iterator[Row]:
        """Return the rows, lazily.

        can_cache: False for values that may be large: a cached statement holds a copy of its last ones.
        """
        ...

    def executemany(self, statements: str, bindings: Iterable[Bindings], /) -> Iterator[Row]:
        """The same with each of many values."""
        ...

    def pragma(self, name: str, value: str | int | None = None, /) -> Any:
        """Return the pragma's value, after setting it if one is given."""
        ...

    def changes(self) -> int:
        """The number of rows that the last statement changed."""
        ...

    def interrupt(self) -> None:
        """Interrupt the running statement, from another thread."""
        ...

    def fts5_tokenizer(self, name: str, args: list[str], /) -> Callable[..., list[tuple[int, int, str]]]:
        """Return a function that cuts UTF-8 into (start, end, stem), in bytes."""
        ...

    def txn_state(self, schema: str, /) -> int:
        """Whether it reads or writes, also because of a statement that was not read to its end."""
        ...

    def close(self, force: bool = False, /) -> None:
        """Release the file. force: even if it is in use."""
        ...


PRAGMAS: tuple[tuple[str, str | int], ...] = (
    ("busy_timeout", timeouts.SQLITE_BUSY_MS_MAX),
    ("journal_mode", "wal"),
    ("synchronous", 2),  # full: a commit that was acknowledged survives a power failure
    ("foreign_keys", 1),
    # Elsewhere fsync reaches the disk by itself; macOS needs to be asked.
    *((("fullfsync", 1),) if sys.platform == "darwin" else ()),
)


class Database:
    """One file. A long search never delays a commit, because each has its own connection."""

    def __init__(self, path: Path, *, cache_kib: int = CACHE_KIB) -> None:
        self.path = path
        self._cache_kib = cache_kib
        self._writer = self._lane(query_only=False)
        self._reader = self._lane()
        self._beside = self._lane()

    async def read(self, job: Callable[[Connection], T]) -> T:
        """Return what the job returns. It sees one state of the database; cancelling interrupts it."""
        return await self._reader.run_interruptibly(lambda connection: _in_transaction(connection, job))

    async def read_beside(self, job: Callable[[Connection], T]) -> T:
        """The same, in parallel to `read`: for long work with a part of its own."""
        return await self._beside.run_interruptibly(lambda connection: _in_transaction(connection, job))

    async def write(self, job: Callable[[Connection], T]) -> T:
        """Return what the job returns, once everything it wrote is durable; if it raises, nothing is written.

        Raises StoreMoved if the file is no longer at its path: nobody would find what is written.
        """

        def work(connection: Connection) -> T:
            _refuse_moved(connection, self.path)
            return _in_transaction(connection, job, begin="BEGIN IMMEDIATE")

        # Shielded: the end of a cancelled turn must reach the disk although its task is cancelled.
        return await asyncio.shield(self._writer.run(work))

    async def read_afresh(self, job: Callable[[Connection], T]) -> T:
        """Return what the job returns, on a new connection without a cache."""
        lane = self._lane()
        try:
            return await lane.run(lambda connection: _in_transaction(connection, job))
        finally:
            await lane.close()

    async def stream(
        self, rows: Callable[[Connection], Iterator[T]], *, page: int
    ) -> AsyncGenerator[list[T], None]:
        """Yield the rows by the page, all from one state of the database, on a connection of their own."""
        lane = self._lane()

        def begin(connection: Connection) -> Iterator[T]:
            connection.execute("BEGIN")
            return rows(connection)

        try:
            found = await lane.run_interruptibly(begin)
            while part := await lane.run_interruptibly(lambda _: list(islice(found, page))):
                yield part
        finally:
            await lane.close()

    async def compact(self) -> None:
        """Release free pages, so that no trace of what was removed is left in the file or its log.

        What another process still reads stays in the log until it has ended.
        """

        def work(connection: Connection) -> None:
            connection.execute("VACUUM")
            next(connection.execute("PRAGMA wal_checkpoint(TRUNCATE)"))

        await asyncio.shield(self._writer.run(work))

    async def close(self) -> None:
        """Finish what is queued and release the file."""
        await self._reader.close()
        await self._beside.close()
        await self._writer.close()

    def _lane(self, *, query_only: bool = True) -> "_Lane":
        return _Lane(self.path, query_only=query_only, cache_kib=self._cache_kib)


class _Lane:
    """One connection on one thread, opened at the first job."""

    def __init__(self, path: Path, *, query_only: bool, cache_kib: int) -> None:
        self._path = path
        self._query_only = query_only
        self._cache_kib = cache_kib
        self._connection: Connection | None = None
        self._threads = ThreadPoolExecutor(max_workers=1, thread_name_prefix="ragforge-store")
        self._running: object = None
        self._switching = threading.Lock()
        self._closed = False

    async def run(self, job: Callable[[Connection], T], *, ticket: object = None) -> T:
        if self._closed:
            raise StoreUnavailable(f"The store {self._path} was closed. Start ragforge again.")
        return await asyncio.get_running_loop().run_in_executor(self._threads, self._do, job, ticket)

    async def run_interruptibly(self, job: Callable[[Connection], T]) -> T:
        ticket = object()
        try:
            return await self.run(job, ticket=ticket)
        except asyncio.CancelledError:
            # Under the lock, so that the job after this one is never the one interrupted.
            with self._switching:
                if self._running is ticket and self._connection is not None:
                    self._connection.interrupt()
            raise

    def _do(self, job: Callable[[Connection], T], ticket: object) -> T:
        with translated(self._path):
            if self._connection is not None and _is_left_behind(self._connection):
                self._connection.close(True)
                self._connection = None
            if self._connection is None:
                self._connection = connect(self._path, query_only=self._query_only, cache_kib=self._cache_kib)
            with self._switching:
                self._running = ticket
            try:
                return job(self._connection)
            finally:
                with self._switching:
                    self._running = None

    async def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        await asyncio.get_running_loop().run_in_executor(self._threads, self._disconnect)
        self._threads.shutdown(wait=False)

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        # Closing checkpoints; what that cannot write stays in the log, which the next opener reads.
        with suppress(apsw.Error):
            if connection is not None:
                connection.close()


def _is_left_behind(connection: Connection) -> bool:
    """Whether something holds a statement that was not read to its end, as the traceback of an interrupted
    search may: until it is released, a new transaction sees the state that the statement saw.

    Source: SQLite's manual, "Isolation In SQLite" and sqlite3_txn_state.
    """
    return not connection.in_transaction and connection.txn_state("main") != apsw.SQLITE_TXN_NONE


def raw_connection(path: Path) -> Connection:
    """Open a connection to a file that exists, without pragmas. Raises apsw.Error."""
    return cast("Connection", apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE))


def connect(path: Path, *, query_only: bool = False, cache_kib: int = CACHE_KIB) -> Connection:
    """Open a connection with every pragma set. Raises apsw.Error; StoreUnavailable for a refused pragma."""
    connection = raw_connection(path)
    for name, value in (*PRAGMAS, ("cache_size", -cache_kib), ("query_only", int(query_only))):
        # One at a time, and read back: a list of statements stops at the first that returns a row.
        connection.pragma(name, value)
        if (found := connection.pragma(name)) != value:
            connection.close()
            raise StoreUnavailable(
                f"Cannot use {path}: SQLite reports {name}={found}, but {value} is needed. "
                "Keep the store on a local disk."
            )
    return connection


def _refuse_moved(connection: Connection, path: Path) -> None:
    """Raise StoreMoved if the open file was removed, moved or replaced."""
    moved = array("i", [0])  # SQLite writes its answer there
    address, _ = moved.buffer_info()
    if cast("Any", connection).file_control("main", apsw.SQLITE_FCNTL_HAS_MOVED, address) and moved[0]:
        raise _moved(path)


def _moved(path: Path) -> StoreMoved:
    return StoreMoved(
        f"The store {path} was removed, moved or replaced while it was in use, so nothing more is stored. "
        "If you moved it, move it back. Otherwise copy what you still need from here, close every ragforge "
        "and run: ragforge db backups"
    )


class NotAFile(OSError):
    """Something other than a file is at the path of a database; `str()` says what "it" is."""


def not_a_file(path: Path) -> str:
    """Return what is at the path of a database, as "is a named pipe and should be a database"; empty for a
    file, for nothing, and for something that cannot be inspected."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        if not path.is_symlink():
            return ""
        return f"is a link to {path.readlink()}, which does not exist (is its disk mounted?)"
    except OSError as error:
        return "is a link that leads back to itself" if error.errno == errno.ELOOP else ""
    except ValueError:  # an invalid path
        return ""
    kind = next((words for is_kind, words in OTHER_KINDS if is_kind(mode)), "")
    return f"is {kind} and should be a database" if kind else ""


def instead_of_file(path: Path, other: str) -> StoreDamaged:
    """Return the error for the result of `not_a_file`."""
    return StoreDamaged(
        f"{path} {other}. Move it away, or choose another with RAGFORGE_STORE=sqlite:///PATH."
        f"{_backup_words(path)}"
    )


def make_private_file(path: Path) -> None:
    """Create the file, readable by its owner only, with its parent folders; also through a link.

    Raises StoreDamaged if something other than a file is there, StoreUnavailable if it cannot be created.
    """
    other = not_a_file(path)
    try:
        if other and path.exists():
            raise NotAFile
        for folder in reversed(path.parents):
            if not folder.exists():
                folder.mkdir(mode=0o700, exist_ok=True)
        # SQLite gives the files it creates beside this one the same permissions.
        os.close(os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600))
    except OSError as error:
        if other:
            raise instead_of_file(path, other) from NotAFile(f"it {other}")
        raise StoreUnavailable(
            f"Cannot open the store {path}: {error.strerror}. "
            "Make it writable, or choose another place with RAGFORGE_STORE=sqlite:///PATH."
        ) from error


@contextmanager
def translated(path: Path) -> Generator[None, None, None]:
    """Turn SQLite's errors into errors for users. The only place that knows them."""
    try:
        yield
    except RagforgeError:
        raise
    except apsw.Error as error:
        raise _explained(error, path) from error
    except UnicodeDecodeError as error:
        raise StoreDamaged(
            f"The store {path} is damaged: one of its texts cannot be read ({error.reason}). Run `{REPAIR}`."
        ) from error
    except UnicodeEncodeError as error:
        # All text is made storable before; what is left are identifiers that a user typed.
        raise Conflict(f"{error.object!r} cannot be stored: it is not valid text.") from error


def _explained(error: apsw.Error, path: Path) -> RagforgeError:
    match error:
        case apsw.NotADBError():
            return StoreDamaged(
                f"{path} is not a database. Move it away, or choose another with "
                "RAGFORGE_STORE=sqlite:///PATH."
                f"{_backup_words(path)}"
            )
        case apsw.CorruptError() | apsw.FormatError() | apsw.SQLError():
            return StoreDamaged(
                f"The store {path} is damaged ({error}). Run `{REPAIR}`, which rebuilds indexes and never "
                f"deletes text.{_backup_words(path)}"
            )
        case apsw.ConstraintError():
            return Conflict(
                f"The store {path} refused a write that refers to something that is not stored ({error})."
            )
        case apsw.FullError() | apsw.IOError() if isinstance(error, apsw.FullError) or _is_full(path.parent):
            return StoreUnavailable(f"Cannot write {path}: the disk is full. Free some space and try again.")
        case apsw.BusyError() | apsw.LockedError():
            return StoreUnavailable(
                f"Cannot use {path}: another process has kept it locked for "
                f"{timeouts.SQLITE_BUSY_MS_MAX // 1000} s. End that process and try again."
            )
        case apsw.CantOpenError() if not path.exists():  # it is created before it is opened
            return _moved(path)
        case apsw.ReadOnlyError() | apsw.CantOpenError() | apsw.PermissionsError() | apsw.AuthError():
            return StoreUnavailable(
                f"Cannot write {path} ({error}). Make the file and its folder writable, or choose another "
                "place with RAGFORGE_STORE=sqlite:///PATH."
            )
        case _:
            return StoreUnavailable(f"Cannot use the store {path} ({error}). Check its disk and try again.")


def _backup_words(path: Path) -> str:
    """Return which backup has this database and the command for it, if there is one."""
    from ragforge.config.paths import data_dir  # only after errors, like the table of files
    from ragforge.store.backups import recovery_words

    with suppress(RagforgeError):
        return recovery_words(path.parent, path) or recovery_words(data_dir(os.environ), path)
    return ""


def _is_full(folder: Path) -> bool:
    """Whether almost nothing can be written there: for some files SQLite says "disk I/O error" then."""
    try:
        room = os.statvfs(folder)
    except OSError:
        return False
    return room.f_bavail * room.f_frsize < FULL_BYTES


def _in_transaction(connection: Connection, job: Callable[[Connection], T], *, begin: str = "BEGIN") -> T:
    connection.execute(begin)
    try:
        found = job(connection)
        connection.execute("COMMIT")
    except BaseException:
        # A full disk may have caused a rollback already.
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    return found
