"""What a user consents to is what runs: shown as it is, looked at again, and kept without secrets."""

import os
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from ragforge.domain.approvals import (
    ApprovalAnswer,
    ApprovalRequest,
    ChangeFile,
    ConsentAnswer,
    Mode,
    RunCommand,
    ToolApproval,
    proposal_text,
)
from ragforge.domain.events import AgentEvent, ToolEnded
from ragforge.domain.messages import TextPart
from ragforge.domain.redact import MARK
from ragforge.domain.turns import CallStatus, ToolCall, TurnStatus
from ragforge.files.atomic import hash_of
from ragforge.session.open import close_session, close_workspace, open_workspace, resume_session
from ragforge.session.state import Session
from ragforge.session.turn import interrupt, submit
from ragforge.tools.base import Effect, Preview, Tool, ToolContext, ToolResult
from tests.flow.recorded import read, shell, write
from tests.flow.running import User, ended, environ, of_type, opened, say, say_retry
from tests.standins.gemini import Call, Calls, GeminiStandIn, Text

KEY = "AQ.Zk9-secret_key/With+odd=chars42"
ELSEWHERE = "leads somewhere else than when it was approved"


def calls(events: list[AgentEvent]) -> list[ToolCall]:
    return [event.call for event in of_type(events, ToolEnded)]


def meanwhile(work: Callable[[], object]) -> User:
    """Says yes, after something has happened."""

    def answer(_: ApprovalRequest) -> ApprovalAnswer:
        work()
        return ApprovalAnswer(ConsentAnswer.ONCE)

    return User(answer)


def turn_link(link: Path, target: Path) -> None:
    link.unlink()
    link.symlink_to(target)


# Edited before it runs


async def test_an_edited_call_is_checked_and_asked_about_anew_and_the_model_is_told(tmp_path: Path) -> None:
    edits = ["a\0b", "ls", "echo two > b.txt"]

    def answer(request: ApprovalRequest) -> ApprovalAnswer:
        assert isinstance(request, ToolApproval)
        if edits:
            return ApprovalAnswer(ConsentAnswer.EDIT, edited=edits.pop(0))
        return ApprovalAnswer(ConsentAnswer.ONCE)

    async with GeminiStandIn() as gemini, opened(tmp_path, environ(tmp_path, gemini)) as session:
        gemini.script(shell("echo one > a.txt"), Text("ok"))
        user = User(answer)
        events = await say(session, "go", user)
        approvals = [request for request in user.asked if isinstance(request, ToolApproval)]
        assert [(proposal_text(each.proposal), each.draft) for each in approvals] == [
            ("echo one > a.txt", "echo one > a.txt"),
            ("echo one > a.txt", "a\0b"),
            ("ls", "ls"),
            ("echo two > b.txt", "echo two > b.txt"),
        ]
        assert "not as you edited it: The command contains a NUL character" in approvals[1].reason
        assert approvals[2].reason == "you edited it"  # asked all the same, though `ls` only reads
        assert "with a redirection: > b.txt" in approvals[3].reason
        assert (session.cwd / "b.txt").read_text() == "two\n"
        assert not (session.cwd / "a.txt").exists()
        [call] = calls(events)
        assert call.args["command"] == "echo two > b.txt"
        heard = str(gemini.asked()[-1].body)
        assert "The user edited `command` before this ran" in heard
        assert "-echo one > a.txt" in heard
        assert "+echo two > b.txt" in heard


async def test_an_edited_file_is_shown_again_and_can_be_declined(tmp_path: Path) -> None:
    async with GeminiStandIn() as gemini, opened(tmp_path, environ(tmp_path, gemini)) as session:
        gemini.script(write("a.txt", "one\n"), Text("ok"))
        answers = [
            ApprovalAnswer(ConsentAnswer.EDIT, edited="two\n"),
            ApprovalAnswer(ConsentAnswer.NO, "not that either"),
        ]
        user = User(lambda _: answers.pop(0))
        events = await say(session, "go", user)
        again = user.asked[1]
        assert isinstance(again, ToolApproval)
        assert "two" in proposal_text(again.proposal)
        assert not (session.cwd / "a.txt").exists()
        assert [(call.status, call.refusal) for call in calls(events)] == [
            (CallStatus.DENIED, "not that either")
        ]


# The second look


@pytest.mark.parametrize("tool", ["write", "edit", "read"])
async def test_a_link_that_is_turned_while_the_user_decides_stops_the_call(
    session: Session, gemini: GeminiStandIn, tmp_path: Path, tool: str
) -> None:
    (outside := tmp_path / "outside").mkdir()
    (shown := tmp_path / "shown").mkdir()
    for folder in (outside, shown):
        (folder / "a.txt").write_text("old words\n")
    link = session.cwd / "link"
    link.symlink_to(shown)
    args = {
        "write": {"path": "link/new.txt", "content": "new\n"},
        "edit": {"path": "link/a.txt", "old": "old", "new": "new"},
        "read": {"path": "link/a.txt"},
    }[tool]
    for folder in (outside, shown):  # as if both had been read: only the second look is in the way
        session.live.view.read_files.hashes[folder / "a.txt"] = hash_of(b"old words\n")
    gemini.script(Calls(Call(tool, args)), Text("ok"))
    user = meanwhile(lambda: turn_link(link, outside))
    [call] = calls(await say(session, "go", user))
    assert len(user.asked) == 1
    assert call.status is CallStatus.FAILED
    assert ELSEWHERE in call.result
    assert "old words" not in call.result
    for folder in (outside, shown):
        assert sorted(path.name for path in folder.iterdir()) == ["a.txt"]
        assert (folder / "a.txt").read_text() == "old words\n"


async def test_a_link_that_is_turned_during_the_second_question_stops_the_call(
    session: Session, gemini: GeminiStandIn, tmp_path: Path
) -> None:
    """The one about what cannot be kept."""
    session.live.consent.mode = Mode.ALL
    folders = [tmp_path / "one", tmp_path / "two"]
    words = os.urandom(400_000).hex()
    for folder in folders:
        folder.mkdir()
        (folder / "a.txt").write_text(words)
        session.live.view.read_files.hashes[folder / "a.txt"] = hash_of(words.encode())
    link = session.cwd / "link"
    link.symlink_to(session.cwd)
    (session.cwd / "a.txt").write_text(words)
    session.live.view.read_files.hashes[session.cwd / "a.txt"] = hash_of(words.encode())
    await session.workspace.blobs.sizes()  # the database is there now
    database = session.workspace.blobs._database  # type: ignore[attr-defined]
    await database.write(lambda connection: connection.pragma("max_page_count", 1))
    gemini.script(write("link/a.txt", "short"), Text("ok"))
    asked_s = list[float]()

    def turn_it_slowly() -> None:
        asked_s.append(time.monotonic())
        turn_link(link, folders[1])
        while time.monotonic() < asked_s[0] + 0.1:
            pass
        asked_s.append(time.monotonic())

    user = meanwhile(turn_it_slowly)
    began_s = time.monotonic()
    [call] = calls(await say(session, "go", user))
    took_s = time.monotonic() - began_s
    assert call.duration_ms <= round((took_s - (asked_s[1] - asked_s[0])) * 1000), "a wait is no work"
    assert len(user.asked) == 1
    assert ELSEWHERE in call.result
    assert (session.cwd / "a.txt").read_text() == words
    assert (folders[1] / "a.txt").read_text() == words


async def test_a_change_that_would_become_another_one_is_asked_about_anew(
    session: Session, gemini: GeminiStandIn
) -> None:
    file = session.cwd / "a.txt"
    file.write_text("one\n")

    def answer(asked: ApprovalRequest) -> ApprovalAnswer:
        """Yes to what is shown first, which changes as it is given; no to what is shown then."""
        if "rm -rf" in str(asked):
            return ApprovalAnswer(ConsentAnswer.NO)
        file.write_text("one\n\nrm -rf / # one\n")
        session.live.view.read_files.hashes[file] = hash_of(file.read_bytes())  # a read beside it saw it
        return ApprovalAnswer(ConsentAnswer.ONCE)

    edit = Call("edit", {"path": "a.txt", "old": "one", "new": "two", "replace_all": True})
    gemini.script(read("a.txt"), Calls(edit), Text("ok"))
    user = User(answer)
    events = await say(session, "go", user)
    first, second = user.asked
    assert isinstance(first, ToolApproval)
    assert isinstance(second, ToolApproval)
    assert isinstance(second.proposal, ChangeFile)
    assert "-rm -rf / # one\n+rm -rf / # two\n" in second.proposal.diff
    assert second.reason == f"{first.reason}; its file has changed since you were first asked"
    assert calls(events)[1].status is CallStatus.DENIED
    assert "two" not in file.read_text()


# A tool that fails where it should only tell


class _NoArgs(msgspec.Struct):
    pass


async def _never(_args: _NoArgs, _ctx: ToolContext) -> ToolResult:
    raise AssertionError("must not run")


async def _preview_raises(_args: _NoArgs, _ctx: ToolContext) -> Preview:
    raise ValueError("a mistake of ours")


async def _preview(_args: _NoArgs, _ctx: ToolContext) -> Preview:
    return Preview(RunCommand("x"))


def _summary_raises(_args: _NoArgs) -> str:
    raise ValueError("a mistake of ours")


@pytest.mark.parametrize(
    "broken",
    [
        Tool("broken", "Breaks.", Effect.WRITE, _NoArgs, _never, lambda _: "x", _preview_raises),
        Tool("broken", "Breaks.", Effect.SHELL, _NoArgs, _never, _summary_raises, _preview),
    ],
    ids=["preview", "summary"],
)
async def test_a_tool_that_fails_before_it_runs_is_a_failed_result(
    session: Session, gemini: GeminiStandIn, broken: Tool[_NoArgs]
) -> None:
    tools = {**session.workspace.tools, "broken": broken}
    session = replace(session, workspace=replace(session.workspace, tools=tools))
    gemini.script(Calls(Call("broken", {}), Call("shell", {"command": "echo on"})), Text("I see."))
    events = await say(session, "go")
    assert ended(events).status is TurnStatus.FINISHED
    failed, done = calls(events)
    assert failed.status is CallStatus.FAILED
    assert "broken failed unexpectedly: ValueError: a mistake of ours" in failed.result
    assert done.status is CallStatus.OK
    assert "a mistake of ours" in str(gemini.asked("streamGenerateContent")[-1].body)


# Secrets


async def test_the_user_sees_the_secret_that_would_run_and_nobody_else_does(tmp_path: Path) -> None:
    command = f"echo {KEY} > key.txt"
    async with GeminiStandIn(key=KEY) as gemini, opened(tmp_path, environ(tmp_path, gemini)) as session:
        gemini.script(shell(command), Text("ok"))
        user = User()
        events = await say(session, "go", user)
        [asked] = user.asked
        assert isinstance(asked, ToolApproval)
        assert proposal_text(asked.proposal) == command
        assert (session.cwd / "key.txt").read_text() == f"{KEY}\n"
        assert KEY not in asked.summary + asked.reason + str(asked.rules)
        assert KEY not in repr(events)
        assert not any(KEY in str(request.body) for request in gemini.asked())
        files = [path for path in (tmp_path / "data").rglob("*") if path.is_file()]
        holding = [path.name for path in files if KEY.encode() in path.read_bytes()]
        assert [name for name in holding if not name.startswith("blobs.db")] == []


async def test_a_rule_never_stores_a_secret(tmp_path: Path) -> None:
    async with GeminiStandIn(key=KEY) as gemini, opened(tmp_path, environ(tmp_path, gemini)) as session:
        gemini.script(shell(f"frob {KEY}"), shell("frob it"), Text("ok"))
        user = User(lambda _: ApprovalAnswer(ConsentAnswer.ALWAYS))
        await say(session, "go", user)
        with_secret, without = user.asked
        assert isinstance(with_secret, ToolApproval)
        assert isinstance(without, ToolApproval)
        assert with_secret.rules == ()
        assert "frob" in with_secret.reason
        assert KEY not in with_secret.reason
        assert [str(rule) for rule in without.rules] == ["shell(= frob it)"]
        assert await session.workspace.local.trust.rules(session.workspace.project.id) == list(without.rules)


@pytest.mark.parametrize("odd", ["a\u200bb", "p\u0430ypal", "x\U000e0041", "a\u202eb"])
async def test_there_is_no_always_for_what_cannot_be_read_for_certain(
    session: Session, gemini: GeminiStandIn, odd: str
) -> None:
    write_odd = write("src/a.txt", f"{odd}\n")
    gemini.script(write_odd, write(f"src/{odd}", "a\n"), write("src/b.txt", "a\n"), Text("ok"))
    user = User()
    await say(session, "go", user)
    offered = [request.rules != () for request in user.asked if isinstance(request, ToolApproval)]
    assert offered == [False, False, True]


async def test_a_call_that_was_redacted_when_it_was_stored_is_not_asked_about_but_made_again(
    tmp_path: Path,
) -> None:
    command = f"touch made-{KEY[:2]}; echo {KEY}"
    async with GeminiStandIn(key=KEY) as gemini:
        gemini.script(shell(command))
        async with opened(tmp_path, environ(tmp_path, gemini)) as session:

            async def leave(_: ApprovalRequest) -> ApprovalAnswer:
                session.activity.closing = True
                await interrupt(session)
                return ApprovalAnswer(ConsentAnswer.NO)

            waits = [event async for event in submit(session, (TextPart("go"),), leave)]
            assert ended(waits).status is TurnStatus.WAITING
            record = session.live.record
        gemini.script(shell(command), Text("ok"))
        workspace = await open_workspace(
            cwd=tmp_path / "project", flags={}, environ=environ(tmp_path, gemini)
        )
        session = (await resume_session(workspace, record)).session
        user = User()
        events = await say_retry(session, user)
        redacted, again = calls(events)
        assert redacted.status is CallStatus.FAILED
        assert "redacted when it was stored" in redacted.result
        [asked] = user.asked
        assert isinstance(asked, ToolApproval)
        assert MARK not in proposal_text(asked.proposal)
        assert again.status is CallStatus.OK
        await close_session(session)
        await close_workspace(workspace)
