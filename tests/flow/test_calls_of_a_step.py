"""Calls that one answer asks for together and that build on each other."""

from pathlib import Path

import pytest

from ragforge.domain.approvals import (
    ApprovalAnswer,
    ApprovalRequest,
    ConsentAnswer,
    ToolApproval,
    proposal_text,
)
from ragforge.domain.events import ToolEnded
from ragforge.domain.turns import CallStatus, ToolCall
from ragforge.session.state import Session
from tests.flow.running import User, of_type, say
from tests.standins.gemini import Calls, GeminiStandIn, Text
from tests.standins.gemini_replies import Call

READ = Call("read", {"path": "a.txt"})


def edit(old: str, new: str) -> Call:
    return Call("edit", {"path": "a.txt", "old": old, "new": new})


def write(content: str) -> Call:
    return Call("write", {"path": "a.txt", "content": content})


async def made(
    session: Session, gemini: GeminiStandIn, *calls: Call, user: User | None = None
) -> list[ToolCall]:
    """The calls of one step, as they ended."""
    gemini.script(Calls(*calls), Text("Done."))
    ended = [event.call for event in of_type(await say(session, "go", user), ToolEnded)]
    return sorted(ended, key=lambda call: call.position)


async def test_a_file_is_edited_in_the_step_that_reads_it(session: Session, gemini: GeminiStandIn) -> None:
    file = session.cwd / "a.txt"
    file.write_text("one\n")
    (session.cwd / "big.txt").write_text("x\n" * 500_000)
    user = User()
    calls = await made(
        session, gemini, READ, Call("read", {"path": "big.txt"}), edit("one", "two"), user=user
    )
    assert [call.status for call in calls] == [CallStatus.OK] * 3
    assert file.read_text() == "two\n"
    [asked] = user.asked
    assert isinstance(asked, ToolApproval)
    assert "-one\n+two" in proposal_text(asked.proposal)


@pytest.mark.parametrize(
    ("changes", "after"),
    [
        ((edit("one", "two"), edit("two", "three")), "three\n"),
        ((edit("one", "two"), edit("two", "three"), READ, edit("three", "four")), "four\n"),
        ((edit("one", "two"), Call("shell", {"command": "cat a.txt"}), edit("two", "three")), "three\n"),
    ],
)
async def test_changes_of_one_file_follow_one_another_and_each_is_shown_as_it_will_be(
    session: Session, gemini: GeminiStandIn, changes: tuple[Call, ...], after: str
) -> None:
    file = session.cwd / "a.txt"
    file.write_text("one\n")
    seen: list[tuple[str, str]] = []

    def look(request: ApprovalRequest) -> ApprovalAnswer:
        assert isinstance(request, ToolApproval)
        seen.append((file.read_text(), proposal_text(request.proposal)))
        return ApprovalAnswer(ConsentAnswer.ONCE)

    calls = await made(session, gemini, READ, *changes, user=User(look))
    assert [call.status for call in calls] == [CallStatus.OK] * len(calls)
    assert file.read_text() == after
    # Each diff begins with what the file holds at that moment.
    assert seen
    assert all(f"-{content}" in diff for content, diff in seen)


async def test_a_new_file_is_written_and_edited_in_one_step(session: Session, gemini: GeminiStandIn) -> None:
    calls = await made(session, gemini, write("one\n"), edit("one", "two"), write("three\n"))
    assert [call.status for call in calls] == [CallStatus.OK] * 3
    assert (session.cwd / "a.txt").read_text() == "three\n"


async def test_a_declined_change_leaves_the_next_one_to_what_is_there(
    session: Session, gemini: GeminiStandIn
) -> None:
    file = session.cwd / "a.txt"
    file.write_text("one\n")
    user = User(lambda _: ApprovalAnswer(ConsentAnswer.NO))
    calls = await made(session, gemini, READ, edit("one", "two"), edit("two", "three"), user=user)
    assert [call.status for call in calls] == [CallStatus.OK, CallStatus.DENIED, CallStatus.FAILED]
    assert len(user.asked) == 1
    assert file.read_text() == "one\n"


@pytest.mark.parametrize("between", [(), (edit("one", "two"),)], ids=["at once", "after an edit"])
async def test_a_file_is_not_replaced_before_the_model_has_seen_it(
    session: Session, gemini: GeminiStandIn, between: tuple[Call, ...]
) -> None:
    """An edit names the text that it replaces. A write would drop lines that the model never saw."""
    file = session.cwd / "a.txt"
    file.write_text("one\nnever seen\n")
    calls = await made(session, gemini, READ, *between, write("mine\n"))
    assert calls[-1].status is CallStatus.FAILED
    assert "in the next step" in calls[-1].result
    assert "never seen" in file.read_text()
    [call] = await made(session, gemini, write("mine\n"))
    assert call.status is CallStatus.OK
    assert file.read_text() == "mine\n"


async def test_a_file_that_changed_is_not_replaced_in_the_step_that_reads_it_again(
    session: Session, gemini: GeminiStandIn
) -> None:
    file = session.cwd / "a.txt"
    file.write_text("one\n")
    await made(session, gemini, READ)
    file.write_text("one\nby the user\n")
    calls = await made(session, gemini, READ, write("mine\n"))
    assert [call.status for call in calls] == [CallStatus.OK, CallStatus.FAILED]
    assert file.read_text() == "one\nby the user\n"


async def test_a_file_that_is_read_again_unchanged_is_replaced_at_once(
    session: Session, gemini: GeminiStandIn
) -> None:
    file = session.cwd / "a.txt"
    file.write_text("one\n")
    await made(session, gemini, READ)
    calls = await made(session, gemini, READ, write("mine\n"))
    assert [call.status for call in calls] == [CallStatus.OK, CallStatus.OK]
    assert file.read_text() == "mine\n"


async def test_a_change_after_a_read_that_was_declined_is_not_asked_about(
    tmp_path: Path, session: Session, gemini: GeminiStandIn
) -> None:
    outside = tmp_path / "elsewhere.txt"
    outside.write_text("one\n")
    user = User(lambda _: ApprovalAnswer(ConsentAnswer.NO))
    there = {"path": str(outside)}
    calls = await made(
        session, gemini, Call("read", there), Call("edit", {**there, "old": "one", "new": "two"}), user=user
    )
    assert [call.status for call in calls] == [CallStatus.DENIED, CallStatus.FAILED]
    assert len(user.asked) == 1
    assert outside.read_text() == "one\n"
