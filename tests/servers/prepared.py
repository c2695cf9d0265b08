"""A database that has the program's schema, made once and kept in this user's cache.

To build the schema takes a server that has just started ten seconds of processor time, and each run has three
servers. `tests/neo4j/test_schema.py` builds it on real ones.
"""

import asyncio
import hashlib
import shutil
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import ragforge.store.neo4j
from ragforge.domain.ids import new_id
from ragforge.store.open import open_store
from tests.patience import SERVER, patience
from tests.servers import jars, neo4j
from tests.servers.neo4j import EMBEDDER, OwnServer

BUILT_BY = ("migrations.py", "schema.py", "steps.py")
"""With a change in these another one is made."""
DIMENSIONS = 256
KEPT_S_MAX = 7 * 24 * 3600
"""After so long without use one is removed."""


def start_prepared(version: str, home: Path, *, password: str = "", keep_classes: bool = False) -> OwnServer:
    """As `neo4j.start`, with a database of its own id that has the schema and the indexes of EMBEDDER."""
    kept = _kept(version)
    with jars.locked(kept.with_suffix(".lock")):
        if not kept.exists():
            _remove_old(version)
            _make(version, kept)
        kept.touch()
        shutil.copytree(kept, home / "data")
    server = neo4j.start(version, home, password=password, keep_classes=keep_classes)
    try:
        neo4j.query(server, "MATCH (d:RagforgeDatabase) SET d.id = $id", id=new_id())
    except BaseException:
        neo4j.kill(server)
        raise
    return server


def _kept(version: str) -> Path:
    whole = hashlib.sha256(f"{version} {EMBEDDER} {DIMENSIONS}".encode())
    for name in BUILT_BY:
        whole.update((Path(ragforge.store.neo4j.__path__[0]) / name).read_bytes())
    return jars.cache() / f"{version}-{whole.hexdigest()[:16]}.data"


def _make(version: str, kept: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "server"
        server = neo4j.start(version, home)
        try:
            # In a thread: this one may have an event loop of a test's.
            with patience(SERVER), ThreadPoolExecutor(1) as thread:
                thread.submit(asyncio.run, _build(server, Path(folder))).result()
        finally:
            neo4j.end(server)
        part = kept.with_suffix(".part")
        shutil.rmtree(part, ignore_errors=True)
        shutil.copytree(home / "data", part)
        part.rename(kept)


async def _build(server: OwnServer, folder: Path) -> None:
    store = await open_store(server.url, machine_dir=folder)
    try:
        await store.vectors.use(EMBEDDER, DIMENSIONS)
    finally:
        await store.close()


def _remove_old(version: str) -> None:
    for data in jars.cache().glob(f"{version}-*.data"):
        if data.stat().st_mtime < time.time() - KEPT_S_MAX:
            shutil.rmtree(data, ignore_errors=True)
