"""Which database is at an address, as far as this machine knows."""

import os
from pathlib import Path

import msgspec

from ragforge.domain.errors import StoreUnavailable, remedy
from ragforge.store.neo4j.address import Address


class KnownServers:
    """A small file: addresses without passwords, and the id of the database that answered there last."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def find(self, address: str) -> str:
        """Return the id of the database; empty if the address never answered."""
        return self._read().get(address, "")

    def ids_at(self, url: str) -> list[str]:
        """Return the ids of the databases at this address, whether its user was named or not.

        Raises UsageError.
        """
        unnamed, named = Address.from_url(url), Address.from_url(url, password="any")
        return sorted({found for each in (unnamed, named) if (found := self.find(each.shown))})

    def ids(self) -> set[str]:
        """Return the ids of all databases that are at some address."""
        return set(self._read().values())

    def remember(self, address: str, database_id: str) -> None:
        """Store it. Raises StoreUnavailable if the file cannot be written."""
        known = self._read()
        if known.get(address) == database_id:
            return
        draft = self._path.with_suffix(f".{os.getpid()}.tmp")
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            draft.write_bytes(msgspec.json.encode(known | {address: database_id}))
            draft.replace(self._path)
        except OSError as error:
            raise StoreUnavailable(
                f"Cannot write {self._path}: {error.strerror}. {remedy(error)} and try again."
            ) from error

    def _read(self) -> dict[str, str]:
        try:
            return msgspec.json.decode(self._path.read_bytes(), type=dict[str, str])
        except (OSError, msgspec.DecodeError):
            # Missing, or damaged: the servers are asked again.
            return {}
