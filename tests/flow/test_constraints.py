"""A rule said in passing stops the hand: asked about, refused where nobody is there, told in every mode."""

from pathlib import Path

import pytest

from ragforge.domain.approvals import ApprovalAnswer, ConsentAnswer, Mode, Rule
from ragforge.domain.events import ConstraintsMet, ToolEnded
from ragforge.domain.memories import MemoryFilter, Strength
from ragforge.domain.turns import CallStatus
from ragforge.session.open import close_session, close_workspace, new_session, open_workspace
from ragforge.session.state import Session
from tests.flow.recorded import shell
from tests.flow.running import User, environ, of_type, opened, say, says_no
from tests.standins.gemini import GeminiStandIn, Text

SAID = "By the way: never use pip, we use uv."
OFFLINE: dict[str, object] = {"memory.model": "local"}
RULE = "never use pip, we use uv"


async def told(session: Session) -> None:
    """The rule was said in an earlier session, and filed."""
    await say(session, SAID)
    await session.workspace.background.finish(timeout_s=20)


async def rules(session: Session) -> list[tuple[str, Strength, int, int]]:
    found = await session.workspace.store.memories.find(MemoryFilter(binding=True))
    return [(each.content.strip("."), each.strength, each.held, each.broken) for each in found]


async def test_a_rule_said_three_sessions_ago_stands_in_the_approval(
    tmp_path: Path, gemini: GeminiStandIn
) -> None:
    env = environ(tmp_path, gemini)
    async with opened(tmp_path, env, flags=OFFLINE) as session:
        gemini.script(Text("Noted."))
        await told(session)
        assert [(content, strength) for content, strength, *_ in await rules(session)] == [
            (RULE, Strength.MUST)
        ]
    workspace = await open_workspace(cwd=tmp_path / "project", flags=OFFLINE, environ=env)
    for _ in range(2):
        later = await new_session(workspace)
        gemini.script(Text("Hello."))
        await say(later, "Hello there, how are you?")
        await close_session(later)
    session = await new_session(workspace)
    session.live.consent.grant_for_run([Rule("shell", "echo"), Rule("shell", "pip install")])
    gemini.script(shell("echo pip install x"), shell("pip install --no-index left-pad"), Text("Well."))
    user = says_no("use uv")
    events = await say(session, "Add left-pad.", user)
    (asked,) = user.asked
    assert [hit.words.partition(": ")[2] for hit in asked.hits] == [f'"{RULE}."']
    assert asked.hits[0].constraint.turn
    assert asked.rules == ()
    assert [each.call.status for each in of_type(events, ToolEnded)] == [CallStatus.OK, CallStatus.DENIED]
    assert [(event.asked, event.stopped) for event in of_type(events, ConstraintsMet)] == [(True, True)]
    assert await rules(session) == [(RULE, Strength.MUST, 1, 0)]
    await close_session(session)
    await close_workspace(workspace)


@pytest.mark.parametrize(
    ("mode", "headless", "setting", "status", "heard"),
    [
        (Mode.ALL, False, "refuse", CallStatus.OK, "[This goes against what the user said:"),
        (Mode.ALL, True, "refuse", CallStatus.OK, "[This goes against what the user said:"),
        (Mode.ASK, True, "refuse", CallStatus.DENIED, "Not done. This goes against what the user said:"),
        (Mode.ASK, True, "warn", CallStatus.OK, "[This goes against what the user said:"),
    ],
)
async def test_where_nobody_is_asked_the_model_hears_the_sentence(
    tmp_path: Path,
    gemini: GeminiStandIn,
    mode: Mode,
    headless: bool,
    setting: str,
    status: CallStatus,
    heard: str,
) -> None:
    flags = {**OFFLINE, "constraints.headless": setting}
    async with opened(tmp_path, environ(tmp_path, gemini), flags=flags) as session:
        gemini.script(Text("Noted."))
        await told(session)
        consent = session.live.consent
        consent.headless = headless
        consent.grant_for_run([Rule("shell", "= pip --version")], everything=mode is Mode.ALL)
        gemini.script(shell("pip --version || true"), Text("Well."))
        user = User(lambda _: ApprovalAnswer(ConsentAnswer.NO))
        events = await say(session, "Which pip is there?", user)
        (ended,) = of_type(events, ToolEnded)
        assert user.asked == []
        assert heard in ended.call.result
        assert f'"{RULE}' in ended.call.result
        assert ended.call.status is status
        (met,) = of_type(events, ConstraintsMet)
        assert (met.asked, met.stopped) == (False, status is CallStatus.DENIED)
        assert [row[2:] for row in await rules(session)] == [(1, 0) if met.stopped else (0, 1)]
