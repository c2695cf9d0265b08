"""Every dialog, resized while it is open: its keys and its list stay in sight."""

from collections.abc import Callable

from rich.cells import cell_len
from textual.geometry import Region
from textual.widgets import Input, OptionList

from ragforge.commands.base import Option
from ragforge.domain import timeouts
from ragforge.domain.errors import StoreLoginRefused
from ragforge.tui.launch import NotOpened
from ragforge.tui.screens.ask import AskScreen
from ragforge.tui.screens.base import find_screens
from ragforge.tui.screens.choose import ChooseScreen
from ragforge.tui.screens.confirm import ConfirmScreen
from ragforge.tui.screens.dialog import Dialog
from ragforge.tui.screens.store_failure import NotOpenedScreen
from tests.standins.gemini import Text
from tests.tui.chat_app import Chat, Lab

SIZES = [(40, 12), (200, 60), (40, 12)]
ODD = "端口 مرحبا بالعالم 👩‍👩‍👧 [bold]x[/] é ก็ " * 4
COMMANDS = {
    **{name: f"/{name}" for name in find_screens() if name not in ("theme", "trust", "hints", "search")},
    "search": "/search 端口",
    "turn": "/search 端口",
}
REFUSED = StoreLoginRefused("The server at bolt://localhost:7687 refuses the password. " * 2)
REFUSED.ask_for = "bolt://localhost:7687"
OTHERS: dict[str, Callable[[], Dialog]] = {
    "ask": lambda: AskScreen(f"{ODD}?"),
    "choose": lambda: ChooseScreen(f"{ODD}?", ODD, (Option("Yes", ODD, "y"), Option("No", "as it is", "n"))),
    "confirm": lambda: ConfirmScreen(f"{ODD}?", detail=ODD * 3),
    "command": lambda: ConfirmScreen("May it run?", command=f"echo {ODD}" * 3),
    "not opened": lambda: NotOpenedScreen(NotOpened(REFUSED, "/home/a/store.db")),
}


def faults(chat: Chat) -> list[str]:
    """What of the dialog in front is out of sight."""
    screen, found = chat.top, []
    room = Region(0, 0, *chat.app.size)
    if chat.app.size != screen.size:
        return ["not laid out yet"]
    for each in screen.query(".dialog, .dialog-hint, .dialog-choice"):
        scrolls = any(box.max_scroll_y for box in screen.query(".dialog") if box in each.ancestors)
        if each.display and not scrolls and not (each.region.area and room.contains_region(each.region)):
            found.append(f"{each!r} at {each.region}")
    lists = [each for each in screen.query(OptionList) if each.display] + list(screen.query(Input))
    found += [f"{each!r} has no rows" for each in lists if each.display and each.region.height < 1]
    focused = screen.focused
    if focused is not None and not room.overlaps(focused.region):
        found.append(f"{focused!r}, which has the focus, is at {focused.region}")
    rows = ["".join(part.text for part in strip) for strip in screen._compositor.render_strips()]
    found += [f"a row is {cell_len(row)} wide" for row in rows if cell_len(row) != chat.app.size.width]
    return found


async def looked_at(chat: Chat) -> None:
    """Resize the dialog in front to each size and look."""
    for size in SIZES:
        await chat.pilot.resize_terminal(*size)
        await chat.until(lambda: not faults(chat), f"{chat.top!r} {size} {faults(chat)}")
    top = chat.top
    while chat.top is not chat.screen:
        if isinstance(top, ConfirmScreen):
            top._last_key_s -= timeouts.APPROVAL_QUIET_S
        await chat.pilot.press("escape")
        await chat.until(lambda top=top: chat.top is not top, f"{top!r} closes")
        top = chat.top


async def test_every_dialog_can_be_resized_and_shows_its_keys(lab: Lab) -> None:
    lab.gemini.script(Text(ODD))
    async with lab.chat() as chat:
        await chat.say(ODD)
        await chat.turn_ended()
        await chat.say(f"/remember {ODD}")
        for name, line in COMMANDS.items():
            await chat.say(line)
            await chat.until(lambda: chat.top is not chat.screen, name)
            if name == "turn":
                await chat.pilot.press("right")
            await looked_at(chat)
        for make in OTHERS.values():
            dialog = make()
            await chat.app.push_screen(dialog)
            await chat.until(lambda dialog=dialog: dialog.is_mounted and chat.top is dialog)
            await looked_at(chat)
