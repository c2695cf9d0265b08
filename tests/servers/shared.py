"""The Neo4j servers that a whole test run shares, one of each kind, however many processes it has.

One process, the run's own, starts them in the background while tests are collected and others run; the
processes that run tests find them in a folder of the run:

    KIND.wanted   a collected test needs it
    KIND.json     it answers, or why there is none
    KIND.lock     who uses it: many at once with projects of their own, or one that has emptied it
    KIND.empty    nobody has written there since it was emptied
    KIND.cold     it has forgotten its plans, because indexes were made; `warm.py` cures it
"""

import fcntl
import json
import os
import shutil
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Generator, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import pytest

from ragforge.domain.errors import StoreError
from tests import scope
from tests.servers import neo4j, sources
from tests.servers.jars import NoJars
from tests.servers.neo4j import Neo4jServer, NoServer
from tests.servers.sources import Missing, Named, Source, Started
from tests.servers.warm import is_ready, warm

WAIT_S_MAX = 1800
"""A first run downloads the servers."""
TURN_S_MAX = 1200
"""For a server that tests of another process use."""


class Starting:
    """The run's own side: starts what is wanted, once, and ends it all."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="ragforge-tests-"))
        self._environ = dict(environ)
        self._sources: dict[str, Source] = {}
        self._started: dict[str, Started] = {}
        self._threads: dict[str, threading.Thread] = {}
        self._closed = threading.Event()

    def source_of(self, kind: str) -> Source:
        """Where the server would come from; asked once a run."""
        if kind not in self._sources:
            self._sources[kind] = sources.source_of(kind, self._environ)
        return self._sources[kind]

    def start_wanted(self) -> None:
        """Begin to start those that a collected test wants, and wait for none."""
        for kind in neo4j.VERSIONS:
            if (self.folder / f"{kind}.wanted").exists() and kind not in self._threads:
                self._threads[kind] = threading.Thread(target=self._start, args=(kind,), daemon=True)
                self._threads[kind].start()

    def _start(self, kind: str) -> None:
        said = self._begin(kind)
        if self._closed.is_set():
            return
        part = self.folder / f"{kind}.part"
        part.write_text(json.dumps(said))
        part.rename(self.folder / f"{kind}.json")

    def _begin(self, kind: str) -> dict[str, str]:
        """What the tests are told: the server, or why it is missing, or how it failed."""
        source = self.source_of(kind)
        if isinstance(source, Missing):
            return {"failed" if source.named else "missing": f"{kind}: {source.why}"}
        try:
            started = sources.begin(source, self.folder / kind)
        except NoJars as error:
            return {"missing": f"{kind}: {error}"}
        except (NoServer, OSError, StoreError, *neo4j.FAILURES) as error:
            return {"failed": f"{kind}: {error}"}
        self._started[kind] = started
        server = started.server
        try:
            warm(server, planning=scope.asks_all_of(kind))
            neo4j.empty(server)
        except (StoreError, *neo4j.FAILURES) as error:
            return {"failed": f"{kind}: {error}"}
        return asdict(Neo4jServer(server.version, server.url, server.password, server.user))

    def close(self) -> None:
        """End them. One that is just being started ends with this process."""
        self._closed.set()
        with ThreadPoolExecutor() as ends:
            list(ends.map(self._end, list(self._started)))
        shutil.rmtree(self.folder, ignore_errors=True)

    def _end(self, kind: str) -> None:
        started = self._started[kind]
        if isinstance(self._sources.get(kind), Named):
            # It must be empty for the next run, and is somebody's to keep.
            neo4j.empty(started.server)
        elif isinstance(started.server, neo4j.OwnServer):
            if not (self.folder / f"{kind}.json").exists():
                # It has not loaded yet what others would find loaded.
                started.server.archive = None
            neo4j.end_for_good(started.server)
        elif started.leash is not None:
            started.leash.let_go()


@dataclass(frozen=True, slots=True)
class Servers:
    """A test's side: the servers of the run."""

    folder: Path
    required: bool
    """Whether tests fail where a server is missing, instead of being skipped."""
    _known: dict[str, Neo4jServer] = field(default_factory=dict[str, Neo4jServer])
    _users: Counter[str] = field(default_factory=Counter[str])
    """How often this process uses each now."""

    def want(self, kinds: Iterable[str]) -> None:
        """Say that tests will need them."""
        for kind in kinds:
            self._noted(kind, "wanted").touch()

    @contextmanager
    def emptied(self, kind: str) -> Generator[Neo4jServer]:
        """The server with an empty database and nobody else in it. What describes the database stays.

        It is emptied afterwards too, for others are to find neither what is of no project nor what is broken.
        """
        with self._used(kind, fcntl.LOCK_EX) as server:
            self._warm_up(kind, server)
            with self._empty(kind, server):
                yield server

    @contextmanager
    def remade(self, kind: str) -> Generator[Neo4jServer]:
        """As `emptied`, for tests that make indexes, with which a server forgets all its plans.

        It may have no schema, and is left so. The tests are marked as `remakes`, so that they come last: then
        it need not be warmed up for others again.
        """
        with self._used(kind, fcntl.LOCK_EX) as server:
            self._noted(kind, "cold").touch()
            with self._empty(kind, server):
                yield server

    @contextmanager
    def among_others(self, kind: str) -> Generator[Neo4jServer]:
        """The server, for a test that looks at a project of its own only; nobody empties it meanwhile.

        Its indexes are made for the embedder of `warm.py`, and stay so.
        """
        cold = self._noted(kind, "cold")
        while True:
            with self._used(kind, fcntl.LOCK_SH) as server:
                if not cold.exists():
                    self._noted(kind, "empty").unlink(missing_ok=True)
                    yield server
                    return
            with self._used(kind, fcntl.LOCK_EX) as server:
                self._warm_up(kind, server)

    def get(self, kind: str) -> Neo4jServer:
        """The server when it answers; skips the test, or fails it where servers are required."""
        if kind not in self._known:
            said = self._said(kind)
            if "failed" in said:
                pytest.fail(said["failed"], pytrace=False)
            if "missing" in said:
                self.lack(said["missing"])
            self._known[kind] = Neo4jServer(**said)
        return self._known[kind]

    def lack(self, why: str) -> NoReturn:
        """Skip the test, or fail it where servers are required."""
        if self.required:
            pytest.fail(why, pytrace=False)
        pytest.skip(why)

    @contextmanager
    def _empty(self, kind: str, server: Neo4jServer) -> Generator[None]:
        empty = self._noted(kind, "empty")
        if not empty.exists():
            neo4j.empty(server)
        empty.unlink(missing_ok=True)
        yield
        if not is_ready(neo4j.empty(server)):
            self._noted(kind, "cold").touch()
        empty.touch()

    def _warm_up(self, kind: str, server: Neo4jServer) -> None:
        cold = self._noted(kind, "cold")
        if cold.exists():
            self._noted(kind, "empty").unlink(missing_ok=True)
            # In a thread: this one may have an event loop of a test's.
            with ThreadPoolExecutor(1) as thread:
                thread.submit(warm, server, planning=scope.asks_all_of(kind)).result()
            cold.unlink()

    def _noted(self, kind: str, what: str) -> Path:
        return self.folder / f"{kind}.{what}"

    def _said(self, kind: str) -> dict[str, Any]:
        told = self._noted(kind, "json")
        deadline = time.monotonic() + WAIT_S_MAX
        while not told.exists():
            assert self._noted(kind, "wanted").exists(), f"no collected test said that it needs {kind}"
            assert time.monotonic() < deadline, f"{kind} was not there after {WAIT_S_MAX} s"
            time.sleep(0.05)
        return json.loads(told.read_text())

    @contextmanager
    def _used(self, kind: str, way: int) -> Generator[Neo4jServer]:
        server = self.get(kind)
        with ExitStack() as held:
            # Whoever waits to be alone stands in the door, so that others do not go on coming in one by one.
            with ExitStack() as door:
                if not self._users[kind]:
                    door.enter_context(_locked(self._noted(kind, "door"), fcntl.LOCK_EX))
                held.enter_context(_locked(self._noted(kind, "lock"), way))
            self._users[kind] += 1
            held.callback(self._users.subtract, [kind])
            yield server


@contextmanager
def _locked(path: Path, way: int) -> Generator[None]:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        deadline = time.monotonic() + TURN_S_MAX
        while not _is_locked(descriptor, way):
            assert time.monotonic() < deadline, f"{path.stem} was in use for {TURN_S_MAX} s"
            time.sleep(0.01)
        yield
    finally:
        os.close(descriptor)


def _is_locked(descriptor: int, way: int) -> bool:
    try:
        fcntl.flock(descriptor, way | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
