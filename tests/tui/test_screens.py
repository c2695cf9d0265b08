"""What the screens look like, with nothing in them that changes from run to run."""

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from textual.pilot import Pilot
from textual.widgets import Input

from ragforge.cli.interactive import look_of
from ragforge.cli.options import Options
from ragforge.cli.start import open_for_interface
from ragforge.domain import words
from ragforge.domain.approvals import ApprovalAnswer, ApprovalRequest, ConsentAnswer, Mode
from ragforge.domain.messages import TextPart
from ragforge.domain.schedule import Timing
from ragforge.memory.derive.vectors import embed_owners
from ragforge.session.background import Background
from ragforge.session.open import close_session, close_workspace, new_session, open_workspace
from ragforge.session.state import Workspace
from ragforge.session.turn import submit
from ragforge.tui.app import RagforgeApp
from ragforge.tui.chat.screen import ChatScreen
from ragforge.tui.launch import Known, NotOpened, OpenedChat
from tests.flow.running import environ
from tests.tui.chat_app import chat_of
from tests.tui.waiting import press_enter, until

Compare = Callable[..., bool]
NEVER_S = 1_000_000.0
Said = tuple[tuple[str, ...], ...]
"""The messages of each session."""

SAID: Said = (
    ("Why does the nightly import take two hours?", "And which rows are slow?"),
    ("Write a retry with backoff for the payment gateway",),
    ("Which tests touch the tax rules?",),
)
SAID_ONCE: Said = (*((first,) for first, *_ in SAID), ("Rename the table of the orders",))
"""Nothing of which answers another: an answer without a model quotes times and ids of what it found, and its
vector would be another in each run."""


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project folder in a home of its own, where no model is chosen.

    Nothing is summarised in the background: how far that has come would be seen in the pictures.
    """
    folder = tmp_path / "home" / "code" / "shop"
    folder.mkdir(parents=True)
    # A loaded machine may need more than a minute for a picture: what was just now stays so.
    monkeypatch.setattr(words, "MINUTE_S", NEVER_S)
    for name, value in environ(tmp_path, RAGFORGE_MEMORY_ENABLED="false").items():
        monkeypatch.setenv(name, value)
    return folder


@pytest.fixture
def shop_with_sessions(shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RAGFORGE_MODEL", "local")
    asyncio.run(_talk(shop, tmp_path, SAID))
    return shop


@pytest.fixture
def shop_of_single_turns(shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RAGFORGE_MODEL", "local")
    asyncio.run(_talk(shop, tmp_path, SAID_ONCE))
    return shop


async def _talk(folder: Path, home: Path, said: Said) -> None:
    async def no(request: ApprovalRequest) -> ApprovalAnswer:
        return ApprovalAnswer(ConsentAnswer.NO)

    env = environ(home, RAGFORGE_MODEL="local", RAGFORGE_MEMORY_ENABLED="false")
    opened = await open_workspace(cwd=folder, flags={}, environ=env)
    # No vectors are made meanwhile: by them an answer would find what was said before, or not, as they come.
    workspace = replace(opened, background=Background(Timing(start_s=NEVER_S)))
    for texts in said:
        session = await new_session(workspace)
        for text in texts:
            async for _ in submit(session, (TextPart(text),), no):
                pass
        await close_session(session)
    # Else how many are still to be made stands on the screen for a moment.
    await embed_all(workspace)
    await close_workspace(workspace)


async def embed_all(workspace: Workspace) -> None:
    """Make the vectors that the background work would make at some moment."""
    embedder = workspace.recall.embedder
    assert embedder
    lacking = await workspace.store.vectors.lacking(embedder.name, limit=1_000)
    await embed_owners(workspace.store, embedder, lacking)


def app_in(
    folder: Path,
    *,
    terminal_is_dark: bool = True,
    answers: asyncio.Event | None = None,
    known: Known | None = None,
    **options: Any,
) -> RagforgeApp:
    """answers: set when the store answers; None for at once."""

    async def open_session(*, embedded: bool = False) -> OpenedChat | NotOpened:
        if answers:
            await answers.wait()
        return await open_for_interface(Options(cwd=folder, **options), embedded=embedded)

    return RagforgeApp(open_session, terminal_is_dark=terminal_is_dark, known=known)


async def opened(pilot: Pilot[Any]) -> ChatScreen:
    app = pilot.app
    assert isinstance(app, RagforgeApp)
    await until(pilot, lambda: isinstance(app.screen, ChatScreen) and app.screen.conversation)
    await until(pilot, lambda: not [worker for worker in app.workers if worker.group == "opening"])
    chat = chat_of(app)
    chat.prompt.cursor_blink = False
    return chat


async def just_opened(pilot: Pilot[Any]) -> None:
    await opened(pilot)


def after_typing(line: str, *keys: str) -> Callable[[Pilot[Any]], Coroutine[Any, Any, None]]:
    """Runs a command, waits for its screen, presses keys."""

    async def run(pilot: Pilot[Any]) -> None:
        chat = await opened(pilot)
        chat.prompt.set_draft(line)
        await press_enter(pilot)
        await until(pilot, lambda: pilot.app.screen is not chat)
        for field in pilot.app.screen.query(Input):
            field.cursor_blink = False
        await until(pilot, lambda: not [w for w in pilot.app.workers if w.node is pilot.app.screen])
        await pilot.press(*keys)

    return run


@pytest.mark.parametrize(("columns", "is_dark"), [(100, True), (100, False), (40, True)])
def test_the_start_list(shop_with_sessions: Path, snap_compare: Compare, columns: int, is_dark: bool) -> None:
    app = app_in(shop_with_sessions, terminal_is_dark=is_dark)

    async def before(pilot: Pilot[Any]) -> None:
        await opened(pilot)
        await pilot.press("down")

    assert snap_compare(app, terminal_size=(columns, 20), run_before=before)


@pytest.mark.parametrize("columns", [100, 40])
def test_the_screen_of_sessions(shop_with_sessions: Path, snap_compare: Compare, columns: int) -> None:
    app = app_in(shop_with_sessions, new=True)
    assert snap_compare(app, terminal_size=(columns, 24), run_before=after_typing("/sessions", "down"))


@pytest.mark.parametrize("columns", [100, 40])
def test_the_screen_of_search(shop_of_single_turns: Path, snap_compare: Compare, columns: int) -> None:
    app = app_in(shop_of_single_turns, new=True)
    words = "/search payment retry tests"
    assert snap_compare(app, terminal_size=(columns, 24), run_before=after_typing(words))


def test_a_resumed_conversation_without_a_model(shop_with_sessions: Path, snap_compare: Compare) -> None:
    app = app_in(shop_with_sessions, continue_newest=True)
    assert snap_compare(app, terminal_size=(100, 24), run_before=just_opened)


async def test_that_the_store_is_awaited_is_said_only_until_it_is_open(
    shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAGFORGE_MODEL", "local")
    answers = asyncio.Event()
    app = app_in(shop, answers=answers, new=True)
    async with app.run_test() as pilot:
        await until(pilot, lambda: bool(app.screen.query(".still-opening")))
        answers.set()
        await opened(pilot)
        assert not app.screen.query(".still-opening")


async def test_what_is_known_before_the_store_answers_stands_in_the_status_line(
    shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAGFORGE_MODEL", "local")
    answers = asyncio.Event()
    app = app_in(shop, answers=answers, known=look_of(Options(cwd=shop, new=True)).known, new=True)
    async with app.run_test(size=(100, 24)) as pilot:
        await until(pilot, lambda: bool(app.screen.query("#status")))
        chat = app.screen
        assert isinstance(chat, ChatScreen)
        await until(pilot, lambda: "local" in str(chat.status.render()))
        assert chat.conversation is None
        before = chat.status.status
        answers.set()
        await opened(pilot)
        after = chat.status.status
        assert (before.model, before.folder, before.mode) == (after.model, after.folder, after.mode)


def test_the_model_of_an_earlier_session_is_not_known_before_it_is_open(
    shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAGFORGE_MODEL", "local")
    assert look_of(Options(cwd=shop, continue_newest=True)).known.model == ""
    assert look_of(Options(cwd=shop, resume="abc")).known.model == ""
    assert look_of(Options(cwd=shop, model="ollama:qwen3:8b")).known.model == "ollama:qwen3:8b"


def test_yolo_is_shown_before_the_session_is_open(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert look_of(Options(cwd=shop, yolo=True)).known.mode is Mode.ALL
    monkeypatch.setenv("RAGFORGE_MODE", "plan")
    assert look_of(Options(cwd=shop)).known.mode is Mode.PLAN
    assert look_of(Options(cwd=shop, yolo=True)).known.mode is Mode.ALL
