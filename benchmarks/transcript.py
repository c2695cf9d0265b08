"""How long a key and a scroll take while an answer streams, in a short and in a long conversation.

Run: python benchmarks/transcript.py
Prints minimum and median in milliseconds, from the key's arrival in the app until the screen has been
drawn with it, and the ratio of the medians: 1,000 turns with 5,000 tool lines to 10 turns. The app runs
without a terminal; both conversations are measured in one process, alternately and several times, so that
noise affects both.
"""

import asyncio
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from time import perf_counter

from textual import events
from textual.app import ComposeResult
from textual.pilot import Pilot
from textual.widgets import TextArea

import ragforge.tui
from ragforge.domain.events import TextDelta, TurnStarted
from ragforge.domain.messages import ModelMessage, TextPart
from ragforge.domain.turns import CallStatus, Step, ToolCall, Turn, TurnStatus
from ragforge.tui.key_watch import KeyWatch
from ragforge.tui.theme import ThemedApp
from ragforge.tui.widgets.transcript import Transcript

NOW = datetime(2026, 1, 1, tzinfo=UTC)
CALLS_PER_TURN = 5
REPEATS = 4
ROUNDS = 15
SIZE = (100, 40)
WORDS = "The tokens are split at *spaces*, so `quoted words` fall apart; the list below says where. "
ANSWER = f"{WORDS}\n\n- first point\n- second point\n\n```python\nprint('hello')\n```\n\n{WORDS}"


class Bench(ThemedApp[None], KeyWatch[None]):
    """A transcript and a prompt."""

    CSS_PATH = Path(ragforge.tui.__file__).with_name("theme.tcss")
    CSS = "TextArea { height: 3; }"

    def __init__(self) -> None:
        super().__init__()
        self.begin_with_theme("dark", terminal_is_dark=None)
        self.transcript = Transcript()
        self.prompt = TextArea()
        self.drawn = 0

    def compose(self) -> ComposeResult:
        yield self.transcript
        yield self.prompt

    def on_mount(self) -> None:
        self.prompt.focus()

    def _display(self, *args: object) -> None:
        super()._display(*args)
        self.drawn += 1


@dataclass
class Times:
    """Milliseconds of each measurement."""

    keys: list[float] = field(default_factory=list)
    scrolls: list[float] = field(default_factory=list)


def conversation(turns: int) -> tuple[list[Turn], list[Step], list[ToolCall]]:
    """Return a turn as the store would."""
    kept, steps, calls = [], [], []
    for index in range(turns):
        turn_id = f"turn-{index}"
        user = (TextPart(f"Question {index}: why does it break?"),)
        kept.append(Turn(turn_id, "s", None, index, user, NOW, TurnStatus.FINISHED, ANSWER))
        steps.append(Step(turn_id, 1, ModelMessage("fake", "fake", ANSWER)))
        calls += [
            ToolCall(
                f"{turn_id}-{n}",
                turn_id,
                1,
                n,
                "read",
                {"path": f"{n}.py"},
                CallStatus.OK,
                "1\n" * 40,
                NOW,
                12,
            )
            for n in range(CALLS_PER_TURN)
        ]
    return kept, steps, calls


@asynccontextmanager
async def streaming(turns: int) -> AsyncGenerator[tuple[Bench, Pilot[None]], None]:
    """Return an app with that many turns, and an answer that continues endlessly."""
    app = Bench()
    async with app.run_test(size=SIZE) as pilot:
        await app.transcript.load(*conversation(turns))
        app.transcript.show(TurnStarted(Turn("live", "s", None, turns, (TextPart("And now?"),), NOW)))
        await asyncio.sleep(1.0)  # the Markdown of the first screen
        yield app, pilot


async def stream(app: Bench) -> None:
    """Show words as a quick model sends them; a new paragraph now and then."""
    for count in range(sys.maxsize):
        app.transcript.show(TextDelta(f"word{count} " + ("\n\n" if count % 60 == 59 else "")))
        await asyncio.sleep(0.01)


async def until_drawn(app: Bench, act: Callable[[], object], changed: Callable[[], bool]) -> float:
    """Return the milliseconds until the result of `act` has been drawn."""
    start = perf_counter()
    act()
    while not changed():
        await asyncio.sleep(0)
    drawn = app.drawn
    while app.drawn == drawn:
        await asyncio.sleep(0)
    return (perf_counter() - start) * 1000


async def measure(app: Bench, times: Times) -> None:
    """Measure one key, and one scroll up and back to the end."""
    feeder = asyncio.create_task(stream(app))
    await asyncio.sleep(0.2)
    before = len(app.prompt.text)

    def press() -> None:
        app.post_message(events.Key("x", "x"))

    times.keys.append(await until_drawn(app, press, lambda: len(app.prompt.text) > before))
    turns = app.transcript.turns
    top = turns.scroll_y
    times.scrolls.append(await until_drawn(app, app.transcript.action_page_up, lambda: turns.scroll_y < top))
    await app.transcript.action_end()
    feeder.cancel()


async def main() -> None:
    short, long = Times(), Times()
    for app_turns, times in ((10, short), (1000, long)) * REPEATS:
        async with streaming(app_turns) as (app, _pilot):
            for _ in range(ROUNDS):
                await measure(app, times)
    print(f"{'min, median':12}{'10 turns':>14}{'1,000 turns':>18}{'ratio':>8}")
    for name in ("keys", "scrolls"):
        few, many = getattr(short, name), getattr(long, name)
        cells = "".join(f"{f'{min(v):.1f}  {median(v):.1f}':>18}" for v in (few, many))
        print(f"{name:8}{cells}{median(many) / median(few):8.2f}")


if __name__ == "__main__":
    asyncio.run(main())
