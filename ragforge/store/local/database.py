"""The file of this machine's state, and its errors in words for a user."""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

from ragforge.domain.errors import StoreDamaged, StoreError, StoreMoved, StoreNewer, StoreUnavailable
from ragforge.domain.ids import now
from ragforge.store.backups import recovery_words
from ragforge.store.damage_words import moved
from ragforge.store.files import machine_file
from ragforge.store.schemas import LOCAL
from ragforge.store.sqlite.connection import Connection, Database
from ragforge.store.sqlite.prepare import INSTEAD, INSTEAD_OF_FOLDER, prepare

T = TypeVar("T")


class LocalDatabase:
    """The open file. Every method raises StoreUnavailable, StoreDamaged, StoreNewer or StoreMoved."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._database = Database(path)

    async def value(self, query: str, binding: str | bytes) -> str | None:
        """Return the only column of the only row, or None."""

        def job(connection: Connection) -> str | None:
            return next((value for (value,) in connection.execute(query, (binding,))), None)

        return await self.read(job)

    async def read(self, job: Callable[[Connection], T]) -> T:
        """Return what the job reads."""
        with explained(self.path):
            return await self._database.read(job)

    async def write(self, job: Callable[[Connection], T]) -> T:
        """Return what the job returns; what it writes is durable then."""
        with explained(self.path):
            return await self._database.write(job)

    async def compact(self) -> None:
        """Remove every trace of deleted data from the file."""
        with explained(self.path):
            await self._database.compact()

    async def close(self) -> None:
        """Close the file."""
        await self._database.close()


def prepare_local(path: Path) -> None:
    """Create the file if it is missing, and migrate an older one."""
    with explained(path):
        prepare(path, LOCAL, lock_dir=path.parent / "locks")


@contextmanager
def explained(path: Path) -> Generator[None]:
    """Rephrase what the database layer says of a store for this file."""
    try:
        yield
    except StoreNewer as error:
        raise StoreNewer(str(error).replace(INSTEAD, INSTEAD_OF_FOLDER)) from error
    except StoreDamaged as error:
        raise StoreDamaged(
            f"{path} cannot be used ({error.__cause__ or error}). It contains this machine's prompt history, "
            "drafts and permission rules, but no conversations. Move it away, and a new one is created."
            f"{recovery_words(path.parent, path)}"
        ) from error
    except StoreMoved as error:
        raise moved(machine_file(path.parent)) from error
    except StoreUnavailable as error:
        if "disk is full" in str(error):
            raise
        raise StoreUnavailable(
            f"Cannot use {path} ({error.__cause__ or error}), which holds this machine's prompt history, "
            "drafts and permission rules. Make the file and its folder readable and writable, or choose "
            "another folder with RAGFORGE_DATA_DIR."
        ) from error
    except UnicodeError as error:  # an identifier with half a character in it
        raise StoreError(f"Cannot write to {path}: {error}.") from error


def clean(text: str) -> str:
    """Return the text as SQLite can store it: halves of characters become question marks."""
    return text.encode("utf-8", "replace").decode("utf-8")


def ms(at: datetime | None = None) -> int:
    """Return the moment, or now, in milliseconds of UTC."""
    return int((at or now()).timestamp() * 1000)


def moment(ms: int) -> datetime:
    """Return the moment so many milliseconds after the epoch."""
    return datetime.fromtimestamp(ms / 1000, UTC)
