"""Contents that are lost or damaged while a session is open: nothing destroys the only copy that is left."""

import os
from pathlib import Path

import pytest

from ragforge.domain.approvals import ApprovalAnswer, ApprovalRequest, ConsentAnswer, Mode
from ragforge.domain.errors import UsageError
from ragforge.domain.moves import Part
from ragforge.session.moves import redo, undo
from ragforge.session.state import Session
from ragforge.store.files import StoreFile, contents_file
from tests.damage import KINDS, damage, flipped, missing
from tests.flow.recorded import read, shell, told, write
from tests.flow.running import User, environ, opened, say, says_no
from tests.standins.gemini import GeminiStandIn, Text

WORDS = b"of this there is only one copy\n"
LARGE_BYTES = 1_500_000


def contents(session: Session) -> StoreFile:
    return contents_file(session.workspace.data_dir)


async def begun(session: Session, gemini: GeminiStandIn) -> Path:
    """A file whose content is kept, since a command ran already."""
    session.live.consent.mode = Mode.ALL
    precious = session.cwd / "precious.txt"
    precious.write_bytes(WORDS)
    gemini.script(shell("touch other"), Text("ok"))
    await say(session, "begin")
    return precious


@pytest.mark.parametrize("kind", KINDS)
async def test_a_command_in_an_open_session_destroys_nothing(
    session: Session, gemini: GeminiStandIn, kind: str
) -> None:
    precious = await begun(session, gemini)
    damage(contents(session), kind, at=WORDS)
    gemini.script(shell("rm precious.txt"), Text("ok"))
    user = says_no()
    events = await say(session, "remove it", user)
    if precious.exists():
        [request] = user.asked
        assert "ragforge db check --repair" in request.reason
    else:
        assert "stored again" in told(events)
        await undo(session)
    assert precious.read_bytes() == WORDS


async def test_a_tool_that_writes_keeps_what_it_overwrites(session: Session, gemini: GeminiStandIn) -> None:
    precious = await begun(session, gemini)
    flipped(contents(session), at=WORDS)
    gemini.script(read("precious.txt"), write("precious.txt", "new"), Text("ok"))
    assert "stored again" in told(await say(session, "write it"))
    assert precious.read_text() == "new"
    await undo(session)
    assert precious.read_bytes() == WORDS


async def test_an_undo_keeps_what_it_overwrites(session: Session, gemini: GeminiStandIn) -> None:
    precious = await begun(session, gemini)
    after = b"what the turn wrote, which a redo brings back\n"
    gemini.script(read("precious.txt"), write("precious.txt", after.decode()), Text("ok"))
    await say(session, "write it")
    flipped(contents(session), at=after)
    await undo(session)
    assert precious.read_bytes() == WORDS
    await redo(session)
    assert precious.read_bytes() == after


async def test_a_large_content_whose_file_is_gone_is_kept_again(
    session: Session, gemini: GeminiStandIn
) -> None:
    large = session.cwd / "large.bin"
    content = os.urandom(LARGE_BYTES)
    large.write_bytes(content)
    await begun(session, gemini)
    folder = contents(session).beside
    assert folder
    [kept] = folder.glob("*/*")
    kept.unlink()
    gemini.script(shell("rm large.bin"), Text("ok"))
    await say(session, "remove it")
    assert not large.exists()
    await undo(session)
    assert large.read_bytes() == content


async def test_what_can_be_read_nowhere_stops_a_command_until_the_user_wants_it(
    tmp_path: Path, gemini: GeminiStandIn
) -> None:
    asked: list[ApprovalRequest] = []

    def want_it(request: ApprovalRequest) -> ApprovalAnswer:
        asked.append(request)
        return ApprovalAnswer(ConsentAnswer.ONCE)

    async with opened(tmp_path, environ(tmp_path, gemini)) as session:
        precious = await begun(session, gemini)
        missing(contents(session))
        contents(session).path.mkdir()
        gemini.script(shell("rm precious.txt"), Text("ok"))
        await say(session, "remove it", User(want_it))
        [request] = asked
        assert "is a folder" in request.reason
        assert not precious.exists()


async def test_an_undo_without_the_contents_says_how_the_conversation_moves(
    session: Session, gemini: GeminiStandIn
) -> None:
    precious = await begun(session, gemini)
    gemini.script(read("precious.txt"), write("precious.txt", "new"), Text("ok"))
    await say(session, "write it")
    head = session.live.record.head
    missing(contents(session))
    with pytest.raises(UsageError, match=r"not on this machine: precious.txt.*lost.*--chat"):
        await undo(session)
    assert (precious.read_text(), session.live.record.head) == ("new", head)
    await undo(session, part=Part.CHAT)
    assert (precious.read_text(), session.live.record.head != head) == ("new", True)
