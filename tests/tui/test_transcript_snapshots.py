"""How the main states look. After a change that is meant: `pytest tests/tui --snapshot-update`, then look."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from textual.pilot import Pilot

from ragforge.domain.approvals import ApprovalRequest, ChangeFile, Mode, Rule, RunCommand, ToolApproval
from ragforge.domain.events import (
    RetryWaiting,
    TextDelta,
    ThoughtDelta,
    ToolEnded,
    ToolOutput,
    ToolStarted,
    TurnEnded,
    TurnStarted,
)
from ragforge.domain.turns import CallStatus, TurnStatus
from ragforge.domain.usage import Usage
from ragforge.tui.widgets.status_line import Status
from tests.tui.transcript_app import DIFF, ChatApp, answers_drawn, call, turn
from tests.tui.waiting import until

Compare = Callable[..., bool]

ANSWER = """\
The parser split at *every* space, so quoted words fell apart. I changed two things:

1. `parse` now uses `tokenize`, which knows quotes.
2. `main` reads **standard input**.

```python
def tokenize(text: str) -> list[str]:
    return shlex.split(text)
```

- a first point that is long enough to wrap, to see how its second line is indented below it
- a second one
"""
STATUS = Status(
    model="gemini:gemini-3-flash",
    folder="~/code/parser",
    git_branch="main",
    session="quoted words",
    usage=Usage(12_400, 0, 1_200, 300),
    cost_usd=0.0213,
    context_tokens=126_000,
    context_tokens_max=1_000_000,
)


async def work(app: ChatApp, pilot: Pilot[None]) -> None:
    show = app.transcript.show
    show(TurnStarted(turn(text='Why does `parse "a b"` break?\nFix it, [bold]please[/bold].')))
    show(ThoughtDelta("The parser comes first."))
    app.clock.now_s += 3
    show(ToolEnded(call("grep", {"pattern": "def parse", "path": "src"}, "a\nb", id="1")))
    show(ToolEnded(call("read", {"path": "src/parser.py"}, "\n".join("x" * 42), id="2")))
    show(ToolEnded(call("edit", {"path": "src/parser.py"}, "Edited.", diff=DIFF, id="3")))
    failed = call("shell", {"command": "pytest -q"}, "F\nexit code 1", status=CallStatus.FAILED, id="4")
    show(ToolEnded(failed))
    show(ToolEnded(call("shell", {"command": "rm -rf build"}, "no", status=CallStatus.DENIED, id="5")))
    await until(pilot, lambda: "rm -rf build" in app.text())


async def answer(app: ChatApp, pilot: Pilot[None]) -> None:
    await work(app, pilot)
    app.transcript.show(TextDelta(ANSWER))
    await until(pilot, lambda: answers_drawn(app) and "a second one" in app.screen_text())


async def waiting(app: ChatApp, pilot: Pilot[None]) -> None:
    await work(app, pilot)
    app.transcript.show(TurnEnded(turn(status=TurnStatus.INTERRUPTED)))
    app.live.begin_turn()
    events = (
        TurnStarted(turn(1, "And now?")),
        ToolStarted("6", "shell", {"command": "make test"}, "make test"),
        ToolOutput("6", "collected 41 items\n\ntests/a.py ....\n"),
        RetryWaiting("429", 8, 2, 5),
    )
    for event in events:
        app.transcript.show(event)
        app.live.show(event)
    await until(pilot, lambda: "retry" in app.screen_text())


def asks(request: ApprovalRequest) -> Callable[[ChatApp, Pilot[None]], Awaitable[None]]:
    async def ask(app: ChatApp, pilot: Pilot[None]) -> None:
        await work(app, pilot)
        app.asked = asyncio.create_task(app.dock.ask(request))  # type: ignore[attr-defined] # kept alive
        await until(pilot, lambda: app.dock.panel is not None and app.dock.panel.armed)
        await until(pilot, lambda: "press 1" in app.screen_text())

    return ask


EDIT = ToolApproval(
    "7",
    "edit",
    "src/parser.py",
    ChangeFile("src/parser.py", DIFF),
    "changes a file",
    (Rule("edit", "src/**"),),
)
PUSH = ToolApproval(
    "7",
    "shell",
    "git push",
    RunCommand("git push origin main"),
    "not read-only",
    (Rule("shell", "git push"),),
)


@pytest.mark.parametrize(
    ("scene", "theme", "size"),
    [
        (answer, "dark", (100, 40)),
        (answer, "light", (80, 24)),
        (waiting, "dark", (80, 24)),
        (waiting, "light", (40, 20)),
        (asks(EDIT), "dark", (100, 30)),
        (asks(EDIT), "light", (80, 24)),
        (asks(PUSH), "dark", (40, 20)),
    ],
    ids=["answer", "answer-light", "waiting", "waiting-40", "edit", "edit-light", "push-40"],
)
def test_it_looks_as_it_should(
    snap_compare: Compare,
    scene: Callable[[ChatApp, Pilot[None]], Awaitable[None]],
    theme: str,
    size: tuple[int, int],
) -> None:
    app = ChatApp(theme=theme, status=STATUS)

    async def before(pilot: Pilot[Any]) -> None:
        await scene(app, pilot)

    assert snap_compare(app, terminal_size=size, run_before=before)


def test_mode_all_looks_dangerous(snap_compare: Compare) -> None:
    app = ChatApp(status=Status(model="gemini:gemini-3-flash", folder="~/parser", mode=Mode.ALL))
    assert snap_compare(app, terminal_size=(80, 8))
