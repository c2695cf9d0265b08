"""The whole app in tests: a real store in tmp_path, the real client against the stand-in."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Markdown, Static

from ragforge.cli.options import Options
from ragforge.cli.start import open_for_interface
from ragforge.domain import timeouts
from ragforge.tui.app import RagforgeApp
from ragforge.tui.chat.screen import ChatScreen
from ragforge.tui.launch import Leaving, NotOpened, OpenedChat
from ragforge.tui.screens.confirm import ConfirmScreen
from ragforge.tui.widgets.approval import ApprovalDock, ApprovalPanel
from ragforge.tui.widgets.plain import PlainText
from ragforge.tui.widgets.start_list import StartList
from ragforge.tui.widgets.status_line import StatusLine, status_words
from tests.flow.running import environ
from tests.standins.gemini import GeminiStandIn
from tests.tui.waiting import press_enter, until

WIDE = 400


@dataclass
class Chat:
    """An app that runs, and what a user sees of it and does with it."""

    app: RagforgeApp
    pilot: Pilot[Leaving]

    @property
    def screen(self) -> ChatScreen:
        return chat_of(self.app)

    @property
    def top(self) -> Any:
        return self.app.screen

    @property
    def start_list(self) -> StartList:
        return self.screen.start_list

    @property
    def draft(self) -> str:
        return self.screen.prompt.draft

    @property
    def status(self) -> str:
        return status_words(self.screen.query_one(StatusLine).status, WIDE)

    @property
    def doing(self) -> str:
        """What the line above the prompt tells of; empty while it is not shown."""
        live = self.screen.parts.live
        return str(live.render()) if live.display else ""

    @property
    def panel(self) -> ApprovalPanel | None:
        return self.screen.query_one(ApprovalDock).panel

    def words(self) -> str:
        """All that the conversation shows, line by line; nothing before it is there."""
        if self.screen._parts is None:
            return ""
        found = [
            widget.source if isinstance(widget, Markdown) else widget.text
            for widget in self.screen.transcript.walk_children()
            if isinstance(widget, Markdown | PlainText) and widget.display
        ]
        return "\n".join(found)

    def notices(self) -> str:
        """What is said in a corner for a moment."""
        return "\n".join(str(notification.message) for notification in self.app._notifications)

    async def until(self, condition: Any, what: str = "") -> None:
        await until(self.pilot, condition, what=what or f"{self.words()!r}")

    async def sees(self, text: str) -> None:
        await until(self.pilot, lambda: text in self.words(), what=f"{text!r} is seen")

    async def fits_40x12(self, listed: type[Static], rows: int = 3) -> None:
        """The dialog in front, made as small as it may be, shows rows of its list and the keys below it."""
        before = self.app.size
        await self.pilot.resize_terminal(40, 12)
        keys, shown = self.top.query_one(".dialog-hint"), self.top.query_one(listed)
        await self.until(
            lambda: 12 >= keys.region.bottom > keys.region.y and shown.region.height >= rows,
            "a list and its keys at 40x12",
        )
        await self.pilot.resize_terminal(*before)
        await self.until(lambda: self.app.size == before, "as it was")

    async def say(self, text: str) -> None:
        """Send a line, which takes less time than typing it."""
        self.screen.prompt.set_draft(text)
        await press_enter(self.pilot)

    async def type(self, text: str) -> None:
        await self.pilot.press(*text)

    async def enter(self) -> None:
        await press_enter(self.pilot)

    async def turn_ended(self) -> None:
        await until(self.pilot, lambda: not self.screen.busy, what="the turn has ended")

    async def answers(self, key: str) -> None:
        """Answer the question in front, once it is there."""
        await self.until(lambda: isinstance(self.top, ConfirmScreen), "a question")
        question = self.top
        question._last_key_s -= timeouts.APPROVAL_QUIET_S
        await self.pilot.press(key)
        await self.until(lambda: self.top is not question, "the question went")

    async def asked(self) -> ApprovalPanel:
        """The approval, once it takes keys."""
        await until(self.pilot, lambda: self.panel is not None and self.panel.armed, what="an approval")
        assert self.panel is not None
        return self.panel


@dataclass
class Lab:
    """A machine of its own: home, project folder, store, model server."""

    tmp_path: Path
    gemini: GeminiStandIn
    monkeypatch: pytest.MonkeyPatch
    left: Leaving | None = field(default=None)
    """What the last app left in the terminal."""
    store_answers: asyncio.Event | None = field(default=None)
    """Where it is there, nothing opens before it is set."""

    @property
    def project(self) -> Path:
        return self.tmp_path / "home" / "code" / "shop"

    def set_environ(self, *, key: bool = True, model: str | None = None, **more: str) -> None:
        env = environ(self.tmp_path, self.gemini, **more)
        if model is not None:
            env["RAGFORGE_MODEL"] = model
        for name, value in env.items():
            self.monkeypatch.setenv(name, value)
        if not key:
            self.monkeypatch.delenv("GEMINI_API_KEY")
            self.monkeypatch.delenv("RAGFORGE_MODEL")
        self.project.mkdir(parents=True, exist_ok=True)

    def app(self, *, terminal_is_dark: bool = True, **options: Any) -> RagforgeApp:
        async def open_session(*, embedded: bool = False) -> OpenedChat | NotOpened:
            if self.store_answers:
                await self.store_answers.wait()
            return await open_for_interface(Options(cwd=self.project, **options), embedded=embedded)

        return RagforgeApp(open_session, terminal_is_dark=terminal_is_dark)

    @asynccontextmanager
    async def chat(
        self, size: tuple[int, int] = (100, 30), *, opens: bool = True, **options: Any
    ) -> AsyncIterator[Chat]:
        """The app, opened unless not awaited; it is closed afterwards as by Ctrl+D."""
        app = self.app(**options)
        async with app.run_test(size=size) as pilot:
            chat = Chat(app, pilot)
            if opens:
                await until(pilot, lambda: self._is_open(app), what="the app is open")
            yield chat
            if app.is_running and app._exit is False:
                chat.screen.leave()
                await until(pilot, lambda: app._exit, what="the app leaves")
        self.left = app.return_value

    def _is_open(self, app: RagforgeApp) -> bool:
        """Opened, or asking something first."""
        if app._exit or not app.screen_stack:
            return app._exit
        asks = not isinstance(app.screen, ChatScreen)
        return chat_of(app).conversation is not None and (asks or not is_opening(app))


def is_opening(app: RagforgeApp) -> bool:
    """Whether the work of opening is still going on."""
    return any(worker.group == "opening" for worker in app.workers)


def chat_of(app: RagforgeApp) -> ChatScreen:
    """The chat, below whatever is over it."""
    return next(screen for screen in app.screen_stack if isinstance(screen, ChatScreen))
