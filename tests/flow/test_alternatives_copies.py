"""The copies that alternatives work in: what is in them, what is out of reach, and what a crash leaves."""

import signal
from pathlib import Path

import pytest

from ragforge.domain.approvals import Mode
from ragforge.domain.errors import UsageError
from ragforge.domain.turns import TurnStatus
from ragforge.files.folder_lock import lock_path
from ragforge.session.open import close_session, resume_session
from ragforge.session.state import Session
from ragforge.versions.attempts.alternatives import alternatives_here, take
from ragforge.versions.attempts.start import AttemptRequest, start_alternatives
from tests.cli.running import Program
from tests.flow.alternating import FAST, READABLE, all_lines, copies_in, furnish, runs, script, writes
from tests.flow.moving import beside, root_of, tree, turn, write
from tests.flow.running import MODEL, ended, environ, opened, say
from tests.processes import until
from tests.standins.gemini import Call, Calls, GeminiStandIn, Hang, Recorded, Text
from tests.standins.gemini_replies import Reply


@pytest.fixture
def project(session: Session) -> Path:
    return furnish(root_of(session))


async def test_the_copy_holds_what_the_project_holds_and_what_is_carried(
    tmp_path: Path, gemini: GeminiStandIn
) -> None:
    flags = {"history.alternatives_carry": [".venv", "absent"]}
    async with opened(tmp_path, environ(tmp_path, gemini), flags=flags) as session:
        root = root_of(session)
        (root / ".gitignore").write_text(".venv\ndist\n")
        (root / ".venv" / "bin").mkdir(parents=True)
        (root / ".venv" / "bin" / "tool").write_text("#!/bin/sh\necho tool ran\n")
        (root / ".venv" / "bin" / "tool").chmod(0o755)
        (root / ".venv" / "python").symlink_to("/usr/bin/env")
        (root / "dist").mkdir()
        (root / "dist" / "big").write_text("not wanted")
        (root / "up").symlink_to("../elsewhere")
        session.live.consent.mode = Mode.ALL
        models = script(gemini)(
            {READABLE: [runs("find . | sort; .venv/bin/tool; echo x > .venv/made")], FAST: []}
        )
        before = tree(root)
        group = await start_alternatives(session, AttemptRequest(2, "look"))
        lines = await all_lines(group)
        heard = str(models.asked[READABLE][-1].body)
        assert "tool ran" in heard
        assert "./.venv/python" in heard
        assert "./up" in heard
        assert "dist" not in heard
        assert any("Links that still point outside the copies" in line and "up" in line for line in lines)
        assert any("absent (it does not exist)" in line for line in lines)
        assert group.results[0].version.changes == ()
        assert tree(root) == before


async def test_what_lies_outside_of_the_copy_is_out_of_reach_for_file_tools(
    session: Session, gemini: GeminiStandIn, project: Path, tmp_path: Path
) -> None:
    (project / "out").symlink_to(tmp_path)
    session.live.consent.mode = Mode.ALL
    target = str(project / "a.txt")
    models = script(gemini)(
        {
            READABLE: [writes("x", target), writes("x", "out/b.txt"), writes("x", "../c.txt")],
            FAST: [Calls(Call("read", {"path": str(project / "src/main.py")}))],
        }
    )
    before = tree(tmp_path / "project")
    group = await start_alternatives(session, AttemptRequest(2, "write it"))
    await all_lines(group)
    heard = str(models.asked[READABLE][-1].body)
    assert heard.count("outside this copy") == 3
    assert "outside this copy" in str(models.asked[FAST][-1].body)
    assert tree(tmp_path / "project") == before
    assert not (tmp_path / "b.txt").exists()
    assert [each.version.changes for each in group.results] == [(), ()]


async def test_what_a_kill_leaves_is_kept_and_cleared_at_the_next_start(
    tmp_path: Path, gemini: GeminiStandIn
) -> None:
    key = {"GEMINI_API_KEY": gemini.key, "GOOGLE_GEMINI_BASE_URL": gemini.url}
    program = Program(tmp_path, MODEL, key)
    (program.project / "old.txt").write_text("old\n")
    models = script(gemini)(
        {READABLE: [writes("r\n"), Hang()], FAST: [writes("f\n"), runs("rm old.txt; touch gone; sleep 1000")]}
    )
    process = await program.start("--yolo", "alternatives", "2", "write it")
    await until(lambda: len(models.asked.get(READABLE, ())) >= 2, timeout_s=60)
    copies = tmp_path / "data" / "copies"
    await until(lambda: any(copies.rglob("gone")), timeout_s=60)
    process.send_signal(signal.SIGKILL)
    await process.communicate()
    assert any(copies.rglob("a.txt"))
    assert tree(program.project) == {"old.txt": ("file", 0o644, b"old\n")}

    async with opened(tmp_path, environ(tmp_path, gemini)) as session:
        workspace = session.workspace
        assert any("2 alternatives were cut off" in said for said in workspace.loaded.notices)
        assert not list(copies.iterdir())
        assert await workspace.history.roots() == [program.project]
        assert tree(program.project) == {"old.txt": ("file", 0o644, b"old\n")}
        here = await alternatives_here(session)
        assert [each.ended for each in here.alternatives] == ["cut off by a crash"] * 2
        assert [each.name for each in here.alternatives] == ["readable", "fast"]
        assert [[change.path for change in each.version.changes] for each in here.alternatives] == [
            ["a.txt"],
            ["a.txt", "gone", "old.txt"],
        ]
        record = await workspace.store.sessions.get(here.alternatives[0].version.session_id)
        assert record is not None
        assert record.head is None
        resumed = (await resume_session(workspace, record)).session
        await take(resumed, 2)
        assert (program.project / "a.txt").read_text() == "f\n"
        assert not (program.project / "old.txt").exists()
        await close_session(resumed)


async def test_copies_of_others_that_still_run_are_left_alone(
    session: Session, gemini: GeminiStandIn, project: Path
) -> None:
    models = script(gemini)({READABLE: [Hang()], FAST: [Hang()]})
    group = await start_alternatives(session, AttemptRequest(2, "write it"))
    await until(lambda: len(models.asked) == 2)
    before = copies_in(session)
    async with beside(session) as other:
        assert copies_in(session) == before
        assert not (await alternatives_here(other)).alternatives
    await group.close()
    assert copies_in(session) == []


async def test_what_is_carried_and_tracked_in_part_is_not_taken_for_removed(
    tmp_path: Path, gemini: GeminiStandIn
) -> None:
    flags = {"history.alternatives_carry": ["dist", "absent/deep"]}
    async with opened(tmp_path, environ(tmp_path, gemini), flags=flags) as session:
        root = root_of(session)
        (root / "dist").mkdir()
        (root / "dist" / "tracked").write_text("tracked")
        await turn(session, gemini, "begin", write("begun.txt", "begun\n"))
        (root / ".gitignore").write_text("dist\n")
        (root / "dist" / "built").write_text("built")
        session.live.consent.mode = Mode.ALL
        models = script(gemini)({READABLE: [runs("ls dist; echo new > dist/more")], FAST: []})
        group = await start_alternatives(session, AttemptRequest(2, "look"))
        await all_lines(group)
        assert "built" in str(models.asked[READABLE][-1].body)
        assert [each.version.changes for each in group.results] == [(), ()]


async def test_what_cannot_be_started_leaves_nothing(tmp_path: Path, gemini: GeminiStandIn) -> None:
    env = environ(tmp_path, gemini, RAGFORGE_DATA_DIR=str(tmp_path / "project" / ".data"))
    async with opened(tmp_path, env) as session:
        (root_of(session) / "a.txt").write_text("a")
        with pytest.raises(UsageError, match="RAGFORGE_DATA_DIR"):
            await start_alternatives(session, AttemptRequest(2, "look"))
        assert copies_in(session) == []
        assert await session.workspace.history.roots() == [root_of(session)]
        assert not session.busy
        gemini.script(Text("hello"))
        assert ended(await say(session, "hi")).status is TurnStatus.FINISHED


async def test_what_could_not_be_kept_stays_until_the_next_start(
    tmp_path: Path, gemini: GeminiStandIn
) -> None:
    env = environ(tmp_path, gemini)
    broken: list[Path] = []
    async with opened(tmp_path, env) as session:
        data = session.workspace.data_dir

        def last(request: Recorded) -> Reply:
            """The folder's lock becomes something that cannot be locked, before the turn's end is kept."""
            broken.append(lock_path(data, group.runs[0].session.workspace.place.root))
            broken[0].unlink()
            broken[0].mkdir()
            return Text("Done.")

        def way(request: Recorded) -> Reply:
            if READABLE not in str(request.body):
                return Text("Done.")
            return last(request) if "functionResponse" in str(request.body) else writes("precious\n")

        gemini.script(*[way] * 3)
        group = await start_alternatives(session, AttemptRequest(2, "write it"))
        lines = await all_lines(group)
        assert any("the next start makes the version" in line for line in lines)
        assert [each.name for each in group.results] == ["fast"]
        assert len(list((data / "copies").rglob("a.txt"))) == 1
        group._room.leave()  # as the end of the process does
    broken[0].rmdir()
    async with opened(tmp_path, env) as session:
        assert copies_in(session) == []
        here = await alternatives_here(session)
        assert [each.name for each in here.alternatives] == ["readable", "fast"]
        assert [change.path for change in here.alternatives[0].version.changes] == ["a.txt"]


async def test_a_home_folder_is_never_copied(tmp_path: Path, gemini: GeminiStandIn) -> None:
    env = environ(tmp_path, gemini, HOME=str(tmp_path / "project"))
    async with opened(tmp_path, env) as session:
        with pytest.raises(UsageError, match="never tracked"):
            await start_alternatives(session, AttemptRequest(2, "look"))
        assert copies_in(session) == []
        assert not session.live.stored
