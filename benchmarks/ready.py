"""From the last token to the prompt being ready: with background work in progress, and without any.

The two are measured alternately in one run, so that a busy machine slows both. The model is the stand-in in a
process of its own. If there is background work, it is plenty: turns of earlier runs that lack a summary and a
vector, besides those of this run. The longest piece of the event loop is CPU time, which no load lengthens.
"""

import asyncio
import json
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from ragforge.domain.approvals import ApprovalAnswer, ApprovalRequest, ConsentAnswer
from ragforge.domain.events import TextDelta
from ragforge.domain.messages import TextPart
from ragforge.session.open import close_session, close_workspace, new_session, open_workspace
from ragforge.session.state import Session
from ragforge.session.turn import submit
from ragforge.store.base import keep_project
from tests.contract.builders import a_session, conversation
from tests.flow.beside import an_answer

ROUNDS = int(sys.argv[1]) if len(sys.argv) > 1 else 60
LEFT_BEHIND = 2_000
RATIO_MAX = 1.05
KEY = "stand-in-key"
SAID = "The parser drops the last line of a file that lacks a newline; please find out why."
ANSWER = "The loop ends at the last newline, so what follows it is never read. " * 12


@dataclass
class Pieces:
    """How long single callbacks of the event loop took, in milliseconds of CPU."""

    longest_ms: float = 0.0
    over_20_ms: int = 0
    count: int = 0
    measuring: bool = False
    names: list[str] = field(default_factory=list)

    def watch(self) -> None:
        """Time every callback from now on."""
        run = asyncio.Handle._run

        def timed(handle: asyncio.Handle) -> None:
            began = time.thread_time()
            run(handle)
            took_ms = (time.thread_time() - began) * 1000
            if self.measuring:
                self.count += 1
                self.longest_ms = max(self.longest_ms, took_ms)
                if took_ms > 20:
                    self.over_20_ms += 1
                    task = getattr(getattr(handle, "_callback", None), "__self__", None)
                    what = task.get_coro() if isinstance(task, asyncio.Task) else handle
                    self.names.append(f"{took_ms:.0f} ms {what!r:.160}")

        asyncio.Handle._run = timed


@asynccontextmanager
async def stand_in(folder: Path) -> AsyncIterator[str]:
    """Yield the address of the model."""
    schema = {"properties": {"turns": {"items": {"properties": {"id": {"enum": ["t1"]}}}}}}
    script = {"when": [{"contains": "", "reply": {"text": [ANSWER[:200], ANSWER[200:]]}}]}
    script |= {"structured_always": {"json": an_answer(schema, "What follows the last newline is not read.")}}
    file = folder / "script.json"
    file.write_text(json.dumps({"key": KEY, **script}))
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.standins.gemini", "--port", "0", "--script", str(file)),
        stdout=asyncio.subprocess.PIPE,
        cwd=Path(__file__).parents[1],
    )
    assert process.stdout is not None
    try:
        yield (await process.stdout.readline()).decode().split()[-1]
    finally:
        process.terminate()
        await process.wait()


@asynccontextmanager
async def opened(folder: Path, url: str, *, memory: bool) -> AsyncIterator[Session]:
    """Yield a session in a project with turns from an earlier run."""
    environ = {
        "PATH": "/usr/bin:/bin",
        "HOME": str(folder),
        "RAGFORGE_DATA_DIR": str(folder / "data"),
        "RAGFORGE_CONFIG_DIR": str(folder / "config"),
        "PYTHON_KEYRING_BACKEND": "keyring.backends.null.Keyring",
        "GEMINI_API_KEY": KEY,
        "GOOGLE_GEMINI_BASE_URL": url,
        "RAGFORGE_MODEL": "gemini:gemini-3.8-flash",
        "RAGFORGE_MEMORY_ENABLED": str(memory).lower(),
    }
    project = folder / "project"
    project.mkdir(parents=True)
    workspace = await open_workspace(cwd=project, flags={}, environ=environ)
    if memory:
        await keep_project(workspace.store, workspace.project)
        earlier = a_session(workspace.project.id)
        await workspace.store.sessions.add(earlier)
        await conversation(workspace.store, earlier, LEFT_BEHIND, answer=ANSWER)
    session = await new_session(workspace)
    try:
        yield session
    finally:
        await close_session(session)
        await close_workspace(workspace)


async def ready_ms(session: Session) -> float:
    """Run one turn; return the milliseconds from its last token until the next can be typed."""
    last = time.perf_counter()
    async with aclosing(submit(session, (TextPart(SAID),), approve)) as events:
        async for event in events:
            if isinstance(event, TextDelta):
                last = time.perf_counter()
    return (time.perf_counter() - last) * 1000


async def approve(_: ApprovalRequest) -> ApprovalAnswer:
    return ApprovalAnswer(ConsentAnswer.NO)


async def measure(folder: Path) -> None:
    """Print the table."""
    pieces = Pieces()
    pieces.watch()
    times: dict[str, list[float]] = {"without": [], "with": []}
    async with (
        stand_in(folder) as url,
        opened(folder / "without", url, memory=False) as without,
        opened(folder / "with", url, memory=True) as beside,
    ):
        for session in (without, beside):
            await ready_ms(session)  # what is loaded at the first turn
        # The background work has started with earlier turns, in a moment at most.
        while not beside.workspace.background.progress.turns:
            await asyncio.sleep(0.01)
        pieces.measuring = True
        for _ in range(ROUNDS):
            times["without"].append(await ready_ms(without))
            times["with"].append(await ready_ms(beside))
        pieces.measuring = False
        waiting = beside.workspace.background.progress
    print(f"{'background':<11} {'turns':>6} {'median ms':>10} {'p95 ms':>8}")
    for name, found in times.items():
        p95 = statistics.quantiles(found, n=20)[-1]
        print(f"{name:<11} {len(found):>6} {statistics.median(found):10.2f} {p95:8.2f}")
    ratio = statistics.median(times["with"]) / statistics.median(times["without"])
    print(f"ratio {ratio:.3f} (at most {RATIO_MAX}); {waiting.turns} turns still waited at the end")
    print(f"longest piece of the event loop {pieces.longest_ms:.1f} ms CPU, {pieces.over_20_ms} over 20 ms")
    for name in pieces.names[:5]:
        print(f"  {name}")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(measure(Path(folder)))


if __name__ == "__main__":
    main()
