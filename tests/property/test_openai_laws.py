"""Laws of reading chat completions streams: how the bytes were cut never matters."""

import json
from contextlib import suppress
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragforge.domain.errors import AnswerUnusable
from ragforge.domain.events import AnswerEnded, CallSeen, FinishReason, ModelEvent, TextDelta
from ragforge.domain.json import JsonObject
from ragforge.domain.messages import (
    CallRequest,
    CallResult,
    Message,
    ModelMessage,
    TextPart,
    ToolMessage,
    UserMessage,
)
from ragforge.providers.base import ModelRequest
from ragforge.providers.openai_compatible.answer import Answer, StreamError
from ragforge.providers.openai_compatible.convert import to_chat
from ragforge.providers.sse import EventDecoder
from tests.standins.openai import delta
from tests.standins.openai_checks import why_refused

TEXTS = st.text(st.characters(exclude_categories=("Cs",)), max_size=20)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)


def cut(whole: bytes, places: list[int]) -> list[bytes]:
    borders = sorted({0, len(whole), *(place % (len(whole) + 1) for place in places)})
    return [whole[start:end] for start, end in pairwise(borders)]


@given(
    st.lists(JSON, max_size=6),
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.sampled_from(["", ": comment", "event: delta", "id: 1"]),
    st.lists(st.integers(0, 10_000), max_size=12),
    st.booleans(),
)
def test_events_are_the_same_however_the_bytes_were_cut(values, line_end, between, places, is_ended):
    payloads = [json.dumps(value, ensure_ascii=False, indent=1) for value in values]
    fields = [[f"data: {line}" for line in payload.split("\n")] for payload in payloads]
    lines = [line for field in fields for line in (between, *field, "")]
    text = line_end.join(lines if is_ended else lines[:-1]) + (line_end if is_ended else "")
    decoder = EventDecoder()
    got = [payload for piece in cut(text.encode(), places) for payload in decoder.feed(piece)]
    assert got + decoder.flush() == payloads


@given(st.binary(max_size=200), st.lists(st.integers(0, 200), max_size=5))
def test_any_bytes_can_be_read(data, places):
    decoder = EventDecoder()
    pieces = [payload for piece in cut(data, places) for payload in decoder.feed(piece)]
    assert all(isinstance(payload, str) for payload in [*pieces, *decoder.flush()])


@given(
    st.lists(TEXTS, max_size=4),
    st.lists(st.tuples(TEXTS.filter(bool), st.dictionaries(TEXTS, JSON, max_size=3)), max_size=4),
    st.lists(st.integers(1, 7), min_size=1, max_size=4),
)
def test_an_answer_is_the_sum_of_its_pieces(texts, asked, sizes):
    chunks: list[JsonObject] = [delta(content=text) for text in texts]
    for index, (name, args) in enumerate(asked):
        function = {"name": name, "arguments": ""}
        chunks.append(delta(tool_calls=[{"index": index, "id": f"c{index}", "function": function}]))
        arguments, size = json.dumps(args), sizes[index % len(sizes)]
        for start in range(0, len(arguments), size):
            piece = {"index": index, "function": {"arguments": arguments[start : start + size]}}
            chunks.append(delta(tool_calls=[piece]))
    chunks.append(delta(finish="tool_calls" if asked else "stop"))
    answer = Answer(provider="p", model="m", request_chars=0)
    events: list[ModelEvent] = [event for chunk in chunks for event in answer.take(json.dumps(chunk))]
    events += answer.end()
    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == "".join(texts)
    seen = [(event.call.name, event.call.args) for event in events if isinstance(event, CallSeen)]
    assert seen == asked
    assert isinstance(events[-1], AnswerEnded)
    assert events[-1].finish is (FinishReason.CALLS if asked else FinishReason.STOP)


@given(st.dictionaries(st.sampled_from(["id", "error", "usage", "choices"]), JSON))
def test_any_chunk_is_taken_or_refused_by_name(chunk):
    answer = Answer(provider="p", model="m", request_chars=10)
    with suppress(StreamError, AnswerUnusable):
        list(answer.take(json.dumps(chunk)))
    assert isinstance(list(answer.end())[-1], AnswerEnded)


IDS = st.sampled_from(["a", "b", "c", "d"])
CALLS = st.lists(
    st.builds(CallRequest, IDS, st.just("read"), st.just({})), max_size=3, unique_by=lambda call: call.id
)
MESSAGES: st.SearchStrategy[Message] = st.one_of(
    st.builds(UserMessage, st.lists(st.builds(TextPart, TEXTS), max_size=2).map(tuple)),
    st.builds(ModelMessage, st.just("gemini"), st.just("g"), TEXTS, CALLS.map(tuple)),
    st.builds(
        ToolMessage, st.lists(st.builds(CallResult, IDS, st.just("read"), TEXTS), max_size=3).map(tuple)
    ),
)


@pytest.mark.parametrize("system", ["", "Be brief."])
@given(history=st.lists(MESSAGES, max_size=8))
async def test_whatever_the_history_a_strict_server_takes_it(system, history):
    async def no_blob(digest: str) -> bytes:
        raise AssertionError(digest)

    messages = (UserMessage((TextPart("first"),)), *history)
    body = await to_chat(ModelRequest(system, messages), provider="p", model="m", load_blob=no_blob)
    assert why_refused(body) == ""
