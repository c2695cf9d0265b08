"""Turns whose summary failed, died or is of an earlier end: all of them have theirs in the end."""

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from ragforge.domain.memories import MemoryFilter
from ragforge.domain.summaries import SummaryMethod
from ragforge.domain.turns import Turn, TurnStatus
from ragforge.session.model import choose_model
from ragforge.session.state import Session
from ragforge.store.open import open_store
from tests.contract.builders import said
from tests.flow.beside import (
    QUICK,
    a_memory,
    all_embedded,
    an_answer,
    beside,
    by_the_model,
    done,
    summaries_of,
    until,
)
from tests.flow.running import ended, environ, say, say_retry
from tests.standins.gemini import (
    Cut,
    ErrorInStream,
    Finish,
    GeminiStandIn,
    Hang,
    QuotaPerDay,
    RateLimited,
    ServerError,
    Text,
)

GARBAGE = (Text("I would rather talk about the weather."),)
FAILURES = {
    "429": RateLimited(None),
    "quota of the day": QuotaPerDay(),
    "500": ServerError(),
    "cut": (Text('{"turns": [{"id": "t1"'), Cut()),
    "error in the stream": ErrorInStream(),
    "truncated": (Text('{"turns": [{"id": "t1", "memor'), Finish("MAX_TOKENS")),
    "garbage": GARBAGE,
    "hang": Hang(),
}


@pytest.mark.parametrize("kind", FAILURES)
async def test_a_call_that_fails_twice_is_stood_in_for_and_made_good_later(
    kind: str, tmp_path: Path, gemini: GeminiStandIn
) -> None:
    gemini.script_structured(FAILURES[kind], FAILURES[kind])
    gemini.always_structured(by_the_model("Understood after all."))
    env = environ(tmp_path, gemini, RAGFORGE_RETRY_ATTEMPTS_MAX="1")
    timing = replace(QUICK, call_s_max=1.0 if kind == "hang" else 20.0)
    async with beside(tmp_path, env, timing=timing) as session:
        turn = ended(await say(session, "Never use tabs in this project."))
        await done(session)
        [stand_in] = await summaries_of(session)

        async def replaced() -> bool:
            [summary] = await summaries_of(session)
            return summary.method is SummaryMethod.MODEL

        await until(replaced)
        [summary] = await summaries_of(session)
        assert (summary.id, summary.covers) == (stand_in.id, (turn.id,))
        assert summary.text == "Understood after all."
        await until(partial(all_embedded, session))
        asked = len(gemini.structured())
        # What is answered only after a second counts as failed too, as on a busy machine.
        assert asked >= 3 if kind == "hang" else asked == 3


async def test_one_failure_is_tried_again_before_anything_stands_in(
    tmp_path: Path, gemini: GeminiStandIn
) -> None:
    gemini.script_structured(ServerError())
    gemini.always_structured(by_the_model())
    env = environ(tmp_path, gemini, RAGFORGE_RETRY_ATTEMPTS_MAX="1")
    async with beside(tmp_path, env) as session:
        await say(session, "hello there")
        await done(session)
        [summary] = await summaries_of(session)
        assert summary.method is SummaryMethod.MODEL
        assert session.workspace.background.progress.note == ""


async def test_truncated_json_dropping_every_extracted_fact(tmp_path: Path, gemini: GeminiStandIn) -> None:
    """The answer breaks off after the first memory: it is kept, and no second call is needed for it."""

    def truncated(request: Any) -> Any:
        whole = json.dumps(an_answer(request.schema, "", (a_memory("The project uses PostgreSQL."),)))
        return Text(whole[: whole.index("PostgreSQL.") + len('PostgreSQL.", "said_by": "user", ')]), Finish(
            "MAX_TOKENS"
        )

    gemini.always_structured(truncated)
    async with beside(tmp_path, environ(tmp_path, gemini)) as session:
        await say(session, "We use PostgreSQL.")
        await done(session)
        found = await session.workspace.store.memories.find(
            MemoryFilter(project_id=session.workspace.project.id)
        )
        assert "The project uses PostgreSQL." in [memory.content for memory in found]


async def test_a_wrong_key_is_told_and_not_tried_for_each_turn(tmp_path: Path, gemini: GeminiStandIn) -> None:
    env = environ(
        tmp_path, gemini, RAGFORGE_MODEL="local", RAGFORGE_MEMORY_MODEL="gemini:gemini-3.5-flash-lite"
    )
    env["GEMINI_API_KEY"] = "wrong"
    async with beside(tmp_path, env, timing=replace(QUICK, final_s=60)) as session:
        for text in ("one", "two", "three"):
            await say(session, text)
        await done(session)
        assert [each.method for each in await summaries_of(session)] == [SummaryMethod.EXTRACTIVE] * 3
        assert len(gemini.structured()) == 1
        assert "without a model" in session.workspace.background.progress.note
        assert "key" in session.workspace.background.progress.note


async def test_a_model_that_was_left_alone_is_asked_again_when_it_is_chosen(
    tmp_path: Path, gemini: GeminiStandIn
) -> None:
    gemini.always_structured(lambda request: GARBAGE)
    async with beside(tmp_path, environ(tmp_path, gemini), timing=replace(QUICK, final_s=600)) as session:
        for text in ("one", "two", "three"):
            await say(session, text)
            await done(session)
        asked = len(gemini.structured())
        await say(session, "four")
        await done(session)
        assert len(gemini.structured()) == asked
        note = session.workspace.background.progress.note
        assert "asked again in 10 minutes, or at once if you use /model" in note
        gemini.always_structured(by_the_model("Well understood"))
        await choose_model(session, session.live.record.model)
        assert not session.workspace.background.progress.note
        await until(partial(understood, session))
        assert len(gemini.structured()) > asked

        assert await session.workspace.local.chosen.unusable_in_a_row("gemini:gemini-3.5-flash-lite") == 0


async def test_a_model_that_was_of_no_use_in_earlier_runs_is_asked_once_in_the_next(
    tmp_path: Path, gemini: GeminiStandIn
) -> None:
    gemini.always_structured(lambda request: GARBAGE)
    counts: list[int] = []
    for text in ("one", "two"):
        before = len(gemini.structured())
        async with beside(tmp_path, environ(tmp_path, gemini), timing=replace(QUICK, final_s=600)) as session:
            for number in ("first", "second", "third"):
                await say(session, f"{number} {text}")
                await done(session)
        counts.append(len(gemini.structured()) - before)
    assert counts[0] >= 3
    assert counts[1] == 1


async def understood(session: Session) -> bool:
    """Whether a model's summary is there."""
    return any(each.text == "Well understood" for each in await summaries_of(session))


async def test_a_turn_that_is_taken_up_again_is_summarised_as_it_ended(
    tmp_path: Path, gemini: GeminiStandIn
) -> None:
    gemini.script((Text("Half of it"), ErrorInStream()), Text("The whole answer."))
    gemini.always_structured(lambda request: by_the_model(str("whole" in request.last_text))(request))
    env = environ(tmp_path, gemini, RAGFORGE_RETRY_ATTEMPTS_MAX="1")
    async with beside(tmp_path, env) as session:
        assert ended(await say(session, "tell me")).status is TurnStatus.FAILED
        await done(session)
        assert ended(await say_retry(session)).status is TurnStatus.FINISHED
        await done(session)
        [summary] = await summaries_of(session)
        assert summary.text == "True"


async def ran_on(session: Session) -> Turn:
    """A turn that failed and was summarised so, went on and ended, with which the process died."""
    assert ended(await say(session, "tell me")).status is TurnStatus.FAILED
    await done(session)
    await session.workspace.background.close()
    turn = ended(await say_retry(session))
    assert turn.status is TurnStatus.FINISHED
    [summary] = await summaries_of(session)
    assert "whole" not in summary.text
    return turn


async def summary_of(session: Session, turn: Turn) -> str:
    [summary] = (await session.workspace.store.summaries.covering([turn.id]))[turn.id]
    return summary.text


async def is_up_to_date(session: Session, turn: Turn) -> bool:
    owed = await session.workspace.local.marks.ran_on(session.workspace.project.id)
    return "whole" in await summary_of(session, turn) and not owed


@pytest.mark.parametrize("model", ["", "local"])
async def test_a_turn_that_ran_on_and_died_at_its_end_is_summarised_as_it_ended(
    model: str, tmp_path: Path, gemini: GeminiStandIn
) -> None:
    gemini.script((Text("Half of it"), ErrorInStream()), Text("The whole answer."))
    gemini.always_structured(
        lambda request: by_the_model("whole" if "whole" in request.last_text else "half")(request)
    )
    env = environ(tmp_path, gemini, RAGFORGE_RETRY_ATTEMPTS_MAX="1", RAGFORGE_MEMORY_MODEL=model)
    async with beside(tmp_path, env) as session:
        turn = await ran_on(session)
        asked = len(gemini.structured())
    for _ in range(2):  # at the next start, and never again
        async with beside(tmp_path, env) as later:
            await until(partial(is_up_to_date, later, turn))
            await until(partial(all_embedded, later))
    assert len(gemini.structured()) - asked == (0 if model else 1)


async def test_a_turn_that_ran_on_is_summarised_by_a_model_once_there_is_one(
    tmp_path: Path, gemini: GeminiStandIn
) -> None:
    """Until then the model's words about its earlier end stand: an extract is no better."""
    gemini.script((Text("Half of it"), ErrorInStream()), Text("The whole answer."))
    gemini.always_structured(by_the_model("By a model, of half."))
    env = environ(tmp_path, gemini, RAGFORGE_RETRY_ATTEMPTS_MAX="1")
    async with beside(tmp_path, env) as session:
        turn = await ran_on(session)
    gemini.always_structured(ServerError())
    asked = len(gemini.structured())
    async with beside(tmp_path, env) as later:
        await gemini.wait_for_structured(asked + 2)
        assert await summary_of(later, turn) == "By a model, of half."
        gemini.always_structured(by_the_model("By a model, of the whole."))
        await until(partial(is_up_to_date, later, turn))


async def test_a_crashed_worker_leaving_a_lock(tmp_path: Path, gemini: GeminiStandIn) -> None:
    """A process that took a turn and died keeps nobody from it for longer than its lease."""
    gemini.always_structured(by_the_model())
    env = environ(tmp_path, gemini)
    async with beside(tmp_path, env) as session:
        store = session.workspace.store
        await say(session, "first")
        await done(session)
        turn = await said(store, session.live.record, "left behind", parent=(await path(session))[-1])
        dead = await open_store(store.url, machine_dir=tmp_path / "other")
        assert await dead.leases.take(f"summary:{turn.id}", seconds=0.5)
        await dead.close()
        session.workspace.background.turn_ended(session, turn.id)

        async def summarised() -> bool:
            return len(await summaries_of(session)) == 2

        await until(summarised)
        assert len(gemini.structured()) == 2


async def path(session: Session) -> list[Any]:
    record = await session.workspace.store.sessions.get(session.id)
    assert record is not None
    return await session.workspace.store.turns.path(record.head)
