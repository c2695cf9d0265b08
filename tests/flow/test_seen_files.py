"""A call that waited for consent while ragforge was closed still rests on the files that were read."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest

from ragforge.domain.approvals import ApprovalAnswer, ApprovalRequest, ConsentAnswer
from ragforge.domain.errors import UsageError
from ragforge.domain.messages import TextPart
from ragforge.domain.turns import CallStatus, ConversationSession, TurnStatus
from ragforge.session.moves import checkout, redo, rewind, undo
from ragforge.session.open import close_session, close_workspace, open_workspace, resume_session
from ragforge.session.state import Session
from ragforge.session.turn import interrupt, submit
from tests.flow.running import User, ended, environ, opened, say_retry
from tests.standins.gemini import Calls, GeminiStandIn, Text
from tests.standins.gemini_replies import Call

EDIT = Call("edit", {"path": "a.txt", "old": "old", "new": "new"})


async def left_waiting(tmp_path: Path, gemini: GeminiStandIn) -> ConversationSession:
    """A session that was closed while its edit waited for consent."""
    gemini.script(Calls(Call("read", {"path": "a.txt"})), Calls(EDIT))
    async with opened(tmp_path, environ(tmp_path, gemini)) as session:

        async def leave(_: ApprovalRequest) -> ApprovalAnswer:
            session.activity.closing = True
            await interrupt(session)
            return ApprovalAnswer(ConsentAnswer.NO)

        events = submit(session, (TextPart("change it"),), leave)
        assert ended([event async for event in events]).status is TurnStatus.WAITING
        return session.live.record


@asynccontextmanager
async def resumed(
    tmp_path: Path, gemini: GeminiStandIn, record: ConversationSession
) -> AsyncIterator[Session]:
    workspace = await open_workspace(cwd=tmp_path / "project", flags={}, environ=environ(tmp_path, gemini))
    session = (await resume_session(workspace, record)).session
    yield session
    await close_session(session)
    await close_workspace(workspace)


@pytest.mark.parametrize("touched", ["", "later", "with its time set back"])
async def test_it_is_done_unless_the_file_was_changed_meanwhile(
    tmp_path: Path, gemini: GeminiStandIn, touched: str
):
    file = tmp_path / "project" / "a.txt"
    file.parent.mkdir()
    file.write_text("old\n")
    record = await left_waiting(tmp_path, gemini)
    before = file.stat()
    if touched:
        file.write_text("old and more\n")
    if touched == "with its time set back":
        os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    gemini.script(Text("Done."))
    user = User()
    async with resumed(tmp_path, gemini, record) as session:
        turn = ended(await say_retry(session, user))
        calls = await session.workspace.store.calls.of_turns([turn.id])
    assert [call.name for call in calls] == ["read", "edit"]
    assert calls[1].status is (CallStatus.FAILED if touched else CallStatus.OK)
    assert len(user.asked) == (0 if touched else 1)
    assert file.read_text() == ("old and more\n" if touched else "new\n")


async def test_nothing_moves_while_a_turn_waits_for_consent(tmp_path: Path, gemini: GeminiStandIn):
    file = tmp_path / "project" / "a.txt"
    file.parent.mkdir()
    file.write_text("old\n")
    record = await left_waiting(tmp_path, gemini)
    gemini.script(Text("Done."))
    async with resumed(tmp_path, gemini, record) as session:
        for move in (undo, redo, partial(rewind, number=1), partial(checkout, name="HEAD")):
            with pytest.raises(UsageError, match="waiting for your approval"):
                await move(session)
        assert session.live.record.head == record.head
        assert ended(await say_retry(session)).status is TurnStatus.FINISHED
        assert file.read_text() == "new\n"
        await undo(session)
        assert file.read_text() == "old\n"
