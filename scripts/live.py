"""Ten turns with the real services, with your own keys: what no test of ours can try. `make live`.

Every provider whose key is set is tried, in a temporary project and data folder. It prints the maximum cost,
asks, and prints the actual cost. It never runs in CI.
"""

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from ragforge.config.settings import load_settings
from ragforge.domain.errors import RagforgeError
from ragforge.domain.json import JsonObject
from ragforge.domain.messages import TextPart, UserMessage
from ragforge.providers.base import ModelRequest, ProviderParts, read_whole
from ragforge.providers.prices import price_of
from ragforge.providers.registry import open_provider, parse_model

MODELS = {
    "GEMINI_API_KEY": "gemini:gemini-3.5-flash-lite",
    "OPENAI_API_KEY": "openai:gpt-5-mini",
    "OPENROUTER_API_KEY": "openrouter:openai/gpt-5-mini",
}
TURNS = (
    ("Read notes.txt and say the animal in it, as one word.", "okapi", "read"),
    ("Which files are in this folder? List them with your tool.", "notes.txt", "list"),
    ("Change okapi to zebra in notes.txt with your edit tool.", "", "edit"),
    ("Run the command `cat notes.txt` and repeat what it printed.", "zebra", "shell"),
    ("Search the files for the word zebra with your grep tool. Which file has it?", "notes.txt", "grep"),
    ("Write a file sum.txt that holds 2 + 2 as a number.", "", "write"),
    ("What was the first animal that I asked about? One word.", "okapi", ""),
    ("Read notes.txt and sum.txt, both at once, and say both contents.", "4", "read"),
    ("Answer with a Markdown table of two columns and two rows.", "|", ""),
    ("Say goodbye in French, in one word.", "", ""),
)
"""The question, what the answer contains, and the tool that should be used."""
CALLS_A_TURN, INPUT_TOKENS, OUTPUT_TOKENS = 4, 12_000, 800
"""More than each call of such a turn takes, for the estimate."""


class Animal(Struct, frozen=True):
    """An object as described by `SCHEMA`."""

    animal: str
    legs: int


SCHEMA: JsonObject = {
    "type": "object",
    "properties": {"animal": {"type": "string"}, "legs": {"type": "integer"}},
    "required": ["animal", "legs"],
    "additionalProperties": False,
}


def main() -> int:
    """Try what was requested; return 1 if anything failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="*", help="provider:name; without, one a provider whose key is set")
    parser.add_argument("--turns", type=int, default=len(TURNS), help="how many turns of each")
    parser.add_argument("--yes", action="store_true", help="do not ask")
    options = parser.parse_args()
    if os.environ.get("CI"):
        print("This costs money and is never run in CI.")
        return 2
    models = options.models or [model for name, model in MODELS.items() if os.environ.get(name)]
    if not models:
        print(f"No key is set. Set one of {', '.join(MODELS)}, or name models: make live MODELS=...")
        return 2
    for model in models:
        print(f"{model}: {_estimate(model, options.turns)}")
    if not options.yes and not _confirmed():
        print("Nothing was sent. YES=1 skips the question.")
        return 2
    return max(_try(model, options.turns) for model in models)


def _confirmed() -> bool:
    try:
        return input("Go on? [y/N] ").strip().lower() == "y"
    except EOFError:  # nobody is there to answer
        print()
        return False


def _estimate(model: str, turns: int) -> str:
    price = price_of(parse_model(model).model, datetime.now(UTC))
    if price is None:
        return "price unknown; it is stopped by nothing but the number of turns"
    calls = turns * CALLS_A_TURN
    cost = calls * (INPUT_TOKENS * price.input_usd + OUTPUT_TOKENS * price.output_usd) / 1_000_000
    return f"at most about ${cost:.2f} for {turns} turns and their summaries"


def _try(model: str, turns: int) -> int:
    failed, cost, unknown = 0, 0.0, False
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder) / "project"
        project.mkdir()
        (project / "notes.txt").write_text("The animal is an okapi.\n")
        env = {**os.environ, "RAGFORGE_DATA_DIR": str(Path(folder) / "data")}
        for number, (prompt, holds, tool) in enumerate(TURNS[:turns], 1):
            told = _turn(model, prompt, project, env, goes_on=number > 1)
            costs = (told.get("cost_usd"), told.get("memory_cost_usd") if number == turns else 0.0)
            unknown = unknown or None in costs
            cost += sum(each or 0.0 for each in costs)
            wrong = _wrong(told, holds, tool)
            failed += bool(wrong)
            print(f"  {number:>2} {'failed: ' + wrong if wrong else 'ok'}  {prompt}")
    wrong = asyncio.run(_structured(model))
    failed += bool(wrong)
    print(f"     {'failed: ' + wrong if wrong else 'ok'}  a structured answer")
    print(f"{model}: {failed} failed, ${cost:.4f}{', more where prices are unknown' if unknown else ''}")
    return 1 if failed else 0


def _turn(model: str, prompt: str, project: Path, env: Mapping[str, str], *, goes_on: bool) -> dict[str, Any]:
    """Return what `ragforge -p` reports about it, as JSON."""
    flags = ["-c"] if goes_on else ["--new"]
    ran = subprocess.run(
        [
            sys.executable,
            "-m",
            "ragforge",
            *flags,
            "-m",
            model,
            "--yolo",
            "--output-format",
            "json",
            "-p",
            prompt,
        ],
        cwd=project,
        env=dict(env),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    return json.loads(ran.stdout) if ran.stdout.strip() else {"error": ran.stderr.strip()}


def _wrong(told: Mapping[str, Any], holds: str, tool: str) -> str:
    if told.get("error") or told.get("status") != "finished":
        return str(told.get("error") or told.get("status"))
    used = [call["name"] for call in told["tools"]]
    if tool and tool not in used:
        return f"used {', '.join(used) or 'no tool'} and not {tool}"
    return (
        "" if holds.lower() in told["text"].lower() else f"the answer lacks {holds!r}: {told['text'][:80]!r}"
    )


async def _structured(model: str) -> str:
    """Return what is wrong with an answer of a schema; empty if nothing is."""
    from ragforge.config.secrets import find_key

    settings = load_settings(cwd=Path.cwd(), flags={}, environ=os.environ).settings

    def key_of(provider: str) -> tuple[str, str] | None:
        found = find_key(provider, os.environ, endpoints=settings.endpoints)
        return (found.value, found.source) if found else None

    async def nothing(*_: Any) -> Any:
        raise NotImplementedError

    parts = ProviderParts(key_of, nothing, nothing, endpoints=settings.endpoints, environ=os.environ)
    ask = UserMessage((TextPart("A zebra, as JSON: the animal and how many legs it has."),))
    try:
        provider = open_provider(parse_model(model), parts=parts)
        answer = await read_whole(provider, ModelRequest("", (ask,), json_schema=SCHEMA))
        await provider.close()
        msgspec.json.decode(answer.text, type=Animal)
    except (RagforgeError, ValueError) as error:
        return str(error)
    return ""


if __name__ == "__main__":
    sys.exit(main())
