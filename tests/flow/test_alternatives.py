"""A request worked out in several ways at once: versions side by side, the project untouched."""

from pathlib import Path

import pytest

from ragforge.domain.approvals import Mode, Rule
from ragforge.domain.errors import UsageError
from ragforge.domain.turns import TurnStatus
from ragforge.domain.versions import MoveAction, Provenance
from ragforge.memory.failures import failed_before
from ragforge.session.moves import redo, undo
from ragforge.session.open import close_session, resume_session
from ragforge.session.state import Session
from ragforge.versions.attempts.alternatives import alternatives_here, table, take
from ragforge.versions.attempts.start import AttemptRequest, question, start_alternatives
from tests.flow.alternating import (
    FAST,
    READABLE,
    THOROUGH,
    all_lines,
    copies_in,
    furnish,
    runs,
    script,
    writes,
)
from tests.flow.moving import head_of, line_of, root_of, tree, turn, write
from tests.flow.running import ended, environ, opened, say
from tests.processes import until
from tests.standins.gemini import GeminiStandIn, Hang, ServerError, Text


@pytest.fixture
def project(session: Session) -> Path:
    return furnish(root_of(session))


async def test_three_ways_at_once_are_versions_side_by_side(
    session: Session, gemini: GeminiStandIn, project: Path
) -> None:
    await turn(session, gemini, "begin", write("begun.txt", "begun\n"))
    before, head, chat = tree(project), await head_of(session), session.live.record.head
    script(gemini)(
        {
            READABLE: [writes("readable\n")],
            FAST: [writes("fast\n"), writes("more\n", "src/b.txt")],
            THOROUGH: [writes("thorough\n")],
        }
    )
    group = await start_alternatives(session, AttemptRequest(3, "write it"))
    lines = await all_lines(group)

    assert tree(project) == before
    assert (await head_of(session), session.live.record.head) == (head, chat)
    record = await session.workspace.store.sessions.get(session.id)
    assert record is not None
    assert record.head == chat
    assert copies_in(session) == []

    versions = [each.version for each in group.results]
    assert [each.name for each in group.results] == ["readable", "fast", "thorough"]
    assert {version.parents for version in versions} == {(head.version,)}
    assert [[change.path for change in version.changes] for version in versions] == [
        ["a.txt"],
        ["a.txt", "src/b.txt"],
        ["a.txt"],
    ]
    assert {change.provenance for version in versions for change in version.changes} == {Provenance.TOOL}
    turns = [await session.workspace.store.turns.get(version.turn_id) for version in versions]
    assert {(each.parent, each.status, each.session_id) for each in turns if each} == {
        (chat, TurnStatus.FINISHED, session.id)
    }
    assert all(version.usage.input_tokens > 0 and version.cost_usd for version in versions)
    assert any(line.startswith("2 (fast): write src/b.txt") for line in lines)
    assert [line.split()[0] for line in lines[-5:-1]] == ["#", "1", "2", "3"]
    assert "/alternatives take" in lines[-1]
    roots = set(await session.workspace.history.roots())
    assert roots == {project}


async def test_one_is_taken_later_and_the_chat_goes_on_from_it(
    session: Session, gemini: GeminiStandIn, project: Path
) -> None:
    await turn(session, gemini, "begin", write("begun.txt", "begun\n"))
    script(gemini, 6)({READABLE: [writes("readable\n")], FAST: [writes("fast\n")], THOROUGH: [writes("t\n")]})
    await all_lines(await start_alternatives(session, AttemptRequest(3, "write it")))
    here = await alternatives_here(session)
    assert [each.number for each in here.alternatives] == [1, 2, 3]

    moved = await take(session, 2)
    assert moved.action is MoveAction.TAKE
    assert (project / "a.txt").read_text() == "fast\n"
    assert session.live.record.head == here.alternatives[1].version.turn_id
    assert (await head_of(session)).version == here.alternatives[1].version.id
    [row, *_] = await session.workspace.store.versions.moves(session.workspace.project.id)
    assert row.action is MoveAction.TAKE

    # The others are still there, and one of them can take its place.
    again = await alternatives_here(session)
    assert [each.number for each in again.alternatives] == [1, 2, 3]
    assert [line.split()[-1] == "taken" for line in table(again.alternatives, head=again.head)[1:]] == [
        False,
        True,
        False,
    ]
    await take(session, 3)
    assert (project / "a.txt").read_text() == "t\n"
    await take(session, 1)
    gemini.script(Text("Going on."))
    done = ended(await say(session, "go on"))
    assert done.parent == here.alternatives[0].version.turn_id
    assert "write it" in str(gemini.asked("streamGenerateContent")[-1].body)
    failed = await failed_before(session.workspace.store, session.workspace.project.id, done)
    assert [(each.outcome, each.files) for each in failed] == [("discarded", ("a.txt",))] * 2
    await undo(session, 2)
    assert not (project / "a.txt").exists()
    await redo(session)
    assert (project / "a.txt").read_text() == "readable\n"


async def test_stopping_one_leaves_the_others_running(
    session: Session, gemini: GeminiStandIn, project: Path
) -> None:
    models = script(gemini)(
        {
            READABLE: [writes("readable\n"), Hang()],
            FAST: [writes("fast\n"), Hang()],
            THOROUGH: [writes("thorough\n")],
        }
    )
    group = await start_alternatives(session, AttemptRequest(3, "write it"))
    await until(lambda: all(len(models.asked.get(way, ())) >= 2 for way in (READABLE, FAST)))
    await until(lambda: group.runs[2].is_done)
    await group.stop(1)
    await until(lambda: group.runs[0].is_done)
    assert group.is_running
    assert not group.runs[1].is_done
    with pytest.raises(UsageError, match="is not running"):
        await group.stop(1)
    with pytest.raises(UsageError, match="already"):
        await start_alternatives(session, AttemptRequest(2, "more"))
    await group.stop(2)
    await all_lines(group)
    assert [each.ended for each in group.results] == ["stopped", "stopped", ""]
    # What it had done is kept all the same.
    assert [change.path for change in group.results[0].version.changes] == ["a.txt"]
    assert copies_in(session) == []
    assert not (project / "a.txt").exists()


async def test_one_that_fails_is_kept_as_failed(tmp_path: Path, gemini: GeminiStandIn) -> None:
    flags = {"retry.attempts_max": 1}
    async with opened(tmp_path, environ(tmp_path, gemini), flags=flags) as session:
        script(gemini)({READABLE: [ServerError()], FAST: [writes("fast\n")]})
        lines = await all_lines(group := await start_alternatives(session, AttemptRequest(2, "write it")))
        assert [each.ended for each in group.results] == ["failed", ""]
        assert any(line.startswith("1 (readable): failed (") for line in lines)
        assert not group.results[0].version.changes


async def test_the_check_command_runs_in_each_copy(tmp_path: Path, gemini: GeminiStandIn) -> None:
    flags = {"history.check_command": "pwd > ../../seen-$(cat a.txt); test $(cat a.txt) = good"}
    async with opened(tmp_path, environ(tmp_path, gemini), flags=flags) as session:
        script(gemini)({READABLE: [writes("good")], FAST: [writes("bad")]})
        group = await start_alternatives(session, AttemptRequest(2, "write it"))
        await all_lines(group)
        assert [each.check for each in group.results] == ["passed", "failed: exit code 1"]
        assert [each.check for each in (await alternatives_here(session)).alternatives] == [
            "passed",
            "failed: exit code 1",
        ]
        assert tree(root_of(session)) == {}


async def test_what_was_not_allowed_before_is_refused_with_a_reason(
    session: Session, gemini: GeminiStandIn, project: Path
) -> None:
    session.live.consent.kept = (Rule("shell", "touch allowed"),)
    models = script(gemini)(
        {READABLE: [runs("touch refused"), runs("touch allowed"), writes("no question\n")], FAST: []}
    )
    asked = await question(session, AttemptRequest(2, "write it"))
    assert "not confined" in asked
    group = await start_alternatives(session, AttemptRequest(2, "write it"))
    await all_lines(group)
    assert "Alternatives run without questions" in str(models.asked[READABLE][-1].body)
    assert [change.path for change in group.results[0].version.changes] == ["a.txt", "allowed"]
    assert [change.provenance for change in group.results[0].version.changes] == [
        Provenance.TOOL,
        Provenance.SHELL,
    ]


async def test_leaving_the_session_ends_them_and_keeps_what_they_did(
    session: Session, gemini: GeminiStandIn, project: Path
) -> None:
    models = script(gemini)({READABLE: [writes("r\n"), Hang()], FAST: [writes("f\n"), Hang()]})
    group = await start_alternatives(session, AttemptRequest(2, "write it"))
    await until(lambda: all(len(asked) >= 2 for asked in models.asked.values()) and len(models.asked) == 2)
    await close_session(session)
    assert not group.is_running
    assert copies_in(session) == []
    record = await session.workspace.store.sessions.get(session.id)
    assert record is not None
    again = (await resume_session(session.workspace, record)).session
    assert [each.ended for each in (await alternatives_here(again)).alternatives] == ["stopped"] * 2
    await take(again, 2)
    assert (project / "a.txt").read_text() == "f\n"
    await close_session(again)


async def test_other_turns_may_go_on_meanwhile(
    session: Session, gemini: GeminiStandIn, project: Path
) -> None:
    models = script(gemini, 4)({READABLE: [writes("r\n"), Hang()], FAST: [writes("f\n"), Hang()]})
    group = await start_alternatives(session, AttemptRequest(2, "write it"))
    await until(lambda: sum(len(asked) for asked in models.asked.values()) == 4)
    own = await turn(session, gemini, "meanwhile", write("own.txt", "own\n"))
    assert own.parent is None
    await group.close()
    assert session.live.record.head == own.id
    assert (await line_of(session))[0].turn_id == own.id
    here = await alternatives_here(session)
    assert len(here.alternatives) == 2
    await take(session, 1)
    assert (project / "a.txt").read_text() == "r\n"
    assert not (project / "own.txt").exists()


async def test_what_makes_no_sense_is_refused_before_anything_is_made(
    session: Session, gemini: GeminiStandIn
) -> None:
    for wanted, words in (
        (AttemptRequest(1, "x"), "2 to 8"),
        (AttemptRequest(9, "x"), "2 to 8"),
        (AttemptRequest(2, "  "), "Add a prompt"),
        (AttemptRequest(2, "x", ("nonsense",)), "Not a model name"),
        (AttemptRequest(2, "x", ("gemini:a", "gemini:b", "gemini:c")), "3 models"),
    ):
        with pytest.raises(UsageError, match=words):
            await question(session, wanted)
    session.live.consent.mode = Mode.PLAN
    with pytest.raises(UsageError, match="Plan mode"):
        await start_alternatives(session, AttemptRequest(2, "x"))
    assert not session.live.stored
    with pytest.raises(UsageError, match="There are no alternatives yet"):
        await take(session, 4)
    assert copies_in(session) == []


async def test_other_models_work_side_by_side(session: Session, gemini: GeminiStandIn, project: Path) -> None:
    names = ("gemini:gemini-3.8-flash", "gemini:gemini-3.5-flash-lite")
    gemini.when("write it", Text("Nothing to do."))
    group = await start_alternatives(session, AttemptRequest(3, "write it", names))
    await all_lines(group)
    assert [each.name for each in group.results] == [*names, f"{names[0]} readable"]
    assert [each.version.by for each in group.results] == [*names, names[0]]
    assert session.live.record.model == names[0]
