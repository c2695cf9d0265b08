"""What cannot be recorded, or not yet, is said; the turn goes on."""

from contextlib import aclosing
from pathlib import Path

import pytest
from msgspec.structs import replace

from ragforge.domain.approvals import ApprovalAnswer, ApprovalRequest, ConsentAnswer, Mode
from ragforge.domain.errors import UsageError
from ragforge.domain.ids import now
from ragforge.domain.messages import TextPart
from ragforge.domain.moves import Part
from ragforge.domain.turns import TurnStatus
from ragforge.session.moves import undo
from ragforge.session.state import Session
from ragforge.session.turn import submit
from tests.contract.builders import a_turn
from tests.flow.recorded import (
    edit,
    kinds,
    line,
    line_now,
    read,
    shell,
    told,
    version_of,
    write,
)
from tests.flow.running import User, ended, environ, opened, say
from tests.standins.gemini import GeminiStandIn, Text


async def test_what_is_not_tracked_is_named(tmp_path: Path, gemini: GeminiStandIn) -> None:
    env = environ(tmp_path, gemini, RAGFORGE_HISTORY_FILE_MB_MAX="0.001")
    async with opened(tmp_path, env) as session:
        (session.cwd / ".gitignore").write_text("ignored/\n")
        elsewhere = tmp_path / "elsewhere.txt"
        gemini.script(
            write("large.txt", "x" * 2000),
            write("ignored/a.txt", "x"),
            write(str(elsewhere), "x"),
            write("tracked.txt", "x"),
            Text("ok"),
        )
        events = await say(session, "go")
        version = await version_of(session, events)
    assert kinds(version) == {"tracked.txt": ("added", "tool")}
    assert {each.path for each in version.untracked} == {"large.txt", "ignored/a.txt", str(elsewhere)}
    for path in ("large.txt", "ignored/a.txt", str(elsewhere)):
        assert path in told(events)
    assert "tracked.txt" not in told(events)


async def test_an_ignored_file_is_named_at_every_turn_whose_tools_write_it(
    session: Session, gemini: GeminiStandIn
) -> None:
    (session.cwd / ".gitignore").write_text("ignored/\n")
    (session.cwd / "ignored").mkdir()
    (session.cwd / "ignored" / "a.txt").write_text("one")
    session.live.consent.mode = Mode.ALL
    only_a, both = {"ignored/a.txt"}, {"ignored/a.txt", "ignored/new/b.txt"}
    turns = (
        (only_a, read("ignored/a.txt"), edit("ignored/a.txt", "one", "two")),
        (only_a, edit("ignored/a.txt", "two", "three")),
        (both, write("ignored/a.txt", "four"), write("ignored/new/b.txt", "b")),
    )
    for paths, *calls in turns:
        gemini.script(*calls, Text("ok"))
        events = await say(session, "go")
        version = await version_of(session, events)
        assert version.changes == ()
        assert {each.path for each in version.untracked} == paths
        for path in paths:
            assert f"{path} (ignored by git)" in told(events)
        moved = await undo(session, part=Part.FILES)
        assert "Left as it is, because it is not tracked" in "".join(moved.notes)
        assert "ignored/a.txt" in "".join(moved.notes)
    assert (session.cwd / "ignored" / "a.txt").read_text() == "four"


async def test_a_home_folder_is_never_tracked_and_that_is_said_once(
    tmp_path: Path, gemini: GeminiStandIn
) -> None:
    env = environ(tmp_path, gemini) | {"HOME": str(tmp_path / "project")}
    async with opened(tmp_path, env) as session:
        gemini.script(write("a.txt", "x"), Text("ok"), Text("ok"))
        first, second = await say(session, "go"), await say(session, "on")
        version = await version_of(session, first)
        assert version.changes == ()
        assert [each.path for each in version.untracked] == ["."]
        assert await session.workspace.history.manifest(session.workspace.place.root) is None
    assert "cannot be undone" in told(first)
    assert told(second) == ""


async def test_a_last_scan_that_cannot_be_read_is_told_and_made_anew(
    session: Session, gemini: GeminiStandIn
) -> None:
    gemini.script(write("a.txt", "x"), Text("ok"))
    await say(session, "go")
    state, root = session.workspace.history, session.workspace.place.root
    content = await state.manifest(root)
    assert content is not None
    await state.set_manifest(root, content[:-40])
    gemini.script(write("b.txt", "x"), Text("ok"))
    events = await say(session, "on")
    assert "cannot be read" in told(events)
    assert kinds(await version_of(session, events)) == {"b.txt": ("added", "tool")}
    (root / "c.txt").write_text("by hand")
    assert kinds((await line_now(session))[0]) == {"c.txt": ("added", "outside")}
    gemini.script(Text("ok"))
    assert told(await say(session, "once")) == ""


async def test_a_broken_blob_store_ends_no_turn_and_is_told(
    tmp_path: Path, session: Session, gemini: GeminiStandIn
) -> None:
    (tmp_path / "data" / "blobs.db").write_bytes(b"this is no database" * 100)
    gemini.script(write("a.txt", "x"), shell("printf y > b.txt"), Text("done"))
    user = User(
        lambda request: ApprovalAnswer(ConsentAnswer.NO if "blobs.db" in str(request) else ConsentAnswer.ONCE)
    )
    events = await say(session, "go", user)
    assert ended(events).status is TurnStatus.FINISHED
    assert not (session.cwd / "b.txt").exists(), "what a command may destroy could not be kept"
    version = await version_of(session, events)
    assert set(kinds(version)) == {"a.txt"}
    assert {each.path for each in version.untracked} >= {"a.txt"}
    assert "blobs.db" in told(events)


async def test_the_version_of_a_turn_that_could_not_be_kept_is_made_with_the_next(
    session: Session, gemini: GeminiStandIn
) -> None:
    database = session.workspace.store._database  # type: ignore[attr-defined]

    async def full(is_full: bool) -> None:
        await database.write(
            lambda connection: connection.pragma("max_page_count", 1 if is_full else 1_000_000)
        )

    async def fill(request: ApprovalRequest) -> ApprovalAnswer:
        await full(True)
        return ApprovalAnswer(ConsentAnswer.ONCE)

    gemini.script(write("a.txt", "x"), Text("long " * 20_000), Text("fine"))
    with pytest.raises(Exception, match="full"):
        async with aclosing(submit(session, (TextPart("first"),), fill)) as events:
            [event async for event in events]
    await full(False)
    await say(session, "second")
    second, first = await line(session)
    assert kinds(first) == {"a.txt": ("added", "tool")}
    assert second.changes == ()


async def test_a_turn_of_which_nothing_was_recorded_is_undone_in_the_chat_alone(
    session: Session, gemini: GeminiStandIn
) -> None:
    gemini.script(write("a.txt", "x"), Text("ok"))
    first = ended(await say(session, "go"))
    store = session.workspace.store
    brought = replace(a_turn(session.live.record, parent=first), ended_at=now())  # as by an archive
    await store.archive.load([brought])
    await store.sessions.set_head(session.id, brought.id)
    session.change(head=brought.id)
    with pytest.raises(UsageError, match="was not recorded, so it cannot be undone"):
        await undo(session)
    assert session.live.record.head == brought.id
    await undo(session, part=Part.CHAT)
    assert session.live.record.head == first.id
    await undo(session)
    assert not (session.cwd / "a.txt").exists()
