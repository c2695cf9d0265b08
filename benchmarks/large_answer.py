"""How much memory an answer of 10 MB takes, as a multiple of its size.

Resident memory: the maximum of `ragforge -p` as a process, minus that for a short answer; as text and JSON.
Run: python benchmarks/large_answer.py [CHARS OF A PIECE], as small as a service sends them (50).
"""

import asyncio
import os
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # the stand-in is part of the tests

from tests.flow.running import environ
from tests.standins.openai import OpenAIStandIn, Raw, delta, sse

PIECE_CHARS = int(sys.argv[1]) if len(sys.argv) > 1 else 50
CHARS = 10_000_000
LINE = 'A line of an answer with a "quoted word" and its end.\n'
MEASURE = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024)
"""


def answer(chars: int) -> Raw:
    piece = (LINE * (PIECE_CHARS // len(LINE) + 1))[:PIECE_CHARS]
    # A thousand events at a time: as many writes as events would measure the stand-in.
    events, times = sse(delta(content=piece)) * 1_000, chars // PIECE_CHARS // 1_000
    few = sse(delta(content=piece))
    return Raw([*([events] * times or [few]), sse(delta(finish="stop")), sse("[DONE]")])


async def resident(folder: Path, server: OpenAIStandIn, chars: int, output: str) -> int:
    """Return the maximum memory of the process in bytes."""
    config = folder / "config" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text(f'[endpoints.standin]\nbase_url = "{server.base_url}"\n[memory]\nenabled = false\n')
    project = folder / "project"
    project.mkdir()
    server.script(answer(chars))
    environment = os.environ | environ(folder, RAGFORGE_MODEL="standin:test-model")
    command = (sys.executable, "-m", "ragforge", "-p", "write a lot", "--output-format", output)
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", MEASURE, *command),
        cwd=project,
        env=environment,
        stdout=asyncio.subprocess.PIPE,
    )
    out, _ = await process.communicate()
    return int(out)


async def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        async with OpenAIStandIn() as server:
            for output in ("text", "json"):
                short = await resident(Path(name) / f"{output}-short", server, PIECE_CHARS, output)
                large = await resident(Path(name) / f"{output}-large", server, CHARS, output)
                print(
                    f"{output}: {(large - short) / CHARS:.1f} times the answer "
                    f"({short / 1e6:.0f} MB for a short one, {large / 1e6:.0f} for 10 MB)"
                )


if __name__ == "__main__":
    asyncio.run(main())
