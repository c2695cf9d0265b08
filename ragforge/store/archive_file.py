"""The backup file: gzip around lines of JSON. A header, a line for each record and content, a closing line.

The closing line counts the lines of each kind and has the sum of their fingerprints modulo 2**256, which
does not depend on their order: it detects a file that was truncated, altered or reassembled.
"""

import gzip
import json
import os
import stat
import tempfile
import zlib
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any

import msgspec
from msgspec import Struct

from ragforge.config.paths import sync_folder
from ragforge.domain.errors import RagforgeError, StoreDamaged, StoreNewer, StoreUnavailable, UsageError
from ragforge.domain.ids import now
from ragforge.store.archive_items import Blob, Item, kind_of
from ragforge.store.archive_lines import fingerprint, from_plain, sha256_hex, to_line
from ragforge.store.json_text import to_json

FORMAT = 4
"""1 had no versions, branches and moves; 2 no derived records, and not the results of moves; 3 not the
validity of memories. A reader of an earlier format stops at a later one."""
LINE_BYTES_MAX = 256 * 1024 * 1024
"""Far above what a message or a content may contain; a bad file must not fill the memory."""
HEADER_BYTES_MAX = 64 * 1024
LEVEL = 6
PROGRESS_LINES = 100
SUM_MODULUS = 2**256
END = "end"
BACKUP = "backup"


class Header(Struct, frozen=True, rename={"origin": "from", "what": "ragforge"}):
    """The first line. It has no address, because a backup is passed on."""

    what: str
    format: int
    made_at: str
    origin: str
    """The kind of store, such as "SQLite 3.54.0"."""
    schema: int


class Closing(Struct, frozen=True, tag_field="kind", tag=END, forbid_unknown_fields=True):
    """The last line: what the file contains, and what is known to be missing."""

    counts: dict[str, int]
    digests: dict[str, str]
    missing: tuple[str, ...] = ()
    """Contents that records refer to and that were unavailable when it was made."""
    waiting: int = 0
    """Rows that had not reached the server yet."""


def header(*, origin: str, schema: int, what: str = BACKUP) -> Header:
    """Return the header of a new file."""
    return Header(what, FORMAT, now().isoformat(timespec="milliseconds"), origin, schema)


class Totals:
    """Counts and sums of fingerprints by kind; the order of adding does not matter."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        self._sums: dict[str, int] = {}

    def add(self, kind: str, digest: bytes) -> None:
        """Count one of the kind."""
        self.counts[kind] = self.counts.get(kind, 0) + 1
        self._sums[kind] = (self._sums.get(kind, 0) + int.from_bytes(digest, "big")) % SUM_MODULUS

    @property
    def digests(self) -> dict[str, str]:
        """Return the sums in hex."""
        return {kind: f"{total:064x}" for kind, total in self._sums.items()}


class BackupWriter:
    """Writes a temporary file and renames it when it is complete. Calls block: use a thread.

    Used with `with`: an end without `finish` removes the temporary file.
    """

    def __init__(self, file: Path, first: Header, *, force: bool) -> None:
        """Raises UsageError if the file exists and `force` is not given, StoreUnavailable."""
        self.file = file.absolute()
        self._force = force
        _check_place(self.file, force=force)
        with _explained(f"Cannot write {file}"):
            handle, name = tempfile.mkstemp(  # made with mode 0600
                dir=self.file.parent, prefix=f".{self.file.name[:100]}-", suffix=".partial"
            )
            self._temporary = Path(name)
            self._raw = os.fdopen(handle, "wb")
            self._out = gzip.GzipFile(filename="", mode="wb", compresslevel=LEVEL, fileobj=self._raw)
            self._totals = Totals()
            self._line(to_json(msgspec.to_builtins(first)))

    def __enter__(self) -> "BackupWriter":
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        with suppress(OSError, ValueError):
            self._out.close()
        self._raw.close()
        self._temporary.unlink(missing_ok=True)

    def write(self, items: Iterable[Item]) -> None:
        """Add these. Raises StoreUnavailable if the disk refuses."""
        with _explained(f"Cannot write {self.file}"):
            for item in items:
                self._line(to_line(item))
                self._totals.add(kind_of(item), fingerprint(item))

    def finish(self, *, missing: Iterable[str] = (), waiting: int = 0) -> Closing:
        """Close the file, sync it and give it its name. Raises StoreUnavailable, UsageError."""
        closing = Closing(self._totals.counts, self._totals.digests, tuple(missing), waiting)
        with _explained(f"Cannot write {self.file}"):
            self._line(to_json(msgspec.to_builtins(closing)))
            self._out.close()
            self._raw.flush()
            os.fsync(self._raw.fileno())
            self._name_it()
            sync_folder(self.file.parent)
        return closing

    def _name_it(self) -> None:
        _check_place(self.file, force=self._force)
        if not self._force:
            try:
                # Unlike a rename, a link never replaces a file that was created meanwhile.
                os.link(self._temporary, self.file)
            except FileExistsError:
                _check_place(self.file, force=False)
            except OSError:
                pass  # a file system without links
            else:
                return
        self._temporary.replace(self.file)

    def _line(self, text: str) -> None:
        line = text.encode() + b"\n"
        if len(line) > LINE_BYTES_MAX:
            raise StoreUnavailable(
                f"Cannot write {self.file}: a record has {len(line)} bytes, {LINE_BYTES_MAX} is the limit."
            )
        self._out.write(line)


def read_backup(
    file: Path, *, what: str = BACKUP, progress: Callable[[int, int], object] = lambda _, __: None
) -> Generator["Header | Item | Closing", None, None]:
    """Yield the lines of the file, the header first, and the closing line last if everything agrees with it.

    what: the kind of file. progress: called now and then with the bytes read and their total. Blocks:
    use a thread.

    Raises UsageError if it is not a backup, StoreNewer for one of a newer version, and StoreDamaged for one
    that is truncated or altered: then nothing that was read before can be trusted.
    """
    if not file.is_file():
        raise UsageError(f"There is no file {file}." if not file.exists() else f"{file} is not a file.")
    with _explained(f"Cannot read {file}"), file.open("rb") as raw, gzip.GzipFile(fileobj=raw) as lines:
        size = os.fstat(raw.fileno()).st_size
        yield _header(file, lines, what)
        totals, number = Totals(), 1
        while True:
            number += 1
            line = _next_line(file, lines, number)
            if isinstance(line, Closing):
                break
            totals.add(kind_of(line), fingerprint(line))
            yield line
            if number % PROGRESS_LINES == 0:
                progress(raw.tell(), size)
        _check_end(file, lines, totals, line)
        progress(size, size)
        yield line


def _header(file: Path, lines: gzip.GzipFile, what: str) -> Header:
    made_by = "db backup" if what == BACKUP else "sessions export"
    not_ours = f"{file} is not a {what} that ragforge made. Give the file that `ragforge {made_by}` wrote."
    try:
        first = lines.readline(HEADER_BYTES_MAX)
        plain = msgspec.convert(json.loads(first.decode()), dict[str, Any])
    except (gzip.BadGzipFile, ValueError, RecursionError) as error:
        raise UsageError(not_ours) from error
    except (EOFError, zlib.error) as error:
        raise _damaged(file, "it is truncated or altered at its start") from error
    if plain.get("ragforge") != what:
        raise UsageError(not_ours)
    found = plain.get("format")
    if isinstance(found, int) and found > FORMAT:
        raise StoreNewer(
            f"{file} was made by a newer ragforge (format {found}; this one reads up to {FORMAT}). "
            "Update ragforge and try again."
        )
    try:
        return msgspec.convert(plain, Header)
    except msgspec.ValidationError as error:
        raise _damaged(file, f"its first line cannot be read ({error})") from error


def _next_line(file: Path, lines: gzip.GzipFile, number: int) -> "Item | Closing":
    try:
        line = lines.readline(LINE_BYTES_MAX + 1)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise _damaged(file, f"it is truncated or altered after line {number - 1}") from error
    if not line.endswith(b"\n"):
        cut = len(line) <= LINE_BYTES_MAX
        raise _damaged(file, f"line {number} is truncated" if cut else f"line {number} is too long")
    try:
        plain = msgspec.convert(json.loads(line.decode()), dict[str, Any])
        if plain.get("kind") == END:
            return msgspec.convert(plain, Closing)
        item = from_plain(plain)
    except (ValueError, RecursionError) as error:
        raise _damaged(file, f"line {number} is not a record ({_in_short(error)})") from error
    if isinstance(item, Blob) and sha256_hex(item.data) != item.digest:
        raise _damaged(file, f"the content of line {number} does not match its hash")
    return item


def _check_end(file: Path, lines: gzip.GzipFile, totals: Totals, closing: Closing) -> None:
    if totals.counts != closing.counts or totals.digests != closing.digests:
        kinds = sorted({*totals.counts, *closing.counts})
        wrong = [kind for kind in kinds if totals.counts.get(kind) != closing.counts.get(kind)]
        raise _damaged(file, f"its lines do not match its last line ({', '.join(wrong) or 'altered'})")
    try:
        more = lines.read(1)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise _damaged(file, "it is truncated or altered at its end") from error
    if more:
        raise _damaged(file, "something follows its last line")


def _damaged(file: Path, how: str) -> StoreDamaged:
    return StoreDamaged(f"{file} cannot be used: {how}. Use another copy of it.")


def _in_short(error: BaseException) -> str:
    return str(error)[:200]


def _check_place(file: Path, *, force: bool) -> None:
    """Raise UsageError if the file must not be written."""
    try:
        mode = file.stat().st_mode
    except FileNotFoundError:
        return
    except OSError as error:
        raise UsageError(f"Cannot write {file}: {error.strerror}.") from error
    if not stat.S_ISREG(mode):
        raise UsageError(f"{file} is not a file. Give the name of the file to write.")
    if not force:
        raise UsageError(f"{file} exists already. Give another name, or add --force to replace it.")


@contextmanager
def _explained(what: str) -> Generator[None, None, None]:
    """Turn errors of the operating system into errors for users."""
    try:
        yield
    except RagforgeError:
        raise
    except OSError as error:
        raise StoreUnavailable(f"{what}: {error.strerror or error}. Choose another place.") from error
