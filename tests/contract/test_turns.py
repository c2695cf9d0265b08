import time

import pytest
from msgspec.structs import replace

from ragforge.domain.errors import Conflict
from ragforge.domain.ids import new_id
from ragforge.domain.json import JsonObject
from ragforge.domain.messages import CallRequest, ImagePart, ModelMessage, TextPart
from ragforge.domain.search import HitKind, Query
from ragforge.domain.turns import CallStatus, TurnStatus
from ragforge.domain.usage import Usage
from ragforge.store.base import Store
from tests.contract.builders import (
    a_call,
    a_request,
    a_step,
    a_turn,
    an_end,
    conversation,
    new_session,
    said,
)
from tests.contract.conftest import Opener

HALF = "\ud83d"
"""Half of a surrogate pair, as it comes from a file's name that is not UTF-8."""


async def test_started_turn_comes_back_whole_and_is_the_head(store: Store) -> None:
    session = await new_session(store)
    turn = a_turn(session, user=(TextPart("Look:\n\x00 🎉"), ImagePart("ab" * 32, "image/png", "shot.png")))
    await store.turns.start(turn)
    assert await store.turns.get(turn.id) == turn
    found = await store.sessions.get(session.id)
    assert found is not None
    assert (found.head, found.last_activity_at) == (turn.id, turn.started_at)


async def test_the_text_of_a_command_comes_back_with_what_was_typed_for_it(store: Store) -> None:
    turn = a_turn(await new_session(store), user=(TextPart("Look at it.", "/look"),))
    await store.turns.start(turn)
    assert await store.turns.get(turn.id) == turn


async def test_what_no_encoding_holds_comes_back_as_a_sign_for_it(store: Store) -> None:
    session = await new_session(store)
    turn = await said(store, session, f"open {HALF}.txt", answer=f"no {HALF}")
    found = await store.turns.get(turn.id)
    assert found is not None
    assert (found.user, found.assistant) == ((TextPart("open \ufffd.txt"),), "no \ufffd")
    request = CallRequest(new_id(), f"re{HALF}", {HALF: [HALF, float("nan")]}, HALF)
    message = ModelMessage("gemini", "a", HALF, (request,), {"parts": [{"text": HALF}]}, HALF)
    step = a_step(turn, 0, message=message)
    await store.calls.add(a_call(step, 0, result=f"no {HALF}", diff=HALF), step)
    [read], [call] = await store.turns.steps([turn.id]), await store.calls.of_turns([turn.id])
    made = CallRequest(request.id, "re\ufffd", {"\ufffd": ["\ufffd", None]}, "\ufffd")
    native: JsonObject = {"parts": [{"text": "\ufffd"}]}
    assert read.message == ModelMessage("gemini", "a", "\ufffd", (made,), native, "\ufffd")
    assert (call.name, call.args, call.result, call.diff) == (made.name, made.args, "no \ufffd", "\ufffd")


async def test_a_pasted_megabyte_is_kept_whole(store: Store) -> None:
    session = await new_session(store)
    turn = await said(store, session, "line of a log\n" * 75_000)
    found = await store.turns.get(turn.id)
    assert found is not None
    assert found.user == turn.user


async def test_start_twice_changes_nothing_and_leaves_the_head_alone(store: Store) -> None:
    session = await new_session(store)
    first, second = await conversation(store, session, 2)
    await store.turns.start(first)
    found = await store.sessions.get(session.id)
    assert found is not None
    assert found.head == second.id
    ended = await store.turns.get(first.id)
    assert ended is not None
    assert ended.status is TurnStatus.FINISHED


async def test_words_change_until_the_turn_has_a_step_or_an_end(store: Store, opener: Opener) -> None:
    session = await new_session(store)
    root = await said(store, session, "Where is the zebra?")
    turn = a_turn(session, "Feed the okapi.", parent=root)
    await store.turns.start(turn)
    words = (*turn.user, TextPart("And the tapir, at noon."))
    for _ in range(2):
        await store.turns.reword(turn.id, words)
    assert await store.turns.get(turn.id) == replace(turn, user=words)
    await store.turns.end(an_end(turn))
    for found_by in ("okapi", "tapir"):
        hits = await store.search.words(Query(found_by, project_id=session.project_id, kinds=(HitKind.TURN,)))
        assert [hit.id for hit in hits][:1] == [turn.id], found_by
    again = a_turn(session, parent=turn)
    await store.turns.start(again)
    await store.turns.save_step(a_step(again))
    for late in (turn.id, again.id, "nowhere"):
        with pytest.raises(Conflict):
            await store.turns.reword(late, words)
    (row,) = await store.sessions.recent(project_id=session.project_id)
    assert row.last_message == "Fix it."
    found = await (await opener()).turns.path(again.id)
    assert [each.user for each in found] == [root.user, words, again.user]


async def test_turn_needs_its_session_its_parent_and_the_index_that_follows(store: Store) -> None:
    session = await new_session(store)
    root = await said(store, session)
    for wrong in (
        a_turn(session, session_id="nowhere"),
        a_turn(session, parent=replace(root, id="nowhere")),
        a_turn(session, parent=root, index=5),
        a_turn(session, index=1),
    ):
        with pytest.raises(Conflict):
            await store.turns.start(wrong)
        assert await store.turns.get(wrong.id) is None
    found = await store.sessions.get(session.id)
    assert found is not None
    assert found.head == root.id


async def test_end_keeps_text_last_step_and_the_sum_of_usage(store: Store) -> None:
    session = await new_session(store)
    turn = a_turn(session)
    await store.turns.start(turn)
    step = a_step(turn, 0, "Let me look.", a_request())
    await store.calls.add(a_call(step), step)
    last = a_step(turn, 1, "It is done.", usage=Usage(200, 0, 20, 0), cost_usd=0.5)
    end = an_end(turn, "Let me look.\n\nIt is done.", last_step=last, error="")
    await store.turns.end(end)
    assert await store.turns.get(turn.id) == replace(
        turn,
        status=TurnStatus.FINISHED,
        assistant=end.assistant,
        ended_at=end.ended_at,
        usage=Usage(300, 40, 30, 5),
        cost_usd=0.75,
    )
    assert await store.turns.steps([turn.id]) == [step, last]


async def test_one_unknown_price_makes_the_cost_unknown(store: Store) -> None:
    session = await new_session(store)
    turn = a_turn(session)
    await store.turns.start(turn)
    step = a_step(turn, 0, "", a_request(), cost_usd=None)
    await store.calls.add(a_call(step), step)
    await store.turns.end(an_end(turn, last_step=a_step(turn, 1)))
    found = await store.turns.get(turn.id)
    assert found is not None
    assert found.cost_usd is None


async def test_turn_without_a_step_costs_nothing(store: Store) -> None:
    session = await new_session(store)
    turn = await said(store, session)
    found = await store.turns.get(turn.id)
    assert found is not None
    assert (found.usage, found.cost_usd) == (Usage(), 0.0)


async def test_every_way_to_end_is_kept_with_its_error(store: Store) -> None:
    session = await new_session(store)
    parent = None
    for status in TurnStatus:
        turn = a_turn(session, parent=parent)
        await store.turns.start(turn)
        await store.turns.end(an_end(turn, "", status=status, error=f"because {status}"))
        found = await store.turns.get(turn.id)
        assert found is not None
        assert (found.status, found.error) == (status, f"because {status}")
        parent = turn


async def test_ending_twice_changes_nothing(store: Store) -> None:
    session = await new_session(store)
    turn = a_turn(session)
    await store.turns.start(turn)
    end = an_end(turn, last_step=a_step(turn))
    await store.turns.end(end)
    once = await store.turns.get(turn.id)
    await store.turns.end(end)
    assert await store.turns.get(turn.id) == once


async def test_ending_a_turn_that_is_gone_is_refused(store: Store) -> None:
    session = await new_session(store)
    with pytest.raises(Conflict):
        await store.turns.end(an_end(a_turn(session)))


async def test_native_message_comes_back_exactly(store: Store) -> None:
    session = await new_session(store)
    turn = await said(store, session)
    message = ModelMessage(
        "gemini",
        "a",
        "text",
        (CallRequest(new_id(), "edit", {"old": "é\0", "n": [1, 2.5, None, True]}, "call_1", "not JSON: {"),),
        {"parts": [{"thoughtSignature": "A" * 5000, "nested": {"é": [0.1, 1e300, -1, 2**70]}}]},
        "hm",
    )
    step = a_step(turn, 0, message=message, interrupted=True, cost_usd=None)
    await store.turns.save_step(step)
    assert await store.turns.steps([turn.id]) == [step]


async def test_saved_step_is_not_overwritten_by_the_call_that_follows(store: Store) -> None:
    session = await new_session(store)
    turn = a_turn(session)
    await store.turns.start(turn)
    step = a_step(turn, 0, "first", a_request())
    await store.turns.save_step(step)
    await store.calls.add(a_call(step), replace(step, cost_usd=9.0))
    assert await store.turns.steps([turn.id]) == [step]


async def test_steps_follow_the_order_of_the_ids(store: Store) -> None:
    session = await new_session(store)
    first, second = await conversation(store, session, 2)
    steps = {turn.id: [a_step(turn, index) for index in (0, 1)] for turn in (first, second)}
    for step in (*reversed(steps[first.id]), *steps[second.id]):
        await store.turns.save_step(step)
    assert await store.turns.steps([second.id, "nowhere", first.id]) == steps[second.id] + steps[first.id]
    assert await store.turns.steps([]) == []


async def test_turn_waits_for_consent_until_it_runs_on_whichever_call_ends(store: Store) -> None:
    session = await new_session(store)
    turn = a_turn(session)
    await store.turns.start(turn)
    step = a_step(turn, 0, "", a_request())
    await store.turns.save_step(step)
    assert await _status(store, turn.id) is TurnStatus.RUNNING
    await store.turns.save_step(step, waits=True)
    assert await _status(store, turn.id) is TurnStatus.WAITING
    await store.calls.add(a_call(step), step)
    assert await _status(store, turn.id) is TurnStatus.WAITING
    await store.turns.reopen(turn.id)
    assert await _status(store, turn.id) is TurnStatus.RUNNING


async def test_reopened_turn_runs_on_as_the_head(store: Store) -> None:
    session = await new_session(store)
    turn = a_turn(session)
    await store.turns.start(turn)
    await store.turns.end(an_end(turn, status=TurnStatus.FAILED, error="no network"))
    later = await said(store, session, parent=turn)
    assert later.parent == turn.id
    await store.turns.reopen(turn.id)
    assert await store.turns.get(turn.id) == replace(turn, assistant="Done.")
    found = await store.sessions.get(session.id)
    assert found is not None
    assert found.head == turn.id
    with pytest.raises(Conflict):
        await store.turns.reopen("nowhere")


async def test_path_is_the_chain_from_the_root_to_the_head(store: Store) -> None:
    session = await new_session(store)
    turns = await conversation(store, session, 5)
    branch = await said(store, session, "Another way.", parent=turns[1])
    assert [turn.id for turn in await store.turns.path(turns[-1].id)] == [turn.id for turn in turns]
    assert [turn.id for turn in await store.turns.path(branch.id)] == [turns[0].id, turns[1].id, branch.id]


async def test_several_turns_are_read_at_once_in_the_order_of_their_ids(store: Store) -> None:
    session = await new_session(store)
    first, _, third = await conversation(store, session, 3)
    ids = [third.id, new_id(), first.id, HALF, third.id]
    assert await store.turns.read(ids) == [await store.turns.get(third.id), await store.turns.get(first.id)]
    assert await store.turns.read([]) == []


async def test_limited_path_holds_the_newest_oldest_first(store: Store) -> None:
    session = await new_session(store)
    turns = await conversation(store, session, 5)
    for limit in (1, 2, 5, 9):
        found = await store.turns.path(turns[-1].id, limit=limit)
        assert [turn.id for turn in found] == [turn.id for turn in turns[-limit:]]
    assert await store.turns.path(turns[-1].id, limit=0) == []
    assert await store.turns.path(None) == []
    assert await store.turns.path("nowhere") == []


async def test_the_end_of_a_long_session_is_read_without_its_beginning(store: Store) -> None:
    session = await new_session(store)
    turn = None
    for _ in range(600):
        child = a_turn(session, parent=turn)
        await store.turns.start(child)
        turn = child
    assert turn is not None

    async def least_s(limit: int | None, *, tries: int) -> float:
        times: list[float] = []
        for _ in range(tries):
            began = time.perf_counter()
            await store.turns.path(turn.id, limit=limit)
            times.append(time.perf_counter() - began)
        return min(times)

    # What is short a busy machine makes long more easily, but not each time.
    assert await least_s(10, tries=20) * 3 < await least_s(None, tries=3)
    (row,) = await store.sessions.recent(project_id=session.project_id)
    assert row.turns == 600


async def test_calls_come_back_whole_by_turn_step_and_position(store: Store) -> None:
    session = await new_session(store)
    turn = a_turn(session)
    await store.turns.start(turn)
    first = a_step(turn, 0, "", a_request("read"), a_request("edit", path="a.py", old="\x00", new="é"))
    second = a_step(turn, 1, "", a_request("shell", command="ls"))
    edit = a_call(
        first,
        1,
        status=CallStatus.DENIED,
        diff="--- a\n+++ b\n",
        images=(ImagePart("cd" * 32, "image/png"),),
        result_blob="ef" * 32,
        result_chars=90_000,
        provider_id="call_7",
    )
    calls = [a_call(first, 0), edit, a_call(second, 0, status=CallStatus.FAILED, result="é\x00")]
    for call, step in ((calls[2], second), (calls[1], first), (calls[0], first)):
        await store.calls.add(call, step)
    assert await store.calls.of_turns([turn.id]) == calls
    assert await store.calls.of_turns(["nowhere"]) == []


@pytest.mark.emptied
async def test_adding_a_call_twice_changes_nothing(store: Store) -> None:
    session = await new_session(store)
    turn = a_turn(session)
    await store.turns.start(turn)
    step = a_step(turn, 0, "", a_request())
    call = a_call(step)
    await store.calls.add(call, step)
    await store.calls.add(replace(call, result="other"), step)
    assert await store.calls.of_turns([turn.id]) == [call]
    assert await store.check() == []


async def test_call_of_a_turn_that_is_gone_is_refused(store: Store) -> None:
    session = await new_session(store)
    step = a_step(a_turn(session), 0, "", a_request())
    with pytest.raises(Conflict):
        await store.calls.add(a_call(step), step)


async def test_call_that_names_another_step_than_the_one_given_is_refused(store: Store) -> None:
    session = await new_session(store)
    turn = a_turn(session)
    await store.turns.start(turn)
    step = a_step(turn, 0, "", a_request())
    for other in (a_step(turn, 1, "", a_request()), a_step(a_turn(session), 0, "", a_request())):
        with pytest.raises(Conflict, match="a different step"):
            await store.calls.add(a_call(other), step)
    assert await store.calls.of_turns([turn.id]) == []


async def test_another_opening_sees_what_was_written(store: Store, opener: Opener) -> None:
    session = await new_session(store)
    other = await opener()
    turn = await said(store, session)
    assert [found.id for found in await other.turns.path(turn.id)] == [turn.id]


async def _status(store: Store, turn_id: str) -> TurnStatus:
    found = await store.turns.get(turn_id)
    assert found is not None
    return found.status
