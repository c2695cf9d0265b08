"""`/theme`: change the colours at once, and save them in the user's settings."""

from __future__ import annotations

from ragforge.commands.base import Option
from ragforge.domain.arguments import word
from ragforge.domain.errors import UsageError
from ragforge.tui.screens.base import Chat, NamedScreen
from ragforge.tui.screens.choose import ChooseScreen

THEMES = {
    "auto": "follow the terminal's background",
    "dark": "light text on a dark background",
    "light": "dark text on a light background",
}


async def _open(chat: Chat, name: str) -> None:
    if name and name not in THEMES:
        raise UsageError(f"Unknown theme {name!r}. Available: {', '.join(THEMES)}.")
    if not name:
        now = chat.ready().workspace.settings.theme
        options = [Option(each, meaning, each) for each, meaning in THEMES.items()]
        chosen = await chat.ask(ChooseScreen("Which colours?", f"Now: {now}.", options))
        if not chosen:
            return
        name = chosen
    await chat.run_line(f"config theme {name}")


SCREEN = NamedScreen(
    "theme", _open, "Change the colours: auto, dark or light.", word("NAME", "The theme."), while_running=True
)
