"""Whatever a model sends, the next turn works and its words are stored: both providers, over real HTTP."""

import asyncio
import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragforge.cli.output import json_line
from ragforge.domain.events import AgentEvent
from ragforge.domain.messages import text_of
from ragforge.domain.turns import Turn, TurnStatus
from ragforge.session.state import Session
from tests.flow.running import ended, environ, opened, say
from tests.scope import some
from tests.standins import gemini_replies as gemini
from tests.standins.gemini import GeminiStandIn
from tests.standins.openai import End, OpenAIStandIn, delta, sse
from tests.standins.openai import Raw as Bytes

HALF = "\ud800"
ODD = [
    "a",
    "é",
    "🎉",
    HALF,
    "\udcff",
    "\ud83d",
    "\ude00",
    "\0",
    "\x1b[31m",
    "\u2028",
    "\ufeff",
    "\uffff",
    "\\",
    '"',
    "\r",
]
TEXTS = st.lists(st.sampled_from(ODD), max_size=5).map("".join)
NUMBERS = st.sampled_from([0, -1, 2**53, 2**64, -(10**30), 1e308, -0.0, float("nan"), float("inf")])
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)


def nested(depth: int) -> Any:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


ARGS = st.one_of(
    st.dictionaries(st.sampled_from(["path", "command", "content"]) | TEXTS, VALUES, max_size=3),
    st.sampled_from([90, 150, 400, 800]).map(lambda depth: {"path": nested(depth)}),
)
ANSWERS = st.fixed_dictionaries(
    {
        "text": st.lists(TEXTS, max_size=3),
        "thoughts": st.lists(TEXTS, max_size=2),
        "call": st.none() | st.tuples(st.sampled_from(["read", "list", "nothing"]) | TEXTS, ARGS, TEXTS),
    }
)


class Talk:
    """A session that goes on and on, and the loop that it runs on."""

    def __init__(self, runner: asyncio.Runner, session: Session, script: Callable[[Any], None]) -> None:
        self._runner = runner
        self._session = session
        self._said = 0
        self.script = script
        """What the model sends next."""

    def say(self) -> Turn:
        """A turn, whatever became of it. Its words are stored, and all that it told can be printed."""
        return self._runner.run(self._say())

    async def _say(self) -> Turn:
        self._said += 1
        words = f"words {self._said}"
        events: list[AgentEvent] = await say(self._session, words)
        turn = ended(events)
        stored = await self._session.workspace.store.turns.get(turn.id)
        assert stored is not None
        assert text_of(stored.user) == words
        assert stored.assistant == turn.assistant
        for event in events:
            json_line(str(event)).encode()
        return turn

    def works(self) -> None:
        """The next turn is one like any other."""
        turn = self.say()
        assert (turn.status, turn.assistant) == (TurnStatus.FINISHED, f"You said: words {self._said}"), turn


def gemini_answer(answer: dict[str, Any]) -> tuple[gemini.Item, ...]:
    items: list[gemini.Item] = [gemini.Thought(*answer["thoughts"]), gemini.Text(*answer["text"])]
    if answer["call"]:
        name, args, call_id = answer["call"]
        items.append(gemini.Calls(gemini.Call(name, args, call_id)))
    return tuple(items)


def openai_answer(answer: dict[str, Any]) -> Bytes:
    chunks = [delta(reasoning_content=piece) for piece in answer["thoughts"]]
    chunks += [delta(content=piece) for piece in answer["text"]]
    if answer["call"]:
        name, args, call_id = answer["call"]
        function = {"name": name, "arguments": json.dumps(args)}
        chunks.append(delta(tool_calls=[{"index": 0, "id": call_id, "function": function}]))
    return Bytes(
        [*map(sse, chunks), sse(delta(finish="tool_calls" if answer["call"] else "stop")), sse("[DONE]")]
    )


def raw_gemini(data: bytes, *, whole: bool) -> tuple[gemini.Item, ...]:
    sent = (gemini.Raw(data),) if data else ()
    return (*sent, gemini.NoFinishReason() if whole else gemini.Cut("fin"))


def raw_openai(data: bytes, *, whole: bool) -> Bytes:
    return Bytes([data] if data else [], end=End.CLEAN if whole else End.CUT)


GEMINI_STREAM = (
    'data: {"candidates":[{"content":{"parts":[{"text":"é\\ud800"}]},"finishReason":"STOP"}]}\r\n\r\n'
).encode()
OPENAI_STREAM = 'data:{"choices":[{"delta":{"content":"é\\ud800"},"finish_reason":"stop"}]}\r\n\r\n'.encode()
ANSWER = "é\ufffd"
PROVIDERS = ["gemini", "openai"]


@contextmanager
def talking(tmp_path: Path, provider: str) -> Iterator[Talk]:
    """A session with a model of the provider; nothing is tried again."""
    config = tmp_path / "config" / "config.toml"
    config.parent.mkdir()
    with asyncio.Runner() as runner, ExitStack() as entered_here:

        def enter(context: Any) -> Any:
            entered = runner.run(context.__aenter__())
            entered_here.callback(lambda: runner.run(context.__aexit__(None, None, None)))
            return entered

        if provider == "gemini":
            server: Any = enter(GeminiStandIn())
            env = environ(tmp_path, server)
            config.write_text("")
        else:
            server = enter(OpenAIStandIn())
            env = environ(tmp_path, RAGFORGE_MODEL="standin:test-model")
            config.write_text(f'[endpoints.standin]\nbase_url = "{server.base_url}"\n')
        flags = {"retry.attempts_max": 1, "memory.enabled": False}
        session = enter(opened(tmp_path, env, flags=flags))
        yield Talk(runner, session, server.script)


@pytest.mark.parametrize("provider", PROVIDERS)
def test_after_any_answer_the_next_turn_works(tmp_path: Path, provider: str) -> None:
    make = gemini_answer if provider == "gemini" else openai_answer
    with talking(tmp_path, provider) as talk:

        @settings(max_examples=15, deadline=None)
        @given(ANSWERS)
        def law(answer: dict[str, Any]) -> None:
            talk.script(make(answer))
            talk.say()
            talk.works()

        law()


@pytest.mark.parametrize("provider", PROVIDERS)
def test_wherever_a_stream_is_cut_the_next_turn_works(tmp_path: Path, provider: str) -> None:
    stream, make = (GEMINI_STREAM, raw_gemini) if provider == "gemini" else (OPENAI_STREAM, raw_openai)
    with talking(tmp_path, provider) as talk:
        for end in some(range(len(stream))):
            talk.script(make(stream[:end], whole=False))
            talk.say()
        talk.works()
        talk.script(make(stream, whole=True))
        whole = talk.say()
        assert (whole.status, whole.assistant) == (TurnStatus.FINISHED, ANSWER), whole
        talk.works()
