"""What the screen keeps of a turn."""

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from ragforge.domain.events import AgentEvent, TextDelta, ThoughtDelta, TurnStarted
from ragforge.domain.messages import ModelMessage
from ragforge.domain.turns import Step
from ragforge.tui.widgets.turn_record import (
    SHOWN_CHARS_MAX,
    Said,
    StoredTurns,
    Thought,
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


def test_of_a_large_text_that_was_stored_too() -> None:
    text = "x" * (SHOWN_CHARS_MAX + MORE)
    step = Step(TURN.id, 0, ModelMessage("scripted", "model", text, thoughts=text))
    (record,) = records_of(StoredTurns([TURN], [step]))
    shown = text[:SHOWN_CHARS_MAX]
    assert record.entries == [Thought(shown, more_chars=MORE), Said(shown, more_chars=MORE)]
    (record,) = records_of(StoredTurns([replace(TURN, assistant=text)]))
    assert record.entries == [Said(shown, more_chars=MORE)]
