"""A mouse, by what a terminal sends of it: the app makes clicks and drags of that itself."""

from collections.abc import Callable
from time import monotonic
from typing import Any, TypeAlias, cast

from textual._xterm_parser import XTermParser
from textual.widget import Widget

from tests.tui.chat_app import Chat

Place: TypeAlias = tuple[int, int]
LEFT, MIDDLE, RIGHT, DRAGGED, UP, DOWN = 0, 1, 2, 32, 64, 65


def rows(chat: Chat) -> list[str]:
    """What is on the screen."""
    return ["".join(part.text for part in strip) for strip in chat.top._compositor.render_strips()]


def place_of(chat: Chat, words: str) -> Place:
    """Where words are on the screen."""
    for y, row in enumerate(rows(chat)):
        if words in row:
            return row.index(words), y
    raise AssertionError(f"{words!r} is not on the screen:\n" + "\n".join(rows(chat)))


class Mouse:
    """Sends sequences (SGR) through the parser and the driver, as a terminal's are."""

    def __init__(self, chat: Chat) -> None:
        self._chat = chat
        self._parser = XTermParser()

    async def click(self, at: str | Widget | Place, *, button: int = LEFT, times: int = 1) -> None:
        x, y = self._place(at)
        for _ in range(times):
            await self._send((button, x, y, "M"), (button, x, y, "m"))

    async def wheel(self, at: str | Widget | Place, *, down: bool = True, times: int = 1) -> None:
        x, y = self._place(at)
        for _ in range(times):
            await self._send((DOWN if down else UP, x, y, "M"))

    async def drag(self, start: str | Widget | Place, end: str | Widget | Place) -> None:
        (x, y), (to_x, to_y) = self._place(start), self._place(end)
        await self._send((LEFT, x, y, "M"))
        for part in (1, 2, 3):
            await self._send((DRAGGED, x + (to_x - x) * part // 3, y + (to_y - y) * part // 3, "M"))
        await self._send((LEFT, to_x, to_y, "m"))

    async def until(self, at: str | Widget, fact: Callable[[], Any]) -> None:
        """Click until it is so: a question takes no click while it is new."""
        x, y = self._place(at)
        while not fact():
            await self._send((LEFT, x, y, "M"), (LEFT, x, y, "m"))

    def _place(self, at: str | Widget | Place) -> Place:
        if isinstance(at, tuple):
            return at
        if isinstance(at, str):
            return place_of(self._chat, at)
        return at.region.x + at.region.width // 2, at.region.y + at.region.height // 2

    async def _send(self, *each: tuple[int, int, int, str]) -> None:
        driver = cast(Any, self._chat.app)._driver
        for button, x, y, end in each:
            for event in self._parser.feed(f"\x1b[<{button};{x + 1};{y + 1}{end}"):
                event.time = monotonic()
                driver.process_message(event)
        await self._chat.pilot.pause()
