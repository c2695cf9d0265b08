"""Finding the model servers of this machine, at ports that the tests choose."""

import asyncio
import socket
from contextlib import AsyncExitStack

import pytest

from ragforge.providers.discover import FoundEndpoint, find_local_endpoints
from tests.standins.openai import Flavour, OpenAIStandIn

PATIENT_S = 20.0
"""Servers and client share one busy test machine: a limit only matters where nothing answers."""


async def test_every_kind_is_told_by_its_answer_and_what_is_closed_is_passed_over():
    kinds = [Flavour.OLLAMA, Flavour.LLAMA_SERVER, Flavour.LM_STUDIO, Flavour.VLLM, Flavour.OPENAI]
    async with AsyncExitStack() as stack:
        servers = [await stack.enter_async_context(OpenAIStandIn(kind, models=("b", "a"))) for kind in kinds]
        closed = OpenAIStandIn()
        await closed.start()
        await closed.stop()
        ports = (closed.port, *(server.port for server in servers))
        found = await find_local_endpoints(PATIENT_S, ports=ports)
    names = ["ollama", "llama-server", "lmstudio", "vllm", f"port-{servers[-1].port}"]
    assert found == [
        FoundEndpoint(name, server.base_url, ("a", "b")) for name, server in zip(names, servers, strict=True)
    ]


async def test_ollama_without_a_model_is_still_ollama():
    async with OpenAIStandIn(Flavour.OLLAMA, models=()) as server:
        [found] = await find_local_endpoints(PATIENT_S, ports=(server.port,))
    assert found == FoundEndpoint("ollama", server.base_url, ())


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\nContent-Length: 14\r\n\r\n<html></html>\n",
        b'HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n{"jobs": [{"a": 10}]}'[:-1],
        b"HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n",
        b"SSH-2.0-OpenSSH_9.6\r\n",
        b"",
        b"HTTP/1.1 200 OK\r\n\r\n" + b"[" * 2_000_000,
        b'HTTP/1.1 200 OK\r\n\r\n{"object": "list", "data": [1, {"id": 3}, {"id": null}]}',
    ],
)
async def test_other_programs_on_these_ports_do_no_harm(answer):
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readline()
        writer.write(answer)
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        found = await find_local_endpoints(PATIENT_S, ports=(server.sockets[0].getsockname()[1],))
    assert [endpoint.models for endpoint in found] in ([], [()])


async def test_a_port_that_never_answers_is_given_up_in_time():
    with socket.create_server(("127.0.0.1", 0)) as mute:
        async with OpenAIStandIn(Flavour.OLLAMA) as server:
            for limit_s in (3.0, PATIENT_S):
                started = asyncio.get_running_loop().time()
                found = await find_local_endpoints(limit_s, ports=(mute.getsockname()[1], server.port))
                took_s = asyncio.get_running_loop().time() - started
                assert took_s < limit_s + 30.0
                if found:
                    break  # else the machine was too busy for the one that answers
    assert [endpoint.name for endpoint in found] == ["ollama"]


async def test_a_configured_server_of_this_machine_is_asked_and_keeps_its_name():
    async with OpenAIStandIn(Flavour.VLLM) as usual, OpenAIStandIn(Flavour.LLAMA_SERVER) as own:
        configured = {
            "vllm": usual.base_url,
            "box": f"{own.base_url}/",
            "elsewhere": "https://models.example.org/v1",
            "wrong": "http://localhost:x/v1",
        }
        found = await find_local_endpoints(PATIENT_S, ports=(usual.port,), configured=configured)
    assert [(each.name, each.base_url) for each in found] == [("vllm", usual.base_url), ("box", own.base_url)]


async def test_a_server_at_a_usual_port_has_the_name_under_which_it_is_reached():
    """Another kind than usual answers there: under its own name it would be asked at another port."""
    async with OpenAIStandIn(Flavour.LM_STUDIO) as server:
        configured = {"llama-server": server.base_url, "lmstudio": "http://localhost:1/v1"}
        [found] = await find_local_endpoints(PATIENT_S, ports=(server.port,), configured=configured)
    assert found.name == "llama-server"
