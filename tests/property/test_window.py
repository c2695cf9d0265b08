"""Laws of which part of the conversation goes to the model word for word."""

from dataclasses import dataclass
from itertools import pairwise

from hypothesis import given, settings
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
from ragforge.memory.context import message_tokens
from ragforge.memory.window import (
    TURNS_BETWEEN_FRESH_STARTS,
    TURNS_KEPT_MIN,
    Window,
    WindowLimits,
)

sizes = st.one_of(st.integers(0, 200), st.integers(0, 6_000))


@dataclass(frozen=True)
class Said:
    """A turn, by the lengths of its texts."""

    user: int
    results: tuple[int, ...]
    answer: int

    def messages(self, number: int) -> list[Message]:
        messages: list[Message] = [UserMessage((TextPart(f"{number} " + "u" * self.user),))]
        for step, size in enumerate(self.results):
            call = CallRequest(f"{number}.{step}", "read", {})
            messages.append(ModelMessage("p", "m", "", (call,), native={"signature": call.id}))
            messages.append(ToolMessage((CallResult(call.id, "read", "r" * size),)))
        messages.append(ModelMessage("p", "m", f"{number} " + "a" * self.answer))
        return messages


turns = st.builds(Said, sizes, st.lists(sizes, max_size=4).map(tuple), sizes)
paths = st.lists(turns, min_size=1, max_size=12)
limits = st.builds(
    WindowLimits,
    st.integers(500, 8_000),
    st.integers(100, 8_000),
    st.one_of(st.none(), st.integers(0, 5_000)),
)


def window_of(path: list[Said], limits: WindowLimits, *, first: int = 0) -> Window:
    window = Window(limits)
    for number, said in enumerate(path, first):
        window.extend(str(number), number, said.messages(number))
    return window


@given(paths, limits)
def test_what_a_window_holds_follows_from_the_path_alone(path: list[Said], limits: WindowLimits) -> None:
    """However it grew: message by message beside a running session, or at once when that is resumed."""
    grown = Window(limits)
    for number, said in enumerate(path):
        running = grown.copy()
        running.begin(str(number), number)
        for message in said.messages(number):
            running.add(message)
        grown = grown.copy()
        grown.extend(str(number), number, said.messages(number))
        assert grown.messages == running.messages
    assert window_of(path, limits).messages == grown.messages


@given(paths, limits)
def test_the_last_turns_never_go(path: list[Said], limits: WindowLimits) -> None:
    window = window_of(path, limits)
    last = [str(number) for number in range(len(path))][-TURNS_KEPT_MIN - 1 :]
    assert window.turn_ids[-len(last) :] == last
    users = [message for message in window.messages if isinstance(message, UserMessage)]
    assert len(users) == len(window.turn_ids)


@given(paths, limits)
def test_every_call_stays_answered_and_no_answer_of_the_model_is_touched(
    path: list[Said], limits: WindowLimits
) -> None:
    window = window_of(path, limits)
    whole = [message for number, said in enumerate(path) for message in said.messages(number)]
    sent = window.messages
    assert isinstance(sent[0], UserMessage)
    for message, original in zip(reversed(sent), reversed(whole), strict=False):
        if isinstance(message, ToolMessage) and isinstance(original, ToolMessage):
            assert [r.call_id for r in message.results] == [r.call_id for r in original.results]
            found = window.result(message.results[0].call_id)
            assert found == original.results[0]
        else:
            assert message == original
    assert window.tokens == sum(map(message_tokens, sent))


@given(paths, limits)
def test_between_drops_the_window_only_grows(path: list[Said], limits: WindowLimits) -> None:
    window = Window(WindowLimits(limits.tokens_high, limits.tokens_low))
    for number, said in enumerate(path):
        window.begin(str(number), number)
        for message in said.messages(number):
            before, drops = window.messages, len(window.dropped)
            window.add(message)
            if len(window.dropped) == drops:
                assert window.messages[:-1] == before
            else:
                assert window.dropped[-1].tokens_left < window.dropped[-1].tokens


@settings(max_examples=12)  # of some 800 turns each
@given(st.lists(turns, min_size=1, max_size=6), limits, st.integers(-4, 8))
def test_a_long_path_is_known_by_its_end(kinds: list[Said], limits: WindowLimits, beyond: int) -> None:
    """As many turns are read as it takes, and no more: what was before changes nothing."""
    count = 2 * TURNS_BETWEEN_FRESH_STARTS + beyond
    path = [kinds[number % len(kinds)] for number in range(count)]
    read = (count - 1) % TURNS_BETWEEN_FRESH_STARTS + 1 + TURNS_KEPT_MIN
    whole = window_of(path, limits)
    part = window_of(path[-read:], limits, first=count - read)
    assert part.messages == whole.messages


def test_large_results_leave_room_for_several_turns_between_drops() -> None:
    window = Window()
    drops: list[int] = []
    for number in range(60):
        before = len(window.dropped)
        window.extend(str(number), number, Said(40, (20_000,), 200).messages(number))
        if len(window.dropped) > before:
            drops.append(number)
        assert window.tokens <= 40_000
    assert all(later - earlier >= 2 for earlier, later in pairwise(drops))
    assert 10 < len(drops) < 30


def test_by_hand_it_drops_at_once_and_says_what_went() -> None:
    window = window_of([Said(3_000, (3_000,), 3_000)] * 8, WindowLimits(1_000_000, 13_000))
    dropped = window.drop()
    assert dropped is not None
    assert (dropped.turns, dropped.results) > (0, 0)
    assert dropped.tokens_left == window.tokens <= 13_000 < dropped.tokens
    assert window.drop() is None


def test_by_hand_it_drops_once_and_then_grows_again() -> None:
    """As it is read anew: the step down comes with the next message, and not again with those after it."""
    window = window_of([Said(3_000, (3_000,), 3_000)] * 8, WindowLimits(1_000_000, 13_000))
    window.compact_next = True
    held: list[int] = []
    for number in range(8, 14):
        window = window.copy()
        window.extend(str(number), number, Said(3_000, (3_000,), 3_000).messages(number))
        held.append(window.tokens)
    assert held[0] < 16_000
    assert all(later - earlier > 3_000 for earlier, later in pairwise(held)), held
