"""Whether `/log` opens as quickly with 5,000 versions as with 50.

In the real interface, without a terminal: from the command until the list and the changes of the newest
version have been drawn. Both alternate; the first opening of each run of the interface, which loads modules,
is left out.
"""

import asyncio
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from statistics import median
from typing import Any

from ragforge.cli.options import Options
from ragforge.cli.start import open_for_interface
from ragforge.domain.ids import new_id, now
from ragforge.domain.versions import Branch, Change, Node, NodeKind, Provenance, Version
from ragforge.session.open import close_workspace, open_workspace
from ragforge.tui.app import RagforgeApp
from ragforge.tui.chat.screen import ChatScreen
from ragforge.tui.launch import NotOpened, OpenedChat
from ragforge.tui.screens.log import LogScreen
from ragforge.tui.widgets.plain import PlainText
from ragforge.versions.state import Head

FEW, MANY = 50, 5_000
RUNS = 3
OPENINGS = 6
LOADED = 500
BRANCHES = 8
SIZE = (110, 40)
PATIENCE_S = 60.0
TIMES_MAX = 1.5


@dataclass(frozen=True, slots=True)
class Opening:
    """The duration by the clock, and of the processor's time."""

    ms: float
    processor_ms: float


Took = Mapping[int, list[Opening]]
"""By the number of versions."""


@dataclass(slots=True)
class _Desk:
    """Return a project of its own on a machine of its own."""

    folder: Path
    versions: int
    environ: dict[str, str] = field(default_factory=dict[str, str])

    def __post_init__(self) -> None:
        self.environ = {
            "HOME": str(self.folder / "home"),
            "RAGFORGE_DATA_DIR": str(self.folder / "data"),
            "RAGFORGE_CONFIG_DIR": str(self.folder / "config"),
            "RAGFORGE_MODEL": "local",
            "RAGFORGE_MEMORY_ENABLED": "false",
        }
        self.project.mkdir(parents=True)

    @property
    def project(self) -> Path:
        return self.folder / "home" / "project"


async def measure(folder: Path) -> Took:
    """Open each RUNS times OPENINGS, below the folder."""
    desks = [_Desk(folder / str(count), count) for count in (FEW, MANY)]
    for desk in desks:
        await _fill(desk)
    took: dict[int, list[Opening]] = {desk.versions: [] for desk in desks}
    for _ in range(RUNS):
        for desk in desks:
            took[desk.versions] += await _opened(desk)
    return took


def print_table(took: Took) -> bool:
    """Print a line each; return whether many stay within TIMES_MAX of few, by the median of the clock."""
    print(f"{'/log':<16} {'median ms':>10} {'min':>8} {'processor ms':>14} {'min':>8}")
    rows: list[tuple[float, ...]] = []
    for count in (FEW, MANY):
        on_clock = [each.ms for each in took[count]]
        of_processor = [each.processor_ms for each in took[count]]
        rows.append(tuple(best(times) for times in (on_clock, of_processor) for best in (median, min)))
        print(f"{count:>6,} versions  {_columns(rows[-1], 1)}")
    times = [many / few for few, many in zip(*rows, strict=True)]
    print(f"{'times':<16} {_columns(times, 2)}")
    return times[0] <= TIMES_MAX


def _columns(values: Sequence[float], digits: int) -> str:
    return " ".join(f"{value:{width}.{digits}f}" for value, width in zip(values, (10, 8, 14, 8), strict=True))


async def _fill(desk: _Desk) -> None:
    """Return versions of one file each: a line of work with short ones beside it, some merged or named."""
    workspace = await open_workspace(cwd=desk.project, flags={}, environ=os.environ | desk.environ)
    try:
        digests = await workspace.blobs.put_many([f"line {number}\n".encode() for number in range(100)])
        nodes = [Node(NodeKind.FILE, digest, 0o644, 8) for digest in digests]
        began = now() - timedelta(seconds=desk.versions)
        made: list[Version] = []
        for number in range(desk.versions):
            parent = made[-3] if number % 10 == 9 else made[-1] if made else None
            parents = [parent.id] if parent else []
            if number % 10 == 2 and number > 10:
                parents.append(made[-3].id)  # a side line is merged
            change = Change("a.txt", nodes[number % 99], nodes[number % 99 + 1], Provenance.TOOL)
            made.append(
                Version(
                    *(new_id(), workspace.project.id, tuple(parents), began + timedelta(seconds=number)),
                    by="gemini:gemini-3.8-flash",
                    changes=(change,),
                    title=f"Change number {number}, and a few words of what it was about",
                    lines_added=1,
                    lines_removed=1,
                )
            )
        await workspace.store.archive.load([workspace.project])
        for start in range(0, len(made), LOADED):
            await workspace.store.archive.load(made[start : start + LOADED])
        for number in range(BRANCHES):
            tip = made[-1 - 3 * number]
            await workspace.store.versions.set_branch(
                Branch(workspace.project.id, f"line-{number}", tip.id, now())
            )
        await workspace.history.set_head(workspace.place.root, Head(made[-1].id, "line-0"))
    finally:
        await close_workspace(workspace)


async def _opened(desk: _Desk) -> list[Opening]:
    os.environ.update(desk.environ)

    async def open_session(*, embedded: bool = False) -> OpenedChat | NotOpened:
        return await open_for_interface(Options(cwd=desk.project), embedded=embedded)

    app = RagforgeApp(open_session)
    took: list[Opening] = []
    async with app.run_test(size=SIZE):
        chat = app.screen
        assert isinstance(chat, ChatScreen)
        await _until(lambda: chat.conversation is not None)
        await _until(lambda: not any(worker.group == "opening" for worker in app.workers))
        for _ in range(OPENINGS + 1):
            took.append(await _open_log(app, chat))
    return took[1:]


async def _open_log(app: RagforgeApp, chat: ChatScreen) -> Opening:
    began, spent = time.perf_counter(), time.process_time()
    chat.presenter.commands.start("log")
    await _until(lambda: isinstance(app.screen, LogScreen) and bool(app.screen.query("#version-detail")))
    screen = app.screen
    await _until(lambda: bool(screen.query_one("#version-detail", PlainText).text))
    drawn = asyncio.Event()
    screen.call_after_refresh(drawn.set)
    await drawn.wait()
    took = Opening((time.perf_counter() - began) * 1000, (time.process_time() - spent) * 1000)
    assert isinstance(screen, LogScreen)
    screen.dismiss(None)
    await _until(lambda: app.screen is chat)
    return took


async def _until(condition: Any) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not condition():
            await asyncio.sleep(0.001)
