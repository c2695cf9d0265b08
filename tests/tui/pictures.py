"""Screens as text at four widths; and in both themes nothing in them that cannot be read."""

import re
from collections.abc import Callable

from rich.cells import cell_len
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode
from textual.color import Color
from textual.geometry import Region
from textual.widgets import Input

from ragforge.tui.theme import DARK, LIGHT
from tests.tui.chat_app import Chat
from tests.tui.waiting import until_still

SIZES = [(40, 24), (80, 24), (120, 30), (200, 50)]
CONTRAST_MIN = 4.5
"""Of text, as WCAG 2.2 wants it (1.4.3)."""
BOXES = set("╭╮╰╯│─▎▌▊▁▂▃▄▅▆▇█")
"""Borders and scroll bars, which are no words."""
CHANGING = re.compile(r"\b[0-9a-f]{8}\b|sqlite:[^│]*")
"""Ids and the place of the store, which differ from run to run."""
TOOK = re.compile(r" · [\d.]+ m?s(?= )")
"""How long a call took, which is told if it was long."""


class AsText(SingleFileSnapshotExtension):
    """A file a screen, all widths in it."""

    _write_mode = WriteMode.TEXT
    _file_extension = "txt"


def in_front(chat: Chat) -> Region:
    """Where the dialog in front is."""
    return chat.top.query_one(".dialog").region


def all_of_it(chat: Chat) -> Region:
    """The whole screen."""
    return chat.top.region


def rows_of(chat: Chat, region: Region) -> list[str]:
    """What is seen there."""
    strips = [strip.crop(region.x, region.right) for strip in chat.top._compositor.render_strips()]
    rows = ["".join(part.text for part in strip) for strip in strips[region.y : region.bottom]]
    rows = [CHANGING.sub(lambda found: "xxxxxxxx".ljust(len(found[0])), row) for row in rows]
    return [TOOK.sub(lambda found: " " * len(found[0]), row).rstrip() for row in rows]


def unreadable(chat: Chat, region: Region) -> list[str]:
    """The words there that are too pale on what they stand on."""
    strips = [strip.crop(region.x, region.right) for strip in chat.top._compositor.render_strips()]
    found: list[str] = []
    for part in (part for strip in strips[region.y : region.bottom] for part in strip):
        style, text = part.style, part.text.strip()
        if text and style and style.color and style.bgcolor and not set(text) <= BOXES:
            inks = (Color.from_rich_color(style.color), Color.from_rich_color(style.bgcolor))
            if contrast(*inks) < CONTRAST_MIN:
                found.append(f"{text!r}: {contrast(*inks):.2f}, {inks[0].hex} on {inks[1].hex}")
    return found


async def _still(chat: Chat) -> None:
    """Wait until nothing moves. While a call waits for the user, the turn's worker is there."""
    if chat.panel is None:
        await until_still(chat.pilot, looks=2)
        return
    before: list[str] = []
    while before != (now := rows_of(chat, all_of_it(chat))):
        before = now
        await chat.pilot.pause(0.1)


def contrast(first: Color, second: Color) -> float:
    """Source: WCAG 2.2, "contrast ratio" and "relative luminance"."""
    bright, dark = sorted((luminance(first), luminance(second)), reverse=True)
    return (bright + 0.05) / (dark + 0.05)


def luminance(colour: Color) -> float:
    parts = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in colour.normalized
    )
    return sum(share * part for share, part in zip((0.2126, 0.7152, 0.0722), parts, strict=True))


def hide_what_is_behind(chat: Chat) -> None:
    """Draw nothing behind the dialog in front: at each picture all of it would be drawn and tinted."""
    chat.top.styles.background = chat.top.styles.background.with_alpha(1)


async def picture(chat: Chat, where: Callable[[Chat], Region] = in_front) -> str:
    """The dialog in front at each size, or what is seen elsewhere. It is looked at in both themes too.

    It ends in the other theme than it began in, for to change it draws everything anew.
    """
    for field in chat.top.query(Input):
        field.cursor_blink = False
    if where is in_front:
        hide_what_is_behind(chat)
    shown: list[str] = []
    for size in SIZES:
        await chat.pilot.resize_terminal(*size)
        await _still(chat)
        rows = rows_of(chat, where(chat))
        assert max(map(cell_len, rows)) <= size[0]
        shown += [f"{size[0]} columns", *rows, ""]
    for theme in sorted((LIGHT.name, DARK.name), key=lambda name: name != chat.app.theme):
        chat.app.theme = theme
        await _still(chat)
        pale = unreadable(chat, where(chat))
        assert not pale, f"{theme}: {'; '.join(pale)}"
    return "\n".join(shown)
