"""What the command line asks of a session holds for the one that is resumed too."""

from pathlib import Path

import pytest

from ragforge.cli.options import Options
from ragforge.cli.start import open_for_interface
from ragforge.domain.approvals import Mode
from ragforge.session.state import Session
from tests.flow.running import environ, opened, say
from tests.standins.gemini import GeminiStandIn, Text


@pytest.fixture
async def said(tmp_path: Path, gemini: GeminiStandIn, monkeypatch: pytest.MonkeyPatch) -> Session:
    """A session that was left; the environment is the one it was made in."""
    env = environ(tmp_path, gemini)
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    async with opened(tmp_path, env) as session:
        gemini.script(Text("hi"))
        await say(session, "hello")
    return session


async def test_consent_and_model_of_the_flags_hold_for_a_resumed_session(
    tmp_path: Path, said: Session
) -> None:
    options = Options(
        cwd=tmp_path / "project",
        resume=said.id,
        yolo=True,
        allow=("shell(make)",),
        model="gemini:gemini-4-carbon",
    )
    opened_now = await open_for_interface(options)
    conversation = opened_now.conversation
    try:
        await conversation.resume(opened_now.resume)
        live = conversation.session.live
        assert conversation.session.id == said.id
        assert live.consent.mode is Mode.ALL
        assert "shell(make)" in [str(rule) for rule in live.consent.rules]
        assert live.record.model == "gemini:gemini-4-carbon"
        await conversation.start_new()
        assert "shell(make)" in [str(rule) for rule in conversation.session.live.consent.rules]
    finally:
        await conversation.close()


async def test_without_flags_a_resumed_session_asks(tmp_path: Path, said: Session) -> None:
    opened_now = await open_for_interface(Options(cwd=tmp_path / "project", resume=said.id))
    try:
        await opened_now.conversation.resume(opened_now.resume)
        assert opened_now.conversation.session.live.consent.mode is Mode.ASK
    finally:
        await opened_now.conversation.close()
