"""Every dialog with more than fits, resized while an answer streams below it.

What it shows stays in reach, and the focus, what was typed, the chosen row and the place in a text are kept.
"""

import inspect
from collections.abc import Awaitable, Callable
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

import pytest
from rich.cells import cell_len
from textual.geometry import Region
from textual.widget import Widget
from textual.widgets import Input, OptionList

from ragforge.commands.base import Option, run_command
from ragforge.domain.errors import StoreLoginRefused
from ragforge.domain.hints import HintAction, HintPayload, HintType, ProactiveHint
from ragforge.session.foresight import read_changes, read_expected
from ragforge.session.hints import SessionHints
from ragforge.session.memory_book import TurnText
from ragforge.session.trust import FileTrust
from ragforge.tui import screens
from ragforge.tui.launch import NotOpened
from ragforge.tui.screens.ask import AskScreen
from ragforge.tui.screens.choose import ChooseScreen
from ragforge.tui.screens.confirm import ConfirmScreen
from ragforge.tui.screens.dashboard import DashboardScreen
from ragforge.tui.screens.dialog import Dialog
from ragforge.tui.screens.expectation import ExpectedScreen
from ragforge.tui.screens.foresight import ForesightScreen
from ragforge.tui.screens.hints import HintsScreen
from ragforge.tui.screens.log import LogScreen
from ragforge.tui.screens.lookup import LookupScreen
from ragforge.tui.screens.memory import MemoryScreen
from ragforge.tui.screens.model import ModelScreen
from ragforge.tui.screens.rewind import RewindScreen
from ragforge.tui.screens.search import SearchScreen
from ragforge.tui.screens.sessions import SessionsScreen
from ragforge.tui.screens.store import StoreScreen
from ragforge.tui.screens.store_failure import NotOpenedScreen
from ragforge.tui.screens.trust import TrustAgainScreen, TrustScreen
from ragforge.tui.screens.turn import TurnScreen
from ragforge.tui.screens.turn_changes import TurnChangesScreen
from ragforge.tui.widgets.entry_list import LookupEntry
from ragforge.tui.widgets.row_list import RowList
from ragforge.versions.difference import as_text
from tests.standins.gemini import Call, Calls, Slow, Text
from tests.tui.chat_app import Chat, Lab

SIZES = [(40, 12), (100, 20), (200, 60)]
ODD = "端口 مرحبا بالعالم 👩‍👩‍👧 [bold]x[/] é ก็ "
LONG = "\n".join(f"{number}: {ODD * 3}" for number in range(1, 81))
REFUSED = StoreLoginRefused(f"The server at bolt://localhost:7687 refuses the password. {ODD * 8}")
REFUSED.ask_for = "bolt://localhost:7687"
FILES = (FileTrust(Path("AGENTS.md"), LONG),)
OPTIONS = tuple(Option(f"Answer {number}", ODD, f"a {number}") for number in range(1, 7))
ENTRIES = [LookupEntry(f"e{number}", f"/entry{number}", ODD, ODD * 4) for number in range(60)]
HINTS = tuple(
    ProactiveHint(
        str(number),
        HintType.INTENT_FOLLOWUP,
        ODD,
        ODD * 4,
        "Do it",
        HintPayload(HintAction.WRITE, ODD),
        0.5,
        "",
    )
    for number in range(20)
)


async def changed(chat: Chat) -> Any:
    """The files that the first turn changed."""
    session = chat.screen.ready().session
    return await read_changes(session, chat.screen.ran[0])


async def expected(chat: Chat) -> ExpectedScreen:
    found = await read_expected(chat.screen.ready().workspace, chat.screen.ran[0])
    return ExpectedScreen(*found)


async def turn_changes(chat: Chat) -> TurnChangesScreen:
    return TurnChangesScreen(ODD, await changed(chat))


async def choose(chat: Chat) -> ChooseScreen:
    return ChooseScreen(f"{ODD}?", ODD, OPTIONS, diff=as_text(await changed(chat)))


async def hints(chat: Chat) -> HintsScreen:
    offered = SessionHints(chat.screen.ready().session)
    offered.open = HINTS
    return HintsScreen(offered)


def of(make: Callable[[Any], Dialog[Any]]) -> Callable[[Chat], Awaitable[Dialog[Any]]]:
    """One that is made of the conversation."""

    async def made(chat: Chat) -> Dialog[Any]:
        return make(chat.screen.ready())

    return made


DIALOGS: dict[type[Dialog[Any]], Callable[[Chat], Awaitable[Dialog[Any]]]] = {
    AskScreen: of(lambda _: AskScreen(LONG)),
    ChooseScreen: choose,
    ConfirmScreen: of(lambda _: ConfirmScreen(f"{ODD}?", detail=LONG)),
    DashboardScreen: of(DashboardScreen),
    ExpectedScreen: expected,
    ForesightScreen: of(lambda conversation: ForesightScreen(conversation, 20)),
    HintsScreen: hints,
    LogScreen: of(LogScreen),
    LookupScreen: of(lambda _: LookupScreen(ODD, ENTRIES, hint="Enter takes it · Esc closes", words="entry")),
    MemoryScreen: of(MemoryScreen),
    ModelScreen: of(ModelScreen),
    NotOpenedScreen: of(lambda _: NotOpenedScreen(NotOpened(REFUSED, "/home/a/store.db"))),
    RewindScreen: of(RewindScreen),
    SearchScreen: of(lambda conversation: SearchScreen(conversation, "端口")),
    SessionsScreen: of(SessionsScreen),
    StoreScreen: of(StoreScreen),
    TrustAgainScreen: of(lambda _: TrustAgainScreen(FILES)),
    TrustScreen: of(lambda _: TrustScreen(FILES, can_leave=True)),
    TurnChangesScreen: turn_changes,
    TurnScreen: of(lambda _: TurnScreen(TurnText(ODD, LONG, LONG, "/session 1"))),
}


NAMED = {kind.__name__: make for kind, make in DIALOGS.items()} | {
    "command": of(lambda _: ConfirmScreen("May it run?", command=f"echo {ODD}" * 30)),
}


def kinds() -> set[Any]:
    """Every dialog that can be shown."""
    modules = [import_module(each.name) for each in iter_modules(screens.__path__, f"{screens.__name__}.")]
    found: Any = {kind for module in modules for _, kind in inspect.getmembers(module, inspect.isclass)}
    return {kind for kind in found if Dialog in kind.__mro__ and is_shown(kind)}


def is_shown(kind: Any) -> bool:
    """Whether it is more than what several have in common."""
    composes = any("compose" in vars(each) for each in kind.__mro__[: kind.__mro__.index(Dialog)])
    return composes and not inspect.isabstract(kind)


def test_every_dialog_is_resized_here() -> None:
    assert kinds() == set(DIALOGS)


def faults(chat: Chat) -> list[str]:
    """What of the dialog in front is out of sight, and cannot be scrolled to."""
    screen = chat.top
    if chat.app.size != screen.size:
        return ["not laid out yet"]
    room = Region(0, 0, *chat.app.size)
    [dialog] = screen.query(".dialog")
    found = [] if room.contains_region(dialog.region) else [f"the dialog is at {dialog.region}"]
    for each in (one for one in dialog.query("*") if one.display and not scrolls(one.parent, screen)):
        if each.region.area == 0 and (each.can_focus or each.has_class("dialog-hint", "dialog-choice")):
            found.append(f"{each!r} has no room")
        if not room.contains_region(each.region) or each.region.bottom > dialog.region.bottom:
            found.append(f"{each!r} is cut off at {each.region}")
    focused = screen.focused
    if focused is not None and not dialog.region.overlaps(focused.region):
        found.append(f"{focused!r}, which has the focus, is at {focused.region}")
    rows = ["".join(part.text for part in strip) for strip in screen._compositor.render_strips()]
    found += [f"a row is {cell_len(row)} wide" for row in rows if cell_len(row) != chat.app.size.width]
    return found


async def fits(chat: Chat) -> None:
    """Wait until nothing is out of sight."""
    try:
        await chat.until(lambda: not faults(chat))
    except AssertionError:
        raise AssertionError(f"at {chat.app.size}: {faults(chat)}") from None


def scrolls(widget: Any, screen: Widget) -> bool:
    """Whether it is in something that can be scrolled."""
    boxes = [each for each in widget.ancestors_with_self if each is not screen and isinstance(each, Widget)]
    return any(each.show_vertical_scrollbar for each in boxes)


def kept(chat: Chat) -> dict[str, Any]:
    """What a resize must not change."""
    screen = chat.top
    return {
        "focus": screen.focused,
        "typed": [each.value for each in screen.query(Input)],
        "rows": [each.chosen_key for each in screen.query(RowList)],
        "options": [each.highlighted for each in screen.query(OptionList)],
        "scrolled": [
            each.scroll_y > 0 for each in screen.query("VerticalScroll") if each.max_scroll_y and each.display
        ],
    }


@pytest.mark.parametrize("name", NAMED)
async def test_a_dialog_is_resized_while_an_answer_streams(lab: Lab, name: str) -> None:
    write = Call("write", {"path": "a.txt", "content": LONG})
    streamed = tuple(part for _ in range(2_000) for part in (Text(f"{ODD}\n\n"), Slow(0.2)))
    lab.gemini.script(Calls(write), Text(ODD), Text(ODD), streamed)
    async with lab.chat((200, 60), yolo=True) as chat:
        session = chat.screen.ready().session
        for number in range(12):
            await run_command(session, "remember", f"decision: {number} {ODD * 3}")
        for _ in range(2):
            await chat.say(ODD)
            await chat.turn_ended()
        dialog: Any = await NAMED[name](chat)
        await chat.say(ODD)
        await chat.until(lambda: chat.screen.transcript.is_live)
        await chat.app.push_screen(dialog)
        await chat.until(lambda: chat.top is dialog)
        await fits(chat)
        if hasattr(dialog, "_last_key_s"):
            dialog._last_key_s = 0.0  # it takes keys at once
        await chat.pilot.press("down", "down", "pagedown")
        before = kept(chat)
        for size in SIZES:
            await chat.pilot.resize_terminal(*size)
            await fits(chat)
        await chat.until(lambda: kept(chat) == before, f"{kept(chat)} is {before}")
        assert chat.screen.busy
        await chat.pilot.press("escape")
        await chat.until(lambda: chat.top is chat.screen)
        await chat.type("k")
        assert chat.draft == "k"
        await chat.pilot.press("escape")
        await chat.turn_ended()
