"""A database that has the program's schema, made once and kept in this user's cache.

To build the schema takes a server that has just started ten seconds of processor time, and each run has three
servers. `tests/neo4j/test_schema.py` builds it on real ones.
"""

import asyncio
import hashlib
import os
import shutil
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, suppress
from pathlib import Path

import ragforge.store.neo4j
from ragforge.domain.ids import new_id
from ragforge.store.neo4j import steps
from ragforge.store.open import open_store
from tests.patience import SERVER, patience
from tests.servers import jars, neo4j
from tests.servers.neo4j import EMBEDDER, NoServer, OwnServer

BUILT_BY = ("migrations.py", "schema.py", "steps.py")
"""With a change in these another one is made."""
DIMENSIONS = 256
KEPT_S_MAX = 7 * 24 * 3600
"""After so long without use one is removed."""


def start_prepared(version: str, home: Path, *, password: str = "", keep_classes: bool = False) -> OwnServer:
    """As `neo4j.start`, with a database of its own id that has the schema and the indexes of EMBEDDER.

    Without these, where the cache cannot be used or the server does not start from what is kept there.
    """
    kept = kept_at(version)
    if copied(version, kept, home):
        try:
            return _with_own_id(neo4j.start(version, home, password=password, keep_classes=keep_classes))
        except NoServer:
            with suppress(OSError), _locked(kept):
                _remove(kept)
    shutil.rmtree(home / "data", ignore_errors=True)
    return neo4j.start(version, home, password=password, keep_classes=keep_classes)


def _with_own_id(server: OwnServer) -> OwnServer:
    try:
        neo4j.query(server, "MATCH (d:RagforgeDatabase) SET d.id = $id", id=new_id())
    except BaseException:
        neo4j.kill(server)
        raise
    return server


def kept_at(version: str) -> Path:
    whole = hashlib.sha256(f"{version} {EMBEDDER} {DIMENSIONS}".encode())
    for name in BUILT_BY:
        whole.update((Path(ragforge.store.neo4j.__path__[0]) / name).read_bytes())
    for step in steps.STEPS:
        whole.update(step.checksum.encode())  # of what others name for it, too
    return jars.cache() / f"{version}-{whole.hexdigest()[:16]}.data"


def copied(version: str, kept: Path, home: Path) -> bool:
    """Whether the server's home has a copy of the database, which is made first where none is kept."""
    try:
        remove_old(version, but=kept)
        with _locked(kept):
            if not kept.exists():
                _make(version, kept, home)
            os.utime(kept)
            shutil.copytree(kept, home / "data")
    except OSError:  # a cache that is full or for reading only costs time, and fails nobody's tests
        return False
    return True


def _make(version: str, kept: Path, beside: Path) -> None:
    """Build it in a folder beside the given one: there it is removed too if the run ends early."""
    with tempfile.TemporaryDirectory(dir=beside.parent) as folder:
        home = Path(folder) / "server"
        server = neo4j.start(version, home)
        try:
            # In a thread: this one may have an event loop of a test's.
            with patience(SERVER), ThreadPoolExecutor(1) as thread:
                thread.submit(asyncio.run, _build(server, Path(folder))).result()
        finally:
            neo4j.end(server)
        part = _part(kept)
        shutil.rmtree(part, ignore_errors=True)
        try:
            shutil.copytree(home / "data", part)
            part.rename(kept)
        finally:
            shutil.rmtree(part, ignore_errors=True)


async def _build(server: OwnServer, folder: Path) -> None:
    store = await open_store(server.url, machine_dir=folder)
    try:
        await store.vectors.use(EMBEDDER, DIMENSIONS)
    finally:
        await store.close()


def remove_old(version: str, *, but: Path) -> None:
    for kept in jars.cache().glob(f"{version}-*.data"):
        if kept != but and _is_old(kept):
            with _locked(kept):
                if _is_old(kept):  # else somebody has just used it
                    _remove(kept)


def _is_old(kept: Path) -> bool:
    try:
        return kept.stat().st_mtime < time.time() - KEPT_S_MAX
    except FileNotFoundError:
        return False


def _remove(kept: Path) -> None:
    """For whoever holds its lock. One that is removed in part is never taken for whole."""
    part = _part(kept)
    shutil.rmtree(part, ignore_errors=True)
    kept.rename(part)
    shutil.rmtree(part, ignore_errors=True)


def _locked(kept: Path) -> AbstractContextManager[None]:
    return jars.locked(kept.with_suffix(".lock"))


def _part(kept: Path) -> Path:
    return kept.with_suffix(".part")
