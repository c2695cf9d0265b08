"""Results of a merge tried by the check command and judged by a second model, before one is taken."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from ragforge.domain.errors import UsageError
from ragforge.domain.moves import MergeMode, Side
from ragforge.session.state import Session
from ragforge.session.turn import interrupt
from ragforge.versions.attempts.candidates import MergeUndecided
from ragforge.versions.attempts.check_consent import answer, check_command
from ragforge.versions.attempts.check_run import check
from ragforge.versions.attempts.merge import merge, take_candidate
from tests.flow.moving import head_of, root_of, tree
from tests.flow.parting import LINES, parted
from tests.flow.running import MODEL, environ, opened
from tests.processes import until
from tests.standins.gemini import GeminiStandIn, JsonText, Recorded, ServerError
from tests.standins.gemini_replies import Reply

LEFT, RIGHT = ["LEFT\n", *LINES[1:]], ["RIGHT\n", *LINES[1:]]
WHOLE = "".join(["WHOLE\n", *LINES[1:5], "more\n", *LINES[5:]])
"""What combine_best makes of it, which is the larger difference."""
PARTS = "".join(["PARTS\n", *LINES[1:]])
SECOND = "gemini:gemini-3.5-flash-lite"
FINE = {"reasons": [], "keeps_ours": True, "keeps_theirs": True, "adds_nothing": True, "may_stand": True}


def answers(verdict: dict[str, Any] | Reply | None = None) -> Callable[[Recorded], Reply]:
    """What models say, by what they are asked."""

    def reply(request: Recorded) -> Reply:
        asked = (request.schema or {})["properties"]
        if "may_stand" in asked:
            return verdict if verdict and not isinstance(verdict, dict) else JsonText(verdict or FINE)
        if "content" in asked:
            return JsonText({"content": WHOLE, "why": "Whole."})
        return JsonText({"resolutions": [{"conflict": 1, "lines": ["PARTS"], "why": "Parts."}]})

    return reply


@asynccontextmanager
async def parted_session(
    tmp_path: Path, gemini: GeminiStandIn, *, verdict: dict[str, Any] | Reply | None = None, **settings: str
) -> AsyncIterator[Session]:
    """Two lines that clash, before they are merged; the settings are those of `history`."""
    flags: dict[str, object] = {f"history.{name}": value for name, value in settings.items()}
    async with opened(tmp_path, environ(tmp_path, gemini), flags=flags) as session:
        await parted(session, gemini, LEFT, RIGHT)
        gemini.always_structured(answers(verdict))
        yield session


def content(session: Session) -> str:
    return (root_of(session) / "a.txt").read_text()


async def assert_nothing_is_left(session: Session) -> None:
    copies = session.workspace.data_dir / "copies"
    assert not copies.exists() or not list(copies.iterdir())
    assert await session.workspace.history.roots() == [root_of(session)]
    assert not session.busy


async def test_the_only_result_that_passes_the_check_is_taken(tmp_path: Path, gemini: GeminiStandIn) -> None:
    said: list[str] = []
    command = "pwd; test -f left.txt -a -f right.txt && grep -q WHOLE a.txt"
    async with parted_session(tmp_path, gemini, check_command=command) as session:
        moved = await merge(session, "right", strategy=MergeMode.BEST, ask=True, tell=said.append)
        assert content(session) == WHOLE, "although the other one is the smaller difference"
        assert (moved.merged, moved.marked, moved.doubted) == (("a.txt",), (), False)
        assert "combine_best was taken: it alone passed the check." in moved.notes
        [passed] = [line for line in said if line.startswith("combine_best: check passed")]
        [failed] = [line for line in said if line.startswith("resolve_conflicts: check failed")]
        assert f"`{command}`, exit code 0, " in passed
        assert "check failed: exit code 1: " in failed
        assert failed.endswith(" s")
        await assert_nothing_is_left(session)


@pytest.mark.parametrize(
    ("command", "passes"), [("echo fine", True), ("echo broken; exit 3", False), ("", False)]
)
async def test_where_the_check_does_not_decide_the_user_does(
    tmp_path: Path, gemini: GeminiStandIn, command: str, passes: bool
) -> None:
    async with parted_session(tmp_path, gemini, check_command=command) as session:
        before, head = tree(root_of(session)), await head_of(session)
        with pytest.raises(MergeUndecided) as undecided:
            await merge(session, "right", strategy=MergeMode.BEST, ask=True)
        assert (tree(root_of(session)), await head_of(session)) == (before, head)
        await assert_nothing_is_left(session)
        candidates = undecided.value.candidates
        assert candidates.names == "combine_best, resolve_conflicts"
        for each in candidates.each:
            assert each.has_passed is passes
            assert (each.checked.output.split() if each.checked else []) == command.removesuffix(
                "; exit 3"
            ).split()[1:]
            assert f"+++ b/a.txt ({each.name})" in each.diff
        assert "+WHOLE" in candidates.each[0].diff
        with pytest.raises(UsageError, match="combine_best, resolve_conflicts"):
            await take_candidate(session, "right", candidates, "neither")
        moved = await take_candidate(session, "right", candidates, "combine_best")
        assert content(session) == WHOLE
        assert moved.merged == ("a.txt",)
        assert moved.doubted is (bool(command) and not passes)


async def test_where_nobody_can_be_asked_the_smaller_difference_is_taken(
    tmp_path: Path, gemini: GeminiStandIn
) -> None:
    async with parted_session(tmp_path, gemini, check_command="exit 1") as session:
        moved = await merge(session, "right", strategy=MergeMode.BEST)
        assert content(session) == PARTS
        assert moved.doubted
        assert any("neither passed the check; it stays nearer" in note for note in moved.notes)


async def test_one_strategy_by_name_is_checked_and_taken_unless_a_user_can_doubt_it(
    tmp_path: Path, gemini: GeminiStandIn
) -> None:
    async with parted_session(tmp_path, gemini, check_command="grep -q PARTS a.txt") as session:
        with pytest.raises(MergeUndecided) as undecided:
            await merge(session, "right", strategy=MergeMode.COMBINE_BEST, ask=True)
        assert undecided.value.candidates.names == "combine_best"
        await merge(session, "right", strategy=MergeMode.RESOLVE_CONFLICTS, ask=True)
        assert content(session) == PARTS


async def test_files_that_changed_since_are_not_overwritten_by_a_result(
    tmp_path: Path, gemini: GeminiStandIn
) -> None:
    async with parted_session(tmp_path, gemini) as session:
        with pytest.raises(MergeUndecided) as undecided:
            await merge(session, "right", strategy=MergeMode.BEST, ask=True)
        (root_of(session) / "a.txt").write_text("".join(["MINE\n", *LINES[1:]]))
        moved = await take_candidate(session, "right", undecided.value.candidates, "combine_best")
        assert moved.marked == ("a.txt",)
        assert "MINE" in content(session)
        assert any("they changed since then" in note and "a.txt" in note for note in moved.notes)


async def test_interrupted_nothing_was_merged_and_nothing_runs_on(
    tmp_path: Path, gemini: GeminiStandIn
) -> None:
    said: list[str] = []
    mark = tmp_path / "began"
    command = f"echo $$ > {mark}; sleep 1000"
    async with parted_session(tmp_path, gemini, check_command=command) as session:
        before, head = tree(root_of(session)), await head_of(session)
        task = asyncio.create_task(merge(session, "right", strategy=MergeMode.BEST, tell=said.append))
        await until(lambda: mark.exists() and mark.read_text().strip() != "", timeout_s=60)
        assert session.busy
        await interrupt(session)
        assert task.cancelled()
        assert not Path(f"/proc/{mark.read_text().strip()}").exists()
        assert (tree(root_of(session)), await head_of(session)) == (before, head)
        await assert_nothing_is_left(session)
        await merge(session, "right", side=Side.OURS)
        assert (root_of(session) / "right.txt").exists()


async def test_a_check_that_hangs_is_ended(tmp_path: Path) -> None:
    mark = tmp_path / "began"
    command = f"echo working; echo $$ > {mark}; sleep 1000"
    for limit_s in (1.0, 10.0, 50.0):
        checked = await check(command, cwd=tmp_path, env=environ(tmp_path), limit_s=limit_s)
        assert not checked.passed
        assert checked.words == f"check took more than {limit_s} s"
        assert checked.took_s >= limit_s
        if mark.exists() and mark.read_text().strip():
            break  # else the machine was too busy to begin
    assert checked.output == "working\n"
    assert not Path(f"/proc/{mark.read_text().strip()}").exists()


async def test_what_a_second_model_objects_to_is_for_the_user_to_weigh(
    tmp_path: Path, gemini: GeminiStandIn
) -> None:
    said: list[str] = []
    verdict = {**FINE, "may_stand": False, "reasons": ["Line 6 is new."]}
    settings = {"check_command": "grep -q WHOLE a.txt", "validation_model": SECOND}
    async with parted_session(tmp_path, gemini, verdict=verdict, **settings) as session:
        spent = session.live.spending.cost_usd or 0
        with pytest.raises(MergeUndecided) as undecided:
            await merge(session, "right", strategy=MergeMode.BEST, ask=True, tell=said.append)
        whole, parts = undecided.value.candidates.each
        assert (whole.has_passed, list(whole.objections)) == (True, ["a.txt: Line 6 is new."])
        assert parts.validation is None, "what failed the check need not be judged"
        [line] = [line for line in said if SECOND in line]
        assert line.startswith(f"combine_best: {SECOND} objects: a.txt: Line 6 is new. ($")
        [asked] = [each for each in gemini.structured() if "may_stand" in (each.schema or {})["properties"]]
        assert "WHOLE" in asked.last_text
        rows = await session.workspace.store.usage.by_model(session_id=session.id)
        assert {row.model: row.cost_usd for row in rows if row.cost_usd}.keys() == {MODEL, SECOND}
        assert (session.live.spending.cost_usd or 0) > spent

        moved = await merge(session, "right", strategy=MergeMode.BEST)
        assert content(session) == WHOLE, "where nobody can be asked the check decides"
        assert moved.doubted
        assert any("Line 6 is new." in note for note in moved.notes)


@pytest.mark.parametrize("model", [SECOND, "openai:gpt-9", "nobody:at-all", "local"])
async def test_a_second_model_that_fails_stops_no_merge(
    tmp_path: Path, gemini: GeminiStandIn, model: str
) -> None:
    said: list[str] = []
    flags: dict[str, object] = {
        "history.validation_model": model,
        "history.check_command": "grep -q WHOLE a.txt",
        "retry.attempts_max": 1,
    }
    async with opened(tmp_path, environ(tmp_path, gemini), flags=flags) as session:
        await parted(session, gemini, LEFT, RIGHT)
        gemini.always_structured(answers(ServerError()))
        moved = await merge(session, "right", strategy=MergeMode.BEST, ask=True, tell=said.append)
        assert content(session) == WHOLE
        assert not moved.doubted
        assert any(model in line and "could not" in line for line in said), said


async def test_a_second_model_without_an_objection_is_heard_too(
    tmp_path: Path, gemini: GeminiStandIn
) -> None:
    said: list[str] = []
    async with parted_session(tmp_path, gemini, validation_model=SECOND) as session:
        await merge(session, "right", strategy=MergeMode.COMBINE_BEST, ask=True, tell=said.append)
        assert any(f"combine_best: {SECOND} has no objection ($" in line for line in said)


async def test_the_projects_own_command_runs_only_after_its_very_text_was_confirmed(
    tmp_path: Path, gemini: GeminiStandIn
) -> None:
    mark = tmp_path / "ran"

    def want(command: str) -> None:
        file = tmp_path / "project" / ".ragforge" / "config.toml"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"[history]\ncheck_command = {command!r}\n")

    want(f"touch {mark}; exit 1")
    async with parted_session(tmp_path, gemini) as session:
        moved = await merge(session, "right", strategy=MergeMode.BEST)
        assert not mark.exists()
        [note] = [note for note in moved.notes if "not confirmed" in note]
        assert f"touch {mark}; exit 1" in note
        assert f"RAGFORGE_HISTORY_CHECK_COMMAND='touch {mark}; exit 1'" in note
        await answer(session.workspace, may_run=False)
        assert "said no" in (await check_command(session.workspace)).note
        await answer(session.workspace, may_run=True)
        assert (await check_command(session.workspace)).command == f"touch {mark}; exit 1"
    want(f"touch {mark}")
    async with opened(tmp_path, environ(tmp_path, gemini)) as session:
        checking = await check_command(session.workspace)
        assert (checking.command, checking.asked) == ("", f"touch {mark}")
    want("x" * 501)
    async with opened(tmp_path, environ(tmp_path, gemini)) as session:
        checking = await check_command(session.workspace)
        assert (checking.command, checking.asked) == ("", "")
        assert "too long" in checking.note
    want(f"touch {mark} p\u0430y")
    async with opened(tmp_path, environ(tmp_path, gemini)) as session:
        checking = await check_command(session.workspace)
        assert (checking.command, checking.asked) == ("", "")
        assert "cannot be parsed reliably (1 look-alike letter)" in checking.note
        assert "p\u0430<U+0430>y" in checking.note
    want(f"touch {mark}; exit 1")
    flags: dict[str, object] = {"history.check_command": "true"}
    async with opened(tmp_path, environ(tmp_path, gemini), flags=flags) as session:
        assert (await check_command(session.workspace)).command == "true"
    async with opened(tmp_path, environ(tmp_path, gemini)) as session:
        assert (await check_command(session.workspace)).command == f"touch {mark}; exit 1"
        assert not mark.exists()
