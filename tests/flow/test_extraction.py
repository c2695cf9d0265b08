"""Measuring a model on the annotated set: the real Gemini client against the stand-in."""

import asyncio
import json
import os
import re
import sys
from pathlib import Path
from typing import Any

from tests.extraction.measure import ALL, CONSTRAINTS, load, measure_model
from tests.flow.gemini_asking import open_provider
from tests.standins.gemini import GeminiStandIn, Recorded, Text


def answer_of(request: Recorded, items: dict[str, dict[str, Any]]) -> Text:
    """What a model that makes no mistakes says of the turns."""
    turns: list[dict[str, Any]] = []
    for id, user in re.findall(r'<turn id="(t\d+)".*?<user>\n(.*?)\n</user>', request.last_text, re.DOTALL):
        item = items[user]
        memories = [
            {"id": f"n{id}{n}", "type": gold["type"], "content": " ".join(gold["words"]), "said_by": "user"}
            for n, gold in enumerate(item["memories"])
        ]
        turns.append(
            {"id": id, "memories": memories, "constraints": item["constraints"], "summary": f"About {id}."}
        )
    return Text(json.dumps({"turns": turns}))


async def test_a_model_that_makes_no_mistakes_finds_all(gemini: GeminiStandIn) -> None:
    items = [item for item in load("held_out") if item["memories"] or not item["constraints"]]
    by_text = {item["user"]: item for item in items}
    gemini.always_structured(lambda request: answer_of(request, by_text))
    async with open_provider(gemini) as provider:
        measured = await measure_model(provider, items)
    assert measured.counts(ALL).precision == measured.counts(ALL).recall == 1.0, measured.mistakes
    assert measured.counts(CONSTRAINTS).recall >= 0.9
    assert len(gemini.structured()) == -(-len(items) // 4)


async def test_a_model_that_answers_nonsense_finds_nothing(gemini: GeminiStandIn) -> None:
    gemini.always_structured(Text("I would rather talk about the weather."))
    async with open_provider(gemini) as provider:
        measured = await measure_model(provider, load("held_out")[:4])
    assert measured.counts(ALL).recall == 0.0
    assert measured.counts(ALL).found == 0


async def test_the_command_says_what_a_model_needs() -> None:
    root = Path(__file__).parents[2]
    environ = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.extraction", "--model", "nobody:nothing"),
        cwd=root,
        env=environ,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    _, told = await process.communicate()
    assert process.returncode == 2
    assert b"Unknown provider 'nobody'" in told
