"""Every dialog at four widths, as text; and in both themes nothing in it that cannot be read.

After a change that is meant: `pytest tests/tui/test_screen_pictures.py --snapshot-update`, then look.
"""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from ragforge.commands.base import Option
from ragforge.domain import timeouts, words
from ragforge.domain.errors import StoreLoginRefused
from ragforge.session.foresight import read_changes
from ragforge.session.memory_book import TurnText
from ragforge.tui.launch import NotOpened
from ragforge.tui.screens.ask import AskScreen
from ragforge.tui.screens.choose import ChooseScreen
from ragforge.tui.screens.confirm import ConfirmScreen
from ragforge.tui.screens.dialog import Dialog
from ragforge.tui.screens.store import StoreScreen
from ragforge.tui.screens.store_failure import NotOpenedScreen
from ragforge.tui.screens.turn import TurnScreen
from ragforge.tui.screens.turn_changes import TurnChangesScreen
from ragforge.tui.widgets.fact_columns import FactColumns
from ragforge.versions.book import VersionBook
from tests.standins.gemini import Call, Calls, Text
from tests.tui.chat_app import Chat, Lab
from tests.tui.pictures import AsText, picture

KEYS_FIRST = {"log": "down", "rewind": "up"}
"""To come to what changed a file."""
REFUSED = StoreLoginRefused("The server at bolt://localhost:7687 refuses the password.")
REFUSED.ask_for = "bolt://localhost:7687"
CONFLICT = (
    Option("Keep", "leave them as they are, and restore the other files", "keep"),
    Option("Restore", "undo your changes as well; a version keeps them", "restore"),
    Option("Merge", "write both, with markers where they differ", "merge"),
)
MADE: dict[str, Callable[[], Dialog[Any]]] = {
    "ask": lambda: AskScreen("Which branch should be released?"),
    "choose": lambda: ChooseScreen(
        "Two files have changed since that turn. What should happen to them?",
        "shop/retry.py, README.md",
        CONFLICT,
        diff="--- a/README.md\n+++ b/README.md\n@@ -1 +1 @@\n-Retries three times.\n+Retries five times.\n",
    ),
    "confirm": lambda: ConfirmScreen(
        "Delete “Retry with backoff”?", detail="Permanently deletes: 3 turns and 4 tool calls."
    ),
    "confirm-command": lambda: ConfirmScreen(
        "Run this shell command?",
        detail="The command /review of this project contains it.",
        command="git diff HEAD~1 --stat",
    ),
    "not-opened": lambda: NotOpenedScreen(NotOpened(REFUSED, "/home/ada/.local/share/ragforge/store.db")),
    "turn": lambda: TurnScreen(
        TurnText(
            "Retry with backoff · turn 2",
            "Rename retry to backoff, and use PostgreSQL because the locks of MySQL were slow.",
            "Renamed. The queue uses PostgreSQL from now on.",
            "/rewind 2",
        )
    ),
}


async def close(chat: Chat) -> None:
    while (top := chat.top) is not chat.screen:
        await chat.pilot.press("escape")
        await chat.until(lambda top=top: chat.top is not top, f"{top!r} closes")
    assert chat.app.focused is chat.screen.prompt


async def work(chat: Chat, lab: Lab) -> None:
    """Two turns that change a file, one that does not."""
    code = "def retry(times):\n    yield 1\n"
    edit = {"path": "shop/retry.py", "old": "def retry", "new": "def backoff"}
    for said, call in (
        ("Write a retry with backoff", Call("write", {"path": "shop/retry.py", "content": code})),
        ("Rename retry to backoff, and say why", Call("edit", edit)),
        ("Run the tests", Call("shell", {"command": "true"})),
    ):
        lab.gemini.script(Calls(call), Text(f"Done: {said}."))
        await chat.say(said)
        await chat.turn_ended()


async def open_store(chat: Chat) -> None:
    """With facts that do not differ from run to run."""
    await chat.say("/store")
    await chat.until(lambda: isinstance(chat.top, StoreScreen), "it opens")
    shown = chat.top.query_one(FactColumns)
    await chat.until(lambda: "SQLite" in shown.text, "its facts")
    place = "/home/ada/.local/share/ragforge/ragforge.db"
    changing = {"kind": "SQLite", "location": place, "schema": "25", "latency": "0.1 ms", "size": "0.9 MB"}
    shown.show([(name, changing.get(name, words)) for name, words in shown.facts])


async def test_every_dialog_looks_as_it_should(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
) -> None:
    monkeypatch.setattr(words, "MINUTE_S", 1_000_000)  # what was just now stays so
    lab.set_environ(RAGFORGE_MEMORY_ENABLED="false")
    (lab.project / "AGENTS.md").write_text("# Shop\n\nUse uv, never pip.\n")
    looks_the_same = snapshot.use_extension(AsText)
    async with lab.chat(yolo=True, new=True) as chat:
        await chat.until(lambda: chat.top is not chat.screen, "whether AGENTS.md is trusted")
        chat.top._last_key_s -= timeouts.APPROVAL_QUIET_S
        await chat.pilot.press("1")
        await chat.until(lambda: chat.top is chat.screen)
        await work(chat, lab)

        async def compare(name: str, opens: Callable[[], Awaitable[object]]) -> None:
            await opens()
            await chat.until(lambda: chat.top is not chat.screen, name)
            if name in KEYS_FIRST:
                await chat.pilot.press(KEYS_FIRST[name])
            assert await picture(chat) == looks_the_same(name=name)
            await close(chat)

        for name in ("help", "config", "model", "log", "rewind", "theme", "sessions", "memory", "trust"):
            await compare(name, lambda name=name: chat.say(f"/{name}"))
        await compare("search", lambda: chat.say("/search retry with backoff"))
        await compare("store", lambda: open_store(chat))
        for name, make in MADE.items():
            await compare(name, lambda make=make: chat.app.push_screen(make()))
        session = chat.screen.ready().session
        for row in await VersionBook(session.worktree).turns(session.live.record.head):
            files, number = await read_changes(session, row.turn.id), row.turn.index + 1
            screen = TurnChangesScreen(f"Turn {number}", files)
            await compare(f"changes-{number}", lambda screen=screen: chat.app.push_screen(screen))
