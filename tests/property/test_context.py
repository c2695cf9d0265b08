"""Laws of the history that goes to the model and of how it is made to fit."""

from datetime import UTC, datetime
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from ragforge.domain.messages import (
    CallRequest,
    CallResult,
    Message,
    ModelMessage,
    TextPart,
    ToolMessage,
    UserMessage,
)
from ragforge.domain.turns import CallStatus, Step, ToolCall, Turn
from ragforge.memory.context import history_messages, message_tokens, shorten

AT = datetime(2026, 1, 2, tzinfo=UTC)
texts = st.text(max_size=3_000)


def model(text: str, calls: tuple[CallRequest, ...] = ()) -> ModelMessage:
    return ModelMessage("p", "m", text, calls)


@st.composite
def conversations(draw: st.DrawFn) -> list[Message]:
    messages: list[Message] = []
    for turn in range(draw(st.integers(1, 6))):
        messages.append(UserMessage((TextPart(draw(texts)),)))
        for step in range(draw(st.integers(0, 3))):
            call = CallRequest(f"{turn}.{step}", "read", {"path": "x"})
            messages.append(model(draw(texts), (call,)))
            messages.append(ToolMessage((CallResult(call.id, "read", draw(texts)),)))
        messages.append(model(draw(texts)))
    return messages


@given(conversations(), st.integers(50, 8_000))
def test_shortened_history_fits_or_only_the_newest_turn_is_left(messages: list[Message], limit: int) -> None:
    short = shorten(messages, tokens_max=limit)
    assert sum(message_tokens(m) for m in short.messages) == short.tokens
    # The newest words, the newest step and its results.
    assert short.tokens <= limit or len(short.messages) <= 3


@given(conversations(), st.integers(50, 8_000))
def test_shortening_keeps_the_newest_words_and_every_call_answered(
    messages: list[Message], limit: int
) -> None:
    short = shorten(messages, tokens_max=limit).messages
    assert isinstance(short[0], UserMessage)
    assert [m for m in messages if isinstance(m, UserMessage)][-1] in short
    for before, after in pairwise(short):
        if isinstance(before, ModelMessage) and before.calls:
            assert isinstance(after, ToolMessage)
            assert [r.call_id for r in after.results] == [c.id for c in before.calls]


def test_the_next_steps_are_cut_at_the_same_place() -> None:
    messages: list[Message] = []
    for number in range(40):
        messages += [UserMessage((TextPart(f"{number} " + "x" * 300),)), model("y" * 300)]
    firsts: list[Message] = []
    for number in range(20):
        call = CallRequest(f"new{number}", "read", {})
        messages += [model("", (call,)), ToolMessage((CallResult(call.id, "read", "z" * 60),))]
        firsts.append(shorten(messages, tokens_max=6_000).messages[0])
    assert firsts[0] != messages[0]
    assert sum(before != after for before, after in pairwise(firsts)) <= 1


def test_a_result_larger_than_the_window_is_cut_to_fit() -> None:
    calls = (CallRequest("a", "read", {}), CallRequest("b", "read", {}))
    results = ToolMessage(tuple(CallResult(call.id, "read", "äx" * 40_000) for call in calls))
    messages = [UserMessage((TextPart("go"),)), model("", calls), results]
    short = shorten(messages, tokens_max=4_000)
    assert 3_000 < short.tokens <= 4_000
    assert short.messages[:2] == tuple(messages[:2])


def test_a_long_turn_loses_its_oldest_steps_and_keeps_the_words() -> None:
    messages: list[Message] = [UserMessage((TextPart("go"),))]
    for number in range(20):
        call = CallRequest(str(number), "write", {"content": "x" * 3_000})
        messages += [model("", (call,)), ToolMessage((CallResult(call.id, "write", "written"),))]
    short = shorten(messages, tokens_max=8_000)
    assert short.tokens <= 8_000
    assert short.messages[0] == messages[0]
    assert short.messages[-2:] == tuple(messages[-2:])
    assert short.dropped_steps > 0


@given(conversations())
def test_what_fits_is_not_touched(messages: list[Message]) -> None:
    total = sum(message_tokens(m) for m in messages)
    assert shorten(messages, tokens_max=total).messages == tuple(messages)


def turn(turn_id: str = "t") -> Turn:
    return Turn(turn_id, "s", None, 0, (TextPart("hello"),), AT)


def test_a_call_that_never_ended_is_answered_as_interrupted() -> None:
    step = Step("t", 0, model("", (CallRequest("a", "read", {}), CallRequest("b", "shell", {}))))
    done = ToolCall("a", "t", 0, 0, "read", {}, CallStatus.OK, "content", AT, 3)
    user, asked, results = history_messages([turn()], [step], [done])
    assert isinstance(user, UserMessage)
    assert asked is step.message
    assert isinstance(results, ToolMessage)
    assert [(r.call_id, r.failed) for r in results.results] == [("a", False), ("b", True)]


def test_an_answer_that_broke_off_stays_as_text_until_a_later_step_replaces_it() -> None:
    broken = Step("t", 0, ModelMessage("p", "m", "half", native={"x": 1}), interrupted=True)
    assert history_messages([turn()], [broken], [])[1:] == [model("half")]
    whole = Step("t", 1, model("whole"))
    assert history_messages([turn()], [broken, whole], [])[1:] == [whole.message]


def test_one_large_newest_turn_leaves_itself_whole() -> None:
    large = UserMessage((TextPart("x" * 100_000),))
    messages = [UserMessage((TextPart("old"),)), model("old answer"), large]
    short = shorten(messages, tokens_max=1_000)
    assert short.messages == (large,)
    assert short.dropped_turns == 1
