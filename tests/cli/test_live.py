"""`make live`, against the stand-in: what it asks, finds wrong, and prints."""

import asyncio
import subprocess
import sys
from pathlib import Path

from tests.flow.running import environ
from tests.standins.gemini import Call, Calls, GeminiStandIn, Text

SCRIPT = Path(__file__).parents[2] / "scripts" / "live.py"


async def test_turns_are_checked_and_their_cost_is_told(tmp_path: Path, gemini: GeminiStandIn) -> None:
    gemini.script((Calls(Call("read", {"path": "notes.txt"})),), Text("An okapi."), Text("I list nothing."))
    ran = await _live(environ(tmp_path, gemini), "--turns", "2", "--yes")
    assert "gemini:gemini-3.5-flash-lite: at most about $0.0" in ran.stdout
    assert "1 ok  Read notes.txt" in ran.stdout
    assert "2 failed: used no tool and not list" in ran.stdout
    assert "ok  a structured answer" in ran.stdout
    assert "1 failed, $0.00" in ran.stdout
    assert ran.returncode == 1
    refused = await _live({**environ(tmp_path, gemini), "CI": "true"}, "--yes")
    assert (refused.returncode, "never run in CI" in refused.stdout) == (2, True)


async def test_nothing_is_sent_without_a_yes_or_a_key(tmp_path: Path, gemini: GeminiStandIn) -> None:
    unanswered = await _live(environ(tmp_path, gemini))
    assert (unanswered.returncode, unanswered.stderr) == (2, "")
    assert "at most about $" in unanswered.stdout
    assert "Nothing was sent." in unanswered.stdout
    without_key = await _live({**environ(tmp_path, gemini), "GEMINI_API_KEY": ""})
    assert (without_key.returncode, without_key.stderr) == (2, "")
    assert "No key is set." in without_key.stdout
    assert gemini.requests == []


async def _live(env: dict[str, str], *args: str) -> subprocess.CompletedProcess[str]:
    def run() -> subprocess.CompletedProcess[str]:
        command = [sys.executable, str(SCRIPT), *args]
        return subprocess.run(
            command, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
        )

    return await asyncio.to_thread(run)
