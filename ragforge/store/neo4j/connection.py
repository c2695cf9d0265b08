"""The connection to a server. Every call has a deadline of ours, because the driver's do not bound a stopped
server: a query on a pooled connection was seen to hang for 40 s under all of them.

What its deadline interrupts may have been done or not; the connection that it used is closed, so that nobody
reads its late answer. Errors are raised in our own words only (see `errors.py`).
"""

import asyncio
import logging
import random
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC
from importlib import import_module
from typing import TYPE_CHECKING, Any, LiteralString, Protocol, TypeAlias, TypeVar, cast

from ragforge import __version__
from ragforge.domain import timeouts
from ragforge.domain.errors import RagforgeError, StoreUnavailable
from ragforge.store.deadline import seconds_left
from ragforge.store.neo4j.address import Address
from ragforge.store.neo4j.errors import (
    MINIMUM_VERSION,
    is_bookmark_error,
    no_answer,
    too_old,
    value_refused,
    worded,
)
from ragforge.store.neo4j.query_plans import QueryPlans

if TYPE_CHECKING:
    from neo4j import (
        AsyncDriver,
        AsyncResult,
        AsyncSession,
        AsyncTransaction,
        Bookmarks,
    )
    from neo4j.api import AsyncBookmarkManager
    from neo4j.exceptions import DriverError, Neo4jError

T = TypeVar("T")
Row: TypeAlias = dict[str, Any]


CONNECTIONS_MAX = 20
FETCH_ROWS = 500

READING = "read from"
WRITING = "write to"

_PLAIN = frozenset({str, int, float, bool, type(None), bytes})


class Transaction(Protocol):
    """Several statements that are committed together."""

    async def run(self, query: str, /, **parameters: Any) -> list[Row]:
        """Return the statement's rows."""
        ...


PLAN_ONCE = "CYPHER replan=skip "
"""For a query whose plan is right for any data: all is found by unique ids or indexes that it names.

A server replans when a graph has grown, after a few turns of a new one, and takes seconds for that when it
is busy."""


def as_one(query: str, columns: Sequence[str]) -> str:
    """Return the query with all its rows in one record, as lists of these columns' values.

    For queries whose plans do not depend on the data: see PLAN_ONCE.
    """
    return f"{PLAN_ONCE}CALL () {{\n{query}\n}}\nRETURN collect([{', '.join(columns)}]) AS rows"


def rows_of(answer: Sequence[Row], columns: Sequence[str]) -> list[Row]:
    """Return the rows of the answer to such a query."""
    return [dict(zip(columns, row, strict=True)) for row in answer[0]["rows"]]


class Graph:
    """The server. One per process is enough: it holds the connections, and any task may call it."""

    def __init__(self, address: Address, *, bookmarks: Collection[str] = ()) -> None:
        self.address = address
        self.version: tuple[int, ...] = ()
        """Of the server, as (5, 26, 30) or (2026, 8, 1); known once connected."""
        self.version_text = ""
        self.edition = ""
        """`community` or `enterprise`."""
        self._driver: AsyncDriver | None = None
        self._bookmark_manager: AsyncBookmarkManager | None = None
        self._bookmarks = list(bookmarks)
        self._plans = QueryPlans(self._plan)

    async def connect(self) -> None:
        """Connect to the server, and read its version. Raises StoreUnavailable, LoginRefused."""
        # In a thread: loading the driver takes half a second.
        await asyncio.to_thread(import_module, "neo4j")
        query = "CALL dbms.components() YIELD name, versions, edition"
        try:
            rows = await self.read(query, deadline_s=timeouts.NEO4J_CONNECT_S_MAX)
        except StoreUnavailable:
            if not self._bookmarks:
                raise
            # The database may be an older one by now, and a server waits long for a state that it never had.
            self._forget_bookmarks()
            rows = await self.read(query, deadline_s=timeouts.NEO4J_CONNECT_S_MAX)
        kernel = next((row for row in rows if "Kernel" in row["name"]), rows[0])
        self.version_text, self.edition = str(kernel["versions"][0]), str(kernel["edition"])
        self.version = version_of(self.version_text)
        if self.version < MINIMUM_VERSION:
            await self.close()
            raise too_old(self.address, self.version_text)

    @property
    def bookmarks(self) -> list[str]:
        """What the next process passes to its Graph, to see this one's writes on any member of a cluster."""
        return list(self._bookmarks)

    async def read(self, query: str, /, *, deadline_s: float | None = None, **parameters: Any) -> list[Row]:
        """Return the rows. In a cluster, a reading member answers, including what was written here."""
        deadline_s = timeouts.NEO4J_READ_S_MAX if deadline_s is None else deadline_s

        async def attempt() -> list[Row]:
            # Not all of the time: its plan may be waited for on a dead connection.
            await self._plans.wait_for(query, timeout_s=seconds_left(deadline_s) / 2)
            try:
                return await self._auto_commit(query, parameters, writes=False, deadline_s=deadline_s)
            except asyncio.CancelledError:
                self._plans.add(query, parameters)
                raise

        return await self._called(attempt, doing=READING, deadline_s=deadline_s)

    async def read_as_one(self, query: str, columns: Sequence[str], /, **parameters: Any) -> list[Row]:
        """Return the rows of a query that returns these columns, sent as one record.

        A record by itself costs the driver 0.1 ms and a time in it 0.2 ms; `epochMillis` costs nothing.
        """
        return rows_of(await self.read(as_one(query, columns), **parameters), columns)

    async def write(self, query: str, /, *, deadline_s: float | None = None, **parameters: Any) -> list[Row]:
        """Return the rows of one statement in one transaction. It must be idempotent: it may be sent again.

        Raises OutcomeUnknown if no answer came in time, and StatementRefused for what it cannot store.
        """
        deadline_s = timeouts.NEO4J_WRITE_S_MAX if deadline_s is None else deadline_s
        return await self._called(
            lambda: self._auto_commit(query, parameters, writes=True, deadline_s=deadline_s),
            doing=WRITING,
            deadline_s=deadline_s,
        )

    async def run(self, query: str, /, *, deadline_s: float | None = None, **parameters: Any) -> list[Row]:
        """Do as `write` for what commits by itself (schema, CALL {} IN TRANSACTIONS), but more patiently."""
        deadline_s = timeouts.NEO4J_RUN_S_MAX if deadline_s is None else deadline_s
        return await self.write(query, deadline_s=deadline_s, **parameters)

    async def stream(
        self, query: str, /, *, deadline_s: float | None = None, **parameters: Any
    ) -> AsyncGenerator[Row, None]:
        """Yield the rows as they arrive, FETCH_ROWS of them in memory at once; the deadline is for each."""
        deadline_s = timeouts.NEO4J_READ_S_MAX if deadline_s is None else deadline_s
        session: AsyncSession | None = None

        async def begun() -> "AsyncResult":
            nonlocal session
            if session is not None:
                session.cancel()
            session = self._session(writes=False)
            with _fitting(self.address):
                return await session.run(cast("LiteralString", query), parameters)

        try:
            result = await self._called(begun, doing=READING, deadline_s=deadline_s)
            while True:
                record = await self._called(
                    lambda: anext(result, None), doing=READING, deadline_s=deadline_s, retries=False
                )
                if record is None:
                    break
                yield plain_row(record)
        finally:
            # Closing would read all that is left first, even from a server that has stopped.
            if session is not None:
                session.cancel()

    async def transaction(
        self, work: Callable[[Transaction], Awaitable[T]], *, deadline_s: float | None = None
    ) -> T:
        """Return the work's result, after its statements were committed together.

        It may run several times, so it has effects only in the database; what it raises rolls back.
        Raises OutcomeUnknown if no answer came in time.
        """
        limit_s = timeouts.NEO4J_WRITE_S_MAX if deadline_s is None else deadline_s

        async def attempt() -> T:
            async with self._session(writes=True) as session:
                opened = await session.begin_transaction(timeout=limit_s + timeouts.NEO4J_SERVER_GRACE_S)
                async with opened as transaction:
                    return await work(_Running(transaction, self.address))

        return await self._called(attempt, doing=WRITING, deadline_s=limit_s)

    @property
    def is_planning(self) -> bool:
        """Whether a query was interrupted and is still to be planned."""
        return self._plans.waiting > 0

    async def planned(self, *, timeout_s: float) -> bool:
        """Wait for plans of interrupted queries; return whether there were any and all are planned."""
        return await self._plans.finish(timeout_s=timeout_s)

    async def close(self) -> None:
        """Release the connections, within NEO4J_CLOSE_S_MAX whatever the server does."""
        await self._plans.close()
        driver, self._driver = self._driver, None
        if driver is None:
            return
        # It does not matter whether the server receives the goodbye.
        with suppress(OSError, *_driver_errors()):
            async with asyncio.timeout(timeouts.NEO4J_CLOSE_S_MAX):
                await driver.close()

    async def _auto_commit(
        self, query: str, parameters: Mapping[str, Any], *, writes: bool, deadline_s: float
    ) -> list[Row]:
        """Run one statement in one round trip; a transaction around it would cost another."""
        from neo4j import Query

        timed = Query(cast("LiteralString", query), timeout=deadline_s + timeouts.NEO4J_SERVER_GRACE_S)
        async with self._session(writes=writes) as session:
            with _fitting(self.address):
                result = await session.run(timed, dict(parameters))
            return [plain_row(record) async for record in result]

    async def _plan(self, query: str, parameters: Mapping[str, Any]) -> None:
        """Let the server plan the query and read nothing; plans depend on the types of parameters."""
        deadline_s = timeouts.NEO4J_PLAN_S_MAX
        await self._called(
            lambda: self._auto_commit(f"EXPLAIN {query}", parameters, writes=False, deadline_s=deadline_s),
            doing=READING,
            deadline_s=deadline_s,
        )

    async def _called(
        self, attempt: Callable[[], Awaitable[T]], *, doing: str, deadline_s: float, retries: bool = True
    ) -> T:
        """Return the attempt's result before the deadline; retry on errors that pass by themselves."""
        passing: Exception | None = None
        deadline_s = seconds_left(deadline_s)
        try:
            async with asyncio.timeout(deadline_s):
                pause_s, broken = timeouts.NEO4J_RETRY_S_FIRST, 0
                while True:
                    try:
                        return await attempt()
                    except _driver_errors() as error:
                        broken += _is_broken(error)
                        # A pooled connection may be dead although the server is up: one retry is enough.
                        if not retries or broken > 1 or not self._passes(error):
                            raise
                        passing = error
                    await asyncio.sleep(pause_s * random.uniform(0.5, 1))
                    pause_s = min(2 * pause_s, timeouts.NEO4J_RETRY_S_MAX)
        except RagforgeError:
            raise
        except TimeoutError as error:
            if passing is not None:
                raise worded(passing, self.address, doing=doing) from error
            raise no_answer(self.address, doing=doing, deadline_s=deadline_s) from error
        except (OSError, *_driver_errors()) as error:
            raise worded(error, self.address, doing=doing) from error

    def _passes(self, error: Exception) -> bool:
        """Whether a retry may help."""
        if is_bookmark_error(error):
            # The database was restored or replaced: bookmarks from before are no longer valid.
            return self._forget_bookmarks()
        return isinstance(error, _driver_errors()) and error.is_retryable()

    def _forget_bookmarks(self) -> bool:
        """Drop the bookmarks; return whether there were any."""
        had, self._bookmarks = bool(self._bookmarks), []
        self._bookmark_manager = None
        return had

    def _session(self, *, writes: bool) -> "AsyncSession":
        from neo4j import READ_ACCESS, WRITE_ACCESS, AsyncGraphDatabase, Bookmarks

        if self._driver is None:
            self._driver = _driver(self.address)
        if self._bookmark_manager is None and self.address.routed:
            # A single server shows what it has committed anyway; asking it to wait for a bookmark costs time.
            self._bookmark_manager = AsyncGraphDatabase.bookmark_manager(
                initial_bookmarks=Bookmarks.from_raw_values(self._bookmarks),
                bookmarks_consumer=self._remember,
            )
        # Its settings have no types.
        return cast("Any", self._driver).session(
            database=self.address.database or None,
            default_access_mode=WRITE_ACCESS if writes else READ_ACCESS,
            bookmark_manager=self._bookmark_manager,
            fetch_size=FETCH_ROWS,
        )

    async def _remember(self, bookmarks: "Bookmarks") -> None:
        self._bookmarks = sorted(bookmarks.raw_values)


class _Running:
    """A transaction that has begun. The driver's errors pass through the work, to be worded by the caller."""

    def __init__(self, transaction: "AsyncTransaction", address: Address) -> None:
        self._transaction = transaction
        self._address = address

    async def run(self, query: str, /, **parameters: Any) -> list[Row]:
        with _fitting(self._address):
            result = await self._transaction.run(cast("LiteralString", query), parameters)
        return [plain_row(record) async for record in result]


def version_of(text: str) -> tuple[int, ...]:
    """Return the numbers that a version begins with: `5.27-aura` is (5, 27)."""
    found = re.match(r"\d+(\.\d+)*", text)
    return tuple(int(number) for number in found[0].split(".")) if found else ()


def plain_row(record: Mapping[str, Any]) -> Row:
    """Return the row in Python's own values: times in UTC, nodes and relationships as their properties."""
    return {name: plain(value) for name, value in record.items()}


def plain(value: Any) -> Any:
    """Return the value without the driver's types."""
    if type(value) in _PLAIN:
        return value
    match value:
        case list():
            items = cast("list[Any]", value)
            # A vector has thousands of numbers, none of which needs a conversion.
            return items if _PLAIN.issuperset(map(type, items)) else [plain(item) for item in items]
        case Mapping():
            return {name: plain(item) for name, item in cast("Mapping[str, Any]", value).items()}
        case _:
            return _plain_special(value)


def _plain_special(value: Any) -> Any:
    from neo4j.graph import Entity
    from neo4j.time import Date, DateTime

    match value:
        case DateTime():
            native = value.to_native()
            # A time without a zone is from another program; Neo4j's own functions mean UTC by it.
            return native.replace(tzinfo=UTC) if native.tzinfo is None else native.astimezone(UTC)
        case Date():
            return value.to_native()
        case Entity():
            return {name: plain(item) for name, item in value.items()}
        case _:
            return value


def _driver(address: Address) -> "AsyncDriver":
    # Half a second, which only users with a server pay.
    from neo4j import AsyncGraphDatabase

    # It logs what it also raises.
    logging.getLogger("neo4j").setLevel(logging.CRITICAL)
    return cast("Any", AsyncGraphDatabase).driver(
        address.driver_uri,
        auth=(address.user, address.password) if address.user else None,
        max_connection_pool_size=CONNECTIONS_MAX,
        connection_timeout=timeouts.NEO4J_CONNECT_S_MAX,
        connection_acquisition_timeout=timeouts.NEO4J_CONNECT_S_MAX,
        liveness_check_timeout=timeouts.NEO4J_IDLE_CHECK_S,
        max_transaction_retry_time=0,
        keep_alive=True,
        telemetry_disabled=True,
        notifications_disabled_classifications=["UNRECOGNIZED", "DEPRECATION"],
        user_agent=f"ragforge/{__version__}",
    )


def _driver_errors() -> tuple[type["DriverError"], type["Neo4jError"]]:
    from neo4j.exceptions import DriverError, Neo4jError

    return DriverError, Neo4jError


def _is_broken(error: Exception) -> bool:
    """Whether the connection failed, not the server or its cluster."""
    from neo4j.exceptions import ReadServiceUnavailable, ServiceUnavailable, WriteServiceUnavailable

    elects = isinstance(error, ReadServiceUnavailable | WriteServiceUnavailable)
    return isinstance(error, ServiceUnavailable) and not elects


@contextmanager
def _fitting(address: Address) -> Generator[None, None, None]:
    """Convert the driver's errors about a value that it cannot send."""
    try:
        yield
    except (ValueError, TypeError, OverflowError) as error:
        raise value_refused(error, address) from error
