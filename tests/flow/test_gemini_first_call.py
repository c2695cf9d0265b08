"""The first call to Gemini, in a process of its own: what it loads does not hold the event loop."""

import asyncio
import json
import sys

import pytest

from tests.standins.gemini import Call, Calls, GeminiStandIn, Text

WATCHED = """
import asyncio, json, sys
from ragforge.domain.messages import TextPart, UserMessage
from ragforge.providers.base import ModelRequest
from ragforge.providers.gemini import GeminiProvider

LIBRARY = ("anyio", "httpx2", "truststore")
loaded = []

def watch(frame, event, argument):
    # Of this thread alone, which is the loop's.
    if event == "call" and frame.f_code.co_name == "<module>":
        name = frame.f_globals["__name__"]
        if name.partition(".")[0] in LIBRARY:
            loaded.append(name)

async def ask(provider, schema):
    said = (UserMessage((TextPart("Hello"),)),)
    async for _ in provider.stream(ModelRequest("", said, json_schema=schema)):
        pass

async def main():
    url, key, how = sys.argv[1:]
    provider = GeminiProvider("gemini-3.8-flash", api_key=key, key_source="", load_blob=None, base_url=url)
    sys.setprofile(watch)
    if how == "prepared":
        await provider.prepare()
    await provider.limits()
    await ask(provider, {"type": "object", "properties": {}, "required": [], "additionalProperties": False})
    for _ in range(2):
        await ask(provider, None)
    sys.setprofile(None)
    await provider.close()
    print(json.dumps([loaded, [name for name in LIBRARY if name in sys.modules]]))

asyncio.run(main())
"""


@pytest.mark.parametrize("how", ["prepared", "at once"])
async def test_the_first_call_loads_nothing_in_the_event_loop(gemini: GeminiStandIn, how: str) -> None:
    gemini.script(Calls(Call("read", {"path": "a.txt"})), Text("It says so."))
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", WATCHED, gemini.url, gemini.key, how), stdout=asyncio.subprocess.PIPE
    )
    out, _ = await process.communicate()
    assert process.returncode == 0
    assert json.loads(out) == [[], ["anyio", "httpx2", "truststore"]]
    assert len(gemini.structured()) == 1
    assert len(gemini.asked("streamGenerateContent")) == 2
