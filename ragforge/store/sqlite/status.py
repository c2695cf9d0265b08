"""The status of a store in a file."""

import time
from pathlib import Path

import apsw

from ragforge.store.base import StoreStatus
from ragforge.store.sqlite.archive import count_records
from ragforge.store.sqlite.connection import Connection
from ragforge.store.sqlite.rows import one


def status_of(connection: Connection, path: Path) -> StoreStatus:
    """Return the status, read in one transaction."""
    began = time.perf_counter()
    one(connection, "SELECT id FROM session ORDER BY key DESC LIMIT 1")
    latency_ms = (time.perf_counter() - began) * 1000
    model, dimensions = one(connection, "SELECT model, dimensions FROM embedder") or ("", 0)
    # The newest writes may still be in the log beside the file.
    files = [path, path.with_name(f"{path.name}-wal")]
    size = sum(file.stat().st_size for file in files if file.exists())
    return StoreStatus(
        kind=f"SQLite {apsw.sqlite_lib_version()}",
        place=str(path),
        schema=int(connection.pragma("user_version")),
        latency_ms=latency_ms,
        counts=count_records(connection),
        indexes={"words": "online"},
        details={
            "size": f"{size / 1e6:.1f} MB",
            **({"embedder": f"{model}, {dimensions} dimensions"} if model else {}),
        },
    )
