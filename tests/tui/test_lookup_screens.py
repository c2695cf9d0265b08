"""`/help`, `/config` and `/theme`: looked up by typing, opened at the top, and applied at once."""

import os
from pathlib import Path

import pytest

from ragforge.tui.screens.lookup import LookupScreen
from ragforge.tui.theme import DARK, LIGHT
from ragforge.tui.widgets.entry_list import EntryList
from tests.tui.chat_app import Chat, Lab


def drawn(chat: Chat) -> str:
    strips = chat.app.screen._compositor.render_strips()
    return "\n".join("".join(segment.text for segment in strip).rstrip() for strip in strips)


async def opened(chat: Chat, command: str) -> LookupScreen:
    await chat.say(command)
    await chat.until(lambda: isinstance(chat.top, LookupScreen), f"{command} opens")
    return chat.top


def listed(screen: LookupScreen) -> list[str]:
    return [row.name for row in screen.query_one(EntryList).rows]


async def test_help_is_opened_at_the_top_with_what_is_used_most_and_is_searched(lab: Lab) -> None:
    async with lab.chat(size=(120, 40)) as chat:
        await chat.say("/cost")
        await chat.sees("nothing used yet")
        while "/cost" not in await chat.screen.ready().prompts():  # kept beside what it does
            await chat.pilot.pause()
        screen = await opened(chat, "/help")
        assert {*listed(screen)[:2]} == {"/help", "/cost"}
        assert listed(screen)[2] == "/sessions"
        assert "/cost" in drawn(chat)
        await chat.type("rewind")
        await chat.until(lambda: listed(screen)[:1] == ["/rewind"])
        await chat.pilot.press("enter")
        await chat.until(lambda: chat.draft.startswith("/rewind"), "it is written, not run")
        chat.screen.prompt.set_draft("")
        screen = await opened(chat, "/help ctrl+o")
        await chat.until(lambda: listed(screen)[0] == "Ctrl+O")
        assert len(listed(screen)) < 9
        await chat.pilot.press("escape")
        await chat.until(lambda: chat.top is chat.screen)


async def test_a_setting_is_looked_up_changed_and_holds_at_once(lab: Lab) -> None:
    async with lab.chat(size=(100, 30)) as chat:
        assert chat.app.theme == DARK.name
        screen = await opened(chat, "/config")
        assert listed(screen)[:2] == ["model", "theme"]
        await chat.type("theme")
        await chat.until(lambda: listed(screen)[:1] == ["theme"])
        assert "Colours; auto follows the terminal's background." in drawn(chat)
        await chat.pilot.press("enter")
        await chat.until(lambda: chat.draft.startswith("/config theme"), "it is written")
        await chat.say("/config theme light")
        await chat.until(lambda: chat.app.theme == LIGHT.name, "it holds at once")
        await chat.sees("It applies now.")
        await chat.say("/theme dark")
        await chat.until(lambda: chat.app.theme == DARK.name)
        await chat.say("/theme pink")
        await chat.sees("Unknown theme 'pink'. Available: auto, dark, light.")
        await chat.say("/config keys.hints enter")
        await chat.sees("keys.hints and keys.submit")
        assert "hints" not in (Path(os.environ["RAGFORGE_CONFIG_DIR"]) / "config.toml").read_text()
        await chat.say("/config keys.hints f9")
        await chat.until(lambda: chat.app._keymap.get("hints") == "f9", "so do keys")
        await chat.say("/config notify false")
        await chat.until(lambda: not chat.screen.ready().workspace.settings.notify)


@pytest.mark.parametrize("size", [(40, 12), (200, 60)])
@pytest.mark.parametrize("words", ["日本語 検索", "مرحبا", "👩‍👩‍👧", "x" * 300])
async def test_it_takes_whatever_is_typed_at_any_size(lab: Lab, size: tuple[int, int], words: str) -> None:
    async with lab.chat(size=size) as chat:
        screen = await opened(chat, "/help")
        assert max(map(len, drawn(chat).split("\n"))) <= size[0]
        assert screen.query_one(EntryList).size.width > size[0] // 2
        await chat.type(words[:12])
        await chat.until(lambda: "No matches." in drawn(chat))
        await chat.pilot.resize_terminal(50, 14)
        await chat.pilot.press("enter", "escape")
        await chat.until(lambda: chat.top is chat.screen)
