"""`/foresight`, the mark on a turn, and what was expected of it beside what happened."""

import asyncio
import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion
from textual.pilot import Pilot

from ragforge.domain import timeouts
from ragforge.domain.approvals import Mode
from ragforge.domain.derivations import Underived
from ragforge.domain.foresight import KIND, Foresight
from ragforge.domain.metrics import SUGGESTIONS
from ragforge.domain.turns import CallStatus, ConversationSession, Turn
from ragforge.domain.versions import Version
from ragforge.session.foresight import read_turns
from ragforge.session.metrics import all_counts
from ragforge.session.open import close_workspace, open_workspace
from ragforge.session.state import Workspace
from ragforge.store.base import keep_project
from ragforge.tui.app import RagforgeApp
from ragforge.tui.screens.expectation import ExpectedScreen
from ragforge.tui.screens.foresight import ForesightScreen
from ragforge.tui.screens.turn_changes import TurnChangesScreen
from ragforge.tui.widgets.foresight_lists import ForeseerList, RankedTurns
from ragforge.tui.widgets.plain import PlainText
from ragforge.tui.widgets.text_rows import TextRows
from tests.contract.builders import a_call, a_request, a_session, a_step, an_end
from tests.contract.builders_versions import a_change, a_node, worked
from tests.flow.moving import write
from tests.flow.running import environ
from tests.flow.test_foresight import ANSWER, foreseeing
from tests.standins.gemini import Call, Calls, GeminiStandIn, Text
from tests.tui.chat_app import Chat, Lab
from tests.tui.pictures import AsText, picture
from tests.tui.test_screens import app_in, opened
from tests.tui.waiting import until

Compare = Callable[..., bool]
SIZES = [(40, 24), (80, 24), (120, 40)]
UNITS = (12, 40, 3, 0, 55, 8, 20, 150, 30, 5, 0, 18, 70, 9)
"""Lines that each turn changed."""
OTHER_FILES, FAILED = 8, 12
"""Turns, from 0, that went otherwise than foreseen."""


def record(turn: int) -> Foresight:
    """The one that was made after the turn."""
    ahead = turn + 1
    return Foresight(
        individual_before_description=f"Step {turn} of the parser is done, and its tests pass.",
        collective_before_description="The parser grows.",
        predictability_individual=(turn * 3) % 11 if turn else None,
        predictability_collective=(turn * 5) % 11 if turn else None,
        words_individual=turn % 5 if turn else None,
        meaning_individual=turn % 7 if turn else None,
        individual_after_prediction=f"Step {ahead} of the parser is done.",
        collective_after_prediction="The parser grows further.",
        next_messages=(f"Do step {ahead + 1}",),
        files_foreseen=("src/grammar.py", "src/lexer.py") if ahead == OTHER_FILES else ("src/parser.py",),
        model_predicted="gemini:a",
        model_worked="gemini:a",
        units_individual=UNITS[turn % len(UNITS)],
        units_collective=UNITS[turn % len(UNITS)] + 10,
        alpha=30,
        depth_individual=5,
        depth_collective=3,
    )


async def turn_in(
    workspace: Workspace, session: ConversationSession, number: int, before: Sequence[tuple[Turn, Version]]
) -> tuple[Turn, Version]:
    """A turn with its version, its record and, in one, tests that fail."""
    store = workspace.store
    contents = [f"step = {at}\n" * (at + 1) for at in (number - 1, number)]
    nodes = [a_node(text) for text in contents]
    for text, node in zip(contents, nodes, strict=True):
        assert node.digest == hashlib.sha256(text.encode()).hexdigest()
        await workspace.blobs.put(text.encode())
    last = before[-1] if before else None
    turn, version = await worked(
        store,
        session,
        *([last[1]] if last else []),
        text=f"Do step {number + 1} of the parser",
        below=last[0] if last else None,
        changes=(a_change(before=nodes[0] if number else None, after=nodes[1]),),
    )
    if number == FAILED:
        step = a_step(turn, 0, "", a_request("shell", command="pytest -q"))
        await store.turns.save_step(step)
        await store.calls.add(a_call(step, status=CallStatus.FAILED, result="2 failed"), step)
    ended_at = an_end(turn).ended_at  # or it would be made anew
    source = Underived(turn.id, session.project_id, ended_at)
    await store.derivations.save(KIND.record(source, record(number), model="gemini:a"))
    return turn, version


async def fill(folder: Path, env: dict[str, str], count: int = len(UNITS)) -> None:
    """A session of so many turns with records."""
    workspace = await open_workspace(cwd=folder, flags={}, environ=env)
    await keep_project(workspace.store, workspace.project)
    session = a_session(workspace.project.id, cwd=str(folder), title="The parser")
    await workspace.store.sessions.add(session)
    turns: list[tuple[Turn, Version]] = []
    for number in range(count):
        turns.append(await turn_in(workspace, session, number, turns))
    await workspace.store.sessions.set_head(session.id, turns[-1][0].id)
    await close_workspace(workspace)


@pytest.fixture
async def filled(lab: Lab, gemini: GeminiStandIn) -> Lab:
    lab.project.mkdir(parents=True, exist_ok=True)
    await fill(lab.project, environ(lab.tmp_path, gemini))
    return lab


def title(chat: Chat) -> str:
    return chat.top.query(PlainText).first().text


async def open_screen(chat: Chat, line: str = "/foresight") -> RankedTurns:
    await chat.say(line)
    await chat.until(lambda: isinstance(chat.top, ForesightScreen), "the screen opens")
    ranked = chat.top.query_one(RankedTurns)
    await chat.until(lambda: ranked.rows, "turns are listed")
    return ranked


async def test_turns_are_ranked_and_opened_and_depths_are_set(filled: Lab) -> None:
    async with filled.chat((120, 40), continue_newest=True) as chat:
        ranked = await open_screen(chat, "/foresight 10")
        await chat.fits_40x12(RankedTurns)
        order = [row.turn.index for row in ranked.rows]
        assert order[:3] == [7, 12, 4]
        assert set(order) == set(range(4, 14))
        assert "depth 5 for you, 3 for the project" in title(chat)
        await chat.pilot.press("left", "shift+right", "shift+right")
        assert "depth 4 for you, 5 for the project" in title(chat)
        await chat.pilot.press(*["left"] * 9)
        assert "depth 1 for you" in title(chat)
        await chat.enter()
        await chat.until(lambda: isinstance(chat.top, TurnChangesScreen), "the diff")
        rows = chat.top.query_one(TextRows)
        await chat.until(lambda: rows.size.height > 8, "its lines")
        await chat.pilot.press("escape", "down", "e")
        await chat.until(lambda: isinstance(chat.top, ExpectedScreen), "the columns")
        words = " ".join(each.text for each in chat.top.query(PlainText))
        assert "The last run of pytest failed." in words
        assert "Files: src/parser.py" in words
        await chat.pilot.press("escape", "tab")
        foreseers = chat.top.query_one(ForeseerList)
        await chat.until(lambda: foreseers.rows, "who foresees")
        [row] = foreseers.rows
        assert (row.model, row.rated, row.files) == ("gemini:a", 13, 14)
        assert round(row.share * 14) == 12


async def test_as_many_turns_are_read_as_a_curve_sums(lab: Lab, gemini: GeminiStandIn) -> None:
    env = environ(lab.tmp_path, gemini, RAGFORGE_FORESIGHT_DEPTH_COLLECTIVE="23")
    await fill(lab.project, env, 26)
    workspace = await open_workspace(cwd=lab.project, flags={}, environ=env)
    [row] = await workspace.store.sessions.recent(project_id=workspace.project.id)
    assert len(await read_turns(workspace, row.session.head, limit=2)) == 25
    await close_workspace(workspace)


async def test_foresight_switched_off_says_so(filled: Lab) -> None:
    filled.set_environ(RAGFORGE_FORESIGHT_ENABLED="false")
    async with filled.chat((80, 24)) as chat:
        await chat.say("/foresight")
        await chat.sees("Foresight is off")


async def test_a_marked_turn_opens_to_what_was_expected_and_what_happened(filled: Lab) -> None:
    async with filled.chat((80, 40), continue_newest=True) as chat:
        await chat.sees("≠ not as foreseen: the last run of pytest failed")
        assert chat.words().count("≠") == 1
        await chat.pilot.press("f6", "enter")
        await chat.sees("Task: Step 12 of the parser is done.")
        await chat.sees("Checks: pytest failed")
        await chat.sees("Task: Step 12 of the parser is done, and its tests pass.")
        await chat.pilot.press("enter")
        await chat.until(lambda: "Checks: pytest" not in chat.words(), "it is folded")


def suggested(chat: Chat) -> str:
    return chat.screen.hint.words


async def suggesting(chat: Chat, gemini: GeminiStandIn, message: str, *calls: Call) -> None:
    """A turn after which something is suggested."""
    chat.screen.ready().session.live.consent.mode = Mode.ALL
    gemini.script(*([Calls(*calls)] if calls else []), Text("Done."))
    await chat.say(message)
    await chat.turn_ended()
    await chat.until(lambda: suggested(chat).startswith("next? Add a test."), "a suggestion")


async def test_what_comes_next_is_taken_by_right_and_goes_once_something_is_typed(
    lab: Lab, gemini: GeminiStandIn
) -> None:
    gemini.always_structured(foreseeing(lambda call: ANSWER))
    lab.set_environ()
    async with lab.chat((80, 24)) as chat:
        prompt_row = chat.screen.prompt.region.y
        await suggesting(chat, gemini, "Read dates")
        assert chat.screen.prompt.region.y == prompt_row, "nothing moves"
        asked = len(gemini.requests)
        await chat.pilot.press("right")
        await chat.until(lambda: chat.draft == "Add a test." and not suggested(chat), "it is taken")
        await chat.pilot.press("right", "ctrl+u")
        assert (chat.draft, suggested(chat)) == ("", "")
        assert len(gemini.requests) == asked, "nothing is sent"

        await suggesting(chat, gemini, "Go ahead.", write("src/weeks.py", "7\n"))
        await chat.sees("≠ not as foreseen: 1 file foreseen, it did not change")
        await chat.say("/foresight")
        await chat.until(lambda: isinstance(chat.top, ForesightScreen), "a screen above it")
        await chat.pilot.press("escape")
        assert suggested(chat) == "", "something was typed"
        counts = await all_counts(chat.screen.ready().workspace.local)
        assert counts[SUGGESTIONS.name, ("shown",), ""] == 2
        assert counts[SUGGESTIONS.name, ("taken",), ""] == 1


async def test_a_suggestion_gives_way_and_ends_with_its_time(
    lab: Lab, gemini: GeminiStandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    gemini.always_structured(foreseeing(lambda call: ANSWER))
    lab.set_environ()
    async with lab.chat((80, 24)) as chat:
        await suggesting(chat, gemini, "Read dates")
        hint, live = chat.screen.hint, chat.screen.parts.live
        hint.look("undo the last turn", known=frozenset({"undo"}))
        await chat.until(lambda: suggested(chat).startswith("/undo"), "a command is named")
        await gives_way(chat)
        hint.look("", known=frozenset())
        await comes_back(chat)
        live.begin_turn()
        await gives_way(chat)
        live.end_turn()
        await comes_back(chat)
        await chat.app.push_screen(ForesightScreen(chat.screen.ready(), 50))
        await gives_way(chat)
        await chat.pilot.press("escape")
        await comes_back(chat)
        monkeypatch.setattr(timeouts, "SUGGESTION_S_MAX", 0.0)
        await chat.until(lambda: not suggested(chat), "its time is over")
        counts = await all_counts(chat.screen.ready().workspace.local)
    assert counts[SUGGESTIONS.name, ("shown",), ""] == 1


async def gives_way(chat: Chat) -> None:
    await chat.until(lambda: not chat.screen.prompt.suggestion, "nothing is suggested")


async def comes_back(chat: Chat) -> None:
    await chat.until(lambda: suggested(chat).startswith("next? Add a test."), "it is suggested again")


async def test_suggestions_end_when_none_of_twenty_is_taken(lab: Lab, gemini: GeminiStandIn) -> None:
    gemini.always_structured(foreseeing(lambda call: ANSWER))
    lab.set_environ()
    async with lab.chat((80, 24)) as chat:
        await chat.screen.ready().workspace.local.counts.add({(SUGGESTIONS.name, ("shown",), ""): 19})
        await suggesting(chat, gemini, "Read dates")
        await chat.sees("You took none of 20 suggestions")
        gemini.script(Text("Done."))
        await chat.say("Read weeks")
        await chat.turn_ended()
        part: Any = chat.screen.presenter.foresight
        await chat.until(lambda: not part._turn_id, "nothing is waited for")
        assert suggested(chat) == ""
        assert chat.words().count("none of 20") == 1


async def test_it_looks_as_it_should_at_four_widths(filled: Lab, snapshot: SnapshotAssertion) -> None:
    async with filled.chat((120, 40), continue_newest=True) as chat:
        await open_screen(chat, "/foresight 50")
        await chat.pilot.press("down", "down")
        assert await picture(chat) == snapshot.use_extension(AsText)


@pytest.fixture
def parser(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "home" / "code" / "parser"
    folder.mkdir(parents=True)
    env = environ(tmp_path, RAGFORGE_MODEL="local")
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    asyncio.run(fill(folder, env))
    return folder


@pytest.mark.parametrize("size", SIZES)
def test_the_screen_of_foresight(parser: Path, snap_compare: Compare, size: tuple[int, int]) -> None:
    async def before(pilot: Pilot[Any]) -> None:
        chat = await opened(pilot)
        assert isinstance(pilot.app, RagforgeApp)
        await Chat(pilot.app, pilot).sees("not as foreseen")  # behind it, where there is room
        screen = ForesightScreen(chat.ready(), 50)
        await pilot.app.push_screen(screen)
        await until(pilot, lambda: screen.query_one(RankedTurns).rows, what="turns are listed")
        await pilot.press("down", "down")

    assert snap_compare(app_in(parser, continue_newest=True), terminal_size=size, run_before=before)
