"""Write a session to a file, in the requested format."""

import asyncio
from pathlib import Path

from msgspec import Struct

from ragforge.domain.errors import UsageError
from ragforge.domain.exports import ExportFormat
from ragforge.domain.redact import Redactor
from ragforge.domain.turns import ConversationSession, Person
from ragforge.domain.words import counted
from ragforge.files.atomic import write_atomic
from ragforge.session.bundle import Bundle, read_bundle, write_bundle
from ragforge.session.export import as_document
from ragforge.store.base import Blobs, Store


class Exporter(Struct, frozen=True):
    """The data for an export."""

    store: Store
    blobs: Blobs
    redactor: Redactor
    person: Person

    async def what_goes(self, record: ConversationSession, *, files: bool) -> tuple[str, ...]:
        """Return what a file to import would contain, counted. Raises StoreError."""
        bundle = await self._bundle(record, files=files)
        return (f"{bundle.words}.", *bundle.notes)

    async def write(
        self, record: ConversationSession, file: Path, format: ExportFormat, *, files: bool
    ) -> tuple[str, ...]:
        """Write the file, and return what was written. Raises UsageError or StoreError, without a file."""
        if record.head is None:
            raise UsageError("This session has no messages yet.")
        if file.exists():
            raise UsageError(f"{file} already exists. Choose another file.")
        if not file.parent.is_dir():
            raise UsageError(f"There is no folder {file.parent}. Create it, or choose another location.")
        if format is ExportFormat.RAGFORGE:
            bundle = await self._bundle(record, files=files)
            size = await write_bundle(bundle, file)
            return (f"Exported this session to {file} ({size:,} bytes): {bundle.words}.", *bundle.notes)
        if files:
            raise UsageError("--files needs --format ragforge: the other formats are for reading.")
        text = await as_document(self.store, self.redactor, record, format)
        await asyncio.to_thread(_write, file, text)
        turns = len(await self.store.turns.path(record.head))
        return (f"Exported this session to {file}: {counted(turns, 'turn')}.",)

    async def _bundle(self, record: ConversationSession, *, files: bool) -> Bundle:
        return await read_bundle(
            self.store, self.blobs, self.redactor, record, files=files, by=self.person.id
        )


def _write(file: Path, text: str) -> None:
    try:
        write_atomic(file.absolute(), text.encode("utf-8", "replace"), expected=None)
        file.chmod(0o600)
    except OSError as error:
        raise UsageError(
            f"Cannot write {file}: {error.strerror or error}. Choose another location."
        ) from error
