"""`/help`: every command and key, searchable; the last used ones first."""

from __future__ import annotations

import re

from ragforge.tui import keys
from ragforge.tui.screens.base import Chat, NamedScreen, interface_verbs
from ragforge.tui.screens.lookup import LookupScreen
from ragforge.tui.widgets.completion import by_use
from ragforge.tui.widgets.entry_list import LookupEntry

KEYS = "Enter copies it to the prompt · Up and Down choose · Esc closes"
_IN_A_SHELL = re.compile("`ragforge ([^`]+)`")
OWN = (
    LookupEntry(
        "!",
        "!COMMAND",
        "Run a shell command yourself.",
        "Run a shell command yourself. Its output is added to your next message; !!COMMAND keeps it from "
        "the model. Programs such as vim take over the terminal.",
    ),
    LookupEntry(
        "@", "@PATH", "Mention a file.", "Mention a file. Images are sent to models that accept them."
    ),
)


def entries(bound: dict[str, tuple[str, ...]], sent: list[str]) -> list[LookupEntry]:
    """Return the commands, last used first, then other input, and the keys."""
    verbs = interface_verbs()

    def as_typed_here(command: re.Match[str]) -> str:
        return f"/{command[1]}" if command[1].split()[0] in verbs else command[0]

    commands = [
        LookupEntry(
            f"/{verb.name}",
            f"/{verb.name}",
            verb.help,
            f"/{verb.name} {verb.usage}".rstrip()
            + f"\n{verb.help} {_IN_A_SHELL.sub(as_typed_here, verb.more)}".rstrip(),
            " ".join(verb.aliases),
        )
        for verb in (verbs[name] for name in by_use(list(verbs), sent))
    ]
    pressed = [
        LookupEntry(f"key {place} {shown} {does}", shown, does, f"{shown}, in the {place}: {does}")
        for place, shown, does in keys.help_rows(bound)
    ]
    return [*commands, *OWN, *pressed]


async def _open(chat: Chat, words: str) -> None:
    conversation = chat.ready()
    found = entries(keys.bindings(conversation.workspace.settings.keys), await conversation.prompts())
    chosen = await chat.ask(LookupScreen("Commands and keys", found, hint=KEYS, words=words))
    if chosen and not chosen.startswith("key "):
        chat.write(chosen if len(chosen) == 1 else f"{chosen} ")


SCREEN = NamedScreen("help", _open)
