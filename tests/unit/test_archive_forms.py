"""The two forms by which records are compared: they tell the same records apart."""

import math
from datetime import timedelta, timezone
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from ragforge.domain.turns import CallStatus, ToolCall
from ragforge.store.archive_lines import canonical, exact_form, exact_print
from ragforge.store.neo4j.index_rows import call_props, turn_props
from ragforge.store.neo4j.load_new import COLUMNS
from ragforge.store.neo4j.rows import Label, call_row, step_row, turn_row
from tests.contract.builders import (
    NOON,
    a_call,
    a_project,
    a_request,
    a_session,
    a_step,
    a_turn,
    an_embedding,
)

# Few values, so that equal ones come up: what no database or no other form can hold is among them.
LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.sampled_from([0, 1, -1, 2**63, 2**64, 2**70, 0.0, -0.0, 1.0, 1e-7, math.inf, math.nan]),
    st.sampled_from(["", "a", "é", "\ud800", "\0", '"', "null", "1"]),
)
ARGS = st.dictionaries(
    st.sampled_from(["a", "b", "\ud83d"]),
    st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.just("x"), inner)),
    max_size=3,
)
SESSION = a_session(a_project().id)
TURN = a_turn(SESSION, "Feed the zebra.")
STEP = a_step(TURN, 0, "", a_request("read", path="a.py"))
CALL = a_call(STEP)


def call_with(args: dict[str, Any], cost: float) -> ToolCall:
    return replace(CALL, args=args, duration_ms=int(cost), status=CallStatus.OK)


@given(ARGS, ARGS, st.sampled_from([0, 1]), st.sampled_from([0, 1]))
def test_the_quick_form_tells_apart_what_the_lasting_one_does(
    one: dict[str, Any], other: dict[str, Any], first: int, second: int
) -> None:
    a, b = call_with(one, first), call_with(other, second)
    assert (exact_form(a) == exact_form(b)) == (canonical(a) == canonical(b))
    assert exact_form(a) == exact_form(call_with(dict(reversed(one.items())), first)), "in any order"


def test_the_same_record_from_another_store_has_the_same_forms() -> None:
    elsewhere = timezone(timedelta(hours=5, minutes=30))
    ended = replace(TURN, ended_at=NOON, cost_usd=1)
    same = replace(
        ended,
        started_at=TURN.started_at.astimezone(elsewhere) + timedelta(microseconds=7),
        ended_at=NOON.astimezone(elsewhere),
        cost_usd=1.0,
    )
    for form in (canonical, exact_form, exact_print):
        assert form(same) == form(ended)
        assert form(replace(same, cost_usd=1.5)) != form(ended)
        assert form(replace(same, cost_usd=None)) != form(ended)
    vector = an_embedding(TURN, 1, 0)
    assert exact_form(vector) != exact_form(replace(vector, vector=vector.vector[::-1]))


def test_a_new_node_is_sent_with_all_its_properties() -> None:
    turn, call = turn_row(TURN, project_id="p"), call_row(CALL, session_id="s", project_id="p")
    rows = {
        Label.TURN: turn | turn_props(turn, near=["Before."]) | {"nearChild": None},
        Label.STEP: step_row(STEP, session_id="s"),
        Label.CALL: call | call_props(call),
    }
    for label, props in rows.items():
        assert set(COLUMNS[label]) == set(props)
        assert len(COLUMNS[label]) == len(props)
