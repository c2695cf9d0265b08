"""The newest request worked out anew, from before it: its own turn stays where it is until one is taken."""

from pathlib import Path

import pytest

from ragforge.domain.errors import UsageError
from ragforge.session.moves import checkout
from ragforge.session.state import Session
from ragforge.versions.attempts.alternatives import alternatives_here, take
from ragforge.versions.attempts.approaches import APPROACHES
from ragforge.versions.attempts.check_consent import answer
from ragforge.versions.attempts.start import AttemptRequest, question, start_alternatives
from tests.flow.alternating import FAST, READABLE, all_lines, copies_in, runs, script, writes
from tests.flow.moving import head_of, root_of, tree, turn, versions_of, write
from tests.flow.running import environ, opened
from tests.standins.gemini import GeminiStandIn, Text


async def test_the_newest_request_goes_on_from_before_it(session: Session, gemini: GeminiStandIn) -> None:
    root = root_of(session)
    (root / "old.txt").write_text("old\n")
    first = await turn(session, gemini, "begin", write("begun.txt", "begun\n"))
    newest = await turn(
        session, gemini, "write it well", write("a.txt", "first try\n"), write("b.txt", "b\n")
    )
    (root / "mine.txt").write_text("mine\n")
    before, chat = tree(root), session.live.record.head
    models = script(gemini)({READABLE: [runs("ls"), writes("readable\n")], FAST: [writes("fast\n")]})
    assert "write it well" in await question(session, AttemptRequest(2, ""))
    group = await start_alternatives(session, AttemptRequest(2, ""))
    await all_lines(group)

    assert tree(root) == before
    assert session.live.record.head == chat == newest.id
    asked = models.asked[READABLE]
    assert "write it well" in str(asked[0].body)
    assert "first try" not in str(asked[0].body), "the turn itself is none of the conversation"
    listed = str(asked[1].body["contents"][-1])
    assert "begun.txt" in listed
    assert "old.txt" in listed
    assert "a.txt" not in listed
    assert "mine.txt" not in listed
    [version] = await versions_of(session, newest)
    turns = [await session.workspace.store.turns.get(each.version.turn_id) for each in group.results]
    assert {each.parent for each in turns if each} == {first.id}
    assert {each.version.parents for each in group.results} == {version.parents}
    changes = [[change.path for change in each.version.changes] for each in group.results]
    assert changes == [["a.txt"], ["a.txt"]], "what was taken back in the copy is no change of the way"
    assert copies_in(session) == []

    here = await alternatives_here(session)
    assert [each.name for each in here.alternatives] == ["readable", "fast"]
    await take(session, 2)
    assert (root / "a.txt").read_text() == "fast\n"
    assert not (root / "b.txt").exists()
    assert session.live.record.head == group.results[1].version.turn_id
    await checkout(session, version.id)
    assert (root / "a.txt").read_text() == "first try\n"


async def test_the_first_request_of_all_goes_on_from_the_beginning(
    session: Session, gemini: GeminiStandIn
) -> None:
    await turn(session, gemini, "write it", write("a.txt", "first try\n"))
    before, head = tree(root_of(session)), await head_of(session)
    done = Text("Done.")
    script(gemini)(
        {
            READABLE: [writes("readable\n"), done, writes("once more\n")],
            FAST: [writes("fast\n"), done, writes("faster\n")],
        }
    )
    for _ in range(2):
        await all_lines(await start_alternatives(session, AttemptRequest(2, "")))
    assert (tree(root_of(session)), await head_of(session)) == (before, head)
    here = await alternatives_here(session)
    assert [each.number for each in here.alternatives] == [1, 2, 3, 4]
    assert len({each.version.parents for each in here.alternatives}) == 1
    await take(session, 3)
    assert (root_of(session) / "a.txt").read_text() == "once more\n"


async def test_one_that_was_taken_is_worked_out_anew_without_its_approach(
    session: Session, gemini: GeminiStandIn
) -> None:
    await turn(session, gemini, "begin", write("begun.txt", "begun\n"))
    script(gemini)({READABLE: [writes("readable\n")], FAST: [writes("fast\n")]})
    await all_lines(await start_alternatives(session, AttemptRequest(2, "write it")))
    await take(session, 1)
    before = len(gemini.asked("streamGenerateContent"))
    await all_lines(await start_alternatives(session, AttemptRequest(2, "")))
    sent = [request.body["contents"][-1] for request in gemini.asked("streamGenerateContent")[before:]]
    said = [content["parts"][-1]["text"] for content in sent]
    assert sorted(said) == sorted(f"write it\n\n{APPROACHES[name]}" for name in ("readable", "fast"))
    assert [each.number for each in (await alternatives_here(session)).alternatives] == [1, 2, 3, 4]


async def test_without_any_request_there_is_nothing_to_work_out(session: Session) -> None:
    with pytest.raises(UsageError, match="no earlier request"):
        await start_alternatives(session, AttemptRequest(2, ""))
    assert not session.live.stored


async def test_the_projects_own_check_runs_in_copies_once_it_was_confirmed(
    tmp_path: Path, gemini: GeminiStandIn
) -> None:
    (tmp_path / "project" / ".ragforge").mkdir(parents=True)
    (tmp_path / "project" / ".ragforge" / "config.toml").write_text(
        "[history]\ncheck_command = 'grep -q good a.txt'\n"
    )
    async with opened(tmp_path, environ(tmp_path, gemini)) as session:
        script(gemini, 4)({READABLE: [writes("good")], FAST: [writes("bad")]})
        group = await start_alternatives(session, AttemptRequest(2, "write it"))
        lines = await all_lines(group)
        assert any("not confirmed" in line and "grep -q good a.txt" in line for line in lines)
        assert [each.check for each in group.results] == ["", ""]
        await answer(session.workspace, may_run=True)
        script(gemini, 4)({READABLE: [writes("good")], FAST: [writes("bad")]})
        group = await start_alternatives(session, AttemptRequest(2, "write it"))
        lines = await all_lines(group)
        assert [each.check for each in group.results] == ["passed", "failed: exit code 1"]
        assert any("check passed: `grep -q good a.txt`, exit code 0, " in line for line in lines)
