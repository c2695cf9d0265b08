"""A TCP proxy between a client and a server that does to their connections what networks do.

async with Proxy(port) as proxy:
    ... connect to 127.0.0.1:proxy.port ...
    proxy.delay_s = 0.5      # from now on, for all connections
    proxy.drop = True        # a cable that was pulled: connections stay, nothing arrives
    proxy.refuse()           # until `await proxy.accept()`
    proxy.cut()              # every connection, now
    proxy.cut_after(10)      # in the middle of the server's next answer
"""

import asyncio
import contextlib
import socket
import time
from collections.abc import Iterator
from types import TracebackType

from tests.servers.neo4j import free_port

CHUNK = 65_536


@contextlib.contextmanager
def unanswered_url() -> Iterator[str]:
    """The URL of a server where nobody answers, and nobody else can begin to."""
    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))
        yield f"bolt://neo4j@127.0.0.1:{reserved.getsockname()[1]}"


class Proxy:
    """Listens on a port of its own while it is entered."""

    def __init__(self, to_port: int) -> None:
        self.port = 0
        self.delay_s = 0.0
        """Each piece waits so long, in both directions."""
        self.drop = False
        self.accepted = 0
        """Connections since the start."""
        self.watched = b""
        self.watched_at: list[float] = []
        """When pieces from clients came that hold what is watched, by `time.monotonic`."""
        self.watched_delay_s = 0.0
        """Each of these waits so long."""
        self._to_port = to_port
        self._answer_bytes_left: int | None = None
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> "Proxy":
        await self.accept()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.refuse()
        self.cut()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def accept(self) -> None:
        """Take new connections: at first, and after `refuse`, on the same port."""
        # None that the system gives to whoever asks for any: meanwhile it would be somebody else's.
        port = self.port or free_port()
        self._server = await asyncio.start_server(self._take, "127.0.0.1", port)
        self.port = port

    def refuse(self) -> None:
        """Refuse new connections. Those that are open go on."""
        assert self._server is not None
        self._server.close()

    def cut(self) -> None:
        """Reset every connection now, on both sides. New ones are taken."""
        for writer in self._writers:
            # A reset, not a polite end: what is on the way is lost too.
            writer.transport.abort()

    def cut_after(self, count: int) -> None:
        """Let so many more bytes come from the server, over all connections, and then cut, once."""
        self._answer_bytes_left = count

    def _take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.accepted += 1
        task = asyncio.create_task(self._serve(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            from_server, to_server = await asyncio.open_connection("127.0.0.1", self._to_port)
        except OSError:
            writer.transport.abort()
            return
        self._writers |= {writer, to_server}
        try:
            async with asyncio.TaskGroup() as both:
                both.create_task(self._carry(reader, to_server, is_answer=False))
                both.create_task(self._carry(from_server, writer, is_answer=True))
        finally:
            self._writers -= {writer, to_server}
            writer.close()
            to_server.close()

    async def _carry(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, is_answer: bool
    ) -> None:
        """Pass on one direction until either side ends it."""
        with contextlib.suppress(OSError):
            while piece := await reader.read(CHUNK):
                if not is_answer and self.watched and self.watched in piece:
                    self.watched_at.append(time.monotonic())
                    await asyncio.sleep(self.watched_delay_s)
                if self.delay_s:
                    await asyncio.sleep(self.delay_s)
                if self.drop:
                    continue
                if is_answer and self._is_last(piece):
                    await self._cut_behind(writer, piece)
                    return
                writer.write(piece)
                await writer.drain()
            if not self.drop:
                writer.write_eof()

    def _is_last(self, piece: bytes) -> bool:
        """Whether `cut_after` wants the cut within this piece; counts it if not."""
        if self._answer_bytes_left is None:
            return False
        if len(piece) >= self._answer_bytes_left:
            return True
        self._answer_bytes_left -= len(piece)
        return False

    async def _cut_behind(self, writer: asyncio.StreamWriter, piece: bytes) -> None:
        """Let the allowed part of the piece arrive, and then nothing more."""
        writer.write(piece[: self._answer_bytes_left])
        self._answer_bytes_left = None
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()
        self.cut()
