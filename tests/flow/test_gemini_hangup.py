"""Leaving an answer early ends its HTTP stream, and nothing of the library reaches the terminal."""

import asyncio
import subprocess
import sys
import time
from contextlib import aclosing
from pathlib import Path

import pytest

from ragforge.domain import timeouts
from ragforge.domain.events import TextDelta
from ragforge.providers.base import ModelRequest
from ragforge.providers.gemini import GeminiProvider
from tests.flow.gemini_asking import ask, asked, asking, open_provider, said, text_of
from tests.standins.gemini import GeminiStandIn, Hang, Recorded, Text, Until

LEFT_WITHIN_S = 30.0
"""A few milliseconds; more only because the machine may be busy."""


@pytest.fixture(autouse=True)
def _who_does_not_leave_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else leaving would end after two seconds, whether or not the answer was left."""
    monkeypatch.setattr(timeouts, "STREAM_END_S_MAX", 10 * LEFT_WITHIN_S)


async def left(request: Recorded, since: float) -> None:
    await asyncio.wait_for(request.hung_up.wait(), LEFT_WITHIN_S)
    assert time.monotonic() - since < LEFT_WITHIN_S


async def test_closing_the_stream_hangs_up(gemini: GeminiStandIn) -> None:
    gemini.script((Text("One"), Hang()))
    async with open_provider(gemini) as provider:
        async with aclosing(provider.stream(ModelRequest("", (said("hi"),)))) as events:
            assert await anext(events) == TextDelta("One")
        await left(asked(gemini)[0], time.monotonic())


async def _read_one_and_fail(provider: GeminiProvider) -> None:
    async for event in asking(provider):
        assert event == TextDelta("One")
        raise ZeroDivisionError


async def test_an_exception_of_the_reader_hangs_up(gemini: GeminiStandIn) -> None:
    gemini.script((Text("One"), Hang()))
    async with open_provider(gemini) as provider:
        with pytest.raises(ZeroDivisionError):
            await _read_one_and_fail(provider)
        await left(asked(gemini)[0], time.monotonic())


@pytest.mark.parametrize("reply", [Hang(), (Text("One"), Hang())])
async def test_cancelling_hangs_up(gemini: GeminiStandIn, reply: Hang | tuple[Text, Hang]) -> None:
    gemini.script(reply)
    async with open_provider(gemini) as provider:
        task = asyncio.create_task(ask(provider))
        [request] = await gemini.wait_for_requests(1)
        task.cancel()
        since = time.monotonic()
        with pytest.raises(asyncio.CancelledError):
            await task
        await left(request, since)


async def test_a_reader_who_stopped_reading_can_still_hang_up(gemini: GeminiStandIn) -> None:
    written = asyncio.Event()

    gemini.script((Text(*[f"{index} " for index in range(5000)]), Hang()))
    async with open_provider(gemini) as provider:
        async with aclosing(provider.stream(ModelRequest("", (said("hi"),)))) as events:
            assert await anext(events) == TextDelta("0 ")
            # The queue between is full once the server cannot send for a while, or sent all it has.
            sent = -1
            while sent != asked(gemini)[0].chunks_sent:
                sent = asked(gemini)[0].chunks_sent
                with pytest.raises(TimeoutError):
                    await asyncio.wait_for(written.wait(), 0.1)
        await left(asked(gemini)[0], time.monotonic())


async def test_leaving_one_answer_leaves_the_next_alone(gemini: GeminiStandIn) -> None:
    go_on = asyncio.Event()
    gemini.script((Text("One"), Hang()), (Text("Two"), Until(go_on), Text(" three")))
    async with open_provider(gemini) as provider:
        async with aclosing(provider.stream(ModelRequest("", (said("a"),)))) as first:
            await anext(first)
            second = asyncio.create_task(ask(provider, "b"))
            await gemini.wait_for_requests(2)
        await left(asked(gemini)[0], time.monotonic())
        go_on.set()
        assert text_of(await second) == "Two three"
    assert not asked(gemini)[1].hung_up.is_set()


async def test_no_task_outlives_its_answer(gemini: GeminiStandIn) -> None:
    gemini.script((Text("One"), Hang()))
    async with open_provider(gemini) as provider:
        async for _ in asking(provider):
            break
        async with aclosing(provider.stream(ModelRequest("", (said("hi"),)))) as events:
            async for _ in events:
                pass
    assert [task.get_name() for task in asyncio.all_tasks() if task.get_name() == "pump"] == []


SILENT = """
import asyncio, os
os.environ["GOOGLE_API_KEY"] = "one"
os.environ["GEMINI_API_KEY"] = "two"
from tests.flow.gemini_asking import *
from tests.standins.gemini import *

async def main():
    async with GeminiStandIn() as server:
        server.script(
            (Text("a"), Finish("NEWER_THAN_THE_LIBRARY")),
            (Text("a"), Calls(Call("list")), Raw({"candidates": [{"content": {"parts": [{"new": 1}]}}]})),
            (Text("a"), Raw({"error": "text"}), Hang()),
            (Text("a"), ErrorInStream()),
            (Text("a"), Cut("rst")),
            (Text("a"), Hang()),
        )
        async with open_provider(server) as provider:
            for _ in range(5):
                try:
                    await ask(provider, tools=(LIST,))
                except Exception:
                    pass
            async for _ in asking(provider):
                break

asyncio.run(main())
"""


def test_nothing_of_the_library_reaches_the_terminal() -> None:
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", SILENT], cwd=root, capture_output=True, text=True, timeout=300, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_constructing_a_provider_loads_nothing_heavy() -> None:
    code = (
        "import sys; from ragforge.providers.gemini import GeminiProvider as P; "
        "P('m', api_key='k', key_source='s', load_blob=None); "
        "print([m for m in ('httpx2', 'httpcore2', 'anyio') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=True
    )
    assert done.stdout.strip() == "[]"
