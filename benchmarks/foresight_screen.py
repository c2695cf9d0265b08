"""`/foresight` in a session of 50 turns and in one of 5,000, and the block with and without its line.

    python benchmarks/foresight_screen.py [TURNS]

Printed are milliseconds of processor time, the median of 20: from the command to the turns on the screen,
then what `ragforge foresight` reads (turns, marks, who predicts), then the block before a message that
continues a marked turn, with foresight and without. In SQLite.
"""

import argparse
import asyncio
import os
import tempfile
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median

from msgspec.structs import replace
from textual.app import App

from ragforge.domain.context import ContextBlock
from ragforge.domain.derivations import Underived
from ragforge.domain.foresight import KIND, Foresight
from ragforge.domain.ids import new_id
from ragforge.domain.messages import TextPart
from ragforge.domain.turns import Turn, TurnEnd, TurnStatus
from ragforge.domain.versions import Change, Node, NodeKind, Provenance, Version
from ragforge.memory.recall.gather import gather
from ragforge.memory.recall.request import Around, Injecting, InjectLimits, RecallRequest
from ragforge.session.conversation import Conversation
from ragforge.session.foresight import read_foreseers, read_marks, read_turns
from ragforge.session.open import close_workspace, new_session, open_workspace
from ragforge.session.state import Session
from ragforge.store.base import keep_project
from ragforge.tui.screens.foresight import ForesightScreen
from ragforge.tui.widgets.foresight_lists import RankedTurns

FEW, MANY, SHOWN = 50, 5_000, 50
RUNS = 20
BLOCK_TOKENS = 2_000
GOAL = 1.5
MESSAGE = "Now go on with the test of the parser."
START = datetime(2026, 1, 1, tzinfo=UTC)


def record(turn: int, files: tuple[str, ...]) -> Foresight:
    """Return the record created after the turn. files: what it predicts for the next."""
    return Foresight(
        individual_before_description=f"Step {turn} of the parser is done, and its tests pass.",
        collective_before_description="The parser grows.",
        predictability_individual=turn % 11,
        individual_after_prediction=f"Step {turn + 1} of the parser is done.",
        collective_after_prediction="The parser grows further.",
        next_messages=(MESSAGE,),
        files_foreseen=files,
        model_predicted="scripted",
        units_individual=turn % 97,
        units_collective=turn % 101,
        alpha=30,
    )


async def fill(session: Session, count: int) -> None:
    """Store this many turns with versions and records; the last one went differently than predicted."""
    store, project = session.workspace.store, session.workspace.project.id
    person = session.workspace.person.id
    await keep_project(store, session.workspace.project)
    await store.sessions.add(session.live.record)
    before: tuple[str, ...] = ()
    for number in range(count):
        at = START + timedelta(minutes=number)
        head = session.live.record.head
        words = (TextPart(f"Do step {number} of the parser"),)
        turn = Turn(new_id(), session.id, head, number, words, at, model="scripted", person=person)
        await store.turns.start(turn)
        await store.turns.end(TurnEnd(turn.id, TurnStatus.FINISHED, "Done.", at))
        change = Change("src/grammar.py", None, Node(NodeKind.FILE, "0" * 64, 0o644, 9), Provenance.TOOL)
        version = Version(
            new_id(), project, before, at, "scripted", (change,), session_id=session.id, turn_id=turn.id
        )
        await store.versions.add(version)
        before = (version.id,)
        files = ("src/lexer.py", "src/tokens.py") if number == count - 2 else ("src/grammar.py",)
        source = Underived(turn.id, project, at)
        await store.derivations.save(KIND.record(source, record(number, files), model="scripted"))
        session.change(head=turn.id)


async def ms(*works: Callable[[], Awaitable[object]]) -> list[float]:
    """Return the median processor time of each, measured alternately, after a run that warms up."""
    times: list[list[float]] = [[] for _ in works]
    for _ in range(RUNS + 1):
        for work, own in zip(works, times, strict=True):
            began = time.process_time()
            await work()
            own.append((time.process_time() - began) * 1000)
    return [median(own[1:]) for own in times]


async def screen_ms(conversation: Conversation) -> float:
    """Return the time until the turns are listed."""
    async with App[None]().run_test(size=(120, 40)) as pilot:

        async def opened() -> None:
            screen = ForesightScreen(conversation, SHOWN)
            await pilot.app.push_screen(screen)
            while not screen.query_one(RankedTurns).rows:
                await asyncio.sleep(0.001)
            await pilot.app.pop_screen()

        return (await ms(opened))[0]


async def measure(count: int) -> tuple[float, ...]:
    """Return the times of opening the screen, reading all, and the block with and without foresight."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "place"
        place.mkdir()
        env = {**os.environ, "RAGFORGE_DATA_DIR": f"{folder}/data", "RAGFORGE_CONFIG_DIR": f"{folder}/config"}
        library = await open_workspace(cwd=place, flags={}, environ=env | {"RAGFORGE_MODEL": "local"})
        session = await new_session(library)
        await fill(session, count)
        head = session.live.record.head or ""

        async def read() -> None:
            await read_marks(library, await read_turns(library, head, limit=SHOWN))
            await read_foreseers(library)

        around = Around(library.project.id, session.id, library.person.id, before=head)

        async def block(before: str) -> ContextBlock:
            wanted = (replace(around, before=before), BLOCK_TOKENS, InjectLimits(), Injecting())
            return await gather(library.recall, RecallRequest(MESSAGE, *wanted))

        assert any(item.section == "Foresight" for item in (await block(head)).items)
        opening = await screen_ms(Conversation(library, session))
        blocks = await ms(lambda: block(head), lambda: block(""))
        found = (opening, *(await ms(read)), *blocks)
        await close_workspace(library)
    return found


async def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("turns", nargs="?", type=int, default=MANY)
    many = parser.parse_args().turns
    print(f"{'turns':>7} {'opening':>9} {'all':>9} {'block':>9} {'without':>9} {'ratio':>7}")
    rows: list[tuple[float, ...]] = []
    for count in (FEW, many):
        row = await measure(count)
        rows.append(row)
        print(
            f"{count:>7,} " + " ".join(f"{each:9.1f}" for each in row) + f" {row[2] / row[3]:7.2f}",
            flush=True,
        )
    for name, few, more in zip(("opening", "all", "block"), rows[0], rows[1], strict=False):
        mark = f"  above {GOAL:g}" if name == "opening" and more / few > GOAL else ""
        print(f"{name}: {more / few:.2f} times{mark}")


if __name__ == "__main__":
    asyncio.run(main())
