"""A turn ends at its limits: of calls, of steps, of dollars."""

from pathlib import Path

import pytest

from ragforge.agent.parts import TurnLimits
from ragforge.domain.approvals import Mode
from ragforge.domain.turns import TurnStatus
from ragforge.session.state import Session
from tests.flow.running import User, ended, environ, opened, say
from tests.standins.gemini import Call, Calls, Finish, GeminiStandIn, Text, Tokens


async def test_a_call_made_again_and_again_is_pointed_out_and_then_stopped(
    session: Session, gemini: GeminiStandIn
) -> None:
    (session.cwd / "a").write_text("same")
    gemini.script(*[Calls(Call("read", {"path": "a"}))] * 9)
    turn = ended(await say(session, "go"))
    assert turn.status is TurnStatus.STOPPED
    requests = gemini.asked("streamGenerateContent")
    assert len(requests) == 8
    assert "in a row" not in str(requests[2].body)
    assert "3 times in a row" in str(requests[3].body["contents"][-1])


@pytest.mark.parametrize("together", [True, False])
async def test_calls_that_are_made_in_turns_with_the_same_results_are_stopped(
    session: Session, gemini: GeminiStandIn, together: bool
) -> None:
    for name in "abc":
        (session.cwd / name).write_text(f"of {name}")
    calls = [Call("read", {"path": name}) for name in "abc"]
    gemini.script(*([Calls(*calls)] if together else [Calls(call) for call in calls]) * 11)
    turn = ended(await say(session, "go", limits=TurnLimits(steps_max=100)))
    assert turn.status is TurnStatus.STOPPED
    assert "the same 3 calls, with the same results, 8 times in a row" in turn.error
    asked = [str(each.body["contents"][-1]) for each in gemini.asked("streamGenerateContent")]
    told = [number for number, text in enumerate(asked) if "The last 3 calls have now been made" in text]
    assert len(told) == 2
    assert len(asked) <= 11 * (1 if together else 3)


async def test_calls_whose_results_change_go_on(session: Session, gemini: GeminiStandIn) -> None:
    session.live.consent.mode = Mode.ALL
    turns = [
        Calls(Call("shell", {"command": "echo more >> log; wc -l log"}), Call("list", {"path": "."}))
        for _ in range(12)
    ]
    gemini.script(*turns, Text("done"))
    turn = ended(await say(session, "go", limits=TurnLimits(steps_max=100)))
    assert (turn.status, turn.assistant) == (TurnStatus.FINISHED, "done")


async def test_max_model_calls_stops_the_turn(session: Session, gemini: GeminiStandIn) -> None:
    gemini.script(Calls(Call("list", {"path": "."})), Calls(Call("glob", {"pattern": "*"})), Text("never"))
    turn = ended(await say(session, "go", limits=TurnLimits(model_calls_max=2)))
    assert turn.status is TurnStatus.STOPPED
    assert len(gemini.asked("streamGenerateContent")) == 2


async def test_at_the_step_limit_the_user_is_asked_to_go_on(session: Session, gemini: GeminiStandIn) -> None:
    gemini.script(Calls(Call("list", {"path": "."})), Calls(Call("glob", {"pattern": "*"})), Text("done"))
    user = User()
    turn = ended(await say(session, "go", user, limits=TurnLimits(steps_max=1)))
    assert turn.status is TurnStatus.FINISHED
    assert len(user.asked) == 2


async def test_a_price_limit_stops_before_the_next_model_call(
    session: Session, gemini: GeminiStandIn
) -> None:
    gemini.script(
        (Calls(Call("list", {"path": "."})), Finish(usage=Tokens(prompt=1_000_000, candidates=1))), Text("no")
    )
    turn = ended(await say(session, "go", limits=TurnLimits(price_usd_max=0.01)))
    assert turn.status is TurnStatus.STOPPED
    assert "$" in turn.error


async def test_a_price_limit_that_cannot_be_kept_stops_the_turn(
    tmp_path: Path, gemini: GeminiStandIn
) -> None:
    gemini.models["gemini-unpriced"] = (1_000_000, 8_000)
    env = environ(tmp_path, gemini, RAGFORGE_MODEL="gemini:gemini-unpriced")
    async with opened(tmp_path, env) as session:
        gemini.script(Calls(Call("list", {"path": "."})), Text("never"))
        turn = ended(await say(session, "go", limits=TurnLimits(price_usd_max=1.0)))
    assert turn.status is TurnStatus.STOPPED
    assert "price of gemini-unpriced is unknown" in turn.error
    assert len(gemini.asked("streamGenerateContent")) == 1
