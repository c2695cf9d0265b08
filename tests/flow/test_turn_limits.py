"""A turn ends at its limits: of calls, of steps, of dollars."""

from pathlib import Path

from ragforge.agent.parts import TurnLimits
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
