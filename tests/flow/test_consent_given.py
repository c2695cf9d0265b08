"""Consent as it is given and taken back: for the project, and for a run of the program."""

from pathlib import Path

from ragforge.commands.base import run_command
from ragforge.domain.approvals import Mode, Rule, parse_rule
from ragforge.session.open import new_session
from tests.flow.running import environ, opened
from tests.standins.gemini import GeminiStandIn

FLAG, KEPT = parse_rule("shell(make test)"), parse_rule("shell(git status)")


async def test_what_is_given_for_a_run_holds_beside_the_rest(tmp_path: Path, gemini: GeminiStandIn) -> None:
    async with opened(tmp_path, environ(tmp_path, gemini)) as session:
        session.live.consent.grant_for_run([FLAG])
        await run_command(session, "permissions", f"add {KEPT}")
        assert set(session.live.consent.rules) == {FLAG, KEPT}
        assert session.live.consent.mode is Mode.ASK
        later = await new_session(session.workspace)
        assert later.live.consent.rules == (KEPT,)
        await run_command(session, "permissions", f"remove {KEPT}")
        assert session.live.consent.rules == (FLAG,)
        await session.live.consent.take_back(FLAG)
        assert session.live.consent.rules == ()


async def test_what_another_session_of_the_project_was_given_holds_once_something_is_given_here(
    tmp_path: Path, gemini: GeminiStandIn
) -> None:
    async with opened(tmp_path, environ(tmp_path, gemini)) as session:
        other = await new_session(session.workspace)
        await other.live.consent.grant([KEPT])
        await session.live.consent.grant([FLAG, FLAG])
        assert set[Rule](session.live.consent.rules) == {FLAG, KEPT}
        assert len(session.live.consent.rules) == 2


async def test_everything_may_happen_for_a_run_alone(tmp_path: Path, gemini: GeminiStandIn) -> None:
    async with opened(tmp_path, environ(tmp_path, gemini)) as session:
        session.live.consent.grant_for_run(everything=True)
        assert session.live.consent.mode is Mode.ALL
        assert session.live.record.mode == Mode.ASK
