"""The first call to Gemini, in a process of its own: it does not hold the event loop."""

import asyncio
import json
import sys

from tests.standins.gemini import Call, Calls, GeminiStandIn, Text

WATCHED = """
import asyncio, json, sys
from ragforge.domain.messages import TextPart, UserMessage
from ragforge.providers.base import ModelRequest
from ragforge.providers.gemini import GeminiProvider

built = []

def watch(frame, event, argument):
    # Of this thread alone, which is the loop's.
    if event == "call" and frame.f_code.co_filename.endswith("_generate_schema.py"):
        built.append(frame.f_code.co_name)

async def ask(provider, schema):
    said = (UserMessage((TextPart("Hello"),)),)
    async for _ in provider.stream(ModelRequest("", said, json_schema=schema)):
        pass

async def main():
    url, key = sys.argv[1:]
    provider = GeminiProvider("gemini-3.8-flash", api_key=key, key_source="", load_blob=None, base_url=url)
    sys.setprofile(watch)
    await provider.limits()
    await ask(provider, {"type": "object", "properties": {}, "required": [], "additionalProperties": False})
    for _ in range(2):
        await ask(provider, None)
    sys.setprofile(None)
    await provider.close()
    print(json.dumps(sorted(set(built))))

asyncio.run(main())
"""


async def test_the_first_call_builds_no_types_in_the_event_loop(gemini: GeminiStandIn) -> None:
    gemini.script(Calls(Call("read", {"path": "a.txt"})), Text("It says so."))
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", WATCHED, gemini.url, gemini.key), stdout=asyncio.subprocess.PIPE
    )
    out, _ = await process.communicate()
    assert process.returncode == 0
    assert json.loads(out) == []
    assert len(gemini.structured()) == 1
    assert len(gemini.asked("streamGenerateContent")) == 2
