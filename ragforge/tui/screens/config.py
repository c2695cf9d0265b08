"""`/config`: every setting with its value and its source, searchable and editable."""

from __future__ import annotations

from ragforge.config.settings import SettingRow
from ragforge.tui.screens.base import Chat, NamedScreen
from ragforge.tui.screens.lookup import LookupScreen
from ragforge.tui.widgets.entry_list import LookupEntry

KEYS = "Enter copies it to the prompt to change it · Esc closes"
FIRST = ("model", "theme", "mode", "mouse", "notify", "start", "context.profile", "memory.enabled")
"""Those that are changed most."""


def entries(rows: list[SettingRow]) -> list[LookupEntry]:
    """Return those that are changed most first, the others in the order of the documentation."""
    found = sorted(rows, key=lambda row: FIRST.index(row.key) if row.key in FIRST else len(FIRST))
    return [
        LookupEntry(
            row.key,
            row.key,
            f"{row.value or '(empty)'}  ({row.source})",
            f"{row.key} = {row.value or '(empty)'} ({row.source})\n{row.about}",
        )
        for row in found
    ]


async def _open(chat: Chat, words: str) -> None:
    rows = chat.ready().workspace.loaded.rows()
    chosen = await chat.ask(LookupScreen("Settings", entries(rows), hint=KEYS, words=words))
    if chosen == "store":
        chat.write("/store ")
    elif chosen:
        chat.write(f"/config {chosen} ")


SCREEN = NamedScreen("config", _open)
