"""What holds of remote embedders whatever a service says and whatever a text holds."""

import json

from hypothesis import example, given
from hypothesis import strategies as st

from ragforge.embedders.refusals import Service, read_refusal
from ragforge.embedders.remote import BYTES_MIN, EMPTY, cut

SERVICE = Service("mine", "http://x/v1", "m").with_key("sk-secret-key", "MY_KEY")

_values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text() | st.just("sk-secret-key") | st.just("8s"),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["error", "message", "details", "detail", "retryDelay", "code"]),
            inner,
            max_size=4,
        )
    ),
)
_bodies = st.binary() | _values.map(lambda value: json.dumps(value).encode())


@given(
    st.integers(100, 599), _bodies, st.dictionaries(st.just("retry-after"), st.text(max_size=20), max_size=1)
)
@example(429, b'{"error": {"details": [{"retryDelay": "3.5s"}]}}', {})
@example(500, b"<html>sk-secret-key", {})
@example(429, b"", {"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"})
@example(429, b"", {"retry-after": "inf"})
@example(429, b"", {"retry-after": "nan"})
def test_every_refusal_becomes_a_sentence_without_the_key(
    status: int, body: bytes, headers: dict[str, str]
) -> None:
    refusal = read_refusal(SERVICE, status, body, headers)
    said = str(refusal.error)
    assert said
    assert "\n" not in said
    assert "sk-secret-key" not in said
    assert len(said) < 600
    assert refusal.delay_s is None or refusal.delay_s >= 0


@given(st.text(max_size=2_000), st.integers(BYTES_MIN, 1_000))
@example("\ud83d" * 300, BYTES_MIN)
@example("é" * 300, BYTES_MIN + 1)
def test_a_text_is_cut_to_bytes_that_are_text(text: str, bytes_max: int) -> None:
    made = cut(text, bytes_max)
    assert made
    assert len(made.encode()) <= bytes_max
    if not text.strip():
        assert made == EMPTY
    elif text.isascii():
        assert made == text[:bytes_max]
