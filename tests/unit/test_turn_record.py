"""What the screen keeps of a turn."""

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from ragforge.domain.events import AgentEvent, TextDelta, ThoughtDelta, TurnStarted
from ragforge.domain.messages import ModelMessage
from ragforge.domain.turns import Step
from ragforge.tui.widgets.turn_record import (
    SHOWN_CHARS_MAX,
    SHOWN_LINES_MAX,
    Said,
    StoredTurns,
    Thought,
    Told,
    TurnRecord,
    records_of,
)
from tests.contract.builders import a_project, a_session, a_turn

MORE = 300_000
PIECE = "word " * 20
TURN = a_turn(a_session(a_project().id))


@pytest.mark.parametrize("delta", [TextDelta, ThoughtDelta])
def test_of_a_large_text_that_arrives_the_rest_is_counted_only(delta: Callable[[str], AgentEvent]) -> None:
    record = TurnRecord(None)
    record.apply(TurnStarted(TURN), now_s=0)
    for _ in range((SHOWN_CHARS_MAX + MORE) // len(PIECE)):
        record.apply(delta(PIECE), now_s=0)
    (entry,) = record.entries
    assert isinstance(entry, Said | Thought)
    assert (len(entry.text), entry.more_chars) == (SHOWN_CHARS_MAX, MORE)


@pytest.mark.parametrize("step", [1, 7, 1_000_000])
def test_of_many_lines_the_rest_is_counted_only(step: int) -> None:
    record = TurnRecord(None)
    record.apply(TurnStarted(TURN), now_s=0)
    text = "- one\n" * SHOWN_LINES_MAX + "- more\n- more"
    for at in range(0, len(text), step):
        record.apply(TextDelta(text[at : at + step]), now_s=0)
    (entry,) = record.entries
    assert isinstance(entry, Said)
    assert (entry.text, entry.more_chars) == ("- one\n" * SHOWN_LINES_MAX, len("- more\n- more"))


def test_what_is_looked_up_while_an_answer_streams_does_not_cut_it() -> None:
    record = TurnRecord(None)
    record.apply(TurnStarted(TURN), now_s=0)
    record.apply(TextDelta("```\none"), now_s=0)
    record.entries.append(Told("`ask`: commands need your approval."))
    record.apply(TextDelta("\ntwo\n```"), now_s=0)
    assert record.entries == [Said("```\none\ntwo\n```"), Told("`ask`: commands need your approval.")]


def test_of_a_large_text_that_was_stored_too() -> None:
    text = "x" * (SHOWN_CHARS_MAX + MORE)
    step = Step(TURN.id, 0, ModelMessage("scripted", "model", text, thoughts=text))
    (record,) = records_of(StoredTurns([TURN], [step]))
    shown = text[:SHOWN_CHARS_MAX]
    assert record.entries == [Thought(shown, more_chars=MORE), Said(shown, more_chars=MORE)]
    (record,) = records_of(StoredTurns([replace(TURN, assistant=text)]))
    assert record.entries == [Said(shown, more_chars=MORE)]
