"""Laws of Gemini's contents: whatever the conversation, the service's own rules hold."""

import asyncio
import json

from hypothesis import given, settings
from hypothesis import strategies as st

from ragforge.domain.errors import StoreUnavailable
from ragforge.domain.messages import (
    CallRequest,
    CallResult,
    ImagePart,
    Message,
    ModelMessage,
    TextPart,
    ToolMessage,
    UserMessage,
)
from ragforge.providers.gemini.convert import to_contents
from tests.standins.gemini_checks import check_generate

MODEL = "gemini-3.8-flash"

texts = st.text(st.characters(codec=None), max_size=8)
ids = st.sampled_from(["a", "b", "c", "d"])
names = st.sampled_from(["read", "list"])
images = st.builds(ImagePart, st.sampled_from(["png", "gone"]), st.just("image/png"), texts)
users = st.builds(UserMessage, st.lists(st.builds(TextPart, texts) | images, max_size=3).map(tuple))
calls = st.builds(CallRequest, ids, names, st.just({}), st.sampled_from(["", "p1"]))
models = st.builds(
    ModelMessage,
    st.sampled_from(["gemini", "ollama"]),
    st.sampled_from([MODEL, "other"]),
    texts,
    st.lists(calls, max_size=3, unique_by=lambda call: call.id).map(tuple),
)
results = st.builds(
    CallResult, ids, names, texts, st.booleans(), images=st.lists(images, max_size=1).map(tuple)
)
tools = st.builds(
    ToolMessage, st.lists(results, max_size=3, unique_by=lambda result: result.call_id).map(tuple)
)
conversations = st.lists(users | models | tools, max_size=8).map(tuple)


async def load_blob(digest: str) -> bytes:
    if digest == "gone":
        raise StoreUnavailable("gone")
    return b"png"


def contents_of(messages: tuple[Message, ...]) -> list[dict[str, object]]:
    return asyncio.run(to_contents(messages, provider="gemini", model=MODEL, load_blob=load_blob))


@settings(max_examples=120, deadline=None)
@given(conversations)
def test_any_conversation_is_one_that_the_service_takes(messages: tuple[Message, ...]) -> None:
    contents = contents_of(messages)
    check_generate(json.loads(json.dumps({"contents": contents})), model=MODEL, issued=[])
    json.dumps(contents, ensure_ascii=False).encode()  # no half surrogates


@settings(max_examples=50, deadline=None)
@given(conversations)
def test_nothing_that_was_said_is_lost(messages: tuple[Message, ...]) -> None:
    sent = json.dumps(contents_of(messages), ensure_ascii=False)
    for message in messages:
        if isinstance(message, UserMessage):
            for part in message.parts:
                if isinstance(part, TextPart):
                    cleaned = part.text.encode("utf-8", "replace").decode()
                    assert json.dumps(cleaned, ensure_ascii=False)[1:-1] in sent
