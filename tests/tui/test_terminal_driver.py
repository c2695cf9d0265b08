"""The terminal may go while the interface is drawn."""

import os
import sys
import threading
from typing import Any

import pytest
from textual.app import App
from textual.drivers._writer_thread import WriterThread

from ragforge.tui.terminal_driver import TerminalDriver


async def test_what_is_drawn_for_a_closed_window_holds_nothing_up(monkeypatch: pytest.MonkeyPatch) -> None:
    window, terminal = os.openpty()
    with os.fdopen(terminal, "w") as file:
        monkeypatch.setattr(sys, "__stderr__", file)
        driver: Any = TerminalDriver(App[None]())
        writer = WriterThread(driver._file)
        writer.start()
        os.close(window)

        def draw() -> None:
            for _ in range(200):
                writer.write("x" * 100)
            writer.stop()

        drawing = threading.Thread(target=draw, daemon=True)
        drawing.start()
        drawing.join(20)
        assert not drawing.is_alive()
