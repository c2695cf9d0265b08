"""A text area that tells pastes from typing, whether or not the terminal does.

A terminal with bracketed paste marks pastes; with any other they are guessed from the times
at which the keys were read. The guess errs on the side of a paste, so it is only made for those terminals.
"""

import asyncio
from abc import abstractmethod
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from time import monotonic

from textual import events
from textual.timer import Timer

from ragforge.domain.errors import UsageError
from ragforge.tui.mentions import attached_words, may_be_dropped, mention_of_dropped
from ragforge.tui.textual_types import AbstractMeta
from ragforge.tui.widgets.fold_area import FoldArea
from ragforge.tui.widgets.paste import AFTER_ENTER_S, FLOOD_HOLD_S, HOLD_S, Burst, cleaned

BLINKS_MAX = 20
"""After so many blinks without a key, in ten seconds, the cursor stops, and nothing is drawn."""


class PasteArea(FoldArea, metaclass=AbstractMeta, inherit_bindings=False):
    """Calls `pressed` for a key of the user's, in order, and inserts pastes by itself.

    Keys are handled here and not by Textual's bindings: those run in the app's queue, so that a key typed
    right after Enter could come before it.
    """

    def __init__(
        self, *, id: str | None = None, placeholder: str = "", clock: Callable[[], float] = monotonic
    ) -> None:
        """clock: the one of Textual's events."""
        super().__init__(id=id, placeholder=placeholder)
        self.brackets_pastes = False
        """Whether the terminal marks pastes. Then nothing is guessed: Enter sends."""
        self.clock = clock
        self._burst = Burst()
        self._gathered: list[str] = []
        self._gathered_at_s = 0.0
        self._enter_at_s: float | None = None
        self._enter_timer: Timer | None = None
        self._blinks = 0
        """How often the cursor has come or gone since the last key."""

    # For subclasses

    @abstractmethod
    async def pressed(self, key: str, text: str) -> bool:
        """Process a key; `text` is what it would type, or "". Return whether it was used here."""

    @abstractmethod
    def sends(self, key: str) -> bool:
        """Whether this key, now, would send the text."""

    @abstractmethod
    def is_command(self, key: str) -> bool:
        """Whether this key does anything else than typing itself."""

    def after_paste(self) -> None:
        """A paste was inserted."""

    def attached(self, images: str) -> None:
        """Report what is sent with the message, a line each."""

    # For other modules

    @property
    def settled(self) -> bool:
        """Whether an Enter now would be one: no paste is being collected or has just ended."""
        is_waiting = bool(self._gathered) or self._enter_at_s is not None
        return not is_waiting and (self.brackets_pastes or not self._burst.enter_is_text(self.clock()))

    async def paste_in(self, paste: str) -> None:
        """Replace the selection by a paste: cleaned, folded if long, images as mentions."""
        text = cleaned(paste)
        # A path may be on a network drive that hangs.
        dropped = await asyncio.to_thread(mention_of_dropped, text) if may_be_dropped(text) else ""
        if dropped:
            await self.attach(dropped, Path())
            return
        self.type_over(self.folds.fold(text, beside=self.text))
        self.after_paste()

    async def attach(self, mentions: str, folder: Path) -> None:
        """Replace the selection by mentions of images, and report what is sent; undo removes them.

        folder: where relative ones start.
        """
        self.type_over(f"{mentions.strip()} ")
        self.after_paste()
        with suppress(UsageError):  # too large: reported when it is sent
            if images := await asyncio.to_thread(attached_words, mentions, (folder,)):
                self.attached(images)

    # Events

    async def _on_key(self, event: events.Key) -> None:
        event.prevent_default()
        key = event.key.replace("\r", "enter")  # xterm's modifyOtherKeys, as Textual names it
        text = text_of(key, event.character)
        guesses = not self.brackets_pastes
        await self._settle_enter(event.time if text and guesses else None)
        if guesses and text and self._is_pasted(key, text, event.time):
            event.stop()
            return
        await self._put_gathered()
        if not text:
            self._burst.other_key()
        self._restart_blink()
        if guesses and key == "enter" and self.sends(key):
            self._wait_for_more(event.time)
            event.stop()
        elif await self.pressed(key, text):
            event.stop()

    async def _on_paste(self, event: events.Paste) -> None:
        event.prevent_default()
        event.stop()
        self.brackets_pastes = True
        await self._settle_enter()
        await self._put_gathered()
        self._burst.other_key()
        await self.paste_in(event.text)

    # The cursor

    def _restart_blink(self) -> None:
        self._blinks = 0
        super()._restart_blink()

    def _toggle_cursor_blink_visible(self) -> None:
        self._blinks += 1
        if self._blinks < BLINKS_MAX:
            super()._toggle_cursor_blink_visible()
        else:
            self._pause_blink()

    # A paste that comes as keys

    def _is_pasted(self, key: str, text: str, at_s: float) -> bool:
        if self._gathered and self._is_flood(at_s):
            pasted = True
            self._burst.begin(at_s)
        elif key == "enter":
            pasted = self._burst.enter_is_text(at_s)
            if pasted:
                self._burst.begin(at_s)
        elif self.is_command(key) and not self._gathered:
            pasted = False
        else:
            pasted = self._burst.text_key(text, at_s)
        if pasted:
            self._gather(text)
        return pasted

    def _is_flood(self, at_s: float) -> bool:
        """Whether it was read soon after the last, and waited while that was processed.

        Thousands of keys keep the machine busy, and the reading falters.
        """
        return at_s <= self._gathered_at_s and at_s - self._burst.last_s <= FLOOD_HOLD_S

    def _gather(self, text: str) -> None:
        """Keep it for later: thousands of keys one by one would take minutes, and could not be folded."""
        if not self._gathered:
            # Its first characters looked like typing.
            if self._burst.let_through and self.selection.is_empty:
                self._gathered.append(self.take_before(self._burst.let_through))
            self._burst.let_through = 0
            self.set_timer(HOLD_S / 2, partial(self._put_when_over, 0))
        self._gathered.append(text)
        self._gathered_at_s = self.clock()

    async def _put_when_over(self, gathered: int) -> None:
        """Insert the paste once nothing was added between two checks."""
        if len(self._gathered) != gathered:
            self.set_timer(HOLD_S / 2, partial(self._put_when_over, len(self._gathered)))
        else:
            await self._put_gathered()

    async def _put_gathered(self) -> None:
        if self._gathered:
            paste, self._gathered = "".join(self._gathered), []
            await self.paste_in(paste)

    # Enter

    def _wait_for_more(self, at_s: float) -> None:
        """Send, unless more text follows at once: then this Enter was the beginning of a paste."""
        self._enter_at_s = at_s
        self._enter_timer = self.set_timer(AFTER_ENTER_S * 1.2, self._settle_enter)

    async def _settle_enter(self, next_text_at_s: float | None = None) -> None:
        if self._enter_at_s is None:
            return
        at_s, self._enter_at_s = self._enter_at_s, None
        if self._enter_timer:
            self._enter_timer.stop()
        if next_text_at_s is not None and next_text_at_s - at_s <= AFTER_ENTER_S:
            self._burst.begin(at_s)
            self._gather("\r")
        else:
            await self.pressed("enter", "\r")


def text_of(key: str, character: str | None) -> str:
    """Return the text that a key types, Enter's as `\\r`; "" for a key that is only a command."""
    named = {"enter": "\r", "ctrl+j": "\n", "tab": "\t"}
    if key in named:
        return named[key]
    if not character or key.split("+", maxsplit=1)[0] in ("alt", "ctrl", "super", "hyper", "meta"):
        return ""
    # Joiners in emoji and in some scripts are not printable for Python, although they are text.
    return character if character.isprintable() or character in "\u200c\u200d\u00ad" else ""
