"""The proxy does to connections what tests ask of it."""

import asyncio
import time
from collections.abc import AsyncIterator

import pytest

from tests.servers.proxy import Proxy


@pytest.fixture
async def proxy() -> AsyncIterator[Proxy]:
    """In front of a server that answers with what it was told."""

    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while piece := await reader.read(65_536):
            writer.write(piece)
        writer.close()

    async with await asyncio.start_server(echo, "127.0.0.1", 0) as server:
        async with Proxy(server.sockets[0].getsockname()[1]) as proxy:
            yield proxy
        server.close()


class Client:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    async def ask(self, text: bytes) -> bytes:
        self.writer.write(text)
        async with asyncio.timeout(180):
            return await self.reader.readexactly(len(text))


async def connected(proxy: Proxy) -> Client:
    return Client(*await asyncio.open_connection("127.0.0.1", proxy.port))


async def test_everything_passes_by_default(proxy: Proxy) -> None:
    client = await connected(proxy)
    large = bytes(range(256)) * 10_000
    assert await client.ask(b"hello") == b"hello"
    assert await client.ask(large) == large
    client.writer.write_eof()
    assert await client.reader.read() == b""
    assert proxy.accepted == 1


async def test_a_delay_holds_up_the_question_and_the_answer(proxy: Proxy) -> None:
    client = await connected(proxy)
    proxy.delay_s = 0.1
    began = time.monotonic()
    assert await client.ask(b"hello") == b"hello"
    assert time.monotonic() - began >= 0.2


async def test_what_is_dropped_never_arrives_and_the_connection_stays(proxy: Proxy) -> None:
    client = await connected(proxy)
    assert await client.ask(b"before") == b"before"
    proxy.drop = True
    client.writer.write(b"swallowed")
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(client.reader.read(1), 1)
    proxy.drop = False
    assert await client.ask(b"after") == b"after"


async def test_refusing_leaves_open_connections_alone(proxy: Proxy) -> None:
    client = await connected(proxy)
    await client.ask(b"before")
    proxy.refuse()
    with pytest.raises(ConnectionRefusedError):
        await connected(proxy)
    assert await client.ask(b"still") == b"still"
    port = proxy.port
    await proxy.accept()
    assert proxy.port == port
    assert await (await connected(proxy)).ask(b"again") == b"again"


async def test_a_cut_ends_every_connection_and_new_ones_are_taken(proxy: Proxy) -> None:
    clients = [await connected(proxy) for _ in range(3)]
    for client in clients:
        await client.ask(b"before")
    proxy.cut()
    for client in clients:
        # A reset, where the kernel says so before the end is read.
        with pytest.raises((asyncio.IncompleteReadError, ConnectionError)):
            await client.ask(b"lost")
    assert await (await connected(proxy)).ask(b"new") == b"new"


@pytest.mark.parametrize("count", [0, 1, 7, 9])
async def test_an_answer_is_truncated_where_it_was_told(proxy: Proxy, count: int) -> None:
    client = await connected(proxy)
    await client.ask(b"before")
    proxy.cut_after(count)
    with pytest.raises(asyncio.IncompleteReadError) as cut:
        await client.ask(b"0123456789")
    assert cut.value.partial == b"0123456789"[:count]
    assert await (await connected(proxy)).ask(b"once only") == b"once only"
