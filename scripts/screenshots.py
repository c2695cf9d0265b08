"""Create the README's pictures: docs/images/*.svg. Run by `make screenshots`.

A small day's work with the stand-in of tests/: the same script, clock and folder each time, so that a
picture changes only when the interface does.
"""

import asyncio
import os
import re
import shutil
import sqlite3
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path

from msgspec.structs import replace

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from ragforge.domain.events import ContextBuilt, ToolEnded  # noqa: E402
from tests.flow.beside import by_the_model  # noqa: E402
from tests.standins.gemini import (  # noqa: E402
    Call,
    Calls,
    Finish,
    GeminiStandIn,
    Recorded,
    Text,
    Thought,
    Tokens,
)
from tests.tui.waiting import send_line, until  # noqa: E402

IMAGES = ROOT / "docs" / "images"
SIZE = (100, 34)
MODEL = "gemini:gemini-3.8-flash"

CART = '''\
from decimal import Decimal


def total(prices: list[Decimal], discount: Decimal) -> Decimal:
    """What is to be paid."""
    return sum(prices) - discount
'''
TESTS = """\
import unittest
from decimal import Decimal

from cart import total


class TotalTest(unittest.TestCase):
    def test_a_discount_is_taken_off(self) -> None:
        self.assertEqual(total([Decimal("10")], Decimal("3")), Decimal("7"))
"""
OLD = "    return sum(prices) - discount"
NEW = '    return max(sum(prices, Decimal("0")) - discount, Decimal("0"))'

ANSWER = """\
`total` never goes below zero now, and an empty cart gives `Decimal("0")` rather than the integer `0`:

- a discount larger than the sum costs **nothing**, it does not pay the customer;
- the type is the same in every case, so that `quantize` works on it.

The test passes.
"""


def usage(prompt: int, candidates: int, thoughts: int = 0) -> Finish:
    return Finish(usage=Tokens(prompt=prompt, candidates=candidates, thoughts=thoughts))


REPLIES = (
    (
        Thought("The sum may become negative. I look at the code and at its tests first."),
        Calls(Call("grep", {"pattern": "def total"}), Call("read", {"path": "cart.py"})),
        usage(5_210, 64, 120),
    ),
    (Calls(Call("edit", {"path": "cart.py", "old": OLD, "new": NEW})), usage(6_020, 96)),
    (Calls(Call("shell", {"command": "python -m unittest -q"})), usage(6_400, 30)),
    (Text(ANSWER), usage(6_800, 110)),
)
EARLIER = (
    (
        "Why does the nightly import take two hours?",
        "It opens one transaction a row: `import_rows` commits inside the loop. "
        "One transaction for every 500 rows brings it to about four minutes.",
    ),
    (
        "Write a retry with backoff for the payment gateway",
        "`gateway.py` now tries five times, waits twice as long each time, and gives up on any 4xx.",
    ),
    (
        "Which tests touch the tax rules?",
        "Three: `test_tax.py`, `test_invoice.py`, and the import test, by way of its fixture.",
    ),
)

REMEMBERED = """\
It opened one transaction a row: `import_rows` committed inside the loop. With one for every 500 rows it takes
about four minutes instead of two hours.
"""
SUMMARIES = {
    **dict(EARLIER),
    "A discount larger than the cart": "`total` never goes below zero, and an empty cart gives Decimal zero.",
    "What did we find about": REMEMBERED,
}
"""The summary of each turn, by the request."""
MINUTES_AGO = (8650, 4 * 1440 + 30, 190)


@asynccontextmanager
async def open_app(*, size: tuple[int, int] = SIZE, **options: object) -> AsyncIterator[tuple]:
    from ragforge.cli.options import Options
    from ragforge.cli.start import open_for_interface
    from ragforge.tui.app import RagforgeApp
    from ragforge.tui.launch import NotOpened, OpenedChat

    async def open_session(*, embedded: bool = False) -> OpenedChat | NotOpened:
        return await open_for_interface(
            Options(cwd=Path.cwd(), **options),  # pyright: ignore
            embedded=embedded,
        )

    app = RagforgeApp(open_session, terminal_is_dark=True)
    async with app.run_test(size=size) as pilot:
        await until(pilot, lambda: getattr(app.screen, "conversation", None))
        chat = app.screen
        await until(pilot, lambda: not [worker for worker in app.workers if worker.group == "opening"])
        stop_the_clock(chat)
        yield app, pilot, chat
        chat.leave()
        await until(pilot, lambda: app._exit)


def stop_the_clock(chat) -> None:
    """Replace measured times, which differ from run to run: here every call takes as long."""
    show = chat.transcript.show

    def show_evenly(event) -> None:
        if isinstance(event, ToolEnded):
            event = replace(event, call=replace(event.call, duration_ms=120))
        if isinstance(event, ContextBuilt):
            event = replace(event, block=replace(event.block, took_ms=18))
        show(event)

    chat.transcript.show = show_evenly
    chat.transcript._clock = lambda: 0.0
    chat.prompt.cursor_blink = False


async def draw(app, pilot, name: str) -> None:
    await until(pilot, lambda: True)
    # The names inside contain a checksum of everything, the cursor's blinking included.
    svg = re.sub(r"terminal-\d+", "terminal", app.export_screenshot(title="ragforge"))
    (IMAGES / f"{name}.svg").write_text(svg, encoding="utf-8")
    print(f"docs/images/{name}.svg  {len(svg) // 1024} KB")


async def turn(pilot, chat, words: str) -> None:
    await send_line(pilot, words)
    await until(pilot, lambda: chat.resume_command and not chat.busy)


def summarised(request: Recorded) -> object:
    """Return the turn's summary, as a model would write it."""
    words = [summary for asked, summary in SUMMARIES.items() if asked in request.last_text]
    return by_the_model(" ".join(words[-1].split()))(request)


async def earlier_sessions(server: GeminiStandIn) -> None:
    for question, answer in EARLIER:
        server.script((Text(answer), usage(4_800, 90)))
        async with open_app(new=True) as (_, pilot, chat):
            await turn(pilot, chat, question)


def set_back(minutes: tuple[int, ...]) -> None:
    """Set the ages of sessions and turns in minutes, oldest first."""
    with closing(sqlite3.connect(Path(os.environ["RAGFORGE_DATA_DIR"]) / "ragforge.db")) as store, store:
        for key, ago in enumerate(minutes, start=1):
            ms = int((time.time() - 60 * ago) * 1000)
            store.execute("UPDATE session SET last_activity_at = ? WHERE key = ?", (ms, key))
            store.execute("UPDATE turn SET started_at = ? WHERE session = ?", (ms, key))


async def pictures(server: GeminiStandIn) -> None:
    await earlier_sessions(server)
    set_back(MINUTES_AGO)
    server.script(*REPLIES)
    async with open_app(new=True) as (app, pilot, chat):
        await send_line(pilot, "A discount larger than the cart makes the total negative. Please fix it.")
        await approval(pilot, chat)
        await draw(app, pilot, "approval")
        await consent(pilot, chat)
        await approval(pilot, chat)
        await consent(pilot, chat)
        await until(pilot, lambda: not chat.busy)
        await draw(app, pilot, "chat")
        await send_line(pilot, "/log")
        await until(pilot, lambda: app.screen is not chat and app.screen.query_one("#version-detail").text)
        await draw(app, pilot, "log")
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is chat)
        await send_line(pilot, "/search total transaction")
        await until(pilot, lambda: app.screen is not chat and app.screen._found)
        await draw(app, pilot, "search")
        await pilot.press("escape")
    set_back((*MINUTES_AGO, 21))
    server.script((Text(REMEMBERED), usage(5_400, 48)))
    async with open_app(new=True) as (app, pilot, chat):
        await turn(pilot, chat, "What did we find about the nightly import?")
        chat.query_one("RecalledView").action_open_close()
        await until(pilot, lambda: True)
        await draw(app, pilot, "recalled")
    async with open_app() as (app, pilot, chat):
        await until(pilot, lambda: chat.start_list.is_open)
        await pilot.press("down")
        await draw(app, pilot, "start")


async def approval(pilot, chat) -> None:
    dock = chat.query_one("ApprovalDock")
    await until(pilot, lambda: dock.panel is not None and dock.panel.armed)


async def consent(pilot, chat) -> None:
    dock = chat.query_one("ApprovalDock")
    answered = dock.panel
    await pilot.press("1")
    await until(pilot, lambda: dock.panel is not answered)


async def main() -> None:
    IMAGES.mkdir(parents=True, exist_ok=True)
    async with GeminiStandIn() as server:
        os.environ["GOOGLE_GEMINI_BASE_URL"] = server.url
        os.environ["GEMINI_API_KEY"] = server.key
        server.always_structured(summarised)
        await pictures(server)


def in_a_home_of_its_own() -> Path:
    """Create a folder like a user's, with nothing of the person who runs this."""
    home = Path(tempfile.mkdtemp(prefix="ragforge-pictures-"))
    for name in [name for name in os.environ if name.startswith(("RAGFORGE_", "GOOGLE_", "GEMINI_"))]:
        del os.environ[name]
    os.environ |= {
        "HOME": str(home),
        "RAGFORGE_DATA_DIR": str(home / "data"),
        "RAGFORGE_CONFIG_DIR": str(home / "config"),
        "RAGFORGE_MODEL": MODEL,
        "PYTHON_KEYRING_BACKEND": "keyring.backends.null.Keyring",
    }
    shop = home / "code" / "shop"
    git = shop / ".git"
    for folder in ("objects", "refs"):
        (git / folder).mkdir(parents=True)
    (git / "HEAD").write_text("ref: refs/heads/main\n")
    (shop / "cart.py").write_text(CART)
    (shop / "test_cart.py").write_text(TESTS)
    os.chdir(shop)
    return home


if __name__ == "__main__":
    home = in_a_home_of_its_own()
    try:
        asyncio.run(main())
    finally:
        os.chdir(ROOT)
        shutil.rmtree(home)
