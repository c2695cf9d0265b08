"""Which database stands behind an address, as far as this machine has seen."""

import os
from pathlib import Path

import msgspec

from ragforge.domain.errors import StoreUnavailable, remedy


class KnownServers:
    """A small file: address without password, and the id of the database that answered there last."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def find(self, address: str) -> str:
        """The id of the database, empty where the address never answered."""
        return self._read().get(address, "")

    def ids(self) -> set[str]:
        """The databases that stand behind some address."""
        return set(self._read().values())

    def remember(self, address: str, database_id: str) -> None:
        """Keep it. Raises StoreUnavailable where the file cannot be written."""
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
            # Not there yet, or not ours any more: the servers are asked again.
            return {}
